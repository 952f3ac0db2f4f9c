//! A reply and the playbook that runs inside one of its lines ([`crate::walk`]'s regions).

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::value::Value;

use crate::calls::call::{Called, Callee};
use crate::machine::frame_core::{ReturnValue, Then};
use crate::protocol::{Tracked, TurnEnd};
use crate::reply::Action;
use crate::turn::state::{Goal, Todo};
use crate::turn::{TurnOver, TurnResult, TurnStep, mistake};
use crate::walk::way::JumpOutcome;

impl TurnStep<'_> {
    /// In the middle of a reply the way leads out of a region: it returns nothing, if all that it has
    /// begun is over.
    pub(super) fn walk_out(&mut self, goal: Goal) -> TurnResult {
        let core = self.interpreter.stack.core();
        if !core.watch.is_settled() {
            return Err(self.matched(false));
        }
        if !core.queue.is_empty() {
            self.turn.drop_line();
            let then = Then::Return { value: ReturnValue::Value(Tracked::NULL), failed: false };
            return Err(TurnOver::Yielded(TurnEnd::Wait, then));
        }
        self.end_region(Tracked::NULL)?;
        self.turn.todo_first(Todo::Move(goal));
        Ok(())
    }

    /// The way leads back out of a region, to where the caller was before: what it has begun is not wanted.
    pub(super) fn walk_back_out(&mut self) -> TurnResult {
        if !self.interpreter.stack.core().queue.is_empty() {
            return Err(self.cut_without_line("calls of the line are on their way"));
        }
        self.interpreter.drop_region();
        Ok(())
    }

    /// What a line of the region wants to end it with, in the middle of a reply.
    pub(super) fn yield_inside(&mut self, then: Then) -> TurnResult {
        let core = self.interpreter.stack.core();
        match then {
            // What triggers want of the playbook comes before it is left.
            Then::Return { value: ReturnValue::Value(value), .. }
                if core.queue.is_empty() && core.watch.is_settled() =>
            {
                self.end_region(value)
            }
            Then::GoOn | Then::WaitUser | Then::WaitTimer { .. } | Then::Return { .. } | Then::End { .. } => {
                Err(TurnOver::Yielded(TurnEnd::Wait, then))
            }
        }
    }

    /// Whether a `return` stands next that leaves the region and not the reply.
    pub(super) fn returns_inside(&self) -> bool {
        let is_return = matches!(self.turn.todo.front(), Some(Todo::Act(Action::Return(_))));
        is_return && self.interpreter.stack.top().inside.is_some()
    }

    /// The playbook in the region returns `value` in the middle of a reply, which goes on with its caller.
    fn end_region(&mut self, value: Tracked) -> TurnResult {
        let stack = &mut self.interpreter.stack;
        if let Some(problem) = stack.wrong_return(&value) {
            let name = stack.program.playbook(stack.top().executed()).name.clone();
            let here = &mut stack.top_mut().here;
            here.performed = None;
            here.ask_model = true;
            return mistake(format!("{name} {problem}"));
        }
        self.turn.progress = true;
        self.interpreter.return_from_region(value);
        self.go_on_unless_failed()?;
        // What the reply says next would count on a variable that could not be set.
        if self.interpreter.stack.chat_owner().told.problem().is_some() {
            return Err(self.cut_without_line("the result does not fit the variable"));
        }
        // The variable is one of the caller's, and its triggers are asked like those of any other.
        self.judge(!self.turn.is_line_applied).map(drop)
    }

    /// Whether a `return` without `at` is about the playbook in a region that has just returned.
    pub(super) fn has_returned(&self) -> bool {
        let performed = self.interpreter.stack.top().here.performed.as_ref();
        performed.is_some_and(|performed| performed.left_at.is_some()) && self.turn.line_at.is_none()
    }

    /// Whether a `return` is that of the caller: its `at` names the caller's line.
    pub(super) fn leave_to_return(&self) -> bool {
        let at = self.turn.line_at.as_ref();
        self.interpreter.stack.top().inside.is_some() && at.is_some_and(|at| !at.contains('>'))
    }

    /// The region is left, then its caller does what the reply says. If lines inside are not done, they are not done
    /// any more: a playbook can be left early from wherever it is.
    pub(super) fn todo_after_leaving(&mut self, value: Value) -> TurnResult {
        let stack = &self.interpreter.stack;
        let next = stack.top().inside.as_ref().map(|inside| inside.region.next);
        let is_done = |next| matches!(stack.way(next), JumpOutcome::Through(_)) && stack.left_out(next).is_empty();
        if next.is_some_and(is_done) {
            self.turn.todo_first(Todo::Act(Action::Return(value)));
            self.turn.todo_first(Todo::Move(Goal::Out));
            return Ok(());
        }
        let call = stack.core().queue.first().map(|call| call.id);
        if call.is_none() {
            self.leave_lines(Some(&value))?;
        }
        self.turn.todo_first(Todo::Act(Action::Return(value)));
        match call {
            Some(call) => self.hold_for_call(call),
            None => {
                self.interpreter.drop_region();
                Ok(())
            }
        }
    }

    /// A call that the model writes of the playbook in whose region the pointer is. Answers false if it is of another.
    pub(super) fn call_of_region(&mut self, called: &Called) -> TurnResult<bool> {
        // A line of the region may call its playbook again: a call in words is no call to the graph.
        if self.turn.line_at.as_deref().is_some_and(|at| at.contains('>')) {
            return Ok(false);
        }
        let stack = &self.interpreter.stack;
        let frame = stack.top();
        let Some(inside) =
            frame.inside.as_ref().filter(|inside| called.callee == Callee::Playbook(inside.region.playbook))
        else {
            return Ok(false);
        };
        let playbook = stack.program.playbook(inside.region.playbook);
        let is_untouched = frame.location().step().map(Node::Step) == Some(playbook.flow.entry)
            && frame.here.performed.is_none()
            && frame.core.queue.is_empty()
            && inside.scope.iter().all(|(_, variable)| variable.bound);
        let name = playbook.name.clone();
        if !is_untouched {
            let at = frame.pointer.map(|pointer| stack.label(pointer)).unwrap_or_default();
            return mistake(format!("{name} is already running: continue at line {at}"));
        }
        self.interpreter.ignore(format!("the interpreter has called {name} itself"));
        // An ordinary call, then: with a chat of its own, when the turn is over.
        if let Some(mut call) = self.interpreter.close_region(None).map(|inside| inside.call) {
            call.put_back();
            self.interpreter.stack.core_mut().queue.push(call);
        }
        self.interpreter.remove_stale(false);
        Err(self.cut_without_line("the line calls a playbook"))
    }
}
