//! The questions of one session that are open. They are polled by the session's own task, so that an answer which
//! is there at once costs no delay.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use playhouse_vm::protocol::{Question, QuestionId, Verdict};
use tokio::time::Instant;

use crate::classify::{TriggerClassifier, VerdictFuture};
use crate::text::panic_text;

/// The open questions. A machine asks one at a time; nothing here depends on that. Dropping it gives all up.
#[derive(Default)]
pub struct Questions {
    open: Vec<Open>,
}

struct Open {
    id: QuestionId,
    asked: Instant,
    judging: VerdictFuture,
}

impl Questions {
    /// Whether no question is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Asks, and gives the verdict if it is there at once, with the milliseconds that it took. Else [`Questions::poll`] tells it, at the latest after
    /// `timeout`. A panic of the classifier is a verdict too. To be called in the context of a tokio runtime.
    pub fn ask(
        &mut self,
        question: Question,
        classifier: Arc<dyn TriggerClassifier>,
        timeout: Duration,
    ) -> Option<(Verdict, u64)> {
        let asked = Instant::now();
        let id = question.question;
        let judged = AssertUnwindSafe(async move { classifier.judge(Arc::new(question)).await }).catch_unwind();
        let mut judging: VerdictFuture = Box::pin(async move {
            match tokio::time::timeout(timeout, judged).await {
                Ok(Ok(verdict)) => verdict,
                Ok(Err(panic)) => {
                    let cause = panic_text(&*panic);
                    tracing::error!(question = id.0, "the trigger classifier panicked: {cause}");
                    Verdict::Failed { reason: format!("the classifier failed because of a bug in it: {cause}").into() }
                }
                Err(_) => Verdict::TimedOut,
            }
        });
        // Whatever is not ready is polled again with a waker, by `poll`.
        if let Poll::Ready(verdict) = judging.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some((verdict, milliseconds(asked)));
        }
        self.open.push(Open { id, asked, judging });
        None
    }

    /// The next verdict that has come, with the milliseconds that it took; pending for ever if no question is open.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<(QuestionId, Verdict, u64)> {
        for index in 0..self.open.len() {
            if let Poll::Ready(verdict) = self.open[index].judging.as_mut().poll(context) {
                let Open { id, asked, .. } = self.open.swap_remove(index);
                return Poll::Ready((id, verdict, milliseconds(asked)));
            }
        }
        Poll::Pending
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
