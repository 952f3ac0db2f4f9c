//! The machine as a value: all that it is a function of, and all that it keeps.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::analysis::Analysis;
use playhouse_lang::analysis::layout::Layouts;
use playhouse_lang::program::{EntryId, OnLimit, Program};
use playhouse_lang::value::Map;

use crate::machine::conversation::Conversation;
use crate::machine::frame::Frame;
use crate::machine::stack_view::StackView;
use crate::plan::want::WrittenPlan;
use crate::prompt::system::Prompts;
use crate::protocol::settings::Settings;
use crate::protocol::view::Counters;
use crate::protocol::{Outcome, Progress, TimerId, Timestamp, ToolSignature, Tracked, Wait};
use crate::triggers::watcher::Watcher;
use crate::turn::state::{ClosingTurn, Turn};
use crate::variables::scope::{Scope, Stamp};

/// All that a session begins with; the journal's first record holds it as text.
#[derive(Clone, Debug)]
pub struct Begin {
    /// The program.
    pub program: Arc<Program>,
    /// Bounds and switches.
    pub settings: Settings,
    /// The tools there are.
    pub tools: Arc<[ToolSignature]>,
    /// The playbook to begin with; none: the program's entry.
    pub entry: Option<EntryId>,
    /// Arguments by name: a name that is a parameter of the first playbook is bound to it; any other becomes a
    /// variable of its agent. Of a plan they are the first variables.
    pub arguments: Map,
    /// When.
    pub time: Timestamp,
}

/// One session's interpreter. A value: cloning it is a snapshot.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) program: Arc<Program>,
    /// What follows from the program.
    pub(crate) analysis: Arc<Analysis>,
    /// Its playbooks as they are executed under these settings.
    pub(crate) layouts: Arc<Layouts>,
    pub(crate) settings: Arc<Settings>,
    /// Whether any playbook of the program limits its frames; most programs need not look.
    pub(crate) has_frame_limits: bool,
    pub(crate) tools: Arc<[ToolSignature]>,
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) now: Timestamp,
    pub(crate) frames: Vec<Frame>,
    /// The session's other variables, by agent.
    pub(crate) globals: Vec<Scope>,
    /// The reply that is being read; it belongs to the top frame.
    pub(crate) turn: Option<Turn>,
    /// Replies that are not wanted any more and have not ended yet.
    pub(crate) closing: Vec<ClosingTurn>,
    /// Runs while a reply is read above a frame with a limit of seconds.
    pub(crate) time_limit: Option<TimerId>,
    pub(crate) unwinding: Option<Unwinding>,
    /// Playbooks still to begin with, and the arguments for them.
    pub(crate) entries: VecDeque<EntryId>,
    pub(crate) arguments: Map,
    /// What the last frame of the stack returned.
    pub(crate) last_value: Tracked,
    pub(crate) messages: VecDeque<Arc<str>>,
    pub(crate) conversation: Conversation,
    /// What the last reply said outside its lines.
    pub(crate) last_prose: String,
    /// Plans that a model wrote while the session ran; their numbers go on from those of the program's.
    pub(crate) written_plans: Vec<WrittenPlan>,
    pub(crate) outbox: VecDeque<Progress>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) blocked: Option<Wait>,
    pub(crate) n_directives: u32,
    /// Since something came from the world: a model, a tool, the user, a timer.
    pub(crate) n_idle_directives: u64,
    pub(crate) next: NextIds,
    pub(crate) stamp: Stamp,
    pub(crate) counters: Counters,
    pub(crate) watcher: Watcher,
}

impl Machine {
    /// What can be read of it.
    pub(crate) fn stack(&self) -> StackView<'_> {
        StackView {
            program: &self.program,
            analysis: &self.analysis,
            layouts: &self.layouts,
            settings: &self.settings,
            tools: &self.tools,
            prompts: &self.prompts,
            now: self.now,
            frames: &self.frames,
            globals: &self.globals,
            conversation: &self.conversation,
        }
    }
}

/// The numbers the next things get.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NextIds {
    pub(crate) turn: u64,
    pub(crate) call: u64,
    pub(crate) frame: u64,
    pub(crate) timer: u64,
    pub(crate) utterance: u64,
}

/// Frames are being dropped without results; running tools are awaited first.
#[derive(Clone, Debug)]
pub(crate) struct Unwinding {
    /// The lowest frame concerned, by depth.
    pub(super) depth: usize,
    pub(super) then: AfterUnwinding,
}

impl Unwinding {
    /// Whether a frame's own limit is the reason.
    pub(crate) fn is_of_limit(&self) -> bool {
        matches!(self.then, AfterUnwinding::Limit { .. })
    }
}

/// What follows when the tools have ended.
#[derive(Clone, Debug)]
pub(super) enum AfterUnwinding {
    /// `end`: the program is over.
    End { reason: Option<Arc<str>> },
    /// A frame's own limit was reached.
    Limit { what: String, on_limit: OnLimit },
}
