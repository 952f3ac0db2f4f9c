//! Messages of a test that come in the middle of a reply.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};

use crate::host::llm::{LeftOver, Llm, LlmRequest, ModelKind, ReplyPart, ReplyStream};
use crate::host::session::{Deed, SessionHandle};
use crate::lang::files::test_file::{Interruption, TestFile, TestStepKind};

/// A message, and when it comes.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// Where it is written.
    pub(crate) line: usize,
    pub(crate) stretch: usize,
    pub(crate) interruption: Interruption,
}

/// All that a test has, in the order written.
pub(crate) fn planned(test: &TestFile) -> Vec<Planned> {
    let stretches = test.stretches();
    let steps = stretches.into_iter().enumerate().flat_map(|(stretch, range)| {
        test.steps[range].iter().filter_map(move |step| {
            let TestStepKind::Interrupts(interruption) = &step.kind else { return None };
            Some(Planned { line: step.line, stretch, interruption: interruption.clone() })
        })
    });
    steps.collect()
}

/// The way by which messages come to the session.
#[derive(Default)]
pub(crate) struct Door(Mutex<DoorState>);

#[derive(Default)]
struct DoorState {
    session: Option<SessionHandle>,
    /// The lines of the messages that have come.
    said: Vec<usize>,
}

impl Door {
    fn state(&self) -> MutexGuard<'_, DoorState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, session: SessionHandle) {
        self.state().session = Some(session);
    }

    /// The messages whose moment has not come.
    pub(crate) fn close(&self, name: &str, test: &TestFile) -> Vec<String> {
        let DoorState { said, .. } = mem::take(&mut *self.state());
        let unsaid = planned(test).into_iter().filter(|planned| !said.contains(&planned.line));
        let problem = |Planned { line, interruption, .. }: Planned| {
            let bytes = interruption.bytes;
            format!("{name}:{line}: the reply was over before {bytes} bytes of it had come; lower `during`")
        };
        unsaid.map(problem).collect()
    }

    /// Says it, and waits until the session has it.
    async fn say(&self, planned: Planned) {
        let session = {
            let mut state = self.state();
            state.said.push(planned.line);
            state.session.clone()
        };
        if let Some(session) = session {
            // One that has ended hears nothing any more.
            let _ = session.deliver(Deed::Message { text: planned.interruption.text.into(), id: None }).await;
        }
    }
}

/// A reply in which the user speaks.
pub(crate) fn interrupted(reply: ReplyStream, mut planned: Vec<Planned>, door: Arc<Door>) -> ReplyStream {
    planned.sort_by_key(|planned| planned.interruption.bytes);
    let state = Interrupted { reply, planned: planned.into(), door, held: Vec::new(), n_sent: 0 };
    Box::pin(stream::unfold(state, Interrupted::next))
}

struct Interrupted {
    reply: ReplyStream,
    planned: VecDeque<Planned>,
    door: Arc<Door>,
    /// Bytes that are to come after the next message.
    held: Vec<u8>,
    n_sent: usize,
}

impl Interrupted {
    async fn next(mut self) -> Option<(ReplyPart, Interrupted)> {
        while let Some(planned) = self.planned.pop_front_if(|planned| planned.interruption.bytes <= self.n_sent) {
            self.door.say(planned).await;
        }
        if self.held.is_empty() {
            match self.reply.next().await? {
                ReplyPart::Bytes(bytes) => self.held = bytes,
                end @ ReplyPart::End { .. } => return Some((end, self)),
            }
        }
        let room = self.planned.front().map_or(usize::MAX, |planned| planned.interruption.bytes - self.n_sent);
        let rest = self.held.split_off(room.min(self.held.len()));
        let bytes = mem::replace(&mut self.held, rest);
        self.n_sent += bytes.len();
        Some((ReplyPart::Bytes(bytes), self))
    }
}

/// A model in whose replies the user speaks.
pub(crate) struct Interrupting {
    model: Arc<dyn Llm>,
    planned: Vec<Planned>,
    door: Arc<Door>,
    /// The stretch, and how many replies of it were asked for.
    place: Mutex<(usize, usize)>,
}

impl Interrupting {
    pub(crate) fn new(model: Arc<dyn Llm>, test: &TestFile, door: Arc<Door>) -> Interrupting {
        Interrupting { model, planned: planned(test), door, place: Mutex::default() }
    }

    /// The next stretch begins.
    pub(crate) fn begin_stretch(&self) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = (place.0 + 1, 0);
    }
}

impl Llm for Interrupting {
    fn id(&self) -> Arc<str> {
        self.model.id()
    }

    fn kind(&self) -> ModelKind {
        self.model.kind()
    }

    fn starts_in_think(&self) -> bool {
        self.model.starts_in_think()
    }

    fn context_tokens(&self) -> Option<u64> {
        self.model.context_tokens()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let (stretch, n) = {
            let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
            place.1 += 1;
            *place
        };
        let is_here = |planned: &&Planned| planned.stretch == stretch && planned.interruption.reply.unwrap_or(1) == n;
        let planned = self.planned.iter().filter(is_here).cloned().collect();
        interrupted(self.model.request(request), planned, self.door.clone())
    }

    fn left_over(&self) -> Vec<LeftOver> {
        self.model.left_over()
    }
}
