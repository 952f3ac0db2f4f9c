//! Regions: a short playbook that an explicit line calls is laid out inside that line, and runs there, in the turn and
//! the chat session of its caller (spec `execution.md`, "Fewer model calls"; [`playhouse_lang::analysis::layout`]).
//!
//! The pointer walks through a region as through any lines. What is here is what happens at its ends: a frame of its
//! own begins with the call, and ends with a value.

use std::sync::Arc;

use playhouse_lang::analysis::layout::Region;
use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Playbook, StepId};

use crate::calls::call::{Called, Callee};
use crate::machine::frame::Inside;
use crate::machine::frame_core::{Phase, ReturnValue, Then};
use crate::machine::stack_view::StackView;
use crate::machine::state::Machine;
use crate::protocol::{Fact, FrameId, FrameOrigin, Tracked, TurnEnd};
use crate::reply::Action;
use crate::turn::state::{Goal, Todo};
use crate::walk::way::JumpOutcome;

impl Machine {
    /// The explicit call at the top frame's line has been queued: if its playbook is shown inside, it begins.
    pub(crate) fn enter_region(&mut self, line: StepId) {
        let Some(region) = self.stack().region_at(line).filter(|_| self.outcome.is_none()) else { return };
        let waiting = self.core().queue.last().filter(|call| call.is_waiting()).map(|call| call.id);
        let name = self.program.playbook(region.playbook).name.clone();
        if waiting.is_none() || !self.has_room(&name) {
            return;
        }
        let Some(mut call) = waiting.and_then(|call| self.core_mut().queue.take(call)) else { return };
        let started = call.begin(1, self.now);
        self.report(started);
        self.counters.inlined_calls += 1;
        self.next.frame += 1;
        let origin = FrameOrigin::Call { call: call.id, from: call.place.location };
        let (id, arguments) = (FrameId(self.next.frame), call.arguments.clone());
        let frame = self.top_mut();
        let outer_work = std::mem::take(&mut frame.work);
        let n_turns_before = frame.core.spent.turns;
        let scope = Default::default();
        frame.pointer = None;
        let inside = Inside { id, region, origin, call, scope, outer_work, n_turns_before, is_told: false };
        frame.inside = Some(Box::new(inside));
        self.frame_pushed(origin);
        for (name, value) in &arguments {
            self.bind_variable(name, value.clone(), false);
        }
        if self.outcome.is_none() {
            self.arrive(region.entry());
        }
    }

    /// Takes the playbook off that the pointer is in: the pointer is on the line again that called it.
    fn close_region(&mut self, value: Option<&Tracked>) -> Option<Inside> {
        self.report(Fact::FramePopped { value: value.cloned() });
        let phase = if self.turn.is_some() { Phase::Turn } else { Phase::Ready };
        let frame = self.top_mut();
        let mut inside = frame.close_inside()?;
        frame.core.phase = phase;
        let agent = frame.core.agent;
        self.globals[agent.0 as usize].join(std::mem::take(&mut inside.scope));
        Some(inside)
    }

    /// Takes it off without a result, and with it its call.
    pub(crate) fn drop_region(&mut self) {
        self.close_region(None);
        self.remove_stale();
    }

    /// The playbook that the pointer is in returns `value`; what it fits into has been checked. Its caller takes it at
    /// once.
    pub(crate) fn return_from_region(&mut self, value: Tracked) {
        let Some(inside) = self.close_region(Some(&value)) else { return };
        let mut call = inside.call;
        let id = call.id;
        let finished = call.finish(self.now, Ok(value.clone()));
        self.report(finished);
        self.core_mut().queue.push(call);
        self.last_value = value;
        self.remove_stale();
        self.tell_watcher(|watcher, sight| watcher.recheck_truths(sight));
        self.take_call(id);
        // What the reply says next would count on a variable that could not be set.
        if self.outcome.is_none() && self.turn.is_some() && self.chat_owner().told.problem().is_some() {
            return self.cut_without_line("the result does not fit the variable");
        }
        // The variable is one of the caller's, and its triggers are asked like those of any other.
        if let Some(drops_line) = self.turn.as_ref().map(|turn| !turn.is_line_applied) {
            self.judge_in_turn(drops_line);
        }
    }

    /// In the middle of a reply the way leads out of a region: it returns nothing, if all that it has
    /// begun is over.
    pub(crate) fn walk_out(&mut self, goal: Goal) {
        if !self.core().watch.is_settled() {
            return self.cut_for_match(false);
        }
        if !self.core().queue.is_empty() {
            self.drop_line();
            return self
                .yield_turn(TurnEnd::Wait, Then::Return { value: ReturnValue::Value(Tracked::NULL), failed: false });
        }
        self.end_region(Tracked::NULL);
        self.todo_first(Todo::Move(goal));
    }

    /// The way leads back out of a region, to where the caller was before: what it has begun is not wanted.
    pub(crate) fn walk_back_out(&mut self) -> bool {
        if !self.core().queue.is_empty() {
            self.cut_without_line("calls of the line are on their way");
            return false;
        }
        self.drop_region();
        true
    }

    /// What a line of the region wants to end it with, in the middle of a reply.
    pub(crate) fn yield_inside(&mut self, then: Then) {
        match then {
            // What triggers want of the playbook comes before it is left.
            Then::Return { value: ReturnValue::Value(value), .. }
                if self.core().queue.is_empty() && self.core().watch.is_settled() =>
            {
                self.end_region(value);
            }
            Then::GoOn | Then::WaitUser | Then::WaitTimer { .. } | Then::Return { .. } | Then::End { .. } => {
                self.yield_turn(TurnEnd::Wait, then);
            }
        }
    }

