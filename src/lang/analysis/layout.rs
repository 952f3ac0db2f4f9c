//! A playbook as it is executed: its lines, and those of the playbooks that are shown inside them, in one graph
//! (spec `execution.md`, "Fewer model calls").
//!
//! The ends of a region lead to what follows the call, so that whoever follows the graph needs to know nothing of calls;
//! where a way leads out of a region, a frame of its own ends. Into a region leads the call, when the interpreter makes
//! it: a call that is left to the model is an ordinary one, and leads past the region.

use std::sync::{Arc, OnceLock};

use crate::analysis::inlining;
use crate::program::flow_graph::{Edge, EdgeKind, Node};
use crate::program::{Body, Playbook, PlaybookId, Program, Step, StepId};

/// A playbook with the lines of those shown inside it. Its own lines keep their ids; those of the regions follow them.
#[derive(Clone, Debug)]
pub struct Layout {
    body: Body,
    regions: Vec<Region>,
    /// Per line, its place from top to bottom.
    positions: Vec<u32>,
}

/// A playbook that is shown inside a line.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The line that calls it.
    pub line: StepId,
    /// The playbook.
    pub playbook: PlaybookId,
    /// What follows the call, and so the region.
    pub next: Node,
    /// The first of its lines; the others follow.
    first: StepId,
    n_lines: u32,
}

impl Region {
    /// Whether a line is one of the region's.
    pub fn holds(&self, step: StepId) -> bool {
        (self.first.0..self.first.0 + self.n_lines).contains(&step.0)
    }

    /// Where the call leads.
    pub fn entry(&self) -> Node {
        Node::Step(self.first)
    }

    /// The line as its own playbook knows it.
    pub fn source(&self, step: StepId) -> StepId {
        StepId(step.0 - self.first.0)
    }

    /// A line of the playbook as it stands in the layout.
    pub fn laid_out(&self, source: StepId) -> StepId {
        StepId(self.first.0 + source.0)
    }
}

impl Layout {
    /// Lays a playbook out; none: nothing is shown inside it, and it is executed as it stands.
    pub(super) fn new(program: &Program, id: PlaybookId, inline_lines: usize) -> Option<Layout> {
        let playbook = program.playbook(id);
        let mut regions: Vec<Region> = Vec::new();
        let mut n_lines = playbook.steps.len() as u32;
        for step in &playbook.steps {
            if let Ok(callee) = inlining::judge_line(program, id, step.id, inline_lines) {
                let n_inside = program.playbook(callee).steps.len() as u32;
                let next = playbook.flow.follow(step.id, EdgeKind::Next);
                regions.push(Region {
                    line: step.id,
                    playbook: callee,
                    next,
                    first: StepId(n_lines),
                    n_lines: n_inside,
                });
                n_lines += n_inside;
            }
        }
        if regions.is_empty() {
            return None;
        }
        let mut body = playbook.body.clone();
        for region in &regions {
            lay_in(&mut body, program.playbook(region.playbook), region);
        }
        let mut layout = Layout { body, positions: vec![0; n_lines as usize], regions };
        for (position, step) in layout.in_order().into_iter().enumerate() {
            layout.positions[step.0 as usize] = position as u32;
        }
        Some(layout)
    }

    /// Its lines and their graph.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// What is shown inside it, from top to bottom.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region that a line is in.
    pub fn region_of(&self, step: StepId) -> Option<&Region> {
        self.regions.iter().find(|region| region.holds(step))
    }

    /// The region that a line calls.
    pub fn region_at(&self, line: StepId) -> Option<&Region> {
        self.regions.iter().find(|region| region.line == line)
    }

    /// Where a line stands, counted from the top.
    pub fn position(&self, step: StepId) -> u32 {
        self.positions[step.0 as usize]
    }

    fn in_order(&self) -> Vec<StepId> {
        let n_own = self.regions.first().map_or(self.body.steps.len(), |region| region.first.0 as usize);
        let mut lines = Vec::with_capacity(self.body.steps.len());
        for step in &self.body.steps[..n_own] {
            lines.push(step.id);
            if let Some(region) = self.region_at(step.id) {
                lines.extend((0..region.n_lines).map(|line| region.laid_out(StepId(line))));
            }
        }
        lines
    }
}

/// Appends a callee's lines to a body, and leads the way through them.
fn lay_in(body: &mut Body, callee: &Playbook, region: &Region) {
    let outer = body.step(region.line).label.clone();
    let laid_out = |node| match node {
        Node::Step(step) => Node::Step(region.laid_out(step)),
        Node::End => region.next,
    };
    body.steps.extend(callee.steps.iter().map(|step| Step {
        id: region.laid_out(step.id),
        label: format!("{outer}>{}", step.label).into(),
        parent: Some(step.parent.map_or(region.line, |parent| region.laid_out(parent))),
        children: step.children.iter().map(|child| region.laid_out(*child)).collect(),
        ..step.clone()
    }));
    let edges = |edges: &Vec<Edge>| edges.iter().map(|edge| Edge { to: laid_out(edge.to), ..*edge }).collect();
    body.flow.successors.extend(callee.flow.successors.iter().map(edges));
    body.flow.after.extend(callee.flow.after.iter().map(|node| laid_out(*node)));
}

/// The layouts of a program, by playbook: each is made when it is first asked for.
#[derive(Clone, Debug)]
pub struct Layouts {
    program: Arc<Program>,
    inline_lines: usize,
    /// Boxed, for most playbooks have nothing inside them, and each of many sessions has its own.
    layouts: Vec<OnceLock<Option<Box<Layout>>>>,
}

impl Layouts {
    /// Of playbooks with those inside them that have at most `inline_lines` lines (0: none).
    pub fn new(program: Arc<Program>, inline_lines: usize) -> Layouts {
        let layouts = vec![OnceLock::new(); program.playbooks.len()];
        Layouts { program, inline_lines, layouts }
    }

    /// How a playbook is laid out; none: as it stands.
    pub fn layout(&self, playbook: PlaybookId) -> Option<&Layout> {
        let make = || Layout::new(&self.program, playbook, self.inline_lines).map(Box::new);
        self.layouts.get(playbook.0 as usize)?.get_or_init(make).as_deref()
    }

    /// Whether anything is shown inside a playbook; cheaper than laying it out.
    pub fn has_regions(&self, playbook: PlaybookId) -> bool {
        let lines = &self.program.playbook(playbook).steps;
        lines.iter().any(|line| inlining::judge_line(&self.program, playbook, line.id, self.inline_lines).is_ok())
    }

    /// A playbook's lines and graph as they are executed.
    pub fn body(&self, playbook: PlaybookId) -> &Body {
        self.layout(playbook).map_or_else(|| &self.program.playbook(playbook).body, Layout::body)
    }
}
