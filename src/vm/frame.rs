//! Frames: what the interpreter keeps of a playbook that is being executed.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::plan::PlanId;
use playhouse_lang::program::{AgentId, CallSite, PlaybookId, StepId, TriggerId};
use playhouse_lang::value::{Tracked, Value};

use crate::dataflow::frame::DataflowFrame;
use crate::plan::PlanFrame;
use crate::protocol::{
    CallId, CallKind, ChatMessage, EffectClass, FrameId, FrameOrigin, Location, Place, TimerId, Timestamp, TurnId,
    UtteranceId,
};
use crate::scope::{Scope, Stamp};
use crate::trigger_calls::Guard;
use crate::watcher::Watch;

/// One frame of the stack. Depth, calls, limits, journal and view know frames, not languages.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "most frames are playbooks', and a stack has few")]
pub(crate) enum Frame {
    /// A playbook.
    Playbook(PlaybookFrame),
    /// A JSON plan.
    Plan(PlanFrame),
    /// A dataflow plan.
    Dataflow(DataflowFrame),
}

/// What a frame has in whatever language.
#[derive(Clone, Debug)]
pub(crate) struct FrameCore {
    pub(crate) id: FrameId,
    /// Of a plan: the agent of the playbook that called it, whose names it can call.
    pub(crate) agent: AgentId,
    pub(crate) origin: FrameOrigin,
    pub(crate) scope: Scope,
    pub(crate) queue: VecDeque<QueuedCall>,
    pub(crate) phase: Phase,
    pub(crate) spent: Spent,
    /// What triggers want of the frame.
    pub(crate) watch: Watch,
    /// The trigger that is active as long as this frame lives.
    pub(crate) trigger: Option<TriggerId>,
}

/// A playbook being executed.
#[derive(Clone, Debug)]
pub(crate) struct PlaybookFrame {
    pub(crate) core: FrameCore,
    pub(crate) playbook: PlaybookId,
    /// Its lines are shown inside its caller's: it shares the turn and the chat session of the frame below, and
    /// what belongs to those ([`crate::Machine::asker`]) is not its own.
    pub(crate) inlined: bool,
    /// Inlined, and the model knows that it is being executed.
    pub(crate) is_told: bool,
    /// The line it is at; none in goal mode.
    pub(crate) pointer: Option<StepId>,
    /// What the interpreter has done about the pointer's line since it got there.
    pub(crate) here: Here,
    pub(crate) loops: Vec<LoopState>,
    pub(crate) chat: Chat,
    /// Callers whose place it has taken, because they would only have returned.
    pub(crate) n_elided: u32,
    /// One of them would have returned null, whatever this returns.
    pub(crate) discards_value: bool,
    /// What they would have set with its value, the outermost first.
    pub(crate) elided_results: Vec<ElidedResult>,
    pub(crate) news: News,
    /// Everything before this was set before the frame began or before the pointer last moved back: it does
    /// not count as the work of a line.
    pub(crate) fresh_since: Stamp,
    /// The names that this frame itself has set, and when last: what another frame sets is not the work of its lines.
    pub(crate) set_names: Vec<(Arc<str>, Stamp)>,
    /// The pointer has moved back, or a loop has begun another round.
    pub(crate) moved_back: bool,
    /// Names that a line which was left since then had to set, and when it was left: what was set before that was
    /// its work, not the work of a later line for the same name.
    pub(crate) claimed_names: Vec<(Arc<str>, Stamp)>,
    /// Calls queued since then that no line has claimed as its work yet, by callee.
    pub(crate) unclaimed_calls: Vec<Called>,
    /// Call lines that have done their work since then.
    pub(crate) done_calls: Vec<StepId>,
    /// Lines of a skill that were named by `at`.
    pub(crate) reached: Vec<StepId>,
    /// Whether the model was told of a skill's lines that it skipped.
    pub(crate) told_skipped: bool,
    /// Speech that a broken or cut-short reply left in mid-sentence.
    pub(crate) saying: Option<OpenUtterance>,
    pub(crate) n_failures: u32,
    pub(crate) n_idle_turns: u32,
    /// Attempts in a row that brought nothing, and how long to wait before the next, in milliseconds.
    pub(crate) n_attempts: u32,
    pub(crate) delay_ms: u64,
}

/// What a queued call has called, by whatever name: `Agent.Playbook` and `Playbook` may be the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Called {
    pub(crate) callee: Callee,
    pub(crate) name: Arc<str>,
}

impl Called {
    /// Whether this is what the line calls.
    pub(crate) fn is_of(&self, site: &CallSite) -> bool {
        match (self.callee, site.playbook) {
            (Callee::Playbook(called), Some(playbook)) => called == playbook,
            (Callee::Tool(_) | Callee::Plan(_), None) => self.name == site.callee,
            (Callee::Playbook(_), None) | (Callee::Tool(_) | Callee::Plan(_), Some(_)) | (Callee::Model, _) => false,
        }
    }
}