    /// Whether a `return` stands next that leaves the region and not the reply.
    pub(crate) fn returns_inside(&self) -> bool {
        let next = self.turn.as_ref().and_then(|turn| turn.todo.front());
        self.top().inside.is_some() && matches!(next, Some(Todo::Act(Action::Return(_))))
    }

    /// The playbook in the region returns `value` in the middle of a reply, which goes on with its caller.
    fn end_region(&mut self, value: Tracked) {
        if let Some(problem) = self.stack().wrong_return(&value) {
            let name = self.program.playbook(self.top().executed()).name.clone();
            self.fail_turn(&format!("{name} {problem}"));
            let here = &mut self.top_mut().here;
            here.performed = None;
            here.ask_model = true;
            return;
        }
        self.progressed();
        self.return_from_region(value);
    }

    /// The interpreter has done the line in hand: what else the reply says of it has no effect.
    pub(crate) fn end_line(&mut self) {
        if let Some(turn) = self.turn.as_mut() {
            turn.is_line_over = true;
        }
    }

    /// Whether a `return` without `at` is about the playbook in a region that has just returned.
    pub(crate) fn has_returned(&self) -> bool {
        let left = self.top().here.performed.as_ref().and_then(|performed| performed.left_at);
        left.is_some() && self.turn.as_ref().is_some_and(|turn| turn.line_at.is_none())
    }

    /// Whether a `return` is that of the caller: its `at` names the caller's line.
    pub(crate) fn leave_to_return(&self) -> bool {
        let at = self.turn.as_ref().and_then(|turn| turn.line_at.as_ref());
        self.top().inside.is_some() && at.is_some_and(|at| !at.contains('>'))
    }

    /// The region is left, then its caller does what the reply says. If lines inside are not done, they are not done
    /// any more: a playbook can be left early from wherever it is.
    pub(crate) fn todo_after_leaving(&mut self, action: Action) {
        self.todo_first(Todo::Act(action));
        let next = self.top().inside.as_ref().map(|inside| inside.region.next);
        if next.is_some_and(|next| matches!(self.stack().way(next), JumpOutcome::Through(_))) {
            return self.todo_first(Todo::Move(Goal::Out));
        }
        match self.core().queue.first().map(|call| call.id) {
            Some(call) => self.hold_for_call(call),
            None => self.drop_region(),
        }
    }

    /// A call that the model writes of the playbook in whose region the pointer is. Answers false if it is of another.
    pub(crate) fn call_of_region(&mut self, called: &Called) -> bool {
        // A line of the region may call its playbook again: a call in words is no call to the graph.
        if self.turn.as_ref().and_then(|turn| turn.line_at.as_deref()).is_some_and(|at| at.contains('>')) {
            return false;
        }
        let frame = self.top();
        let Some(inside) =
            frame.inside.as_ref().filter(|inside| called.callee == Callee::Playbook(inside.region.playbook))
        else {
            return false;
        };
        let playbook = self.program.playbook(inside.region.playbook);
        let is_untouched = frame.location().step().map(Node::Step) == Some(playbook.flow.entry)
            && frame.here.performed.is_none()
            && frame.core.queue.is_empty()
            && inside.scope.iter().all(|(_, variable)| variable.bound);
        let name = playbook.name.clone();
        if !is_untouched {
            let at = frame.pointer.map(|pointer| self.stack().label(pointer)).unwrap_or_default();
            self.fail_turn(&format!("{name} is being executed already: go on at line {at}"));
            return true;
        }
        self.report(Fact::Ignored { cause: format!("the interpreter has called {name} itself").into() });
        // An ordinary call, then: with a chat of its own, when the turn is over.
        if let Some(mut call) = self.close_region(None).map(|inside| inside.call) {
            call.put_back();
            self.core_mut().queue.push(call);
        }
        self.remove_stale();
        self.cut_without_line("the line calls a playbook");
        true
    }

    /// Tells that something the model wrote is no longer its to do.
    pub(crate) fn report_done(&mut self) {
        self.report(Fact::Ignored { cause: "the interpreter has done this line itself".into() });
    }
}

impl<'a> StackView<'a> {
    /// What the top frame's line calls and is shown inside it.
    pub(crate) fn region_at(self, line: StepId) -> Option<Region> {
        self.layouts.layout(self.top().playbook)?.region_at(line).copied()
    }

    /// The region of the top frame's playbook that a line is in.
    pub(crate) fn region_of(self, step: StepId) -> Option<Region> {
        self.layouts.layout(self.top().playbook)?.region_of(step).copied()
    }

    /// The playbook that a line of the top frame is one of.
    pub(crate) fn playbook_of(self, step: StepId) -> &'a Playbook {
        let region = self.region_of(step);
        self.program.playbook(region.map_or(self.top().playbook, |region| region.playbook))
    }

    /// What is wrong with a value that the playbook which is executed is to return, after its name; none: nothing.
    pub(crate) fn wrong_return(self, value: &Tracked) -> Option<String> {
        let returns = self.program.playbook(self.top().executed()).returns?;
        let kind = value.value().kind();
        (!returns.accepts(value.value())).then(|| format!("must return {returns}, not {kind}"))
    }

    /// Whether the way to a node leads out of the region that the pointer is in.
    pub(crate) fn leaves_region(self, node: Node) -> bool {
        let inside = self.top().inside.as_ref();
        inside.is_some_and(|inside| !matches!(node, Node::Step(step) if inside.region.holds(step)))
    }

    /// The line id of a line of the top frame.
    pub(crate) fn label(self, step: StepId) -> Arc<str> {
        self.body(self.top()).step(step).label.clone()
    }
}
