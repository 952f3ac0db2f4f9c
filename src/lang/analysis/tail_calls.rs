//! Which calls are tail calls (spec `execution.md`, "Fewer model calls").

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::call_graph::{AgentName, Lookups};
use crate::english::phrase::mentioned_names;
use crate::expr::ExprKind;
use crate::program::flow_graph::Node;
use crate::program::{Playbook, PlaybookId, Program, Returned, Step, StepKind, Target, Type};

/// The condition that a line misses to be a tail call.
#[derive(Clone, Debug, PartialEq, Eq, strum::Display)]
#[allow(missing_docs, reason = "the words of a reason say what it is")]
pub enum NoTailCall {
    #[strum(to_string = "the line is not a call as a whole")]
    NotACall,
    /// A tool has no frame that could take this one's place.
    #[strum(to_string = "a tool is called, not a playbook")]
    CallOfTool,
    #[strum(to_string = "the callee is not supported")]
    Unsupported,
    /// Nobody expects such a line to be a tail call: it does not end its playbook.
    #[strum(to_string = "other lines can follow")]
    GoesOn,
    #[strum(to_string = "its result is kept in ${0}, not returned")]
    ResultKept(Arc<str>),
    /// The type is that of the playbook, or of the variable that gets the result.
    #[strum(to_string = "the callee does not declare the type that the result must have")]
    Type,
    /// The trigger is of the agent, and somebody must take the result.
    #[strum(to_string = "a trigger waits for calls of it")]
    Watched,
    #[strum(to_string = "the playbook has limits of its own")]
    OwnLimits,
    /// The variable that gets the result.
    #[strum(to_string = "${0} can be read elsewhere than in its return")]
    ResultRead(Arc<str>),
    /// A parameter or loop variable, which goes with the frame; what is called or a trigger can read it.
    #[strum(to_string = "${0} of this playbook can still be read afterwards")]
    NameNeeded(Arc<str>),
}

/// Per line of a playbook why it is no tail call, if it is none.
pub(super) fn judge_lines(program: &Program, lookups: &Lookups, playbook: PlaybookId) -> Vec<Option<NoTailCall>> {
    let judge = Judge::new(program, lookups, program.playbook(playbook));
    judge.body.steps.iter().map(|line| judge.line(line).err()).collect()
}

/// What is asked about every line of a playbook.
struct Judge<'a> {
    program: &'a Program,
    lookups: &'a Lookups,
    body: &'a Playbook,
    described: BTreeSet<Arc<str>>,
    /// Parameters and loop variables. These do not join the others when the frame goes, so nobody would find them; all
    /// its other variables do.
    bound: Vec<AgentName>,
}

impl<'a> Judge<'a> {
    fn new(program: &'a Program, lookups: &'a Lookups, body: &'a Playbook) -> Self {
        let loops = body.steps.iter().filter(|step| matches!(step.kind, StepKind::Loop(_)));
        let loop_variables = loops.flat_map(|step| step.kind.targets()).map(|target| &target.name);
        let bound = body.parameters.iter().map(|parameter| &parameter.name).chain(loop_variables);
        Judge {
            program,
            lookups,
            body,
            described: mentioned_names(&program.agent(body.agent).description),
            bound: bound.map(|name| (body.agent, name.clone())).collect(),
        }
    }

    fn line(&self, line: &Step) -> Result<(), NoTailCall> {
        let (program, body) = (self.program, self.body);
        let call = line.call().ok_or(NoTailCall::NotACall)?;
        let callee = program.playbook(call.playbook.ok_or(NoTailCall::CallOfTool)?);
        if program.unsupported(callee.id).is_some() {
            return Err(NoTailCall::Unsupported);
        }
        let returned = matches!(line.kind, StepKind::Return(_));
        for edge in body.flow.successors(line.id) {
            match (edge.to, &call.result) {
                (Node::End, Some(result)) if !returned => return Err(NoTailCall::ResultKept(result.name.clone())),
                (Node::End, _) => {}
                (Node::Step(next), Some(result)) if returns_just(body.step(next), &result.name) => {}
                (Node::Step(_), _) => return Err(NoTailCall::GoesOn),
            }
        }
        let result_type = call.result.as_ref().map(|result| result.ty).filter(|ty| *ty != Type::ANY);
        if [body.returns, result_type].into_iter().flatten().any(|ty| callee.returns != Some(ty)) {
            return Err(NoTailCall::Type);
        }
        if program.is_call_watched(body.agent, callee.id) {
            return Err(NoTailCall::Watched);
        }
        if body.limits.is_set() {
            return Err(NoTailCall::OwnLimits);
        }
        if let Some(result) = call.result.as_ref().filter(|result| self.is_read_by_others(result)) {
            return Err(NoTailCall::ResultRead(result.name.clone()));
        }
        match self.bound.iter().find(|name| self.is_needed(callee, name)) {
            Some((_, name)) => Err(NoTailCall::NameNeeded(name.clone())),
            None => Ok(()),
        }
    }

    /// Whether anything but this playbook, which owns it, can see the variable.
    fn is_read_by_others(&self, result: &Target) -> bool {
        let (agent, name) = (self.program.agent(self.body.agent), &result.name);
        self.lookups.anywhere(&(agent.id, name.clone()))
            || !agent.triggers.naming(name).is_empty()
            || agent.variables.iter().any(|variable| variable.name == *name)
            || self.described.contains(name)
    }

    /// Whether a parameter or loop variable is looked up below the call, or by a trigger.
    fn is_needed(&self, callee: &Playbook, name: &AgentName) -> bool {
        // Lookup does not cross agents: a parameter of another agent's playbook hides nothing.
        let hides = callee.agent == name.0 && callee.parameters.iter().any(|parameter| parameter.name == name.1);
        !hides && (self.lookups.below(callee.id, name) || self.lookups.by_triggers(name))
    }
}

/// Whether a line is `Return $name` and nothing else.
fn returns_just(step: &Step, name: &str) -> bool {
    if let StepKind::Return(Returned::Value(value)) = &step.kind
        && let ExprKind::Reference(reference) = &value.kind
    {
        return step.explicit && &*reference.name == name && reference.path.is_empty();
    }
    false
}
