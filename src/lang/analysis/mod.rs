//! What follows from a whole program: names, calls, and findings.

mod call_graph;
pub mod chart;
pub(crate) mod checks;
pub mod diff;
pub mod explain;
pub mod inlining;
pub mod layout;
pub mod mutate;
mod names;
mod reachable;
pub mod tail_calls;

use std::borrow::Borrow;
use std::sync::{Arc, OnceLock};

pub use crate::analysis::call_graph::AgentName;
use crate::analysis::call_graph::Lookups;
use crate::analysis::inlining::NotInlined;
use crate::analysis::names::Mentions;
pub use crate::analysis::names::ReachableNames;
use crate::analysis::tail_calls::NoTailCall;
use crate::program::flow_graph::Node;
use crate::program::{CallSite, PlaybookId, Program, StepId};

/// The code of the finding that skills call each other in a circle without an end.
pub const CALL_CIRCLE: &str = "call-circle";

/// What is known about a program beside its text, computed when it is first asked for. All of it takes time and memory
/// in proportion to the program's length.
///
/// Every question panics if an id is of another program.
#[derive(Clone, Debug)]
pub struct Analysis<P = Arc<Program>> {
    program: P,
    mentions: OnceLock<Mentions>,
    lookups: OnceLock<Lookups>,
    /// Per playbook and line why it is no tail call, if it is none.
    tail_calls: Vec<OnceLock<Vec<Option<NoTailCall>>>>,
    has_frame_limits: bool,
}

impl<P: Borrow<Program>> Analysis<P> {
    /// About `program`; hardly anything is computed yet.
    pub fn new(program: P) -> Self {
        let playbooks = &program.borrow().playbooks;
        let tail_calls = vec![OnceLock::new(); playbooks.len()];
        let has_frame_limits = playbooks.iter().any(|playbook| playbook.limits.is_set());
        Analysis { program, mentions: OnceLock::new(), lookups: OnceLock::new(), tail_calls, has_frame_limits }
    }

    /// What it is about.
    pub fn program(&self) -> &Program {
        self.program.borrow()
    }

    /// What it was about.
    pub fn into_program(self) -> P {
        self.program
    }

    /// Whether any playbook limits its frames; most programs need not look.
    pub fn has_frame_limits(&self) -> bool {
        self.has_frame_limits
    }

    /// The names mentioned by any line that can be reached from `from` in `playbook`, that line included, and by
    /// the whole bodies and triggers of the playbooks called there.
    pub fn names_from(&self, playbook: PlaybookId, from: Node) -> ReachableNames<'_> {
        self.mentions().from(self.program(), playbook, from)
    }

    /// The names of a playbook's parameters, whole body and triggers, and of all it calls.
    pub fn names_of(&self, playbook: PlaybookId) -> ReachableNames<'_> {
        self.mentions().of(playbook)
    }

    /// Whether `playbook`, or what it can call, looks a name up outside of its own frame.
    pub fn looks_up(&self, playbook: PlaybookId, name: &AgentName) -> bool {
        self.lookups().below(playbook, name)
    }

    /// Whether a trigger, or a playbook that one calls, looks a name up: at any time, wherever the session is.
    pub fn is_watched(&self, name: &AgentName) -> bool {
        self.lookups().by_triggers(name)
    }

    /// The call that the line does, if nothing is left to do in its playbook afterwards: the whole line is the
    /// call or the `Return` of it, only the end follows in the graph (or only the `Return` of its result),
    /// nobody else reads the result, nobody reads what goes with the frame, and the types fit.
    ///
    /// What else has to hold (nothing else queued, no frame below with a variable of a name that this frame has
    /// set) is known only while the program runs.
    ///
    /// # Errors
    /// The first condition that is missing.
    pub fn tail_call(&self, playbook: PlaybookId, step: StepId) -> Result<&CallSite, NoTailCall> {
        let body = self.program().playbook(playbook);
        let call = body.steps.get(step.0 as usize).and_then(|line| line.call()).ok_or(NoTailCall::NotACall)?;
        let judge = || tail_calls::judge_lines(self.program(), self.lookups(), playbook);
        let verdicts = self.tail_calls[playbook.0 as usize].get_or_init(judge);
        verdicts.get(step.0 as usize).cloned().flatten().map_or(Ok(call), Err)
    }

    /// The playbook whose lines may be shown inside the line that calls it, if it has at most `inline_lines`
    /// lines (0: none). Cheap: nothing is remembered.
    ///
    /// # Errors
    /// The first condition that is missing.
    pub fn inlining(&self, playbook: PlaybookId, step: StepId, inline_lines: usize) -> Result<PlaybookId, NotInlined> {
        inlining::judge_line(self.program(), playbook, step, inline_lines)
    }

    /// How many runs of names are kept: a measure of the memory. At most 64 for each line and playbook, mostly one.
    pub fn n_kept(&self) -> usize {
        self.mentions.get().map_or(0, Mentions::n_runs) + self.lookups.get().map_or(0, Lookups::n_runs)
    }

    fn mentions(&self) -> &Mentions {
        self.mentions.get_or_init(|| Mentions::new(self.program()))
    }

    fn lookups(&self) -> &Lookups {
        self.lookups.get_or_init(|| Lookups::new(self.program()))
    }
}
