//! What triggers make of an update outside of any session: for tables of labelled cases
//! (spec `cli.md`, `test`).

use std::sync::Arc;

use indexmap::IndexMap;
use playhouse_lang::program::{AgentId, PlaybookId, Program, TriggerId, TriggerKind};
use playhouse_lang::value::{Map, Tracked, Value};

use crate::condition::holds;
use crate::eval::Lookup;
use crate::protocol::{Candidate, FrameId, Location, Place, Question, QuestionId, USER_MESSAGE, Update};

/// What came of the updates of a [`Trial`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// The triggers that the interpreter itself judges and that fire, in the order of the updates.
    pub fired: Vec<TriggerId>,
    /// What the classifier is to be asked about the updates, if it is concerned.
    pub question: Option<Question>,
}

/// Values before, and what changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// The variables that are set before.
    pub before: Map,
    /// Names and new values, in order. `user_message` is a message of the user's.
    pub updates: Vec<(Arc<str>, Value)>,
}

struct Values(IndexMap<Arc<str>, Tracked>);

impl Lookup for Values {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        self.0.get(name)
    }
}

impl Trial {
    /// Judges the updates one after the other as a session of `agent` would, with no playbook running and no trigger
    /// active: conditions by their expressions, `… changes` by the values; semantic triggers become one question.
    ///
    /// # Panics
    /// If `agent` is of another program.
    pub fn run(&self, program: &Program, agent: AgentId) -> Tried {
        let index = &program.agent(agent).triggers;
        let tracked = |value: &Value| Tracked { value: value.clone(), ..Tracked::default() };
        let mut values = Values(self.before.iter().map(|(name, value)| (name.clone(), tracked(value))).collect());
        let mut tried = Tried::default();
        let (mut updates, mut candidates, mut user): (Vec<Update>, Vec<TriggerId>, _) = (Vec::new(), Vec::new(), None);
        for (name, value) in &self.updates {
            let is_message = &**name == USER_MESSAGE;
            let old = values.lookup(name).map(|old| old.value.clone());
            if is_message {
                user = Some(value.to_string().into());
                if let Value::Str(text) = value {
                    user = Some(text.clone());
                }
            } else if old.as_ref() == Some(value) {
                continue;
            }
            let naming = index.naming(name);
            let held: Vec<bool> = naming.iter().map(|id| condition_holds(program, *id, &values)).collect();
            values.0.insert(name.clone(), tracked(value));
            for (id, held) in naming.iter().zip(held) {
                let is_change = matches!(program.trigger(*id).kind, TriggerKind::Changes(_)) && old.is_some();
                let fires = is_change || (!held && condition_holds(program, *id, &values));
                // Once: it is active from then on.
                if fires && !tried.fired.contains(id) {
                    tried.fired.push(*id);
                }
            }
            let is_semantic = |id: &&TriggerId| program.trigger(**id).kind == TriggerKind::Semantic;
            candidates.extend(naming.iter().chain(&index.ambient).filter(is_semantic));
            updates.push(Update { name: name.clone(), old, new: value.clone() });
        }
        candidates.sort_unstable();
        candidates.dedup();
        if !candidates.is_empty() {
            let candidate = |id: &TriggerId| Candidate {
                trigger: *id,
                name: program.trigger_name(*id).into(),
                text: program.trigger(*id).text.clone(),
            };
            let playbook = program.agent(agent).playbooks.first().copied().unwrap_or(PlaybookId(0));
            let location = Location::Line { playbook, step: None };
            tried.question = Some(Question {
                question: QuestionId(1),
                place: Place { frame: FrameId(0), agent, location, depth: 0, turn: None },
                candidates: candidates.iter().map(candidate).collect(),
                updates,
                user,
                active: Vec::new(),
            });
        }
        tried
    }
}

/// Whether it is a condition, and holds.
fn condition_holds(program: &Program, id: TriggerId, values: &Values) -> bool {
    let TriggerKind::Condition(condition) = &program.trigger(id).kind else { return false };
    holds(condition, values).unwrap_or(false)
}
