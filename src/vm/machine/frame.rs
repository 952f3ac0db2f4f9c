//! Frames: what the interpreter keeps of a playbook that is being executed.

use std::sync::Arc;

use playhouse_lang::analysis::layout::Region;
use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{AgentId, PlaybookId, StepId};
use playhouse_lang::value::Value;

use crate::calls::call::{Callee, Collected, QueuedCall};
use crate::machine::frame_core::{FrameCore, Phase, Then};
use crate::machine::told::Told;
use crate::plan::frame::PlanFrame;
use crate::protocol::view::Utterance;
use crate::protocol::{ChatMessage, FrameId, FrameOrigin, Location, Place, Tracked, TurnId, UtteranceId};
use crate::variables::scope::{Scope, Stamp};
use crate::walk::work::LineWork;

/// One frame of the stack. Depth, calls, limits, journal and view know frames, not languages.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "most frames are playbooks', and a stack has few")]
pub(crate) enum Frame {
    /// A playbook.
    Playbook(PlaybookFrame),
    /// A plan.
    Plan(PlanFrame),
}

/// A playbook being executed.
#[derive(Clone, Debug)]
pub(crate) struct PlaybookFrame {
    pub(crate) core: FrameCore,
    pub(crate) playbook: PlaybookId,
    /// The line it is at, as its playbook is laid out; none in goal mode.
    pub(crate) pointer: Option<StepId>,
    /// The playbook shown inside one of its lines that the pointer is in.
    pub(crate) inside: Option<Box<Inside>>,
    /// What the interpreter has done about the pointer's line since it got there.
    pub(crate) here: LineState,
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
    /// Lines that the model was told it had left out, since a reply of it was followed.
    pub(crate) told_left_out: Vec<StepId>,
    /// Speech that a broken or cut-short reply left in mid-sentence.
    pub(crate) saying: Option<OpenUtterance>,
    /// Replies in a row that ended in mid-sentence, and finished none.
    pub(crate) n_unfinished: u32,
    pub(crate) n_failures: u32,
    pub(crate) n_idle_turns: u32,
    /// Attempts in a row that brought nothing, and how long to wait before the next, in milliseconds.
    pub(crate) n_attempts: u32,
    pub(crate) delay_ms: u64,
}

/// A playbook that runs inside the line which calls it: what it has of its own. All else it shares with its caller.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    pub(crate) id: FrameId,
    pub(crate) region: Region,
    pub(crate) origin: FrameOrigin,
    /// The call, which is being made.
    pub(crate) call: QueuedCall,
    pub(crate) scope: Scope,
    /// What the caller's lines have done.
    pub(crate) outer_work: LineWork,
    /// How many turns the caller had had before.
    pub(crate) n_turns_before: u64,
    /// The model knows that it is being executed.
    pub(crate) is_told: bool,
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
pub(crate) struct LineState {
    /// The interpreter has performed the line.
    pub(crate) performed: Option<Performed>,
    /// The interpreter tried, and left the line to the model.
    pub(crate) left_to_model: bool,
    /// The model is to be asked here, whatever has been done: something after this line went wrong.
    pub(crate) ask_model: bool,
    /// The interpreter has said the line's text, and the model is asked here all the same: what it says now is new.
    pub(crate) is_said: bool,
    /// The model did something on the line.
    pub(crate) touched: bool,
    /// A reply has named the line, whatever it did there.
    pub(crate) is_named: bool,
    /// Why the model leaves the line out.
    pub(crate) skipped: Option<Arc<str>>,
    /// The user has spoken since the pointer came to the line.
    pub(crate) is_answered: bool,
}

/// The result of an explicit line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Performed {
    /// Where the pointer goes from here.
    pub(crate) next: Node,
    /// What was assigned, to compare with what a model writes for the same line.
    pub(crate) assigned: Option<(Arc<str>, Value)>,
    /// The line inside at which the playbook has returned that the line called.
    pub(crate) left_at: Option<StepId>,
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
        }
    }

    pub(crate) fn core_mut(&mut self) -> &mut FrameCore {
        match self {
            Frame::Playbook(frame) => &mut frame.core,
            Frame::Plan(frame) => &mut frame.core,
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
        }
    }

    /// Where the call was made that it waits for. The pointer may have gone on to the line that needs the result; for
    /// whoever looks, the line that called is the one that runs.
    pub(crate) fn awaited_from(&self) -> Option<Location> {
        let core = self.core();
        let awaited =
            core.queue.first().filter(|call| matches!(core.phase, Phase::Draining(_)) && call.is_under_way())?;
        let from = awaited.place.location;
        match (self.location(), from) {
            // The heading: the line that called is gone.
            (Location::Line { playbook: here, .. }, Location::Line { playbook, step: Some(_) }) => {
                (here == playbook).then_some(from)
            }
            _ => None,
        }
    }

    /// The playbook that runs inside one of its lines, if one does.
    pub(crate) fn inside(&self) -> Option<&Inside> {
        self.playbook()?.inside.as_deref()
    }

    /// Where it is.
    pub(crate) fn place(&self, turn: Option<TurnId>) -> Place {
        let core = self.core();
        let (frame, depth) = self.inside().map_or((core.id, core.depth), |inside| (inside.id, core.depth + 1));
        Place { frame, agent: core.agent, location: self.location(), depth, turn }
    }
}

