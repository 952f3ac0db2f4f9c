//! Patterns as trigger classifier: no model at all. A trigger's own words decide which pattern judges it; a trigger that
//! says anything more than patterns can tell is abstained from.

use std::sync::Arc;

use playhouse_vm::protocol::{Judge, Question, Verdict};

use crate::classify::{TriggerClassifier, VerdictFuture};
use crate::patterns::words::judge_words;

/// Judges by patterns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules;

impl TriggerClassifier for Rules {
    fn id(&self) -> Arc<str> {
        "rules".into()
    }

    fn abstains(&self, words: &str) -> bool {
        judge_words(words, &[]).is_none()
    }

    fn judge(&self, question: Arc<Question>) -> VerdictFuture {
        let (mut matched, mut abstained) = (Vec::new(), Vec::new());
        for candidate in &question.candidates {
            match judge_words(&candidate.text, &question.updates) {
                None => abstained.push(candidate.trigger),
                Some(true) => matched.push(candidate.trigger),
                Some(false) => {}
            }
        }
        let verdict = Verdict::Judged { by: Judge::Rules, matched, abstained, usage: None };
        Box::pin(std::future::ready(verdict))
    }
}
