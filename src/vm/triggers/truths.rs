//! Which conditions hold, and what an update makes of them (spec `triggers.md`, "When a trigger fires"): one rule for
//! sessions and for tables of labelled cases.

use std::collections::BTreeSet;

use playhouse_lang::program::{AgentId, Program, TriggerId, TriggerKind};
use playhouse_lang::value::Value;

use crate::protocol::{Ruling, Tracked, USER_MESSAGE};
use crate::variables::eval::{Lookup, holds};
use crate::variables::visible::Visible;

/// Whether a name that gets a value is updated: the user's messages always, anything else if the value differs.
pub(crate) fn is_update(name: &str, old: Option<&Value>, new: &Value) -> bool {
    name == USER_MESSAGE || old != Some(new)
}

/// The conditions that hold. All are false at first, whatever values variables are declared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truths(BTreeSet<TriggerId>);

impl Truths {
    /// What an update of a name that a trigger mentions makes of it: a match where its condition has become true, or
    /// where it waits for changes and there was a value before. `None`: the interpreter does not judge it.
    pub(crate) fn judge(
        &mut self,
        program: &Program,
        id: TriggerId,
        was_set: bool,
        scope: &dyn Lookup,
    ) -> Option<Ruling> {
        match &program.trigger(id).kind {
            TriggerKind::Condition(condition) => Some(match holds(condition, scope) {
                Ok(true) if !self.0.insert(id) => Ruling::StillTrue,
                Ok(true) => Ruling::Match,
                Ok(false) => {
                    self.0.remove(&id);
                    Ruling::NoMatch
                }
                Err(fault) => {
                    self.0.remove(&id);
                    Ruling::Fault(fault.to_string().into())
                }
            }),
            TriggerKind::Changes(_) => Some(if was_set { Ruling::Match } else { Ruling::NoMatch }),
            TriggerKind::Semantic
            | TriggerKind::Beginning
            | TriggerKind::Ending
            | TriggerKind::BeforeCall(_)
            | TriggerKind::AfterCall(_)
            | TriggerKind::CallFails(_)
            | TriggerKind::Every { .. }
            | TriggerKind::Clock { .. }
            | TriggerKind::Silence { .. }
            | TriggerKind::Signal(_)
            | TriggerKind::Command(_)
            | TriggerKind::Gone(_) => None,
        }
    }

    /// What can be seen has changed without an update (a frame has gone, a variable was removed): conditions that do
    /// not hold any more are false again, so that they can become true. None becomes true by this.
    pub(crate) fn recheck<'a>(&mut self, program: &Program, visible_to: impl Fn(AgentId) -> Visible<'a>) {
        self.0.retain(|id| {
            let TriggerKind::Condition(condition) = &program.trigger(*id).kind else { return true };
            holds(condition, &visible_to(program.playbook(id.playbook).agent)).unwrap_or(false)
        });
    }

    pub(crate) fn contains(&self, id: TriggerId) -> bool {
        self.0.contains(&id)
    }

    /// Takes the truths over to other triggers; those of triggers that are gone are forgotten.
    pub(crate) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) {
        self.0 = std::mem::take(&mut self.0).into_iter().filter_map(trigger).collect();
    }
}

/// The trigger for a message that begins with a skill's name, and the words after it. No classifier is asked then: whoever
/// names what is to be done has said what is meant.
pub(super) fn command_in(program: &Program, triggers: &[TriggerId], message: &Tracked) -> Option<(TriggerId, Tracked)> {
    let text = message.value().as_str()?;
    let words = |id: &TriggerId| Some((*id, program.trigger(*id).kind.words_of_command(text)?));
    let (id, words) = triggers.iter().find_map(words)?;
    Some((id, message.provenance().track(Value::from(words))))
}
