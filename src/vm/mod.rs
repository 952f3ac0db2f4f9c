//! Program and events to effects: the machine. Pure and deterministic.
//!
//! Four kinds of things, four names: [`Machine::begin`] makes one; [`Machine::handle`] tells it what happened
//! in the world; [`Machine::advance`] lets it move by at most one directive; [`Machine::view`] looks at it.
//! Whoever drives it calls `advance` until it answers `Blocked` or `Finished`, and only then handles the next
//! event (spec `execution.md`, "The machine is pure").

pub mod fault;
pub mod limits;
pub mod protocol;
pub mod view;

use std::sync::Arc;

use crate::lang::program::{AgentId, PlaybookId, Program};
use crate::value::Map;
use crate::vm::limits::Settings;
use crate::vm::protocol::{Event, Progress, Timestamp, ToolSignature};
use crate::vm::view::View;

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
    pub entry: Option<PlaybookId>,
    /// Arguments of that playbook, by parameter name; without `entry` they become variables of the agent that
    /// the session begins with.
    pub arguments: Map,
    /// When.
    pub time: Timestamp,
}

/// One session's interpreter. A value: cloning it is a snapshot.
#[derive(Clone, Debug)]
pub struct Machine {
    begin: Begin,
}

impl Machine {
    /// A machine at its beginning: nothing has been done yet.
    pub fn begin(begin: Begin) -> Machine {
        Machine { begin }
    }

    /// Something happened in the world. To be called only when `advance` has answered `Blocked` or `Finished`.
    pub fn handle(&mut self, time: Timestamp, event: Event) {
        let _ = (time, event, &self.begin);
    }

    /// Moves by at most one directive.
    pub fn advance(&mut self) -> Progress {
        Progress::Blocked(protocol::Wait::User)
    }

    /// The whole state as plain data.
    pub fn view(&self) -> View {
        View {
            stack: Vec::new(),
            others: Vec::new(),
            wait: None,
            outcome: None,
            messages: Vec::new(),
            conversation: Vec::new(),
            counters: view::Counters::default(),
        }
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.begin.program
    }

    /// The system message of an agent: the same bytes for all its turns.
    pub fn system_message(&self, _agent: AgentId) -> Arc<str> {
        "".into()
    }
}
