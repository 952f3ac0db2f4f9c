//! The machine as a value: all that it is a function of, and all that it keeps.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::program::{EntryId, OnLimit, Program};
use playhouse_lang::value::Map;

use crate::machine::ending::Ending;
use crate::machine::interpreter::Interpreter;
use crate::protocol::settings::Settings;
use crate::protocol::{FrameId, TimerId, Timestamp, ToolSignature, Wait};
use crate::turn::state::{ClosingTurn, Turn};

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
///
/// It wires what owns the state: the interpreter, and the turn whose reply is being read.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) interpreter: Interpreter,
    /// The reply that is being read; it belongs to the top frame.
    pub(crate) turn: Option<Turn>,
    /// Replies that are not wanted any more and have not ended yet.
    pub(crate) closing: Vec<ClosingTurn>,
    /// Runs while a reply is read above a frame with a limit of seconds.
    pub(crate) time_limit: Option<TimerId>,
    pub(crate) unwinding: Option<Unwinding>,
    /// Playbooks still to begin with, and the arguments for them.
    pub(crate) entries: VecDeque<EntryId>,
    pub(crate) ending: Ending,
    pub(crate) arguments: Map,
    pub(crate) blocked: Option<Wait>,
    /// What was waited for when a message was heard, and the last frame then: if nothing comes of it, the wait is no news.
    pub(super) heard: Option<(Wait, FrameId)>,
    pub(super) n_directives: u32,
    /// Since something came from the world: a model, a tool, the user, a timer.
    pub(super) n_idle_directives: u64,
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
