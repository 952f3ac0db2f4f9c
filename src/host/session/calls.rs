//! The calls of a session's tools, from the machine's wish to their ends.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::EndedCall;
use playhouse_vm::protocol::{CallId, CallKind, CallOutcome, EffectClass, StartCall};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::llm::answer;
use crate::otel::context::TraceParent;
use crate::secrets::Secrets;
use crate::session::input::Input;
use crate::session::world::World;

/// The calls of tools, and questions to the model that are made like calls.
#[derive(Default)]
pub(crate) struct Calls {
    /// Asked for by the machine; `CallStarted` has not been handled.
    asked: VecDeque<Wanted>,
    /// `CallStarted` has been handled; the tool does not run yet.
    begun: Vec<Wanted>,
    running: Vec<Running>,
    tasks: JoinSet<EndedCall>,
}

struct Wanted {
    start: StartCall,
    interrupt: CancellationToken,
}

struct Running {
    task: tokio::task::Id,
    call: CallId,
    /// Ends it; the tool hears of that by a token of its own, which its time-out cancels, too.
    interrupt: CancellationToken,
    /// Its news, and what must not be seen in them; none: there will be none.
    progress: Option<(mpsc::Receiver<Value>, Arc<Secrets>)>,
}

impl Calls {
    /// The machine wants a call.
    pub(super) fn ask(&mut self, start: StartCall) {
        self.asked.push_back(Wanted { start, interrupt: CancellationToken::new() });
    }

    /// The next call that is asked for: `CallStarted` is to be handled, then [`Calls::start`] starts it.
    pub(super) fn begin(&mut self) -> Option<(CallId, u32)> {
        let wanted = self.asked.pop_front()?;
        let begun = (wanted.start.call, wanted.start.attempt);
        self.begun.push(wanted);
        Some(begun)
    }

    /// The most that a call that is about to start may do; none: there is no such call.
    pub(super) fn begun(&self) -> Option<EffectClass> {
        let writes = |wanted: &&Wanted| wanted.start.effect != EffectClass::ReadOnly;
        self.begun.iter().find(writes).or(self.begun.first()).map(|wanted| wanted.start.effect)
    }

    pub(super) fn are_any_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Starts all that have begun; `context` is what their tools are told of the spans they are parts of.
    pub(super) fn start(&mut self, session: &Arc<str>, world: &World, context: &dyn Fn(CallId) -> Option<TraceParent>) {
        for Wanted { start, interrupt } in std::mem::take(&mut self.begun) {
            tracing::debug!(session = &**session, call = start.call.0, tool = &*start.name, "starts a call");
            let (task, progress) = if start.kind == CallKind::Model {
                let outcome = answer::outcome_of(world.llm.clone(), &start);
                (self.tasks.spawn(until_interrupted(outcome, interrupt.clone()).boxed()).id(), None)
            } else {
                let (cancel, trace) = (interrupt.child_token(), context(start.call));
                let begun = world.tools.begin(session, &start, cancel, Some(world.llm.clone()), trace);
                let ended = until_interrupted(begun.outcome, interrupt.clone());
                (self.tasks.spawn(ended.boxed()).id(), Some((begun.progress, begun.hidden)))
            };
            self.running.push(Running { task, call: start.call, interrupt, progress });
        }
    }

    /// A call is not wanted any more; it ends soon. One that has ended has been answered.
    pub(super) fn interrupt(&mut self, call: CallId) {
        let wanted = self.asked.iter().chain(&self.begun).map(|wanted| (wanted.start.call, &wanted.interrupt));
        let running = self.running.iter().map(|running| (running.call, &running.interrupt));
        wanted.chain(running).filter(|(id, _)| *id == call).for_each(|(_, interrupt)| interrupt.cancel());
    }

    /// What the calls have to tell: their news, then their ends.
    pub(super) async fn next_input(&mut self) -> Input {
        std::future::poll_fn(|context| match self.poll_progress(context) {
            Poll::Ready(input) => Poll::Ready(input),
            Poll::Pending => self.poll_ended(context),
        })
        .await
    }

    fn poll_progress(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        for running in &mut self.running {
            let Some((progress, hidden)) = &mut running.progress else { continue };
            match progress.poll_recv(context) {
                Poll::Ready(Some(value)) => {
                    return Poll::Ready(Input::CallProgress(running.call, hidden.mask_value(value)));
                }
                Poll::Ready(None) => running.progress = None,
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }

    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        let (task, outcome) = match self.tasks.poll_join_next_with_id(context) {
            Poll::Ready(Some(Ok((task, outcome)))) => (task, outcome),
            Poll::Ready(Some(Err(error))) => {
                // Panics are caught before; this is a future whose very dropping panicked, or a runtime at its end.
                (error.id(), (CallOutcome::Error(format!("the call was lost: {error}").into()), None))
            }
            Poll::Ready(None) | Poll::Pending => return Poll::Pending,
        };
        let Some(index) = self.running.iter().position(|running| running.task == task) else {
            return Poll::Pending;
        };
        let call = self.running.swap_remove(index).call;
        Poll::Ready(Input::CallEnded(Box::new((call, outcome))))
    }

    /// The session ends: nobody waits for any of them.
    pub(super) fn cancel(&mut self) {
        for running in self.running.drain(..) {
            running.interrupt.cancel();
        }
        self.tasks.abort_all();
    }
}

/// A call that ends when it is interrupted. Tools hear of that first, by their own token, and all of them take the
/// dropping of a call for its end, too.
async fn until_interrupted(outcome: impl Future<Output = EndedCall>, interrupt: CancellationToken) -> EndedCall {
    // One that was interrupted before it could start does nothing at all.
    if interrupt.is_cancelled() {
        return (CallOutcome::Interrupted, None);
    }
    tokio::select! {
        biased;
        ended = outcome => match ended {
            // Whatever words the tool has for its end; a result that has come by then counts.
            (CallOutcome::Error(_), usage) if interrupt.is_cancelled() => (CallOutcome::Interrupted, usage),
            ended => ended,
        },
        () = interrupt.cancelled() => (CallOutcome::Interrupted, None),
    }
}