/// A variable of a frame that is gone, which gets the value of the frame in its place.
#[derive(Clone, Debug)]
pub(crate) struct ElidedResult {
    pub(crate) agent: AgentId,
    pub(crate) name: Arc<str>,
    /// A frame between the two would have returned null.
    pub(crate) is_null: bool,
}

/// What has happened on the pointer's line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Here {
    /// The interpreter has performed the line.
    pub(crate) performed: Option<Performed>,
    /// The interpreter tried, and left the line to the model.
    pub(crate) left_to_model: bool,
    /// The model is to be asked here, whatever has been done: something behind this line went wrong.
    pub(crate) ask_model: bool,
    /// The model did something on the line.
    pub(crate) touched: bool,
}

/// The result of an explicit line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Performed {
    /// Where the pointer goes from here.
    pub(crate) next: playhouse_lang::flow_graph::Node,
    /// What was assigned, to compare with what a model writes for the same line.
    pub(crate) assigned: Option<(Arc<str>, Value)>,
}

/// One running loop of the interpreter's.
#[derive(Clone, Debug)]
pub(crate) struct LoopState {
    pub(crate) header: StepId,
    /// The list as it was on entry; none for `Repeat`, `While`, `Until`.
    pub(crate) items: Option<Arc<Vec<Value>>>,
    /// How many rounds there are, where that is known.
    pub(crate) n_rounds: Option<usize>,
    /// The round in progress, from 1.
    pub(crate) round: usize,
}

/// The messages of one frame with the model, without the system message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chat {
    pub(crate) messages: Vec<ChatMessage>,
    pub(crate) n_turns: u32,
    /// Estimated tokens of the messages.
    pub(crate) tokens: u64,
    /// Utterances of the session up to which this chat knows the conversation.
    pub(crate) heard: u64,
}

/// A call that was queued and whose result has not been taken.
#[derive(Clone, Debug)]
pub(crate) struct QueuedCall {
    pub(crate) id: CallId,
    pub(crate) name: Arc<str>,
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<(Arc<str>, Tracked)>,
    /// The variable that gets the result.
    pub(crate) result_name: Option<Arc<str>>,
    /// It is the playbook of a `Before calling …`, and may refuse another call.
    pub(crate) guards: Option<Guard>,
    /// Where it was queued.
    pub(crate) place: Place,
    pub(crate) state: CallState,
    pub(crate) started: Option<Timestamp>,
    /// What the tool has asked, and what a person answered, in order.
    pub(crate) answers: Vec<(Arc<str>, Value)>,
}

/// What a queued call will run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Tool(EffectClass),
    Playbook(PlaybookId),
    Plan(PlanId),
    /// A question of the machine's own to the session's model.
    Model,
}

impl Callee {
    pub(crate) fn kind(self) -> CallKind {
        match self {
            Callee::Tool(_) => CallKind::Tool,
            Callee::Playbook(_) => CallKind::Playbook,
            Callee::Plan(_) => CallKind::Plan,
            Callee::Model => CallKind::Model,
        }
    }

    /// What starting it does to the world; none: it runs on our own stack.
    pub(crate) fn effect(self) -> Option<EffectClass> {
        match self {
            Callee::Tool(effect) => Some(effect),
            Callee::Model => Some(EffectClass::ReadOnly),
            Callee::Playbook(_) | Callee::Plan(_) => None,
        }
    }
}

/// How far a queued call is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallState {
    /// Not begun: a playbook waits for the end of the turn, and so does a tool without early start.
    Queued,
    /// The world was told to start this attempt of a tool; a playbook's frame is on the stack.
    Running {
        /// From 1.
        attempt: u32,
        /// The world has said that it is about to.
        confirmed: bool,
    },
    /// A person must answer first.
    Asking { attempt: u32, question: Arc<str>, asked_by: AskedBy },
    /// Over.
    Done(Result<Tracked, Arc<str>>),
}

/// On whose behalf a person is asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedBy {
    /// The tool's approval: the call has not been made.
    Policy,
    /// The tool itself, which is told the answer; "no" too, if it takes it.
    Tool { takes_no: bool },
}

/// What a frame is doing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// It can move: explicit lines, then the model.
    Ready,
    /// The model is being read.
    Turn,
    /// Its queue is worked off; then it goes on.
    Draining(Then),
    /// The user is to speak.
    WaitingUser,
    /// A timer is to run out.
    WaitingTimer(TimerId),
}

/// What follows when a frame's queue is empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Then {
    GoOn,
    WaitUser,
    WaitTimer { after_ms: u64, text: Arc<str> },
    Return { value: ReturnValue, failed: bool },
    End { reason: Option<Arc<str>> },
}

/// What a frame returns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReturnValue {
    /// A value.
    Value(Tracked),
    /// What the model wrote, with references to results that are still on their way.
    Pending(Value),
    /// The result of this call.
    OfCall(CallId),
}

