//! The control-flow graph of one playbook: which line can follow which.

use crate::program::ids::StepId;

/// A place in the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A line.
    Step(StepId),
    /// After the last line: the playbook returns.
    #[default]
    End,
}

impl Node {
    /// The line; none at the end.
    pub fn step(self) -> Option<StepId> {
        if let Node::Step(step) = self { Some(step) } else { None }
    }
}

/// Why one line follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum EdgeKind {
    /// In sequence. From the last line of a loop's body back to its header too.
    Next,
    /// From a branch or loop header into its body.
    Then,
    /// From a branch header past its body, from a loop header out of the loop.
    Else,
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// Why.
    pub kind: EdgeKind,
    /// Where to.
    pub to: Node,
}

/// The graph: per line its successors, `Then` before `Else`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowGraph {
    /// Where the playbook begins; [`Node::End`] if it has no lines.
    pub entry: Node,
    /// Per line, by [`StepId`], its successors. Never empty for a line: the last leads to [`Node::End`].
    pub successors: Vec<Vec<Edge>>,
    /// Per line, what follows it and all that is nested under it; after a chain of arms.
    pub(crate) after: Vec<Node>,
}

impl FlowGraph {
    /// The successors of a line; none for a line the graph does not know.
    pub fn successors(&self, step: StepId) -> &[Edge] {
        self.successors.get(step.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Where a line leads by an edge of this kind; without one, by that to the next line, or by the only one.
    pub fn follow(&self, step: StepId, kind: EdgeKind) -> Node {
        let edges = self.successors(step);
        let wanted = edges.iter().find(|edge| edge.kind == kind);
        let next = wanted.or_else(|| edges.iter().find(|edge| edge.kind == EdgeKind::Next));
        next.or(edges.first()).map_or(Node::End, |edge| edge.to)
    }

    /// What follows a line and all that is nested under it: the same for all arms of a chain, what follows the chain.
    pub fn after(&self, step: StepId) -> Node {
        self.after.get(step.0 as usize).copied().unwrap_or(Node::End)
    }

    /// What follows a line that is passed over: the next arm of its chain, else what comes after it.
    pub fn beside(&self, step: StepId) -> Node {
        let otherwise = self.successors(step).iter().find(|edge| edge.kind == EdgeKind::Else);
        otherwise.map_or_else(|| self.after(step), |edge| edge.to)
    }

    /// Per line, whether it can be reached from the beginning.
    pub fn reachable(&self) -> Vec<bool> {
        self.reachable_from(self.entry)
    }

    /// Per line, whether it can be reached from `from`, that one included.
    pub fn reachable_from(&self, from: Node) -> Vec<bool> {
        let mut reached = vec![false; self.successors.len()];
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            if let Node::Step(id) = node
                && let Some(seen) = reached.get_mut(id.0 as usize)
                && !std::mem::replace(seen, true)
            {
                pending.extend(self.successors(id).iter().map(|edge| edge.to));
            }
        }
        reached
    }
}
