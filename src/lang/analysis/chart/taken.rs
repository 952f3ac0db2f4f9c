//! What a session took of a program, and a chart that shows it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::analysis::chart::flow::kind_of;
use crate::analysis::chart::types::{Chart, Count, Edge, EdgeKind, Node, Part};
use crate::analysis::diff::matching::Matching;
use crate::program::flow_graph;
use crate::program::{PlaybookId, StepId};

/// A frame of a session's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The playbook or plan.
    pub part: Part,
    /// The line of the playbook it stands on; none: its heading.
    pub line: Option<StepId>,
}

/// What one session took of its program, by the program's ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// The session's id.
    pub session: Arc<str>,
    /// Playbooks and plans that were entered, triggers that fired.
    pub parts: HashMap<Part, Count>,
    /// Calls: caller, line, callee. Without a line, or at one that says nothing of the callee, it is the model's own.
    pub calls: BTreeMap<(Part, Option<StepId>, Part), u64>,
    /// Lines that were reached.
    pub lines: HashMap<(PlaybookId, StepId), Count>,
    /// Which ways were gone from line to line.
    pub ways: HashMap<(PlaybookId, StepId, flow_graph::Edge), u64>,
    /// The frames at the end, the bottom one first.
    pub stack: Vec<StackFrame>,
}

impl Taken {
    /// The same of another text of the program, as far as its parts are still there.
    #[must_use]
    pub fn in_other(&self, matching: &Matching) -> Taken {
        let part = |part: &Part| part_in_other(matching, part);
        let line = |(playbook, step): (PlaybookId, StepId)| {
            Some((matching.playbook(playbook)?, matching.line(playbook, step)?))
        };
        let line_of = |owner: &Part, step: Option<StepId>| match (owner, step) {
            (Part::Playbook(playbook), Some(step)) => matching.line(*playbook, step),
            _ => None,
        };
        let way = |(playbook, step, edge): &(PlaybookId, StepId, flow_graph::Edge)| {
            let to = match edge.to.step() {
                Some(to) => flow_graph::Node::Step(matching.line(*playbook, to)?),
                None => flow_graph::Node::End,
            };
            let (playbook, step) = line((*playbook, *step))?;
            Some((playbook, step, flow_graph::Edge { to, ..*edge }))
        };
        let mut calls = BTreeMap::new();
        for ((caller, step, callee), n) in &self.calls {
            if let (Some(from), Some(to)) = (part(caller), part(callee)) {
                *calls.entry((from, line_of(caller, *step), to)).or_default() += n;
            }
        }
        Taken {
            session: self.session.clone(),
            parts: self.parts.iter().filter_map(|(known, count)| Some((part(known)?, *count))).collect(),
            calls,
            lines: self.lines.iter().filter_map(|(known, count)| Some((line(*known)?, *count))).collect(),
            ways: self.ways.iter().filter_map(|(known, n)| Some((way(known)?, *n))).collect(),
            // A frame that is gone leaves those around it as they are.
            stack: self
                .stack
                .iter()
                .filter_map(|frame| {
                    Some(StackFrame { part: part(&frame.part)?, line: line_of(&frame.part, frame.line) })
                })
                .collect(),
        }
    }
}

fn part_in_other(matching: &Matching, part: &Part) -> Option<Part> {
    match part {
        Part::Agent(agent) => matching.agent(*agent).map(Part::Agent),
        Part::Playbook(playbook) => matching.playbook(*playbook).map(Part::Playbook),
        Part::Plan(plan) => matching.plan(*plan).map(Part::Plan),
        Part::Trigger(trigger) => matching.trigger(*trigger).map(Part::Trigger),
        Part::Tool(_) => Some(part.clone()),
        Part::Begin | Part::Line(_) | Part::End => None,
    }
}

impl Chart {
    /// The same with what a session took of it. Calls that the model made of its own accord become edges.
    #[must_use]
    pub fn with_taken(mut self, taken: &Taken) -> Chart {
        self.session = Some(taken.session.clone());
        match self.flow {
            Some(playbook) => self.take_lines(taken, playbook),
            None => self.take_parts(taken),
        }
        self
    }

