//! Tools with a cassette: what comes of their calls is kept, or is what was kept (spec `evaluate.md`, section 2). Calls end
//! in the order in which they began, and the model's reply waits for them.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use playhouse_lang::value::Map;
use playhouse_vm::protocol::{CallOutcome, EndedCall, StartCall, ToolSignature, Usage};
use tokio::time::Instant;

use crate::cassette::entry::Outcome;
use crate::cassette::take::{Answer, Ended, PATIENCE, Take, Ticket, result_name};
use crate::tool::{BegunCall, CallContext, Tool, ToolFuture, ToolOutcome};

/// A tool of which nothing but its signature is there: its calls are answered from a cassette.
pub(super) struct Absent(pub(super) ToolSignature);

impl Tool for Absent {
    fn signature(&self) -> ToolSignature {
        self.0.clone()
    }

    fn call(&self, _: CallContext, _: Map) -> ToolFuture<'_> {
        let reason = format!("`{}` is not available: this run is a recording", self.0.signature.name);
        Box::pin(std::future::ready(ToolOutcome::Error(reason)))
    }
}

/// Begins a call in a run that is recorded or replayed. `live` makes it; one that is not recorded is always made.
pub(super) fn begin(
    take: &Arc<Take>,
    call: &StartCall,
    is_recorded: bool,
    live: impl FnOnce() -> BegunCall,
) -> BegunCall {
    let ordered = take.order().map(|order| order.call());
    let (progress, turn) = take.lockstep().call().split();
    let (outcome, hidden) = if is_recorded {
        let secret = call.arguments.iter().filter(|(_, argument)| argument.is_secret());
        secret.for_each(|(_, argument)| take.hide(argument.value()));
        let arguments = call.arguments.iter().map(|(name, argument)| (name.clone(), argument.shown())).collect();
        match take.call(&call.name, arguments) {
            Answer::Kept(ended) => (replayed(take.clone(), call.name.clone(), ended), Arc::default()),
            Answer::Missing(reason) => (failed(reason), Arc::default()),
            Answer::Live(ticket) => {
                let BegunCall { outcome, hidden, .. } = live();
                (noted(outcome, Noting::new(take.clone(), ticket, call)), hidden)
            }
        }
    } else {
        let BegunCall { outcome, hidden, .. } = live();
        (outcome, hidden)
    };
    let (answer, progress) = match ordered {
        Some((answer, news)) => (Some(answer), news),
        None => (None, progress),
    };
    let outcome = async move {
        let ended = outcome.await;
        match answer {
            Some(answer) => {
                answer.turn().await;
            }
            None => turn.await,
        }
        ended
    };
    BegunCall { outcome: outcome.boxed(), progress, hidden }
}

fn failed(reason: String) -> BoxFuture<'static, EndedCall> {
    std::future::ready((CallOutcome::Error(reason.into()), None)).boxed()
}

/// What was kept. A call that was ended waits for being ended again.
fn replayed(take: Arc<Take>, name: Arc<str>, (outcome, usage, _): Ended) -> BoxFuture<'static, EndedCall> {
    let outcome = match outcome {
        Outcome::Value(value) => CallOutcome::Value { value, secret: false },
        Outcome::Secret(argument) => match take.secret(&argument) {
            Some(value) => CallOutcome::Value { value: value.clone(), secret: true },
            None => CallOutcome::Error(take.miss_secret(&name, &argument).into()),
        },
        Outcome::Error(text) => CallOutcome::Error(text),
        Outcome::Needs { question, takes_no } => CallOutcome::Needs { question, takes_no },
        Outcome::Closed => {
            let ended = async move {
                tokio::time::sleep(PATIENCE).await;
                (CallOutcome::Error(take.miss_end(&name).into()), None)
            };
            return ended.boxed();
        }
    };
    std::future::ready((outcome, usage)).boxed()
}

/// The outcome, which is kept as it goes by.
fn noted(outcome: BoxFuture<'static, EndedCall>, mut noting: Noting) -> BoxFuture<'static, EndedCall> {
    let ended = async move {
        let (outcome, usage) = outcome.await;
        let kept = noting.take.kept(&outcome, &noting.result_name);
        noting.end(kept, usage);
        (outcome, usage)
    };
    ended.boxed()
}

/// Who is told how a call ended, also if nobody waits for its end.
struct Noting {
    take: Arc<Take>,
    ticket: Option<Ticket>,
    /// What stands for its result if that is secret: the variable that gets it, else the tool.
    result_name: Arc<str>,
    began: Instant,
}

impl Noting {
    fn new(take: Arc<Take>, ticket: Ticket, call: &StartCall) -> Noting {
        Noting { take, ticket: Some(ticket), result_name: result_name(call), began: Instant::now() }
    }

    fn end(&mut self, outcome: Outcome, usage: Option<Usage>) {
        if let Some(ticket) = self.ticket.take() {
            let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.take.ended(ticket, (outcome, usage, ms));
        }
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.end(Outcome::Closed, None);
    }
}
