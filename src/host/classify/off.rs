//! No classifier. The machine's setting `classifier = false` keeps it from being asked; a session that was begun
//! with a classifier and goes on without one does ask, and is told so.

use std::sync::Arc;

use playhouse_vm::protocol::{Question, Verdict};

use crate::classify::{TriggerClassifier, VerdictFuture};

/// A classifier that judges nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl TriggerClassifier for Off {
    fn id(&self) -> Arc<str> {
        "off".into()
    }

    fn judge(&self, _question: Arc<Question>) -> VerdictFuture {
        let reason = "the classifier is switched off; choose another with --classifier".into();
        Box::pin(std::future::ready(Verdict::Failed { reason }))
    }
}