    fn take_parts(&mut self, taken: &Taken) {
        for node in self.nodes.iter_mut().filter(|node| !node.is_frame()) {
            let mut count = taken.parts.get(&node.part).copied().unwrap_or_default();
            if matches!(node.part, Part::Tool(_)) {
                count.n = taken.calls.iter().filter(|((_, _, callee), _)| *callee == node.part).map(|(_, n)| n).sum();
            }
            node.taken = Some(count);
            let frames = taken.stack.iter().enumerate().filter(|(_, frame)| frame.part == node.part);
            node.frames = frames.map(|(depth, _)| depth).collect();
        }
        for edge in &mut self.edges {
            let from = &self.nodes[edge.from];
            edge.n_taken = match (edge.kind, &from.part) {
                (EdgeKind::Call | EdgeKind::TailCall | EdgeKind::InlinedCall, _) => Some(0),
                (EdgeKind::Trigger, Part::Trigger(_)) => from.n_taken(),
                (EdgeKind::Trigger | EdgeKind::Limit | EdgeKind::Next | EdgeKind::Then | EdgeKind::Else, _) => None,
            };
        }
        for ((caller, step, callee), n) in &taken.calls {
            self.take_call(caller, *step, callee, *n);
        }
        self.edges.sort_by_key(|edge| edge.from);
    }

    /// A call counts at the edge of its line, else at one between the same nodes.
    fn take_call(&mut self, caller: &Part, step: Option<StepId>, callee: &Part, n: u64) {
        let find = |part: &Part| self.nodes.iter().position(|node| node.part == *part);
        let (Some(from), Some(to)) = (find(caller), find(callee)) else { return };
        let is_between = |edge: &Edge| edge.from == from && edge.to == to && edge.n_taken.is_some();
        let of_line =
            self.edges.iter().position(|edge| is_between(edge) && step.is_some_and(|s| edge.lines.contains(&s)));
        let index = of_line.or_else(|| self.edges.iter().position(is_between)).unwrap_or_else(|| {
            let label = "by the model".to_owned();
            self.edges.push(Edge {
                from,
                to,
                kind: EdgeKind::Call,
                label,
                lines: step.into_iter().collect(),
                n_taken: None,
            });
            self.edges.len() - 1
        });
        *self.edges[index].n_taken.get_or_insert(0) += n;
    }

    fn take_lines(&mut self, taken: &Taken, playbook: PlaybookId) {
        let own = taken.stack.iter().enumerate().filter(|(_, frame)| frame.part == Part::Playbook(playbook));
        let entered = taken.parts.get(&Part::Playbook(playbook)).copied().unwrap_or_default();
        for node in &mut self.nodes {
            let line = match node.part {
                Part::Line(step) => Some(step),
                Part::Begin => None,
                Part::Agent(_) | Part::Playbook(_) | Part::Tool(_) | Part::Plan(_) | Part::Trigger(_) | Part::End => {
                    continue;
                }
            };
            let count = |step| taken.lines.get(&(playbook, step)).copied().unwrap_or_default();
            node.taken = Some(line.map_or(entered, count));
            node.frames = own.clone().filter(|(_, frame)| frame.line == line).map(|(depth, _)| depth).collect();
        }
        let nodes = &self.nodes;
        let n_gone = |edge: &Edge| {
            let step = line_of(&nodes[edge.from])?;
            let is_it =
                |way: &flow_graph::Edge| kind_of(way.kind).0 == edge.kind && way.to.step() == line_of(&nodes[edge.to]);
            let gone = taken.ways.iter().filter(|((of, from, way), _)| *of == playbook && *from == step && is_it(way));
            Some(gone.map(|(_, n)| n).sum())
        };
        for edge in &mut self.edges {
            edge.n_taken = Some(n_gone(edge).unwrap_or(entered.n));
        }
    }
}

fn line_of(node: &Node) -> Option<StepId> {
    if let Part::Line(step) = node.part { Some(step) } else { None }
}
