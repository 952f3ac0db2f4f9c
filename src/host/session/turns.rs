//! The replies in progress of one session: at most one that the machine reads, and those that may run on for
//! their usage after the model has yielded.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use playhouse_vm::protocol::{Close, ReplyEnd, TurnId, Usage};
use playhouse_vm::reply::agent_schema;
use tokio::time::Instant;

use crate::llm::{Llm, LlmRequest, NO_END, ReplyPart, ReplyStream};
use crate::session::input::{Due, Input};

/// Bytes that are put into one event at most when more than one chunk has arrived.
const BATCH: usize = 1 << 16;

/// The replies in progress, in the order they were asked for.
#[derive(Default)]
pub(crate) struct Turns {
    turns: Vec<Turn>,
    cancellations: Cancellations,
}

/// How long replies stayed open after the last byte that was taken of them, when the rest was not wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cancellations {
    /// How many were cut off.
    pub(crate) n: u64,
    /// All their times together.
    pub(crate) total: Duration,
    /// The longest of them.
    pub(crate) longest: Duration,
}

struct Turn {
    id: TurnId,
    state: State,
}

enum State {
    /// Waits before it is asked again.
    Delayed { until: Instant, request: Box<LlmRequest> },
    /// Asked.
    Open {
        stream: ReplyStream,
        /// The end, read together with the bytes before it.
        end: Option<Box<(ReplyEnd, Option<Usage>)>>,
        /// When it is given up.
        cap: Instant,
        /// Set once the machine has all it wants: until when it may run on.
        grace: Option<Instant>,
        /// When the last bytes were taken of it.
        last_bytes: Option<Instant>,
    },
}

/// The schemas of the agents' replies, each made once: the same bytes for all turns of an agent.
#[derive(Default)]
pub(crate) struct Schemas {
    made: Vec<(Callables, Arc<serde_json::Value>)>,
}

/// The names an agent may call.
type Callables = Arc<[Arc<str>]>;

impl Schemas {
    /// The schema for an agent that can call these.
    pub(crate) fn of(&mut self, callables: &Callables) -> Arc<serde_json::Value> {
        if let Some((_, schema)) = self.made.iter().find(|(made_for, _)| made_for == callables) {
            return schema.clone();
        }
        let schema = Arc::new(agent_schema(callables));
        self.made.push((callables.clone(), schema.clone()));
        schema
    }
}

/// The moment so far from now; a time that no clock can show is a year.
pub(crate) fn moment_after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
    Instant::now() + time.min(YEAR)
}

impl Turns {
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// How the replies that were not wanted any more were cut off.
    pub(crate) fn cancellations(&self) -> Cancellations {
        self.cancellations
    }

    /// Asks, now or after `delay`.
    pub(crate) fn start(&mut self, id: TurnId, request: LlmRequest, delay: Duration, llm: &dyn Llm, cap: Duration) {
        let state = if delay.is_zero() {
            open(llm, request, cap)
        } else {
            State::Delayed { until: moment_after(delay), request: Box::new(request) }
        };
        self.turns.push(Turn { id, state });
    }

    /// The program stood still for so long: nobody was late.
    pub(crate) fn postpone(&mut self, time: Duration) {
        for turn in &mut self.turns {
            match &mut turn.state {
                State::Delayed { until, .. } => *until += time,
                State::Open { cap, grace, .. } => {
                    *cap += time;
                    if let Some(grace) = grace {
                        *grace += time;
                    }
                }
            }
        }
    }

