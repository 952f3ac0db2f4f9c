//! A trigger classifier in a recorded run: the reply waits for its verdict before the next line comes. What a model says
//! of a question is kept by that model.

use std::sync::Arc;

use playhouse_vm::protocol::Question;

use crate::cassette::order::Speaker;
use crate::cassette::take::Take;
use crate::classify::{TriggerClassifier, VerdictFuture};
use crate::llm::LeftOver;

/// A classifier and the run that records or replays it.
pub struct Recorded {
    classifier: Arc<dyn TriggerClassifier>,
    take: Arc<Take>,
}

impl Recorded {
    /// This classifier in this run.
    pub fn new(classifier: Arc<dyn TriggerClassifier>, take: Arc<Take>) -> Recorded {
        Recorded { classifier, take }
    }
}

impl TriggerClassifier for Recorded {
    fn id(&self) -> Arc<str> {
        self.classifier.id()
    }

    fn asks_model(&self) -> bool {
        self.classifier.asks_model()
    }

    fn abstains(&self, words: &str) -> bool {
        self.classifier.abstains(words)
    }

    fn judge(&self, question: Arc<Question>) -> VerdictFuture {
        let open = self.take.lockstep().question();
        let answer = self.take.order().map(|order| order.ask(Speaker::Verdict));
        let judging = self.classifier.judge(question);
        Box::pin(async move {
            let verdict = judging.await;
            if let Some(answer) = answer {
                answer.turn().await;
                answer.has_spoken();
            }
            drop(open);
            verdict
        })
    }

    fn replayed(&self, question: &Question) {
        self.classifier.replayed(question);
    }

    fn left_over(&self) -> Vec<LeftOver> {
        self.classifier.left_over()
    }
}
