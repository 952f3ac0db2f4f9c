//! Which way the pointer may go: over lines that are done, and not over what the interpreter does
//! (spec `turn-protocol.md`, "The pointer").

use std::collections::VecDeque;

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Arm, Body, StepId, StepKind};

use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;

/// Where an `at` may lead.
pub(crate) enum JumpOutcome {
    /// Through this node next.
    Through(Node),
    /// Back to this earlier line.
    Back(StepId),
    /// This line has not been done.
    NotDone(StepId),
    /// These lines of the interpreter's lie between, which a reply cannot jump over.
    Over(Vec<StepId>),
    /// No path of the graph leads there.
    Unreachable,
}

impl Interpreter {
    /// Moves back to `target`: what was done before does not count any more.
    pub(crate) fn move_back(&mut self, target: StepId) {
        let frame = self.stack.top_mut();
        // A header that is gone back to begins its loop afresh.
        frame.loops.retain(|state| state.header != target);
        frame.work.start_afresh();
        self.arrive(Node::Step(target));
    }
}

impl Stack {
    /// Which way the pointer may go towards `target`.
    pub(crate) fn way(&self, target: Node) -> JumpOutcome {
        let frame = self.top();
        let Some(from) = frame.pointer else { return JumpOutcome::Unreachable };
        let body = self.body(frame);
        // A playbook inside a line that nobody has told the model of is executed as if it had been called.
        let is_unseen = frame.inside.as_ref().is_some_and(|inside| !inside.is_told) && !frame.here.touched;
        if is_unseen && frame.here.performed.is_none() && !self.performs_here(frame) && self.leaves_region(target) {
            return JumpOutcome::NotDone(from);
        }
        let target = match self.forward(body, from, target) {
            Ok(round) if round != target => return self.way_along(body, from, round),
            Ok(target) => target,
            Err(line) => return JumpOutcome::Back(line),
        };
        // What the interpreter decided at this line is no longer open.
        if let Some(performed) = &frame.here.performed {
            let next = performed.next;
            if next == target {
                return JumpOutcome::Through(next);
            }
            let Node::Step(step) = next else { return JumpOutcome::Unreachable };
            if !self.reaches(body, step, target, Some(from)) {
                return JumpOutcome::Unreachable;
            }
            let is_on_the_way = self.leads_inside(step, target) || !self.stops_reply(body, step);
            return if is_on_the_way { JumpOutcome::Through(next) } else { JumpOutcome::Over(vec![step]) };
        }
        // The interpreter has not made the call.
        if self.leads_inside(from, target) {
            return JumpOutcome::NotDone(from);
        }
        if self.may_leave(from) {
            return self.way_along(body, from, target);
        }
        JumpOutcome::NotDone(from)
    }

    /// Where the way to `target` leads forward to: of a line above that begins the next round the header of its loop.
    /// An error is the line that it leads back to.
    pub(crate) fn forward(&self, body: &Body, from: StepId, target: Node) -> Result<Node, StepId> {
        let Node::Step(line) = target else { return Ok(target) };
        // Into a region leads only the call of its line.
        let inside = self.top().inside.as_ref().map(|inside| inside.region.line);
        let region = self.region_of(line).map(|region| region.line).filter(|line| inside != Some(*line));
        let line = region.unwrap_or(line);
        if line == from || !self.is_before(line, from) {
            return Ok(target);
        }
        self.next_round(body, from, line).map(Node::Step).ok_or(line)
    }

    /// The way over lines that may be passed, where the pointer's own line may be left.
    fn way_along(&self, body: &Body, from: StepId, target: Node) -> JumpOutcome {
        match self.path(body, from, target) {
            Ok(next) => JumpOutcome::Through(next),
            Err(blocked) if blocked == from => JumpOutcome::Unreachable,
            Err(blocked) if self.stops_reply(body, blocked) => {
                let is_before_target = |step| match target {
                    Node::Step(target) => self.is_before(step, target),
                    Node::End => true,
                };
                let mut between: Vec<StepId> = body.steps.iter().map(|line| line.id).collect();
                between.retain(|step| {
                    let is_between = self.is_before(from, *step) && (is_before_target(*step) || *step == blocked);
                    // What a line calls is told by that line.
                    let is_elsewhere = self.region_of(*step).is_some_and(|region| !region.holds(from));
                    is_between && !is_elsewhere && self.stops_reply(body, *step)
                });
                between.sort_by_key(|step| self.position(*step));
                JumpOutcome::Over(between)
            }
            Err(blocked) => JumpOutcome::NotDone(blocked),
        }
    }

    /// The header of the interpreter's loop whose next round an `at` to an earlier line means: the header
    /// itself, or the body's first line when the rest of the body is done or the interpreter's to do.
    fn next_round(&self, body: &Body, from: StepId, target: StepId) -> Option<StepId> {
        let state = self
            .top()
            .loops
            .iter()
            .rev()
            .find(|state| state.header == target || body.step(state.header).children.first() == Some(&target))?;
        if state.header == from || !body.is_nested(from, state.header) {
            return None;
        }
        // Going back to the first line from a place where the round is not finished is a retry of the same item.
        let is_header = state.header == target;
        let can_finish = || match self.path(body, from, Node::Step(state.header)) {
            Ok(_) => true,
            Err(blocked) => self.stops_reply(body, blocked),
        };
        let is_finished = self.has_done_work(from, false) && from != target && can_finish();
        (is_header || is_finished).then_some(state.header)
    }

