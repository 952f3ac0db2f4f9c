//! Which edges of a flow graph a playbook has gone along, from line to line; lines that a model passes without a word
//! lie on the way. And how many rounds its loops have had.

use std::collections::VecDeque;

use playhouse_lang::program::flow_graph::{Edge, EdgeKind, Node};
use playhouse_lang::program::{Arm, Loop, Playbook, Step, StepId, StepKind};

use super::way::{Took, Way};

/// What can come of a line. A loop that is judged after each round always has one.
pub(super) fn ways(step: &Step) -> Vec<Way> {
    if let StepKind::Branch { arm, .. } = &step.kind {
        if *arm == Arm::Else { vec![Way::Then] } else { vec![Way::Then, Way::Else] }
    } else if let StepKind::Loop(header) = &step.kind {
        let always_begins = matches!(header, Loop::Until { .. });
        if always_begins {
            vec![Way::OneRound, Way::MoreRounds]
        } else {
            vec![Way::NoRound, Way::OneRound, Way::MoreRounds]
        }
    } else {
        Vec::new()
    }
}

/// The edges of a shortest way, with the lines they begin at; empty: no way leads there.
fn path(playbook: &Playbook, from: StepId, to: Node) -> Vec<(StepId, Edge)> {
    let mut came: Vec<Option<(StepId, Edge)>> = vec![None; playbook.steps.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(step) = queue.pop_front() {
        for edge in playbook.flow.successors(step) {
            if edge.to == to {
                let mut path = vec![(step, *edge)];
                let mut at = step;
                while let Some((before, edge)) = came[at.0 as usize].filter(|_| at != from) {
                    path.push((before, edge));
                    at = before;
                }
                path.reverse();
                return path;
            }
            if let Node::Step(next) = edge.to
                && next != from
                && came[next.0 as usize].is_none()
            {
                came[next.0 as usize] = Some((step, *edge));
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}

/// Where a frame is, and which rounds its loops are in.
#[derive(Debug, Default)]
pub(super) struct Walk {
    at: Option<StepId>,
    /// Loops that hold the line, the outermost first, with how many rounds they have begun.
    loops: Vec<(StepId, u32)>,
}

impl Walk {
    /// The frame is at another line. `took` hears what came of the lines before.
    pub(super) fn reach(&mut self, playbook: &Playbook, line: StepId, took: &mut impl FnMut(StepId, Took)) {
        if let Some(from) = self.at.replace(line) {
            for (step, edge) in path(playbook, from, Node::Step(line)) {
                took(step, Took::Edge(edge));
                self.pass(playbook, step, edge, took);
            }
        }
        self.leave_loops(took, |header| header == line || playbook.is_nested(line, header));
    }

    /// The playbook has returned. Where it has ended early, the last line leads nowhere.
    pub(super) fn end(mut self, playbook: &Playbook, took: &mut impl FnMut(StepId, Took)) {
        if let Some(from) = self.at
            && let Some(edge) = playbook.flow.successors(from).iter().find(|edge| edge.to == Node::End)
        {
            took(from, Took::Edge(*edge));
            self.pass(playbook, from, *edge, took);
        }
        self.leave_loops(took, |_| false);
    }

    fn pass(&mut self, playbook: &Playbook, step: StepId, edge: Edge, took: &mut impl FnMut(StepId, Took)) {
        let kind = &playbook.step(step).kind;
        let is_loop = matches!(kind, StepKind::Loop(_));
        if !is_loop && !matches!(kind, StepKind::Branch { .. }) {
            return;
        }
        let running = self.loops.iter_mut().find(|(header, _)| *header == step);
        match (edge.kind, running) {
            (EdgeKind::Then, Some((_, n_rounds))) => {
                *n_rounds += 1;
                if *n_rounds == 2 {
                    took(step, Took::Way(Way::MoreRounds));
                }
            }
            (EdgeKind::Then, None) if is_loop => self.loops.push((step, 1)),
            (EdgeKind::Then, None) => took(step, Took::Way(Way::Then)),
            (EdgeKind::Else | EdgeKind::Next, None) if is_loop => took(step, Took::Way(Way::NoRound)),
            (EdgeKind::Else | EdgeKind::Next, None) => took(step, Took::Way(Way::Else)),
            (EdgeKind::Else | EdgeKind::Next, Some(_)) => self.leave_loops(took, |header| header != step),
        }
    }

    /// Loops that do not hold the line any more are over. Of those that have had more than a round that is told already.
    fn leave_loops(&mut self, took: &mut impl FnMut(StepId, Took), holds: impl Fn(StepId) -> bool) {
        self.loops.retain(|(header, n_rounds)| {
            let is_held = holds(*header);
            if !is_held && *n_rounds == 1 {
                took(*header, Took::Way(Way::OneRound));
            }
            is_held
        });
    }
}