/// How many frames there are; what runs inside of frames counts as a frame.
pub(crate) fn n_frames(frames: &[Frame]) -> usize {
    frames.last().map_or(0, |frame| frame.core().depth + 1 + usize::from(frame.inside().is_some()))
}

/// In whose name the last of `frames` calls, and the playbook that does so: of a plan the one that it is called by.
pub(crate) fn caller_of(frames: &[Frame]) -> (AgentId, Option<PlaybookId>) {
    let agent = frames.last().map_or(AgentId(0), |frame| frame.core().agent);
    (agent, frames.iter().rev().find_map(|frame| Some(frame.playbook()?.executed())))
}

impl PlaybookFrame {
    pub(crate) fn new(core: FrameCore, playbook: PlaybookId) -> PlaybookFrame {
        PlaybookFrame {
            core,
            playbook,
            pointer: None,
            inside: None,
            here: LineState::default(),
            loops: Vec::new(),
            collected: Collected::default(),
            chat: Chat::default(),
            opening: Vec::new(),
            n_elided: 0,
            discards_value: false,
            elided_results: Vec::new(),
            told: Told::default(),
            work: LineWork::default(),
            reached: Vec::new(),
            told_left_out: Vec::new(),
            saying: None,
            n_failures: 0,
            n_unfinished: 0,
            n_idle_turns: 0,
            n_attempts: 0,
            delay_ms: 0,
        }
    }

    /// Its line was not done by what the interpreter did for it: the model is asked there.
    pub(crate) fn ask_model_again(&mut self) {
        self.here.performed = None;
        self.here.ask_model = true;
    }

    /// What runs inside is over for this frame: the pointer is on the line again that called it, whose work is done.
    pub(crate) fn close_inside(&mut self) -> Option<Inside> {
        let mut inside = self.inside.take()?;
        let Region { line, next, .. } = inside.region;
        let left_at = self.pointer.replace(line);
        self.here = LineState { performed: Some(Performed { next, assigned: None, left_at }), ..LineState::default() };
        self.work = std::mem::take(&mut inside.outer_work);
        Some(*inside)
    }

    /// The frame above as what runs inside this frame's line, in `region`. None: the two do not belong together.
    pub(crate) fn join_inside(&mut self, above: &mut PlaybookFrame, region: Region) -> Option<()> {
        let FrameOrigin::Call { call, .. } = above.core.origin else { return None };
        let call = self.core.queue.take(call)?;
        let core = &mut above.core;
        let (scope, queue) = (std::mem::take(&mut core.scope), std::mem::take(&mut core.queue));
        self.inside = Some(Box::new(Inside {
            id: core.id,
            region,
            origin: core.origin,
            call,
            scope,
            outer_work: std::mem::take(&mut self.work),
            n_turns_before: self.core.spent.turns,
            is_told: true,
        }));
        self.core.queue = queue;
        self.core.phase = std::mem::replace(&mut core.phase, Phase::Ready);
        self.core.watch = std::mem::take(&mut core.watch);
        self.pointer = above.pointer.map(|step| region.laid_out(step));
        self.here = std::mem::take(&mut above.here);
        self.work = std::mem::take(&mut above.work);
        self.work.map_lines(|step| Some(region.laid_out(step)));
        Some(())
    }

    /// What runs inside as a frame of its own, which this frame waits for.
    pub(crate) fn split_off_inside(&mut self) -> Option<PlaybookFrame> {
        self.inside.as_ref()?;
        let (pointer, here, mut work) =
            (self.location().step(), std::mem::take(&mut self.here), std::mem::take(&mut self.work));
        let inside = self.close_inside()?;
        work.map_lines(|step| inside.region.holds(step).then(|| inside.region.source(step)));
        let core = FrameCore {
            scope: inside.scope,
            queue: std::mem::take(&mut self.core.queue),
            phase: std::mem::replace(&mut self.core.phase, Phase::Draining(Then::GoOn)),
            watch: std::mem::take(&mut self.core.watch),
            ..FrameCore::new(inside.id, self.core.agent, inside.origin, self.core.depth + 1)
        };
        self.core.queue.push(inside.call);
        Some(PlaybookFrame { pointer, here, work, ..PlaybookFrame::new(core, inside.region.playbook) })
    }

    pub(crate) fn location(&self) -> Location {
        match &self.inside {
            Some(inside) => {
                let step = self.pointer.map(|step| inside.region.source(step));
                Location::Line { playbook: inside.region.playbook, step }
            }
            None => Location::Line { playbook: self.playbook, step: self.pointer },
        }
    }

    /// The playbook that the pointer is in.
    pub(crate) fn executed(&self) -> PlaybookId {
        self.inside.as_ref().map_or(self.playbook, |inside| inside.region.playbook)
    }

    /// Its scopes, nearest first.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.inside.iter().map(|inside| &inside.scope).chain([&self.core.scope])
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
