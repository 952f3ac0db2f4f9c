//! Which calls are tail calls (spec `execution.md`, "Fewer model calls").

use std::fmt;
use std::sync::Arc;

use crate::flow_graph::{EdgeKind, Node};
use crate::program::{Arm, CallSite, Playbook, PlaybookId, Program, Returned, Step, StepId, StepKind, Target, Type};
use crate::words::mentioned_names;

/// The condition that a line misses to be a tail call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTailCall {
    /// The line, or the action behind its condition, is no call.
    NotACall,
    /// A tool has no frame that could take this one's place.
    CallOfTool,
    /// What is called cannot be run.
    Unsupported,
    /// The condition in front of the call is in words, the model's to judge, and so is what follows from it.
    ConditionInWords,
    /// Other lines can follow.
    GoesOn,
    /// The result is kept in a variable, and nothing returns it.
    ResultKept(Arc<str>),
    /// The playbook, or the variable that gets the result, has a type which the callee does not declare.
    Type,
    /// A trigger of the agent waits for calls of it, and for somebody who takes the result.
    Watched,
    /// The playbook has limits, which hold for what it calls.
    OwnLimits,
    /// The variable that gets the result can be read by others than the `Return` of it.
    ResultRead(Arc<str>),
    /// A parameter or loop variable, which goes with the frame, can be read by what is called or by a trigger.
    NameNeeded(Arc<str>),
}

impl fmt::Display for NoTailCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoTailCall::NotACall => f.write_str("the line is not a call as a whole"),
            NoTailCall::CallOfTool => f.write_str("a tool is called, not a playbook"),
            NoTailCall::Unsupported => f.write_str("what is called is not supported"),
            NoTailCall::ConditionInWords => f.write_str("its condition is in words"),
            NoTailCall::GoesOn => f.write_str("other lines can follow"),
            NoTailCall::ResultKept(name) => write!(f, "its result is kept in ${name}, not returned"),
            NoTailCall::Type => f.write_str("the callee does not declare the type that the result must have"),
            NoTailCall::Watched => f.write_str("a trigger waits for calls of it"),
            NoTailCall::OwnLimits => f.write_str("the playbook has limits of its own"),
            NoTailCall::ResultRead(name) => write!(f, "${name} can be read by others than the return of it"),
            NoTailCall::NameNeeded(name) => write!(f, "${name} of this playbook can still be read afterwards"),
        }
    }
}

impl Program {
    /// The call that the line does, if nothing is left to do in its playbook afterwards: the whole line is the
    /// call or the `Return` of it, only the end follows in the graph (or only the `Return` of its result),
    /// nobody else reads the result, nobody reads what goes with the frame, and the types fit.
    ///
    /// What else has to hold (nothing else queued, no frame below with a variable of a name that this frame has
    /// set) is known only while the program runs. Computed once per line.
    ///
    /// # Errors
    /// The first condition that is missing.
    ///
    /// # Panics
    /// If `playbook` is of another program.
    pub fn tail_call(&self, playbook: PlaybookId, step: StepId) -> Result<&CallSite, NoTailCall> {
        let body = self.playbook(playbook);
        let line = body.steps.get(step.0 as usize).ok_or(NoTailCall::NotACall)?;
        let call = line.call().ok_or(NoTailCall::NotACall)?;
        let slot = self.reach.calls.verdict(playbook, step.0 as usize).ok_or(NoTailCall::NotACall)?;
        match slot.get_or_init(|| self.judge_tail_call(body, line, call).err()) {
            None => Ok(call),
            Some(missing) => Err(missing.clone()),
        }
    }

    fn judge_tail_call(&self, body: &Playbook, line: &Step, call: &CallSite) -> Result<(), NoTailCall> {
        let callee = self.playbook(call.playbook.ok_or(NoTailCall::CallOfTool)?);
        if self.unsupported(callee.id).is_some() {
            return Err(NoTailCall::Unsupported);
        }
        let is_branch = matches!(line.kind, StepKind::Branch { .. });
        let returned = matches!(line.kind.action(), StepKind::Return(_));
        for edge in body.flow.successors(line.id).iter().filter(|edge| !is_branch || edge.kind == EdgeKind::Then) {
            match (edge.to, &call.result) {
                (Node::End, Some(result)) if !returned => return Err(NoTailCall::ResultKept(result.name.clone())),
                (Node::End, _) => {}
                (Node::Step(next), Some(result)) if returns_just(body.step(next), &result.name) => {}
                (Node::Step(_), _) => return Err(NoTailCall::GoesOn),
            }
        }
        if let StepKind::Branch { arm, condition, .. } = &line.kind {
            if !line.children.is_empty() {
                return Err(NoTailCall::GoesOn);
            }
            if condition.is_none() && *arm != Arm::Else {
                return Err(NoTailCall::ConditionInWords);
            }
        }
        let result_type = call.result.as_ref().map(|result| result.ty).filter(|ty| *ty != Type::ANY);
        if [body.returns, result_type].into_iter().flatten().any(|ty| callee.returns != Some(ty)) {
            return Err(NoTailCall::Type);
        }
        if self.is_call_watched(body.agent, callee.id) {
            return Err(NoTailCall::Watched);
        }
        if body.limits.is_set() {
            return Err(NoTailCall::OwnLimits);
        }
        if let Some(result) = call.result.as_ref().filter(|result| self.is_read_by_others(body, result)) {
            return Err(NoTailCall::ResultRead(result.name.clone()));
        }
        match self.needed_name(body, callee) {
            Some(name) => Err(NoTailCall::NameNeeded(name)),
            None => Ok(()),
        }
    }

    /// Whether anything but this playbook, which owns it, can see the variable.
    fn is_read_by_others(&self, body: &Playbook, result: &Target) -> bool {
        let (agent, name) = (self.agent(body.agent), &result.name);
        self.outer_names().contains(&(body.agent, name.clone()))
            || !agent.triggers.naming(name).is_empty()
            || agent.variables.iter().any(|variable| variable.name == *name)
            || mentioned_names(&agent.description).contains(name)
    }

    /// A parameter or loop variable of `body` that is looked up below the call, or by a trigger. These do not
    /// join the others when the frame goes, so nobody would find them; all its other variables do.
    fn needed_name(&self, body: &Playbook, callee: &Playbook) -> Option<Arc<str>> {
        let loops = body.steps.iter().filter(|step| matches!(step.kind, StepKind::Loop(_)));
        let loop_variables = loops.flat_map(|step| step.kind.targets()).map(|target| &target.name);
        let mut bound = body.parameters.iter().map(|parameter| &parameter.name).chain(loop_variables).peekable();
        bound.peek()?;
        // Lookup does not cross agents: a parameter of another agent's playbook hides nothing.
        let hides = |name: &Arc<str>| {
            callee.agent == body.agent && callee.parameters.iter().any(|parameter| parameter.name == *name)
        };
        let below = self.names_below(callee.id);
        let is_needed = |name: &&Arc<str>| {
            let key = (body.agent, (*name).clone());
            !hides(name) && (below.contains(&key) || self.watched_names().contains(&key))
        };
        bound.find(is_needed).cloned()
    }
}

/// Whether a line is `Return $name` and nothing else.
fn returns_just(step: &Step, name: &str) -> bool {
    use crate::expr::ExprKind;
    if let StepKind::Return(Returned::Value(value)) = &step.kind
        && let ExprKind::Reference(reference) = &value.kind
    {
        return step.explicit && &*reference.name == name && reference.path.is_empty();
    }
    false
}
