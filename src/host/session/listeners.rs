//! Listeners of a session: bounded queues. A slow listener misses events and is told how many; where it listens to
//! speech, pieces of an utterance are joined first, and of news about a call the newest counts. It never slows the
//! session.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::events::{Category, PublicBody, PublicEvent};

/// Events of a conversation that may wait to be read. A person reads a few in a minute; this is for programs that talk
/// to nobody.
const CONVERSATION: usize = 10_000;

/// What a listener wants to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Every event; of more than `capacity` that wait to be read the oldest are lost ([`Notice::Missed`]).
    Everything {
        /// How many events may wait; at least 1.
        capacity: usize,
    },
    /// What a conversation needs (speech, waiting, approvals, trouble, the end), and what whoever runs the program is told
    /// of it: pieces of one utterance that wait to be read are joined, and of news about a call the last is kept. Of more
    /// than 10 000 that still wait the oldest are lost.
    Speech,
}

/// What a listener is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// An event.
    Event(Arc<PublicEvent>),
    /// The listener was too slow: so many events before the next one are lost.
    Missed(u64),
}

/// The reading end of a listener's queue. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Queue>,
}

impl Subscription {
    /// The next notice; none once the session has ended and everything was read.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            {
                let mut state = self.queue.state();
                if let Some(notice) = state.take() {
                    return Some(notice);
                }
                if state.closed {
                    return None;
                }
            }
            // `notify_one` keeps a permit, so nothing pushed since the look above is slept through.
            self.queue.changed.notified().await;
        }
    }

    /// The next notice if one is there.
    pub fn try_next(&mut self) -> Option<Notice> {
        self.queue.state().take()
    }
}

/// The writing end of a listener's queue. However it goes (with its session, with a task that panicked, with an
/// inbox nobody reads any more), the listener learns that nothing more comes.
#[derive(Debug)]
pub(crate) struct Publisher {
    queue: Arc<Queue>,
}

/// What both ends share.
#[derive(Debug)]
struct Queue {
    interest: Interest,
    state: Mutex<QueueState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<Arc<PublicEvent>>,
    n_missed: u64,
    closed: bool,
}

impl QueueState {
    /// Adds an event; of more than `capacity` the oldest goes.
    fn add(&mut self, event: &Arc<PublicEvent>, capacity: usize) {
        if self.events.len() >= capacity.max(1) {
            self.events.pop_front();
            self.n_missed += 1;
        }
        self.events.push_back(event.clone());
    }

    fn take(&mut self) -> Option<Notice> {
        if self.n_missed > 0 {
            return Some(Notice::Missed(std::mem::take(&mut self.n_missed)));
        }
        let event = self.events.pop_front().map(Notice::Event);
        if self.events.is_empty() && self.events.capacity() > 64 {
            // A burst must not cost an idle session memory for good.
            self.events = VecDeque::new();
        }
        event
    }
}

impl Publisher {
    /// Both ends of a new queue.
    pub(crate) fn open(interest: Interest) -> (Publisher, Subscription) {
        let queue = Arc::new(Queue { interest, state: Mutex::default(), changed: Notify::new() });
        (Publisher { queue: queue.clone() }, Subscription { queue })
    }

    /// Whether the listener is still there.
    pub(crate) fn is_heard(&self) -> bool {
        Arc::strong_count(&self.queue) > 1
    }

    /// Gives the listener an event; false if it has gone.
    pub(crate) fn push(&self, event: &Arc<PublicEvent>) -> bool {
        if !self.is_heard() {
            return false;
        }
        {
            let mut state = self.queue.state();
            match self.queue.interest {
                Interest::Everything { capacity } => state.add(event, capacity),
                Interest::Speech => {
                    if !matches!(event.body.category(), Category::Conversation | Category::Operation) {
                        return true;
                    }
                    if !joined(&mut state.events, event) {
                        drop_old_news(&mut state.events, event);
                        state.add(event, CONVERSATION);
                    }
                }
            }
        }
        self.queue.changed.notify_one();
        true
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.queue.state().closed = true;
        self.queue.changed.notify_one();
    }
}

impl Queue {
    /// Never held over an await; a panic while it is held cannot leave it half changed.
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Joins a piece of speech with the one before it, if that still waits to be read.
fn joined(events: &mut VecDeque<Arc<PublicEvent>>, event: &PublicEvent) -> bool {
    let PublicBody::SaidDelta { text: more, utterance } = &event.body else { return false };
    let Some(last) = events.back_mut() else { return false };
    if !matches!(&last.body, PublicBody::SaidDelta { utterance: pending, .. } if pending == utterance) {
        return false;
    }
    if let PublicBody::SaidDelta { text, .. } = &mut Arc::make_mut(last).body {
        text.push_str(more);
    }
    true
}

/// News of a call make those old that wait to be read, if nothing else has happened since.
fn drop_old_news(events: &mut VecDeque<Arc<PublicEvent>>, event: &PublicEvent) {
    let call_of =
        |event: &PublicEvent| if let PublicBody::CallProgress { call, .. } = &event.body { Some(*call) } else { None };
    let Some(call) = call_of(event) else { return };
    let waiting = events.iter().rev().map(|event| call_of(event)).take_while(Option::is_some);
    let old = waiting.enumerate().find(|(_, waiting)| *waiting == Some(call)).map(|(from_end, _)| from_end);
    if let Some(from_end) = old {
        events.remove(events.len() - 1 - from_end);
    }
}