    /// Asks after the delay.
    pub(crate) fn ask(&mut self, id: TurnId, llm: &dyn Llm, cap: Duration) {
        let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == id) else { return };
        if let State::Delayed { request, .. } = &turn.state {
            turn.state = open(llm, LlmRequest::clone(request), cap);
        }
    }

    /// The machine does not want the rest. True: the reply is over now.
    pub(crate) fn close(&mut self, id: TurnId, close: Close, yield_grace: Duration) -> bool {
        let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == id) else { return false };
        if let State::Open { end, grace, last_bytes, .. } = &mut turn.state {
            let has_ended = end.is_some();
            match close {
                Close::Grace => *grace = Some(moment_after(yield_grace)),
                // It is over already, and its usage is known.
                Close::Now if has_ended => *grace = Some(Instant::now()),
                Close::Now => {
                    let last_bytes = *last_bytes;
                    self.remove(id);
                    self.cancellations.add(last_bytes.map(|moment| moment.elapsed()));
                    return true;
                }
            }
            return false;
        }
        self.remove(id)
    }

    /// Drops a reply and with it its connection; false if there is none.
    pub(crate) fn remove(&mut self, id: TurnId) -> bool {
        let n_before = self.turns.len();
        self.turns.retain(|turn| turn.id != id);
        if self.turns.is_empty() {
            self.turns = Vec::new();
        }
        self.turns.len() < n_before
    }

    /// Somebody else is about to cut replies off: how long their last byte is past says nothing then.
    pub(crate) fn forget_last_bytes(&mut self) {
        for turn in &mut self.turns {
            match &mut turn.state {
                State::Open { last_bytes, .. } => *last_bytes = None,
                State::Delayed { .. } => {}
            }
        }
    }

    /// Drops all replies and with them their connections.
    pub(crate) fn clear(&mut self) {
        self.turns = Vec::new();
    }

    /// The next moment that matters.
    pub(crate) fn next_due(&self) -> Option<(Instant, Due)> {
        let dues = self.turns.iter().map(|turn| match &turn.state {
            State::Delayed { until, .. } => (*until, Due::Delay(turn.id)),
            State::Open { grace: Some(grace), .. } => (*grace, Due::Grace(turn.id)),
            State::Open { cap, grace: None, .. } => (*cap, Due::Cap(turn.id)),
        });
        dues.min_by_key(|(moment, _)| *moment)
    }

    /// What the streams bring: bytes (all that have arrived), or an end.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        for turn in &mut self.turns {
            if let Poll::Ready(input) = turn.poll(context) {
                return Poll::Ready(input);
            }
        }
        Poll::Pending
    }
}

impl Cancellations {
    /// One more; none: nothing of it had come yet.
    fn add(&mut self, open_for: Option<Duration>) {
        let Some(open_for) = open_for else { return };
        self.n += 1;
        self.total += open_for;
        self.longest = self.longest.max(open_for);
    }

    /// The mean, in microseconds.
    pub(crate) fn mean_us(&self) -> u64 {
        microseconds(self.total).checked_div(self.n).unwrap_or(0)
    }

    /// The longest, in microseconds.
    pub(crate) fn longest_us(&self) -> u64 {
        microseconds(self.longest)
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Turn {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        let State::Open { stream, end, grace, last_bytes, .. } = &mut self.state else { return Poll::Pending };
        let mut bytes = Vec::new();
        while end.is_none() && bytes.len() < BATCH {
            match stream.as_mut().poll_next(context) {
                Poll::Pending => break,
                Poll::Ready(Some(ReplyPart::Bytes(more))) if bytes.is_empty() => bytes = more,
                Poll::Ready(Some(ReplyPart::Bytes(more))) => bytes.extend_from_slice(&more),
                Poll::Ready(Some(ReplyPart::End { end: how, usage })) => *end = Some(Box::new((how, usage))),
                Poll::Ready(None) => {
                    *end = Some(Box::new((ReplyEnd::Broken { reason: NO_END.into(), retry_after_ms: None }, None)));
                }
            }
        }
        if grace.is_some() && !bytes.iter().all(|&byte| is_framing(byte)) {
            // The machine still counts what it does not use.
            *end = Some(Box::new((ReplyEnd::Closed, None)));
        }
        if !bytes.is_empty() {
            *last_bytes = Some(Instant::now());
            return Poll::Ready(Input::ReplyBytes(self.id, bytes));
        }
        match end.take() {
            Some(mut end) => {
                if grace.is_some() {
                    end.0 = end_in_grace(end.0);
                }
                Poll::Ready(Input::ReplyEnded(self.id, end))
            }
            None => Poll::Pending,
        }
    }
}

/// How a reply ended that nobody reads any more: it is complete, or we closed it; that it broke then is no matter.
fn end_in_grace(end: ReplyEnd) -> ReplyEnd {
    match end {
        ReplyEnd::Complete(_) => end,
        ReplyEnd::Broken { .. } | ReplyEnd::Refused { .. } | ReplyEnd::Closed => ReplyEnd::Closed,
    }
}

/// What may follow a yield without meaning that the model goes on: the end of the array, object or fence.
fn is_framing(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"[]{},`".contains(&byte)
}

fn open(llm: &dyn Llm, request: LlmRequest, cap: Duration) -> State {
    State::Open { stream: llm.request(request), end: None, cap: moment_after(cap), grace: None, last_bytes: None }
}
