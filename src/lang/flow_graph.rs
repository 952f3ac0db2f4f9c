//! The control-flow graph of one playbook: which line can follow which.

use crate::lang::program::StepId;

/// A place in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A line.
    Step(StepId),
    /// Behind the last line: the playbook returns.
    End,
}

/// Why one line follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowGraph {
    /// Where the playbook begins; [`Node::End`] if it has no lines.
    pub entry: Node,
    /// Per line, by [`StepId`], its successors. Never empty for a line: the last leads to [`Node::End`].
    pub successors: Vec<Vec<Edge>>,
}

impl Default for FlowGraph {
    fn default() -> Self {
        FlowGraph { entry: Node::End, successors: Vec::new() }
    }
}

impl FlowGraph {
    /// The successors of a line; none for a line the graph does not know.
    pub fn successors(&self, step: StepId) -> &[Edge] {
        self.successors.get(step.0 as usize).map_or(&[], Vec::as_slice)
    }
}
