//! The changes that make a mutant of a program.

use std::sync::Arc;

use crate::expr::Expr;
use crate::program::flow_graph::{Edge, EdgeKind, Node};
use crate::program::{
    AgentId, Entry, Loop, Playbook, PlaybookId, Program, StepId, StepKind, ToolList, TriggerId, TriggerKind,
    triggers_of,
};

/// One change of a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// The line does nothing, and what follows it follows.
    Drop(PlaybookId, StepId),
    /// The line has this condition.
    Condition(PlaybookId, StepId, Expr),
    /// The loop has so many rounds.
    Count(PlaybookId, StepId, Expr),
    /// The interpreter does at each of two lines what the other one says.
    Swap(PlaybookId, StepId, StepId),
    /// The loop is over after a round.
    Once(PlaybookId, StepId),
    /// The trigger never fires.
    DropTrigger(TriggerId),
    /// The trigger has this condition.
    TriggerCondition(TriggerId, Expr),
    /// What was denied by this name is not.
    Permit(ToolsOf, Arc<str>),
}

/// Whose list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolsOf {
    Program,
    Agent(AgentId),
    Playbook(PlaybookId),
}

impl ToolsOf {
    /// The list.
    pub(super) fn list(self, program: &Program) -> &ToolList {
        match self {
            ToolsOf::Program => &program.tools,
            ToolsOf::Agent(id) => &program.agent(id).tools,
            ToolsOf::Playbook(id) => &program.playbook(id).tools,
        }
    }
}

impl Change {
    /// Makes it.
    pub(super) fn make(&self, program: &mut Program) {
        match self {
            Change::Drop(id, step) => drop_line(playbook(program, *id), *step),
            Change::Condition(id, step, new) => {
                if let StepKind::Branch { condition, .. }
                | StepKind::Loop(Loop::While { condition } | Loop::Until { condition, .. }) =
                    kind(program, *id, *step)
                {
                    *condition = Some(new.clone());
                }
            }
            Change::Count(id, step, new) => {
                if let StepKind::Loop(Loop::Repeat { count } | Loop::Until { at_most: count, .. }) =
                    kind(program, *id, *step)
                {
                    *count = Some(new.clone());
                }
            }
            Change::Swap(id, one, other) => swap(playbook(program, *id), *one, *other),
            Change::Once(id, header) => end_after_a_round(playbook(program, *id), *header),
            Change::DropTrigger(id) => drop_trigger(program, *id),
            Change::TriggerCondition(id, new) => {
                playbook(program, id.playbook).triggers[id.index as usize].kind = TriggerKind::Condition(new.clone());
            }
            Change::Permit(of, name) => {
                let list = match of {
                    ToolsOf::Program => &mut program.tools,
                    ToolsOf::Agent(id) => &mut program.agents[id.0 as usize].tools,
                    ToolsOf::Playbook(id) => &mut playbook(program, *id).tools,
                };
                list.deny.retain(|denied| denied != name);
            }
        }
    }
}

fn playbook(program: &mut Program, id: PlaybookId) -> &mut Playbook {
    &mut program.playbooks[id.0 as usize]
}

fn kind(program: &mut Program, id: PlaybookId, step: StepId) -> &mut StepKind {
    &mut playbook(program, id).body.steps[step.0 as usize].kind
}

fn drop_line(playbook: &mut Playbook, step: StepId) {
    let after = playbook.flow.after(step);
    let line = &mut playbook.body.steps[step.0 as usize];
    if matches!(line.kind, StepKind::Return(_) | StepKind::End | StepKind::Break | StepKind::Continue) {
        playbook.body.flow.successors[step.0 as usize] = vec![Edge { kind: EdgeKind::Next, to: after }];
    }
    let written = std::mem::replace(&mut line.kind, StepKind::End);
    line.kind = StepKind::Gone(Box::new(written));
    // Nothing waits for what it has read, and nothing relies on what it has set.
    line.reads = Vec::new();
    line.writes = Vec::new();
    line.due_call = None;
}

fn swap(playbook: &mut Playbook, one: StepId, other: StepId) {
    let [one, other] = [one, other].map(|step| step.0 as usize);
    let Ok([one, other]) = playbook.body.steps.get_disjoint_mut([one, other]) else { return };
    std::mem::swap(&mut one.kind, &mut other.kind);
    std::mem::swap(&mut one.reads, &mut other.reads);
    std::mem::swap(&mut one.writes, &mut other.writes);
}

/// What leads back to the header leads out of the loop.
fn end_after_a_round(playbook: &mut Playbook, header: StepId) {
    let out = playbook.flow.follow(header, EdgeKind::Else);
    let inside: Vec<usize> = playbook
        .steps
        .iter()
        .filter(|line| playbook.is_nested(line.id, header))
        .map(|line| line.id.0 as usize)
        .collect();
    let flow = &mut playbook.body.flow;
    for line in inside {
        let ends = flow.successors[line].iter_mut().map(|edge| &mut edge.to).chain([&mut flow.after[line]]);
        ends.filter(|to| **to == Node::Step(header)).for_each(|to| *to = out);
    }
}

fn drop_trigger(program: &mut Program, id: TriggerId) {
    if let Entry::Beginning(entries) = &mut program.entry
        && matches!(program.playbooks[id.playbook.0 as usize].triggers[id.index as usize].kind, TriggerKind::Beginning)
    {
        entries.retain(|entry| *entry != id.playbook);
        return;
    }
    let trigger = &mut playbook(program, id.playbook).triggers[id.index as usize];
    let written = std::mem::replace(&mut trigger.kind, TriggerKind::Beginning);
    trigger.kind = TriggerKind::Gone(Box::new(written));
    let agent = program.playbook(id.playbook).agent;
    let index = triggers_of(program.agent(agent), &program.playbooks);
    program.agents[agent.0 as usize].triggers = index;
}
