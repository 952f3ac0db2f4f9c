//! The call graph: recursion, and what the playbooks below a call look up.

use std::collections::HashSet;
use std::sync::Arc;

use crate::analysis::reachable::Reachable;
use crate::graph::strongly_connected;
use crate::program::{AgentId, Mode, OnLimit, Playbook, PlaybookId, Program, Step, StepKind, TriggerKind};

/// Who calls whom, as nodes of a graph: all playbooks from a number on, then all plans together, for one plan may
/// call another.
pub(super) struct Calls<'a> {
    plans: HashSet<&'a str>,
    first: usize,
    n_playbooks: usize,
}

impl<'a> Calls<'a> {
    pub(super) fn new(program: &'a Program, first: usize) -> Self {
        let plans = program.plans.iter().map(|plan| &*plan.name).collect();
        Calls { plans, first, n_playbooks: program.playbooks.len() }
    }

    /// The node of what a line calls, if that is a playbook or a plan.
    pub(super) fn callee(&self, step: &Step) -> Option<usize> {
        let call = step.call()?;
        match call.playbook {
            Some(playbook) => Some(self.first + playbook.0 as usize),
            None => self.plans.contains(&*call.callee).then_some(self.plans()),
        }
    }

    /// The node of all plans.
    pub(super) fn plans(&self) -> usize {
        self.first + self.n_playbooks
    }

    /// Of each playbook, then of the plans, what they call.
    pub(super) fn edges(&self, program: &Program) -> Vec<Vec<usize>> {
        let of_playbooks = program
            .playbooks
            .iter()
            .map(|playbook| playbook.steps.iter().filter_map(|step| self.callee(step)).collect());
        let of_plans = program.called_by_plans.iter().map(|id| self.first + id.0 as usize).collect();
        of_playbooks.chain([of_plans]).collect()
    }
}

/// A name as the playbooks of an agent look it up.
pub type AgentName = (AgentId, Arc<str>);

/// The names that playbooks look up outside of their own frames.
#[derive(Clone, Debug)]
pub(super) struct Lookups {
    reachable: Reachable<AgentName>,
    /// The node of all triggers; that of all playbooks comes after it.
    triggers: usize,
}

impl Lookups {
    pub(super) fn new(program: &Program) -> Lookups {
        let calls = Calls::new(program, 0);
        let mut edges = calls.edges(program);
        let first_agent = edges.len();
        for playbook in &program.playbooks {
            let callees = &mut edges[playbook.id.0 as usize];
            // The model chooses among all of them.
            callees.extend((playbook.mode == Mode::Goal).then_some(first_agent + playbook.agent.0 as usize));
            if let OnLimit::Call(name) = &playbook.limits.on_limit {
                callees.extend(program.find_playbook(playbook.agent, name).map(|callee| callee.0 as usize));
            }
        }
        for agent in &program.agents {
            edges.push(agent.playbooks.iter().map(|id| id.0 as usize).chain([calls.plans()]).collect());
        }
        // A beginning has been when the first line is done.
        let firing = || {
            program
                .playbooks
                .iter()
                .filter(|playbook| playbook.triggers.iter().any(|t| t.kind != TriggerKind::Beginning))
        };
        let triggers = edges.len();
        edges.push(firing().map(|playbook| playbook.id.0 as usize).collect());
        edges.push((0..program.playbooks.len()).collect());
        let items = |node: usize| -> Vec<AgentName> {
            if let Some(playbook) = program.playbooks.get(node) {
                return playbook.outer.iter().map(|name| (playbook.agent, name.clone())).collect();
            }
            let watched = firing().filter(|_| node == triggers);
            let mentioned =
                watched.flat_map(|p| p.triggers.iter().flat_map(|t| &t.names).map(|n| (p.agent, n.clone())));
            mentioned.collect()
        };
        let reachable = Reachable::new(&edges, |node| items(node).into_iter());
        Lookups { reachable, triggers }
    }

    /// Whether a playbook, or what it can call, looks the name up.
    pub(super) fn below(&self, playbook: PlaybookId, name: &AgentName) -> bool {
        self.reachable.contains(playbook.0 as usize, name)
    }

    /// Whether a trigger, or a playbook that one calls, looks the name up: at any time, wherever the session is.
    pub(super) fn by_triggers(&self, name: &AgentName) -> bool {
        self.reachable.contains(self.triggers, name)
    }

    /// Whether any playbook does.
    pub(super) fn anywhere(&self, name: &AgentName) -> bool {
        self.reachable.contains(self.triggers + 1, name)
    }

    pub(super) fn n_runs(&self) -> usize {
        self.reachable.n_runs()
    }
}

/// The circles of skills that no line gets out of: each has the next one called, in words, before a line of its own is done to
/// which it comes in any case. Of each the skills with these lines, from the one that stands first.
pub(super) fn endless_circles(program: &Program) -> Vec<Vec<(&Playbook, &Step)>> {
    let due = |playbook: &Playbook, step: &Step| {
        if is_certain(playbook, step) { due_callee(program, playbook, step) } else { None }
    };
    let of_lines = |playbook: &Playbook| -> Vec<usize> {
        playbook.steps.iter().filter_map(|step| due(playbook, step)).map(|id| id.0 as usize).collect()
    };
    let edges: Vec<Vec<usize>> = program.playbooks.iter().map(of_lines).collect();
    let groups = strongly_connected(&edges);
    let mut seen = HashSet::new();
    let mut circles = Vec::new();
    for playbook in &program.playbooks {
        let group = groups[playbook.id.0 as usize];
        if !seen.insert(group) {
            continue;
        }
        // From one to the first that it calls, until one is there twice.
        let mut way: Vec<(&Playbook, &Step)> = Vec::new();
        let mut at = playbook;
        let begins = loop {
            if let Some(begins) = way.iter().position(|(known, _)| known.id == at.id) {
                break Some(begins);
            }
            let next = at.steps.iter().find_map(|step| {
                let callee = due(at, step).filter(|callee| groups[callee.0 as usize] == group)?;
                Some((step, callee))
            });
            let Some((step, callee)) = next else { break None };
            way.push((at, step));
            at = program.playbook(callee);
        };
        circles.extend(begins.map(|begins| way.split_off(begins)));
    }
    circles
}

/// What a line in words calls before it is done, if that is a playbook.
fn due_callee(program: &Program, playbook: &Playbook, step: &Step) -> Option<PlaybookId> {
    // Which one a call means was found out when it was read.
    let read = step.call().and_then(|call| call.playbook);
    let due = step.due_call.as_deref()?;
    read.or_else(|| program.find_playbook(playbook.agent, due))
}

/// Whether who runs a skill comes to a line in any case. Other playbooks have lines that return before it.
fn is_certain(playbook: &Playbook, step: &Step) -> bool {
    let is_plain = |step: &Step| !matches!(step.kind, StepKind::Branch { .. } | StepKind::Loop(_));
    let mut around = std::iter::successors(Some(step), |step| step.parent.map(|parent| playbook.step(parent)));
    playbook.skill.is_some() && playbook.mode == Mode::Steps && around.all(is_plain)
}

/// Per playbook the number of the cycle of calls it belongs to; playbooks with one number call each other, directly
/// or not. One that is in no cycle has a number of its own.
pub(super) fn call_cycles(program: &Program) -> Vec<usize> {
    let mut edges = Calls::new(program, 0).edges(program);
    for playbook in &program.playbooks {
        let due = playbook.steps.iter().filter_map(|step| due_callee(program, playbook, step));
        edges[playbook.id.0 as usize].extend(due.map(|callee| callee.0 as usize));
    }
    strongly_connected(&edges)
}
