//! A chart while it is made: each part has one node, and calls from one node to another are one edge of a kind.

use std::collections::HashMap;
use std::sync::Arc;

use crate::analysis::chart::types::{Chart, Edge, EdgeKind, Node, Part};
use crate::diagnostic::wording::one_line;
use crate::program::{AgentId, PlaybookId, Program, StepId};
use crate::span::Span;

pub(super) struct Builder<'p> {
    pub(super) program: &'p Program,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    known: HashMap<Part, usize>,
}

impl<'p> Builder<'p> {
    pub(super) fn new(program: &'p Program) -> Builder<'p> {
        Builder { program, nodes: Vec::new(), edges: Vec::new(), known: HashMap::new() }
    }

    /// The node of a part; it is made if it is not there yet.
    pub(super) fn node(&mut self, part: Part, name: &str, span: Option<Span>) -> &mut Node {
        let index = *self.known.entry(part.clone()).or_insert_with(|| {
            self.nodes.push(Node {
                id: id_of(self.program, &part),
                part,
                name: one_line(name),
                detail: String::new(),
                about: String::new(),
                inside: None,
                place: span.map(|span| self.program.sources.file_range(span)),
                is_explicit: false,
                is_branching: false,
                taken: None,
                frames: Vec::new(),
            });
            self.nodes.len() - 1
        });
        &mut self.nodes[index]
    }

    pub(super) fn find(&self, part: &Part) -> Option<usize> {
        self.known.get(part).copied()
    }

    /// What a name means when a playbook of `agent` says it, or a plan: a playbook, a plan, else a tool.
    pub(super) fn meaning(&self, agent: Option<AgentId>, name: &str) -> Part {
        let by_plan = || self.program.playbooks_named(name).next().map(|found| found.id);
        let playbook = agent.map_or_else(by_plan, |agent| self.program.find_playbook(agent, name));
        match (playbook, self.program.find_plan(name)) {
            (Some(playbook), _) => Part::Playbook(playbook),
            (None, Some(plan)) => Part::Plan(plan),
            (None, None) => Part::Tool(name.into()),
        }
    }

    /// The same, as a node.
    pub(super) fn callable(&mut self, agent: Option<AgentId>, name: &str, span: Span) -> Part {
        let part = self.meaning(agent, name);
        if matches!(part, Part::Tool(_)) {
            self.node(part.clone(), name, Some(span)).about = format!("the tool {name}");
        }
        part
    }

    /// Leads from one part to another, if both have nodes. Words that stand there already are not written twice.
    pub(super) fn edge(&mut self, from: &Part, to: &Part, kind: EdgeKind, label: &str, line: Option<StepId>) {
        let (Some(from), Some(to)) = (self.find(from), self.find(to)) else { return };
        let known = self.edges.iter().rposition(|edge| edge.from == from && edge.to == to && edge.kind == kind);
        let index = known.unwrap_or_else(|| {
            let (label, lines) = (String::new(), Default::default());
            self.edges.push(Edge { from, to, kind, label, lines, n_taken: None });
            self.edges.len() - 1
        });
        let edge = &mut self.edges[index];
        edge.lines.extend(line);
        if !label.is_empty() && !edge.label.split(", ").any(|known| known == label) {
            let comma = if edge.label.is_empty() { "" } else { ", " };
            edge.label.push_str(&format!("{comma}{label}"));
        }
    }

    /// A tool that one agent's playbooks and triggers alone use stands in the frame of that agent.
    pub(super) fn frame_tools(&mut self) {
        for index in 0..self.nodes.len() {
            if !matches!(self.nodes[index].part, Part::Tool(_)) {
                continue;
            }
            let around = self.edges.iter().filter_map(|edge| match index {
                _ if edge.to == index => Some(self.nodes[edge.from].inside),
                _ if edge.from == index => Some(self.nodes[edge.to].inside),
                _ => None,
            });
            let mut users: Vec<Option<usize>> = around.collect();
            users.dedup();
            if let [only] = users[..] {
                self.nodes[index].inside = only;
            }
        }
    }

    pub(super) fn finish(mut self, title: &str, flow: Option<PlaybookId>) -> Chart {
        self.edges.sort_by_key(|edge| edge.from);
        Chart { title: title.to_owned(), nodes: self.nodes, edges: self.edges, flow, session: None }
    }
}

fn id_of(program: &Program, part: &Part) -> String {
    let kind: &'static str = part.into();
    let name: Arc<str> = match part {
        Part::Agent(agent) => program.agent(*agent).name.clone(),
        Part::Playbook(playbook) => program.unique_name(*playbook).into(),
        Part::Tool(name) => name.clone(),
        Part::Plan(plan) => program.plan(*plan).map_or_else(|| "".into(), |plan| plan.name.clone()),
        Part::Trigger(trigger) => program.unique_trigger_name(*trigger).into(),
        Part::Begin | Part::End => return kind.to_owned(),
        Part::Line(_) => "".into(),
    };
    format!("{kind}:{name}")
}
