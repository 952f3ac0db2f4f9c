//! Patterns as trigger classifier: no model at all. What patterns cannot tell is abstained from.

use std::sync::Arc;

use crate::host::classify::{TriggerClassifier, VerdictFuture};
use crate::vm::protocol::{Judge, Question, Verdict};

/// Judges by patterns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules;

impl TriggerClassifier for Rules {
    fn id(&self) -> Arc<str> {
        "rules".into()
    }

    fn judge(&self, question: Arc<Question>) -> VerdictFuture {
        let abstained = question.candidates.iter().map(|candidate| candidate.trigger).collect();
        let verdict = Verdict::Judged { by: Judge::Rules, matched: Vec::new(), abstained, usage: None };
        Box::pin(std::future::ready(verdict))
    }
}