/// An utterance that is not complete.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenUtterance {
    pub(crate) id: UtteranceId,
    pub(crate) text: String,
}

/// What the model has not been told yet: the blocks of the frame's next message.
#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    /// `DONE`.
    pub(crate) done: Vec<String>,
    /// `RESULTS`.
    pub(crate) results: Vec<String>,
    /// `MEANWHILE`: playbooks of triggers that ran above the frame, and what they returned.
    pub(crate) meanwhile: Vec<String>,
    /// `MEANWHILE`: when another frame was first pushed above; changes since then are told.
    pub(crate) covered_since: Option<Stamp>,
    /// Variables whose change another block tells already.
    pub(crate) told_names: Vec<Arc<str>>,
    /// `USER`.
    pub(crate) user: Option<Arc<str>>,
    /// `PROBLEM`.
    pub(crate) problem: Option<Arc<str>>,
    /// The reply was cut or broke off: the model must be told where to go on even if nothing else is new.
    pub(crate) saying: Option<Arc<str>>,
}

/// What a frame and all frames above it have used up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) turns: u64,
    pub(crate) turns_since_user: u64,
    pub(crate) tokens: u64,
    /// Milliseconds, without those spent waiting for the user.
    pub(crate) active_ms: u64,
}

impl Frame {
    pub(crate) fn core(&self) -> &FrameCore {
        match self {
            Frame::Playbook(frame) => &frame.core,
            Frame::Plan(frame) => &frame.core,
            Frame::Dataflow(frame) => &frame.core,
        }
    }

    pub(crate) fn core_mut(&mut self) -> &mut FrameCore {
        match self {
            Frame::Playbook(frame) => &mut frame.core,
            Frame::Plan(frame) => &mut frame.core,
            Frame::Dataflow(frame) => &mut frame.core,
        }
    }

    /// The playbook it executes, if it executes one.
    pub(crate) fn playbook(&self) -> Option<&PlaybookFrame> {
        if let Frame::Playbook(frame) = self { Some(frame) } else { None }
    }

    pub(crate) fn playbook_mut(&mut self) -> Option<&mut PlaybookFrame> {
        if let Frame::Playbook(frame) = self { Some(frame) } else { None }
    }

    pub(crate) fn location(&self) -> Location {
        match self {
            Frame::Playbook(frame) => frame.location(),
            Frame::Plan(frame) => frame.location(),
            Frame::Dataflow(frame) => frame.location(),
        }
    }

    pub(crate) fn place(&self, depth: usize, turn: Option<TurnId>) -> Place {
        let core = self.core();
        Place { frame: core.id, agent: core.agent, location: self.location(), depth, turn }
    }
}

impl FrameCore {
    pub(crate) fn new(id: FrameId, agent: AgentId, origin: FrameOrigin) -> FrameCore {
        FrameCore {
            id,
            agent,
            origin,
            scope: Scope::default(),
            queue: VecDeque::new(),
            phase: Phase::Ready,
            spent: Spent::default(),
            watch: Watch::default(),
            trigger: None,
        }
    }

    /// What has not begun is not wanted any more. Playbooks that were to be asked first go with the frame.
    pub(crate) fn drop_queued(&mut self) {
        self.queue.retain(|queued| queued.state != CallState::Queued || queued.guards.is_some());
    }

    pub(crate) fn has_call(&self, call: CallId) -> bool {
        self.queue.iter().any(|queued| queued.id == call)
    }

    pub(crate) fn call_mut(&mut self, call: CallId) -> Option<&mut QueuedCall> {
        self.queue.iter_mut().find(|queued| queued.id == call)
    }
}

impl PlaybookFrame {
    pub(crate) fn location(&self) -> Location {
        Location::Line { playbook: self.playbook, step: self.pointer }
    }

    /// The call whose result will set `name`, if one is on its way.
    pub(crate) fn pending(&self, name: &str) -> Option<&QueuedCall> {
        self.core.queue.iter().rev().find(|queued| queued.result_name.as_deref() == Some(name))
    }

    /// The playbooks that its queue is still going to run.
    pub(crate) fn queued_playbooks(&self) -> impl Iterator<Item = PlaybookId> {
        let queued = self.core.queue.iter().filter(|call| call.state == CallState::Queued);
        queued.filter_map(|call| match call.callee {
            Callee::Playbook(playbook) => Some(playbook),
            Callee::Tool(_) | Callee::Plan(_) | Callee::Model => None,
        })
    }

    pub(crate) fn loop_mut(&mut self, header: StepId) -> Option<&mut LoopState> {
        self.loops.iter_mut().find(|state| state.header == header)
    }
}

impl News {
    pub(crate) fn is_empty(&self) -> bool {
        self.done.is_empty()
            && self.results.is_empty()
            && self.meanwhile.is_empty()
            && self.covered_since.is_none()
            && self.user.is_none()
            && self.problem.is_none()
            && self.saying.is_none()
    }
}
