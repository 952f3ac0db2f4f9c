//! Where the frame of a playbook goes on in another text of it.

use playhouse_lang::analysis::diff::matching::Matching;
use playhouse_lang::program::flow_graph::{EdgeKind, Node};
use playhouse_lang::program::{Mode, Playbook, StepId, StepKind};

use crate::machine::frame::{LineState, LoopState, Performed, PlaybookFrame};
use crate::machine::frame_core::{Phase, ReturnValue, Then};
use crate::protocol::Tracked;

/// What became of the line that a frame stood on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// It is still there.
    No,
    /// The frame goes on after the last line before it that is.
    After,
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
        frame.work.map_lines(|step| self.same(step));
        frame.reached = frame.reached.iter().filter_map(|step| self.same(*step)).collect();
        frame.told_left_out.clear();
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
            frame.here = LineState::default();
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
        frame.here =
            LineState { performed: Some(Performed { next, assigned: None, left_at: None }), ..LineState::default() };
        Moved::After
    }

    /// The frame stands at the first line. A playbook that has none is over.
    fn begin(self, frame: &mut PlaybookFrame) {
        frame.here = LineState::default();
        match self.new.flow.entry {
            Node::Step(first) => frame.pointer = Some(first),
            Node::End => {
                frame.pointer = None;
                let is_ending = matches!(frame.core.phase, Phase::Draining(Then::Return { .. } | Then::End { .. }));
                if !is_ending {
                    let value = ReturnValue::Value(Tracked::NULL);
                    frame.core.phase = Phase::Draining(Then::Return { value, failed: false });
                }
            }
        }
    }

    /// Where a line leads that has been performed. None: it must be decided again.
    fn next(self, old: StepId, new: StepId, next: Node) -> Option<Node> {
        let kinds: Vec<EdgeKind> =
            self.old.flow.successors(old).iter().filter(|edge| edge.to == next).map(|edge| edge.kind).collect();
        match (kinds.as_slice(), &self.old.step(old).kind) {
            // Whether the condition held cannot be told from where the line led: asking again changes nothing.
            ([_, _, ..], StepKind::Branch { .. }) => None,
            ([kind, ..], _) => Some(self.new.flow.follow(new, *kind)),
            ([], _) => Some(match next {
                Node::End => Node::End,
                Node::Step(step) => self.same(step).map_or_else(|| self.new.flow.after(new), Node::Step),
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
            for before in self.old.steps[..inner.0 as usize].iter().rev().filter(|before| before.parent == parent) {
                let Some(same) = self.same(before.id) else { continue };
                // The arm of a chain was come to because those before it were not taken.
                let in_chain = self.old.flow.after(before.id) == self.old.flow.after(inner);
                let next = if in_chain { self.new.flow.beside(same) } else { self.new.flow.after(same) };
                return Some((same, next));
            }
            let parent = parent?;
            if let Some(same) = self.same(parent) {
                let first = self.new.step(same).children.first();
                return Some((same, first.map_or_else(|| self.new.flow.after(same), |first| Node::Step(*first))));
            }
            inner = parent;
        }
    }

    /// A running loop in the new text; none: its header is gone, or is no longer around the frame's line.
    fn kept_loop(self, state: LoopState, before: Option<StepId>, now: Option<StepId>) -> Option<LoopState> {
        let header = self.same(state.header)?;
        let is_around = |playbook: &Playbook, header: StepId, at: Option<StepId>| {
            at.is_some_and(|at| at == header || playbook.is_nested(at, header))
        };
        let is_left = is_around(self.old, state.header, before) && !is_around(self.new, header, now);
        let is_loop = matches!(self.new.step(header).kind, StepKind::Loop(_));
        (is_loop && !is_left).then_some(LoopState { header, ..state })
    }
}
