//! A program as a graph: who calls what, and which triggers call whom; or one playbook, line by line (spec
//! `editors.md`, section 7). Plain data, and what it is written as: Mermaid, Graphviz, JSON, SVG.

mod builder;
mod dot;
mod flow;
mod layered;
mod mermaid;
mod order;
mod place;
mod program;
mod ranked;
mod svg;
mod taken;
mod text_size;
mod types;

use std::borrow::Borrow;

pub use self::taken::{StackFrame, Taken};
pub use self::types::{Chart, Count, Edge, EdgeKind, Node, Part};

use crate::analysis::Analysis;
use crate::program::{PlaybookId, Program};

impl<P: Borrow<Program>> Analysis<P> {
    /// Agents, playbooks, tools, plans and triggers, and how they call each other.
    pub fn chart(&self) -> Chart {
        program::chart(self)
    }

    /// The lines of a playbook, and which can follow which.
    pub fn flow_chart(&self, playbook: PlaybookId) -> Chart {
        flow::chart(self, playbook)
    }
}
