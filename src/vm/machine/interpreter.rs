//! The interpreter: what lines, plans and triggers act on, whether a reply is being read or not.
//!
//! It owns the stack, the watcher and what the world is told. It never ends a turn: what a line comes to is answered,
//! and [`Machine`](crate::Machine) does what follows for the reply.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::machine::inbox::Inbox;
use crate::machine::stack::Stack;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::view::{Counters, SkippedLine};
use crate::protocol::{
    CallId, Effect, Fact, FrameId, Outcome, Place, Progress, Report, TimerId, Tracked, TurnId, UtteranceId,
};
use crate::triggers::watcher::Watcher;

/// What lines, plans and triggers act on.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    pub(crate) stack: Stack,
    pub(crate) watcher: Watcher,
    pub(crate) inbox: Inbox,
    /// The reply that is being read.
    pub(crate) reply: Option<ReplyInHand>,
    /// What the last reply said outside its lines.
    pub(crate) last_prose: String,
    /// What the last frame of the stack returned.
    pub(crate) last_value: Tracked,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) counters: Counters,
    /// Lines that the model has left out, the oldest first.
    pub(crate) skipped: Vec<SkippedLine>,
    pub(crate) ids: Ids,
    outbox: VecDeque<Progress>,
}

/// What must be known of a reply to do what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyInHand {
    pub(crate) turn: TurnId,
    /// More of it may come.
    pub(crate) is_arriving: bool,
}

/// The numbers that the last things have got.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    turn: u64,
    call: u64,
    frame: u64,
    timer: u64,
    utterance: u64,
}

impl Ids {
    pub(crate) fn next_turn(&mut self) -> TurnId {
        self.turn += 1;
        TurnId(self.turn)
    }

    pub(crate) fn next_call(&mut self) -> CallId {
        self.call += 1;
        CallId(self.call)
    }

    /// The call that was queued last.
    pub(crate) fn last_call(&self) -> CallId {
        CallId(self.call)
    }

    pub(crate) fn next_frame(&mut self) -> FrameId {
        self.frame += 1;
        FrameId(self.frame)
    }

    /// The frame that was pushed last.
    pub(crate) fn last_frame(&self) -> FrameId {
        FrameId(self.frame)
    }

    /// Whether a frame has ever been on the stack.
    pub(crate) fn has_frames(&self) -> bool {
        self.frame > 0
    }

    pub(crate) fn next_utterance(&mut self) -> UtteranceId {
        self.utterance += 1;
        UtteranceId(self.utterance)
    }

    pub(crate) fn last_utterance(&self) -> UtteranceId {
        UtteranceId(self.utterance)
    }

    pub(crate) fn last_timer(&self) -> TimerId {
        TimerId(self.timer)
    }
}

impl Interpreter {
    /// A session of which nothing has happened.
    pub(crate) fn new(stack: Stack) -> Interpreter {
        Interpreter {
            stack,
            watcher: Watcher::default(),
            inbox: Inbox::default(),
            reply: None,
            last_prose: String::new(),
            last_value: Tracked::default(),
            outcome: None,
            counters: Counters::default(),
            skipped: Vec::new(),
            outbox: VecDeque::new(),
            ids: Ids::default(),
        }
    }

    /// The turn whose reply is being read.
    pub(crate) fn turn(&self) -> Option<TurnId> {
        self.reply.map(|reply| reply.turn)
    }

    /// Where the top frame is; none: no frame is on the stack.
    pub(crate) fn place(&self) -> Option<Place> {
        Some(self.stack.frames.last()?.place(self.turn()))
    }

    pub(crate) fn emit(&mut self, effect: Effect) {
        self.outbox.push_back(Progress::Emit(effect));
    }

    pub(crate) fn report(&mut self, fact: Fact) {
        self.report_at(self.place(), fact);
    }

    /// Reports what happens in a frame that need not be on top.
    pub(crate) fn report_at(&mut self, place: impl Into<Option<Place>>, fact: Fact) {
        let place = place.into();
        self.emit(Effect::Report(Box::new(Report { place, fact })));
    }

    /// What was written has no effect, for this cause.
    pub(crate) fn ignore(&mut self, cause: impl Into<Arc<str>>) {
        self.report(Fact::Ignored { cause: cause.into() });
    }

    /// A debugger may stop here.
    pub(crate) fn reached(&mut self, place: Place) {
        self.outbox.push_back(Progress::Reached(place));
    }

    /// Ends the session with a fault at the top frame's place. The frames stay, so that they can be looked at.
    pub(crate) fn fail(&mut self, kind: FaultKind, message: impl Into<Arc<str>>) {
        let fault = Fault { kind, place: self.place(), message: message.into() };
        // The first fault is the cause of those that follow.
        self.outcome.get_or_insert(Outcome::Failed(fault));
    }

    /// What is to be told next.
    pub(crate) fn take_told(&mut self) -> Option<Progress> {
        self.outbox.pop_front()
    }

    /// The program has changed: what was told and not yet taken comes after `first`, as `migrate` makes it.
    pub(crate) fn tell_before(&mut self, first: Fact, migrate: impl Fn(&Progress) -> Option<Progress>) {
        let told = std::mem::take(&mut self.outbox);
        self.report(first);
        self.outbox.extend(told.iter().filter_map(migrate));
    }

    /// Starts a timer that is waited for.
    pub(crate) fn start_timer(&mut self, after_ms: u64) -> TimerId {
        self.ids.timer += 1;
        let timer = self.ids.last_timer();
        self.emit(Effect::StartTimer { timer, after_ms, is_background: false });
        timer
    }

    /// Starts a trigger's timer, which nobody waits for.
    pub(crate) fn start_background_timer(&mut self, timer: TimerId, after_ms: u64) {
        self.ids.timer = self.ids.timer.max(timer.0);
        self.emit(Effect::StartTimer { timer, after_ms, is_background: true });
    }
}
