//! Questions about a machine that change nothing: expressions in the sight of a frame.

use playhouse_lang::expr::Expr;
use playhouse_lang::value::Tracked;

use crate::Machine;
use crate::eval::{EvalFault, Lookup, eval, eval_condition};
use crate::frame::Frame;
use crate::protocol::FrameId;
use crate::scope::Scope;

/// The variables as a frame would read them if it stood on top of the stack.
struct Sight<'m> {
    machine: &'m Machine,
    /// The frame's depth; none: nothing is executed, and all that is left is looked at.
    depth: Option<usize>,
}

impl<'m> Sight<'m> {
    fn scopes(&self) -> Vec<&'m Scope> {
        let Some(depth) = self.depth else { return self.machine.others.iter().collect() };
        let top = &self.machine.frames[depth];
        let core = top.core();
        // A plan sees what it has set, and nobody else does (spec `plans.md`; DESIGN.md, "Of plans").
        if top.playbook().is_none() {
            return vec![&core.scope];
        }
        let below = self.machine.frames[..=depth].iter().rev().filter_map(Frame::playbook);
        let of_agent = below.filter(|frame| frame.core.agent == core.agent).map(|frame| &frame.core.scope);
        of_agent.chain(self.machine.others.get(core.agent.0 as usize)).collect()
    }
}

impl Lookup for Sight<'_> {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        self.scopes().into_iter().find_map(|scope| scope.get(name)).map(|variable| &variable.value)
    }
}

impl Machine {
    /// The value of an expression as a frame would read it (spec `execution.md`, "Variables"); without a frame, or
    /// with one that has gone, as the top frame would.
    ///
    /// # Errors
    /// A variable that is not set, a member that is not there, operands that do not fit.
    pub fn evaluate(&self, frame: Option<FrameId>, expr: &Expr) -> Result<Tracked, EvalFault> {
        eval(expr, &self.sight(frame))
    }

    /// Whether a condition holds in a frame's sight; only booleans are conditions.
    ///
    /// # Errors
    /// As [`Machine::evaluate`], and a value that is no boolean.
    pub fn holds(&self, frame: Option<FrameId>, condition: &Expr) -> Result<bool, EvalFault> {
        eval_condition(condition, &self.sight(frame))
    }

    /// The frame that keeps the variable which `frame` reads by this name; none: it is one of the others, or not set.
    pub fn keeper(&self, frame: FrameId, name: &str) -> Option<FrameId> {
        let depth = self.frames.iter().position(|known| known.core().id == frame)?;
        let top = &self.frames[depth];
        if top.playbook().is_none() {
            return Some(frame);
        }
        let agent = top.core().agent;
        let below = self.frames[..=depth].iter().rev().filter_map(Frame::playbook);
        let mut of_agent = below.filter(|frame| frame.core.agent == agent);
        of_agent.find(|frame| frame.core.scope.contains(name)).map(|frame| frame.core.id)
    }

    fn sight(&self, frame: Option<FrameId>) -> Sight<'_> {
        let depth = frame.and_then(|id| self.frames.iter().position(|frame| frame.core().id == id));
        Sight { machine: self, depth: depth.or(self.frames.len().checked_sub(1)) }
    }
}
