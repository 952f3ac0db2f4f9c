//! Where the frame of a playbook goes on in another text of it.

use playhouse_lang::flow_graph::{EdgeKind, Node};
use playhouse_lang::matching::Matching;
use playhouse_lang::program::{Arm, Mode, Playbook, StepId, StepKind};

use crate::frame::{Here, LoopState, Performed, Phase, PlaybookFrame, ReturnValue, Then};
use crate::stack::null;
use crate::walk::{follow, is_inside};

/// What became of the line that a frame stood on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// It is still there.
    No,
    /// The frame goes on behind the last line before it that is.
    Behind,
    /// It begins at the first line: none before it is there any more.
    ToFirst,
}

/// Two texts of one playbook.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) old: &'a Playbook,
    pub(super) new: &'a Playbook,
    pub(super) matching: &'a Matching,
}

impl Lines<'_> {
    fn same(self, step: StepId) -> Option<StepId> {
        self.matching.line(self.old.id, step)
    }

    /// Sets the frame's pointer, and what it knows of lines, to the new text.
    pub(super) fn move_frame(self, frame: &mut PlaybookFrame) -> Moved {
        let before = frame.pointer;
        let mapped = |steps: &mut Vec<StepId>| *steps = steps.iter().filter_map(|step| self.same(*step)).collect();
        mapped(&mut frame.done_calls);
        mapped(&mut frame.reached);
        let moved = self.move_pointer(frame);
        let phase = &mut frame.core.phase;
        // What was waited for is the business of the line that is gone.
        if moved != Moved::No
            && matches!(
                phase,
                Phase::WaitingUser | Phase::WaitingTimer(_) | Phase::Draining(Then::WaitUser | Then::WaitTimer { .. })
            )
        {
            *phase = Phase::Draining(Then::GoOn);
        }
        let loops = std::mem::take(&mut frame.loops);
        frame.loops = loops.into_iter().filter_map(|state| self.kept_loop(state, before, frame.pointer)).collect();
        moved
    }

    fn move_pointer(self, frame: &mut PlaybookFrame) -> Moved {
        if self.new.mode == Mode::Goal {
            frame.here = Here::default();
            let was_at_line = frame.pointer.take().is_some();
            return if was_at_line { Moved::ToFirst } else { Moved::No };
        }
        let Some(step) = frame.pointer else {
            self.begin(frame);
            return if self.old.mode == Mode::Goal { Moved::ToFirst } else { Moved::No };
        };
        if let Some(same) = self.same(step) {
            frame.pointer = Some(same);
            let performed = frame.here.performed.take();
            frame.here.performed = performed.and_then(|performed| {
                let next = self.next(step, same, performed.next)?;
                Some(Performed { next, ..performed })
            });
            return Moved::No;
        }
        let Some((at, next)) = self.last_before(step) else {
            self.begin(frame);
            return Moved::ToFirst;
        };
        frame.pointer = Some(at);
        frame.here = Here { performed: Some(Performed { next, assigned: None }), ..Here::default() };
        Moved::Behind
    }

    /// The frame stands at the first line. A playbook that has none is over.
    fn begin(self, frame: &mut PlaybookFrame) {
        frame.here = Here::default();
        match self.new.flow.entry {
            Node::Step(first) => frame.pointer = Some(first),
            Node::End => {
                frame.pointer = None;
                let is_ending = matches!(frame.core.phase, Phase::Draining(Then::Return { .. } | Then::End { .. }));
                if !is_ending {
                    let value = ReturnValue::Value(null());
                    frame.core.phase = Phase::Draining(Then::Return { value, failed: false });
                }
            }
        }
    }

    /// Where a line leads that has been performed. None: it must be decided again.
    fn next(self, old: StepId, new: StepId, next: Node) -> Option<Node> {
        let kinds: Vec<EdgeKind> =
            self.old.flow.successors(old).iter().filter(|edge| edge.to == next).map(|edge| edge.kind).collect();
        let edges = self.new.flow.successors(new);
        match (kinds.as_slice(), &self.old.step(old).kind) {
            // Whether the condition held cannot be told from where the line led: asking again changes nothing.
            ([_, _, ..], StepKind::Branch { action: None, .. }) => None,
            ([kind, ..], _) => Some(follow(edges, *kind)),
            ([], _) => Some(match next {
                Node::End => Node::End,
                Node::Step(step) => self.same(step).map_or_else(|| self.behind(new), Node::Step),
            }),
        }
    }

    /// The last line before one that is gone which is still there, and what follows it in the new text: it has been
    /// done, or the frame would not have come to the other. Lines inside of earlier lines are passed over, for they
    /// may have been skipped.
    fn last_before(self, gone: StepId) -> Option<(StepId, Node)> {
        let mut inner = gone;
        loop {
            let parent = self.old.step(inner).parent;
            let siblings = siblings(self.old, inner);
            let n_before = siblings.iter().position(|step| *step == inner).unwrap_or(0);
            for (index, before) in siblings[..n_before].iter().enumerate().rev() {
                let Some(same) = self.same(*before) else { continue };
                // The arm of a chain was come to because those before it were not taken.
                let in_chain = siblings[index + 1..=n_before].iter().all(|step| goes_on_chain(self.old, *step));
                let next = if in_chain { self.beside(same) } else { self.behind(same) };
                return Some((same, next));
            }
            let parent = parent?;
            if let Some(same) = self.same(parent) {
                let first = self.new.step(same).children.first();
                return Some((same, first.map_or_else(|| self.behind(same), |first| Node::Step(*first))));
            }
            inner = parent;
        }
    }

    /// What follows a line and all that is nested under it, in the new text; behind a chain of arms.
    fn behind(self, step: StepId) -> Node {
        let mut inner = step;
        loop {
            let siblings = siblings(self.new, inner);
            let at = siblings.iter().position(|sibling| *sibling == inner).unwrap_or(siblings.len());
            let next = siblings.iter().skip(at + 1).find(|sibling| !goes_on_chain(self.new, **sibling));
            if let Some(next) = next {
                return Node::Step(*next);
            }
            let Some(parent) = self.new.step(inner).parent else { return Node::End };
            match self.new.step(parent).kind {
                StepKind::Loop(_) => return Node::Step(parent),
                StepKind::Return(_) | StepKind::End => return Node::End,
                StepKind::Branch { .. }
                | StepKind::Call(_)
                | StepKind::Assign { .. }
                | StepKind::Ask { .. }
                | StepKind::Say { .. }
                | StepKind::Free => inner = parent,
            }
        }
    }

    /// The next arm of the chain that a line is one of, in the new text; else what follows it.
    fn beside(self, step: StepId) -> Node {
        let siblings = siblings(self.new, step);
        let at = siblings.iter().position(|sibling| *sibling == step).unwrap_or(siblings.len());
        match siblings.get(at + 1) {
            Some(next) if goes_on_chain(self.new, *next) => Node::Step(*next),
            Some(_) | None => self.behind(step),
        }
    }

    /// A running loop in the new text; none: its header is gone, or is no longer around the frame's line.
    fn kept_loop(self, state: LoopState, before: Option<StepId>, now: Option<StepId>) -> Option<LoopState> {
        let header = self.same(state.header)?;
        let is_around = |playbook: &Playbook, header: StepId, at: Option<StepId>| {
            at.is_some_and(|at| at == header || is_inside(playbook, at, header))
        };
        let is_left = is_around(self.old, state.header, before) && !is_around(self.new, header, now);
        let is_loop = matches!(self.new.step(header).kind, StepKind::Loop(_));
        (is_loop && !is_left).then_some(LoopState { header, ..state })
    }
}

/// The lines beside a line, itself among them.
fn siblings(playbook: &Playbook, step: StepId) -> Vec<StepId> {
    match playbook.step(step).parent {
        Some(parent) => playbook.step(parent).children.clone(),
        None => playbook.steps.iter().filter(|step| step.parent.is_none()).map(|step| step.id).collect(),
    }
}

fn goes_on_chain(playbook: &Playbook, step: StepId) -> bool {
    matches!(playbook.step(step).kind, StepKind::Branch { arm: Arm::ElseIf | Arm::Else, .. })
}
