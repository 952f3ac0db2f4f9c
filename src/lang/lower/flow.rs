//! The control-flow graph out of a playbook's lines.

use std::cell::LazyCell;
use std::collections::HashMap;

use crate::english::words::{bare_words, phrase_in};
use crate::program::flow_graph::{Edge, EdgeKind, FlowGraph, Node};
use crate::program::{Arm, Step, StepId, StepKind};

/// Builds the graph of a playbook whose lines are `steps`, in document order.
///
/// Chains of `If`, `Else if`, `Otherwise` are siblings; the last line of an arm leads after the whole chain.
/// The last line of a loop's body leads back to its header. A line with nested lines that is neither leads into
/// them and past them. `Return` and `End` lead to [`Node::End`]; words that look like one of them, or like
/// leaving a loop, add an edge and take none away.
///
/// `reads_words`: whether words of free text count.
pub(crate) fn flow_graph(steps: &[Step], reads_words: bool) -> FlowGraph {
    let n = steps.len();
    let mut graph = FlowGraph { entry: Node::End, successors: vec![Vec::new(); n], after: vec![Node::End; n] };
    let labels = LazyCell::new(|| steps.iter().map(|step| (&*step.label, step.id)).collect::<HashMap<_, _>>());
    let find = |label: &str| labels.get(label).copied();
    let roots: Vec<StepId> = steps.iter().filter(|step| step.parent.is_none()).map(|step| step.id).collect();
    graph.entry = roots.first().map_or(Node::End, |&first| Node::Step(first));
    let mut pending = vec![Siblings { steps: &roots, follow: Node::End, around: None }];
    while let Some(siblings) = pending.pop() {
        // What follows the chain of arms that a line stands in.
        let mut after = siblings.follow;
        for &id in siblings.steps.iter().rev() {
            graph.after[id.0 as usize] = after;
            if !matches!(steps[id.0 as usize].kind, StepKind::Branch { arm: Arm::ElseIf | Arm::Else, .. }) {
                after = Node::Step(id);
            }
        }
        for (index, &id) in siblings.steps.iter().enumerate() {
            let step = &steps[id.0 as usize];
            let (mut edges, children_follow) = successors(step, &siblings, index, graph.after(id));
            if reads_words && matches!(step.kind, StepKind::Free | StepKind::Say { literal: None }) {
                add_hints(&mut edges, step, &siblings, &find);
            }
            graph.successors[id.0 as usize] = edges;
            if !step.children.is_empty() {
                let around =
                    if let StepKind::Loop(_) = step.kind { Some((id, siblings.next(index))) } else { siblings.around };
                pending.push(Siblings { steps: &step.children, follow: children_follow, around });
            }
        }
    }
    graph
}

/// Lines side by side.
#[derive(Clone, Copy)]
struct Siblings<'a> {
    steps: &'a [StepId],
    /// What follows the last of them.
    follow: Node,
    /// The innermost loop around them and what follows it.
    around: Option<(StepId, Node)>,
}

impl Siblings<'_> {
    fn next(&self, index: usize) -> Node {
        self.steps.get(index + 1).map_or(self.follow, |&next| Node::Step(next))
    }
}

/// The edges of one line, and what follows its nested lines.
fn successors(step: &Step, siblings: &Siblings<'_>, index: usize, after: Node) -> (Vec<Edge>, Node) {
    let next = siblings.next(index);
    let inside = step.children.first().map(|&child| Node::Step(child));
    let edge = |kind, to| Edge { kind, to };
    match &step.kind {
        StepKind::Branch { arm, .. } => {
            let mut edges = vec![edge(EdgeKind::Then, inside.unwrap_or(after))];
            if *arm != Arm::Else {
                edges.push(edge(EdgeKind::Else, next));
            }
            (edges, after)
        }
        StepKind::Loop(_) => {
            let mut edges = Vec::new();
            if let Some(inside) = inside {
                edges.push(edge(EdgeKind::Then, inside));
            }
            edges.push(edge(EdgeKind::Else, next));
            (edges, Node::Step(step.id))
        }
        StepKind::Return(_) | StepKind::End => match inside {
            Some(inside) => (vec![edge(EdgeKind::Then, inside), edge(EdgeKind::Else, Node::End)], Node::End),
            None => (vec![edge(EdgeKind::Next, Node::End)], Node::End),
        },
        StepKind::Break | StepKind::Continue => {
            let to = match siblings.around {
                Some((_, after)) if step.kind == StepKind::Break => after,
                Some((header, _)) => Node::Step(header),
                None => next,
            };
            (vec![edge(EdgeKind::Next, to)], next)
        }
        StepKind::Call(_)
        | StepKind::Assign { .. }
        | StepKind::Ask { .. }
        | StepKind::Say { .. }
        | StepKind::Free
        | StepKind::Gone(_) => {
            let edges = match inside {
                Some(inside) => vec![edge(EdgeKind::Then, inside), edge(EdgeKind::Else, next)],
                None => vec![edge(EdgeKind::Next, next)],
            };
            (edges, next)
        }
    }
}

/// Words of free text that may leave the sequence.
fn add_hints(edges: &mut Vec<Edge>, step: &Step, siblings: &Siblings<'_>, find: &dyn Fn(&str) -> Option<StepId>) {
    const ENDS: [&str; 6] =
        ["return", "end program", "end the program", "end conversation", "end the conversation", "exit"];
    const BREAKS: [&str; 5] = ["break", "exit the loop", "leave the loop", "stop the loop", "end the loop"];
    const CONTINUES: [&str; 4] = ["continue with the next", "skip to the next", "go on with the next", "next item"];
    let words = bare_words(&step.text);
    let mut hint = |to| {
        if edges.iter().all(|edge| edge.to != to) {
            edges.push(Edge { kind: EdgeKind::Next, to });
        }
    };
    if let Some((header, behind)) = siblings.around {
        if BREAKS.iter().any(|phrase| phrase_in(&words, phrase)) {
            hint(behind);
        }
        if CONTINUES.iter().any(|phrase| phrase_in(&words, phrase)) {
            hint(Node::Step(header));
        }
    }
    if ENDS.iter().any(|phrase| phrase_in(&words, phrase)) {
        hint(Node::End);
    }
    for label in labels_in(&step.text) {
        if let Some(to) = find(&label) {
            hint(Node::Step(to));
        }
    }
}

/// The line ids that a text names: `go to step 2.1`, `line 03`, and `JMP 03` of the older project.
fn labels_in(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let n_words = words.len();
    let named = move |index: usize| {
        let before = words.get(index)?;
        let is_jump = ["step", "line", "jmp"].iter().any(|word| before.eq_ignore_ascii_case(word));
        let label = words.get(index + 1)?.trim_end_matches(|c: char| !c.is_ascii_digit());
        let is_label = !label.is_empty() && label.len() <= 64 && label.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        (is_jump && is_label).then(|| {
            let parts = label.split('.').map(|part| format!("{:0>2}", part.trim_start_matches('0')));
            parts.collect::<Vec<_>>().join(".")
        })
    };
    (0..n_words).filter_map(named)
}
