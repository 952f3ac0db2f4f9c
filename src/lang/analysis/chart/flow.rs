//! The chart of one playbook, line by line.

use std::borrow::Borrow;

use crate::analysis::Analysis;
use crate::analysis::chart::builder::Builder;
use crate::analysis::chart::types::{Chart, EdgeKind, Part};
use crate::analysis::explain::{savings, signature, step_kind};
use crate::diagnostic::wording::one_line;
use crate::program::flow_graph::{self, Node};
use crate::program::{Mode, PlaybookId, Program, StepKind};

pub(super) fn chart<P: Borrow<Program>>(analysis: &Analysis<P>, id: PlaybookId) -> Chart {
    let program = analysis.program();
    let playbook = program.playbook(id);
    let mut builder = Builder::new(program);
    let node = builder.node(Part::Begin, &playbook.name, Some(playbook.title_span));
    node.about = signature(&playbook.signature());
    if playbook.mode == Mode::Goal {
        "goal: the model chooses".clone_into(&mut node.detail);
    }
    for step in &playbook.steps {
        let node = builder.node(Part::Line(step.id), &step.label, Some(step.span));
        node.id = format!("line:{}", step.label);
        node.detail = one_line(&step.text);
        let read = std::iter::once(step_kind(program, playbook, &step.kind));
        node.about = read.chain(savings(analysis, playbook, step)).collect::<Vec<_>>().join("; ");
        node.is_explicit = step.explicit;
        node.is_branching = matches!(step.kind.as_written(), StepKind::Branch { .. } | StepKind::Loop(_));
    }
    if playbook.mode == Mode::Steps {
        "the playbook returns".clone_into(&mut builder.node(Part::End, "end", None).about);
        builder.edge(&Part::Begin, &part_of(playbook.flow.entry), EdgeKind::Next, "", None);
        for step in &playbook.steps {
            for edge in playbook.flow.successors(step.id) {
                let (kind, label) = kind_of(edge.kind);
                builder.edge(&Part::Line(step.id), &part_of(edge.to), kind, label, None);
            }
        }
    }
    builder.finish(&program.unique_name(id), Some(id))
}

fn part_of(node: Node) -> Part {
    node.step().map_or(Part::End, Part::Line)
}

/// An edge of the flow graph in a chart, with what is written beside it.
pub(super) fn kind_of(kind: flow_graph::EdgeKind) -> (EdgeKind, &'static str) {
    match kind {
        flow_graph::EdgeKind::Next => (EdgeKind::Next, ""),
        flow_graph::EdgeKind::Then => (EdgeKind::Then, "then"),
        flow_graph::EdgeKind::Else => (EdgeKind::Else, "else"),
    }
}