    /// The first node of the shortest path from `from` to `target` over lines that may be passed; else the first
    /// line that blocks the way, or `from` itself if no path leads there at all.
    pub(crate) fn path(&self, body: &Body, from: StepId, target: Node) -> Result<Node, StepId> {
        let holds_target = |step| matches!(target, Node::Step(target) if body.is_nested(target, step));
        let mut first_hop = vec![None; body.steps.len()];
        let mut blocked = None;
        let mut queue = VecDeque::from([from]);
        while let Some(step) = queue.pop_front() {
            // Whoever decides goes into the nested lines of a true condition by naming one of them.
            let line = body.step(step);
            let decides = matches!(line.kind, StepKind::Branch { arm: Arm::If | Arm::ElseIf, .. } | StepKind::Loop(_))
                && !self.is_interpreters(body, step)
                && !holds_target(step);
            let entry = self.region_at(step).filter(|_| self.leads_inside(step, target)).map(|region| region.entry());
            for to in body.flow.successors(step).iter().map(|edge| edge.to).chain(entry) {
                let hop = first_hop[step.0 as usize].unwrap_or(to);
                if to == target {
                    return Ok(hop);
                }
                let Node::Step(next) = to else { continue };
                if decides && line.children.first() == Some(&next) {
                    continue;
                }
                if next == from || first_hop[next.0 as usize].is_some() {
                    continue;
                }
                first_hop[next.0 as usize] = Some(hop);
                if self.leads_inside(next, target) || self.may_pass(body, next) {
                    queue.push_back(next);
                } else if blocked.is_none() && self.leads_to(body, next, target) {
                    blocked = Some(next);
                }
            }
        }
        Err(blocked.unwrap_or(from))
    }

    /// Whether the way to `target` leads into the region of this line, which the interpreter enters by its call.
    fn leads_inside(&self, line: StepId, target: Node) -> bool {
        let Node::Step(target) = target else { return false };
        self.region_at(line).is_some_and(|region| region.holds(target))
    }

    fn leads_to(&self, body: &Body, from: StepId, target: Node) -> bool {
        match target {
            Node::Step(_) => self.reaches(body, from, target, None),
            // The end can be reached from everywhere, if only by a return.
            Node::End => true,
        }
    }

    /// Whether the graph leads from `from` to `target` at all, without passing `avoid`.
    pub(crate) fn reaches(&self, body: &Body, from: StepId, target: Node, avoid: Option<StepId>) -> bool {
        let mut seen = vec![false; body.steps.len()];
        let mut stack = vec![from];
        while let Some(step) = stack.pop() {
            if Node::Step(step) == target {
                return true;
            }
            if Some(step) == avoid || std::mem::replace(&mut seen[step.0 as usize], true) {
                continue;
            }
            let entry = self.region_at(step).map(|region| region.entry());
            let ways = body.flow.successors(step).iter().map(|edge| edge.to).chain(entry);
            for to in ways {
                match to {
                    Node::Step(next) => stack.push(next),
                    Node::End if target == Node::End => return true,
                    Node::End => {}
                }
            }
        }
        false
    }

    /// Whether a line is performed by the interpreter as a rule; it may be left to the model when it is reached.
    pub(crate) fn is_interpreters(&self, body: &Body, step: StepId) -> bool {
        self.settings.performs(body.step(step))
    }

    fn may_pass(&self, body: &Body, step: StepId) -> bool {
        if self.is_interpreters(body, step) {
            return !self.stops_reply(body, step);
        }
        self.may_leave(step)
    }

    /// Whether the way leads over a line of the model's: its work is done, or nobody insists on it.
    fn may_leave(&self, step: StepId) -> bool {
        !self.is_strict(step) || self.has_done_work(step, false)
    }

    /// Whether a line may not be left out without a word.
    pub(crate) fn is_strict(&self, step: StepId) -> bool {
        self.settings.strict && self.playbook_of(step).strict
    }

    /// Whether a line is the interpreter's and does something: a reply that named a later line would decide that it
    /// is done, before anybody knows what comes of it. The interpreter does it when the reply has ended before it.
    pub(crate) fn stops_reply(&self, body: &Body, step: StepId) -> bool {
        let line = body.step(step);
        // Nothing follows a return: it is passed only on the way out of a region.
        let is_return = matches!(line.kind, StepKind::Return(_));
        self.is_interpreters(body, step) && !is_return && has_effect(body, &line.kind)
    }

    /// Whether a line of the top frame's playbook stands above another.
    pub(crate) fn is_before(&self, step: StepId, other: StepId) -> bool {
        self.position(step) < self.position(other)
    }

    pub(crate) fn position(&self, step: StepId) -> u32 {
        self.layouts.layout(self.top().playbook).map_or(step.0, |layout| layout.position(step))
    }
}
fn has_effect(body: &Body, kind: &StepKind) -> bool {
    match kind {
        StepKind::Say { .. } | StepKind::Call(_) | StepKind::Return(_) | StepKind::End => true,
        StepKind::Assign { target, .. } => body.steps.iter().any(|line| line.reads.contains(&target.name)),
        StepKind::Branch { .. }
        | StepKind::Loop(_)
        | StepKind::Break
        | StepKind::Continue
        | StepKind::Ask { .. }
        | StepKind::Free
        | StepKind::Gone(_) => false,
    }
}
