//! Triggers that nobody judged: a program that silently does less than its author wrote is hard to understand, so
//! each is told, once.

use std::collections::BTreeSet;

use crate::host::events::{PublicBody, PublicEvent};
use crate::host::text::one_line;
use crate::lang::program::Program;
use crate::vm::protocol::Ruling;

/// What has been told.
#[derive(Default)]
pub(crate) struct Unjudged {
    /// Why the classifier failed.
    failed: BTreeSet<String>,
}

impl Unjudged {
    /// What is to be told of an evaluation: the first time of each failure of the classifier. What it can never judge is
    /// told before the program begins ([`crate::host::classify::never_judged`]).
    pub(crate) fn remark(&mut self, trigger: &str, ruling: &Ruling) -> Option<String> {
        let reason = match ruling {
            Ruling::Failed(reason) => &**reason,
            Ruling::TimedOut => "the classifier gave no answer in time (classifier_timeout)",
            Ruling::Match
            | Ruling::NoMatch
            | Ruling::Abstained
            | Ruling::StillTrue
            | Ruling::Fault(_)
            | Ruling::Active
            | Ruling::OwnFrame
            | Ruling::SameValues
            | Ruling::Off
            | Ruling::NotCallable(_)
            | Ruling::Dropped => return None,
        };
        self.failed
            .insert(reason.to_owned())
            .then(|| format!("triggers were not judged, including {trigger}, and count as not matched: {reason}"))
    }
}

/// The triggers that nobody judged in all that happened, each once, one a line; empty if there are none.
pub(crate) fn unjudged(program: &Program, events: &[PublicEvent]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for event in events {
        if let PublicBody::TriggerEvaluated {
            trigger,
            ruling: Ruling::Abstained | Ruling::Off | Ruling::TimedOut | Ruling::Failed(_),
            ..
        } = &event.body
            && !names.contains(&&**trigger)
        {
            names.push(trigger);
        }
    }
    let line = |name: &str| format!("  {name}: {}\n", words(program, name).unwrap_or_default());
    names.into_iter().map(line).collect()
}

/// The author's words, on one line.
fn words(program: &Program, name: &str) -> Option<String> {
    let mut triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
    let trigger = triggers.find(|trigger| program.trigger_name(trigger.id) == name)?;
    Some(one_line(&trigger.text))
}
