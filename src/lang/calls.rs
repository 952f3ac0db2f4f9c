//! The call graph: tail calls and recursion (spec `execution.md`, "Fewer model calls").

use crate::lang::flow_graph::{EdgeKind, Node};
use crate::lang::program::{Arm, CallSite, PlaybookId, Program, Returned, Step, StepId, StepKind};

impl Program {
    /// The call that the line does, if nothing is left to do in its playbook afterwards: the whole line is the
    /// call or the `Return` of it, only the end follows in the graph (or only the `Return` of its result), and
    /// the playbook declares no return type or the callee's.
    ///
    /// What else has to hold (nothing else queued) is known only while the program runs.
    ///
    /// # Panics
    /// If `playbook` or `step` is of another program.
    pub fn tail_call(&self, playbook: PlaybookId, step: StepId) -> Option<&CallSite> {
        let body = self.playbook(playbook);
        let line = body.steps.get(step.0 as usize)?;
        let edges = body.flow.successors(step);
        let (call, returned) = if let StepKind::Branch { arm, condition, action } = &line.kind {
            // A condition in words is the model's to judge, and so is what follows from it.
            let known = condition.is_some() || *arm == Arm::Else;
            let alone = action.as_deref().filter(|_| known && line.children.is_empty());
            called(alone?)?
        } else {
            called(&line.kind)?
        };
        let is_branch = matches!(line.kind, StepKind::Branch { .. });
        let mut behind = edges.iter().filter(|edge| !is_branch || edge.kind == EdgeKind::Then).map(|edge| edge.to);
        let ends = behind.all(|node| match (node, &call.result) {
            (Node::End, None) => true,
            // The result of a call without `Return` is nobody's, so a result that ends the playbook is dropped.
            (Node::End, Some(_)) => returned,
            (Node::Step(next), Some(result)) => returns_just(body.step(next), &result.name),
            (Node::Step(_), None) => false,
        });
        // A tool has no frame that could take this one's place.
        let callee = self.playbook(call.playbook?);
        let type_fits = body.returns.is_none() || body.returns == callee.returns;
        (ends && type_fits).then_some(call)
    }

    /// Per playbook the number of the cycle of calls it belongs to; playbooks with one number call each other,
    /// directly or not. One that is in no cycle has a number of its own.
    pub(crate) fn call_cycles(&self) -> Vec<usize> {
        let callees: Vec<Vec<usize>> = self
            .playbooks
            .iter()
            .map(|playbook| playbook.steps.iter().filter_map(|s| Some(s.call()?.playbook?.0 as usize)).collect())
            .collect();
        strongly_connected(&callees)
    }
}

/// The call that a line is as a whole, and whether it is the `Return` of it.
fn called(kind: &StepKind) -> Option<(&CallSite, bool)> {
    if let StepKind::Call(call) = kind {
        Some((call, false))
    } else if let StepKind::Return(Returned::Call(call)) = kind {
        Some((call, true))
    } else {
        None
    }
}

/// Whether a line is `Return $name` and nothing else.
fn returns_just(step: &Step, name: &str) -> bool {
    use crate::lang::expr::ExprKind;
    if let StepKind::Return(Returned::Value(value)) = &step.kind
        && let ExprKind::Reference(reference) = &value.kind
    {
        return step.explicit && &*reference.name == name && reference.path.is_empty();
    }
    false
}

/// Tarjan's algorithm with a stack of its own, for a program may have thousands of playbooks in one chain.
fn strongly_connected(edges: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let n = edges.len();
    let (mut order, mut low, mut component) = (vec![UNSEEN; n], vec![0; n], vec![UNSEEN; n]);
    let (mut stack, mut n_seen, mut n_components) = (Vec::new(), 0, 0);
    for root in 0..n {
        if order[root] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if *next == 0 {
                order[node] = n_seen;
                low[node] = n_seen;
                n_seen += 1;
                stack.push(node);
            }
            if let Some(&callee) = edges[node].get(*next) {
                *next += 1;
                if order[callee] == UNSEEN {
                    path.push((callee, 0));
                } else if component[callee] == UNSEEN {
                    low[node] = low[node].min(order[callee]);
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                low[*caller] = low[*caller].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = stack.pop() {
                    component[member] = n_components;
                    if member == node {
                        break;
                    }
                }
                n_components += 1;
            }
        }
    }
    component
}
