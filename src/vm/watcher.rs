//! The watcher: which triggers an update concerns, what is asked about it, and what a match does
//! (spec `triggers.md`; spec `turn-protocol.md`, "The watcher's barrier").

use crate::vm::Machine;
use crate::vm::protocol::{Question, QuestionId, Verdict};
use crate::vm::view::TriggerView;

/// What the machine keeps about triggers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watcher {
    /// The question that is open.
    pub(crate) question: Option<OpenQuestion>,
}

/// A question that has no answer yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenQuestion {
    pub(crate) question: Question,
}

impl Machine {
    pub(crate) fn handle_verdict(&mut self, id: QuestionId, _verdict: Verdict) {
        if self.watcher.question.as_ref().is_some_and(|open| open.question.question == id) {
            self.watcher.question = None;
        }
    }

    pub(crate) fn view_triggers(&self) -> Vec<TriggerView> {
        Vec::new()
    }
}
