//! Which names can still be mentioned from a line on (spec `execution.md`, "Variables").

use std::sync::Arc;

use crate::analysis::call_graph::Calls;
use crate::analysis::reachable::Reachable;
use crate::program::flow_graph::Node;
use crate::program::{Mode, PlaybookId, Program, Step};

/// A name that is mentioned; none: a free line or a playbook in goal mode, which may use names it does not mention.
type Mention = Option<Arc<str>>;

/// What is mentioned from each line on and by each playbook.
#[derive(Clone, Debug)]
pub(super) struct Mentions {
    reachable: Reachable<Mention>,
    /// Per playbook the node of its first line; the nodes of whole playbooks come after those of all lines.
    first_lines: Vec<usize>,
    n_lines: usize,
}

/// The names that can be mentioned from some point on.
#[derive(Clone, Copy, Debug)]
pub struct ReachableNames<'a> {
    mentions: &'a Mentions,
    /// None: nothing comes any more.
    from: Option<usize>,
}

impl ReachableNames<'_> {
    /// Whether a line that can be reached mentions the name, or a playbook called there, or one of its triggers.
    pub fn contains(&self, name: &Arc<str>) -> bool {
        self.has(&Some(name.clone()))
    }

    /// Whether a free line or a playbook in goal mode can be reached: it may use names it does not mention.
    pub fn has_free_line(&self) -> bool {
        self.has(&None)
    }

    fn has(&self, mention: &Mention) -> bool {
        self.from.is_some_and(|from| self.mentions.reachable.contains(from, mention))
    }
}

impl Mentions {
    pub(super) fn new(program: &Program) -> Mentions {
        let mut first_lines = Vec::with_capacity(program.playbooks.len());
        let mut lines: Vec<&Step> = Vec::new();
        for playbook in &program.playbooks {
            first_lines.push(lines.len());
            lines.extend(&playbook.steps);
        }
        let n_lines = lines.len();
        let calls = Calls::new(program, n_lines);
        let mut edges: Vec<Vec<usize>> = Vec::with_capacity(n_lines + program.playbooks.len() + 1);
        for (playbook, first) in program.playbooks.iter().zip(&first_lines) {
            for step in &playbook.steps {
                let next = playbook.flow.successors(step.id).iter().filter_map(|edge| match edge.to {
                    Node::Step(next) => Some(first + next.0 as usize),
                    Node::End => None,
                });
                edges.push(next.chain(calls.callee(step)).collect());
            }
        }
        edges.extend(calls.edges(program));
        let items = |node: usize| -> Vec<Mention> {
            let of_line = |step: &Step| {
                let names = step.reads.iter().chain(&step.writes).cloned().map(Some);
                names.chain(step.is_free().then_some(None)).collect::<Vec<Mention>>()
            };
            match (lines.get(node), node.checked_sub(n_lines).and_then(|index| program.playbooks.get(index))) {
                (Some(line), _) => of_line(line),
                (None, Some(playbook)) => {
                    // The last line first, as they are met from the end.
                    let of_lines = playbook.steps.iter().rev().flat_map(of_line);
                    let names = playbook.own.iter().chain(&playbook.outer).cloned().map(Some);
                    of_lines.chain(names).chain((playbook.mode == Mode::Goal).then_some(None)).collect()
                }
                (None, None) => Vec::new(),
            }
        };
        let reachable = Reachable::new(&edges, |node| items(node).into_iter());
        Mentions { reachable, first_lines, n_lines }
    }

    /// From a line on; in goal mode always from the whole playbook.
    pub(super) fn from(&self, program: &Program, playbook: PlaybookId, from: Node) -> ReachableNames<'_> {
        let body = program.playbook(playbook);
        let line = match from {
            _ if body.mode == Mode::Goal => return self.of(playbook),
            Node::Step(step) if (step.0 as usize) < body.steps.len() => Some(step.0 as usize),
            Node::Step(_) | Node::End => None,
        };
        let from = line.map(|line| self.first_lines[playbook.0 as usize] + line);
        ReachableNames { mentions: self, from }
    }

    pub(super) fn of(&self, playbook: PlaybookId) -> ReachableNames<'_> {
        ReachableNames { mentions: self, from: Some(self.n_lines + playbook.0 as usize) }
    }

    pub(super) fn n_runs(&self) -> usize {
        self.reachable.n_runs()
    }
}
