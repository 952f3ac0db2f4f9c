//! Frames: what the interpreter keeps of a playbook that is being executed.

use crate::calls::call::Callee;
use crate::calls::call::QueuedCall;
use crate::machine::frame_core::FrameCore;
use std::sync::Arc;

use crate::protocol::Tracked;
use playhouse_lang::program::{AgentId, PlaybookId, StepId};
use playhouse_lang::value::Value;

use crate::calls::call::Collected;
use crate::dataflow::frame::DataflowFrame;
use crate::machine::told::Told;
use crate::plan::frame::PlanFrame;
use crate::protocol::view::Utterance;
use crate::protocol::{ChatMessage, Location, Place, TurnId, UtteranceId};
use crate::variables::scope::Stamp;
use crate::walk::work::LineWork;

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
    pub(crate) collected: Collected,
    pub(crate) chat: Chat,
    /// The first things that were said while it was on the stack, with their numbers in the conversation.
    pub(crate) opening: Vec<(u64, Utterance)>,
    /// Callers whose place it has taken, because they would only have returned.
    pub(crate) n_elided: u32,
    /// One of them would have returned null, whatever this returns.
    pub(crate) discards_value: bool,
    /// What they would have set with its value, the outermost first.
    pub(crate) elided_results: Vec<ElidedResult>,
    /// What its model still has to be told.
    pub(crate) told: Told,
    /// What its lines have done.
    pub(crate) work: LineWork,
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
    /// The user has spoken since the pointer came to the line.
    pub(crate) is_answered: bool,
}

/// The result of an explicit line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Performed {
    /// Where the pointer goes from here.
    pub(crate) next: playhouse_lang::program::flow_graph::Node,
    /// What was assigned, to compare with what a model writes for the same line.
    pub(crate) assigned: Option<(Arc<str>, Value)>,
}

/// One running loop of the interpreter's.
#[derive(Clone, Debug)]
pub(crate) struct LoopState {
    pub(crate) header: StepId,
    /// The list as it was on entry; none for `Repeat`, `While`, `Until`.
    pub(crate) items: Option<Tracked>,
    /// How many rounds there are, where that is known.
    pub(crate) n_rounds: Option<usize>,
    /// Whether what it goes over, or how often, may not be shown.
    pub(crate) is_secret: bool,
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
    /// Long variables that it has been shown as a line that names them needs them, and when they had been set.
    pub(crate) shown: Vec<(Arc<str>, Stamp)>,
}

/// An utterance that is not complete.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenUtterance {
    pub(crate) id: UtteranceId,
    pub(crate) text: String,
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

impl PlaybookFrame {
    pub(crate) fn location(&self) -> Location {
        Location::Line { playbook: self.playbook, step: self.pointer }
    }

    /// The call whose result will set `name`, if one is on its way.
    pub(crate) fn pending(&self, name: &str) -> Option<&QueuedCall> {
        self.core.queue.pending(name)
    }

    /// The playbooks that its queue is still going to run.
    pub(crate) fn queued_playbooks(&self) -> impl Iterator<Item = PlaybookId> {
        let queued = self.core.queue.iter().filter(|call| call.is_waiting());
        queued.filter_map(|call| match call.callee {
            Callee::Playbook(playbook) => Some(playbook),
            Callee::Tool(_) | Callee::Plan(_) | Callee::Model | Callee::Gone(_) => None,
        })
    }

    pub(crate) fn loop_mut(&mut self, header: StepId) -> Option<&mut LoopState> {
        self.loops.iter_mut().find(|state| state.header == header)
    }
}
