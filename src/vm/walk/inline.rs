//! Inlined frames: a short playbook that an explicit line calls is shown inside that line and runs there, in the
//! turn and the chat session of its caller (spec `execution.md`, "Fewer model calls").
//!
//! The frame is an ordinary one, with its call in its caller's queue. What differs: it is pushed in the middle of
//! a reply, and popped in the middle of one. [`Machine::at_inlined`] says what an `at` means for it.

use std::sync::Arc;

use crate::protocol::Tracked;
use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{PlaybookId, StepId};

use crate::calls::call::{Called, Callee};
use crate::machine::frame_core::{Phase, ReturnValue, Then};
use crate::machine::state::Machine;
use crate::protocol::{CallId, Fact, FrameOrigin, TurnEnd};
use crate::reply::Action;
use crate::turn::state::{Todo, first_line};
use crate::walk::Walk;

impl Machine {
    /// The playbook that is shown inside a line.
    pub(crate) fn inlining(&self, playbook: PlaybookId, step: StepId) -> Option<PlaybookId> {
        if !self.settings.explicit_lines {
            return None;
        }
        self.analysis.inlining(playbook, step, self.settings.inline_lines).ok()
    }

    /// The explicit call at the top frame's line has been queued: if its playbook is shown inside, it begins.
    pub(crate) fn begin_inlined(&mut self, step: StepId) {
        let caller = self.top();
        if self.outcome.is_some() || self.inlining(caller.playbook, step).is_none() {
            return;
        }
        let Some(call) = caller.core.queue.last().filter(|call| call.is_waiting()).map(|call| call.id) else {
            return;
        };
        // The caller's model goes on seeing what happens: there is no meanwhile.
        let covered_since = self.asker().told.covered_since();
        let n_frames = self.frames.len();
        self.run_queued(call);
        if self.frames.len() == n_frames {
            return;
        }
        self.counters.inlined_calls += 1;
        let phase = self.phase_in_turn();
        let frame = self.top_mut();
        frame.inlined = true;
        frame.core.phase = phase;
        self.frames[n_frames - 1].core_mut().phase = Phase::Ready;
        self.asker_mut().told.uncover(covered_since);
    }

    fn phase_in_turn(&self) -> Phase {
        if self.turn.is_some() { Phase::Turn } else { Phase::Ready }
    }

    /// The frame of an inlined call has returned: its caller takes the result at once.
    pub(crate) fn take_inlined(&mut self, call: CallId) {
        self.core_mut().phase = self.phase_in_turn();
        self.take_call(call);
        // What the reply says next would count on a variable that could not be set.
        if self.outcome.is_none() && self.turn.is_some() && self.asker().told.problem().is_some() {
            return self.cut_without_line("the result does not fit the variable");
        }
        // The variable is one of the caller's, and its triggers are asked like those of any other.
        if let Some(drops_line) = self.turn.as_ref().map(|turn| !turn.is_line_applied) {
            self.judge_in_turn(drops_line);
        }
    }

    /// Takes the inlined frame off without a result, and with it its call.
    pub(crate) fn drop_inlined(&mut self) {
        let call = self.pop_dropped();
        call.and_then(|call| self.core_mut().queue.take(call));
        self.remove_stale();
    }

    pub(crate) fn pop_dropped(&mut self) -> Option<CallId> {
        self.report(Fact::FramePopped { value: None });
        let frame = self.leave_frame();
        self.core_mut().phase = self.phase_in_turn();
        match frame.core().origin {
            FrameOrigin::Call { call, .. } => Some(call),
            FrameOrigin::Begin | FrameOrigin::Trigger { .. } => None,
        }
    }

    /// What an `at` means where an inlined playbook is concerned: a line of one, or a line outside while one is
    /// being executed. Answers false if none is.
    pub(crate) fn at_inlined(&mut self, label: &Arc<str>) -> bool {
        let program = self.program.clone();
        let (outer, inner) = match label.split_once('>') {
            Some((outer, inner)) => (outer, Some(inner)),
            None => (&**label, None),
        };
        let is_inside = self.top().inlined;
        let left_at = self.turn.as_mut().and_then(|turn| turn.left_at.take());
        if !is_inside && left_at.as_ref() == Some(label) {
            // The line has been done, and with it the playbook: the model still writes about it.
            self.set_left_at(left_at);
            self.end_line();
            return true;
        }
        let caller = self.asker();
        let (playbook, pointer) = (program.playbook(caller.playbook), caller.pointer);
        let Some(line) = playbook.find_step(outer).filter(|_| is_inside || inner.is_some()) else { return false };
        if is_inside && pointer == Some(line) {
            let Some(inner) = inner else { return true };
            let callee = program.playbook(self.top().playbook);
            match callee.find_step(inner) {
                Some(target) => {
                    self.top_mut().is_told = true;
                    self.todo_first(Todo::Move(target));
                }
                None => self.no_such_line(label, outer, callee.id),
            }
            return true;
        }
        if is_inside {
            self.todo_first(Todo::At(label.clone()));
            self.todo_first(Todo::Leave(line));
            return true;
        }
        let (Some(inner), Some(callee)) = (inner, self.inlining(playbook.id, line)) else { return false };
        if program.playbook(callee).find_step(inner).is_none() {
            self.no_such_line(label, outer, callee);
            return true;
        }
        // It was executed here, and is to be executed again.
        if pointer == Some(line) && self.top().here.performed.is_some() {
            self.move_back(line);
        }
        self.todo_first(Todo::Enter(label.clone()));
        self.todo_first(Todo::Move(line));
        true
    }

    /// The pointer has come to the line that the playbook is shown inside.
    pub(crate) fn enter(&mut self, label: &Arc<str>) {
        if self.top().inlined && self.at_inlined(label) {
            return;
        }
        let line = label.split('>').next().unwrap_or_default();
        self.fail_turn(&format!(
            "line {label} cannot be reached: the interpreter could not do the call of line {line}"
        ));
    }

    fn no_such_line(&mut self, label: &str, outer: &str, callee: PlaybookId) {
        let playbook = self.program.playbook(callee);
        let labels: Vec<String> = playbook.steps.iter().map(|step| format!("{outer}>{}", step.label)).collect();
        let problem = format!("there is no line {label}; line {outer} holds {}", labels.join(", "));
        self.fail_turn(&problem);
    }

    /// A walk has come from the caller's line into the playbook shown inside, on its way to `target`.
    pub(crate) fn walked_inside(&mut self, line: StepId, target: StepId) {
        if line != target {
            self.todo_first(Todo::Move(target));
            self.todo_first(Todo::Leave(target));
        }
    }

    /// One step on the way out of the inlined frame to `target`, a line of its caller.
    pub(crate) fn leave_inlined(&mut self, target: StepId) {
        if !self.top().inlined {
            return;
        }
        if !self.core().watch.is_settled() {
            return self.cut_for_match(false);
        }
        if self.goes_back(target) {
            if self.core().queue.is_empty() {
                return self.drop_inlined();
            }
            return self.cut_without_line("calls of the line are on their way");
        }
        let Some(pointer) = self.top().pointer else { return };
        let program = self.program.clone();
        let playbook = program.playbook(self.top().playbook);
        if self.top().here.performed.is_none() {
            match self.perform(pointer) {
                Walk::Left if !self.top().is_told && !self.top().here.touched => {
                    // It is the model's, who has not come by here: as if the playbook had been called.
                    return self.fail_leaving(pointer);
                }
                Walk::Left if self.decides_on_pending(pointer) => {
                    return self.cut_without_line("the line decides on a result that is on its way");
                }
                Walk::Left => {}
                Walk::NeedsCalls => {
                    self.todo_first(Todo::Leave(target));
                    return self.wait_for_results(pointer);
                }
                Walk::Yield(then) => return self.yield_inlined(then),
                Walk::TookOver => return,
                Walk::Done => {
                    self.progressed();
                    if !self.judge_in_turn(true) || self.turn.is_some() {
                        self.todo_first(Todo::Leave(target));
                    }
                    return;
                }
            }
        }
        match self.way_to_end(pointer) {
            Ok(Node::Step(next)) => {
                self.pass_to(next);
                self.progressed();
                self.todo_first(Todo::Leave(target));
            }
            Err(step) if self.stops_reply(playbook, step) => {
                self.fail_leaving(step);
                if self.outcome.is_none() {
                    self.top_mut().here.ask_model = true;
                }
            }
            Ok(Node::End) if self.core().queue.is_empty() => self.return_inlined(Tracked::NULL),
            Ok(Node::End) => {
                self.drop_line();
                self.yield_inlined(Then::Return { value: ReturnValue::Value(Tracked::NULL), failed: false });
            }
            Err(step) => {
                let text = self.program.playbook(self.top().playbook).step(step).text.clone();
                let problem = format!("line {} is not done: {}", self.label(step), first_line(&text));
                self.fail_turn(&problem);
            }
        }
    }

    /// Whether the way from the calling line to `target` leads back, and not into a loop's next round.
    fn goes_back(&self, target: StepId) -> bool {
        let caller = self.asker();
        let playbook = self.program.playbook(caller.playbook);
        let is_next_round = caller.loops.iter().any(|state| {
            let is_first = playbook.step(state.header).children.first() == Some(&target);
            state.header == target
                || (is_first && self.top().pointer.is_some_and(|pointer| self.way_to_end(pointer).is_ok()))
        });
        caller.pointer.is_some_and(|pointer| target < pointer) && !is_next_round
    }

    /// The next node on the way from `from` to the end of the inlined playbook, over lines that may be passed;
    /// else the first line that may not.
    fn way_to_end(&self, from: StepId) -> Result<Node, StepId> {
        let frame = self.top();
        let playbook = self.program.playbook(frame.playbook);
        if let Some(performed) = &frame.here.performed {
            return Ok(performed.next);
        }
        if playbook.strict && !self.has_done_work(from, false) {
            return Err(from);
        }
        self.path(playbook, from, Node::End)
    }

    /// The reply goes on outside, and a line inside has not been done that is not the model's to pass over.
    fn fail_leaving(&mut self, step: StepId) {
        let text = self.program.playbook(self.top().playbook).step(step).text.clone();
        let label = self.label(step);
        let line = label.split('>').next().unwrap_or_default();
        self.fail_turn(&format!(
            "you leave line {line} before line {label} is done: {}. End your reply before it",
            first_line(&text)
        ));
    }

    /// What a line of the inlined playbook wants to end it with, in the middle of a reply.
    pub(crate) fn yield_inlined(&mut self, then: Then) {
        match then {
            // What triggers want of the playbook comes before it is left.
            Then::Return { value: ReturnValue::Value(value), .. }
                if self.core().queue.is_empty() && self.core().watch.is_settled() =>
            {
                self.return_inlined(value);
            }
            Then::GoOn | Then::WaitUser | Then::WaitTimer { .. } | Then::Return { .. } | Then::End { .. } => {
                self.yield_turn(TurnEnd::Wait, then);
            }
        }
    }

    /// Whether a `return` stands next that leaves the inlined playbook and not the reply.
    pub(crate) fn returns_inside(&self) -> bool {
        let next = self.turn.as_ref().and_then(|turn| turn.todo.front());
        self.top().inlined && matches!(next, Some(Todo::Act(Action::Return(_))))
    }

    /// The inlined playbook returns `value` in the middle of a reply, which goes on with its caller.
    fn return_inlined(&mut self, value: Tracked) {
        let program = self.program.clone();
        let playbook = program.playbook(self.top().playbook);
        if let Some(returns) = playbook.returns
            && !returns.accepts(value.value())
        {
            self.fail_turn(&format!("{} must return {returns}, not {}", playbook.name, value.value().kind()));
            let here = &mut self.top_mut().here;
            here.performed = None;
            here.ask_model = true;
            return;
        }
        let left_at = self.top().pointer.map(|pointer| self.label(pointer));
        self.progressed();
        self.set_left_at(left_at);
        self.pop_frame(value);
    }

    fn set_left_at(&mut self, label: Option<Arc<str>>) {
        if let Some(turn) = self.turn.as_mut() {
            turn.left_at = label;
        }
    }

    /// The interpreter has done the line in hand: what else the reply says of it has no effect.
    pub(crate) fn end_line(&mut self) {
        if let Some(turn) = self.turn.as_mut() {
            turn.is_line_over = true;
        }
    }

    /// Whether a `return` without `at` is about the inlined playbook that has just returned.
    pub(crate) fn has_returned(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.left_at.is_some() && turn.line_at.is_none())
    }

    /// Whether a `return` is that of the caller: its `at` names the caller's line.
    pub(crate) fn leave_to_return(&self) -> bool {
        let at = self.turn.as_ref().and_then(|turn| turn.line_at.as_ref());
        self.top().inlined && at.is_some_and(|at| !at.contains('>'))
    }

    /// The inlined frame is left, then its caller does what the reply says. If lines inside are not done, they are
    /// not done any more: a playbook can be left early from wherever it is.
    pub(crate) fn todo_after_leaving(&mut self, action: Action) {
        let (Some(line), Some(pointer)) = (self.asker().pointer, self.top().pointer) else { return };
        self.todo_first(Todo::Act(action));
        if self.way_to_end(pointer).is_ok() {
            return self.todo_first(Todo::Leave(line));
        }
        match self.core().queue.first().map(|call| call.id) {
            Some(call) => self.hold_for_call(call),
            None => self.drop_inlined(),
        }
    }

    /// Tells that something the model wrote is no longer its to do.
    pub(crate) fn report_done(&mut self) {
        self.report(Fact::Ignored { cause: "the interpreter has done this line itself".into() });
    }

    /// A call that the model writes of the playbook that is inlined here. Answers false if it is of another.
    pub(crate) fn call_of_inlined(&mut self, called: &Called) -> bool {
        // A line of the inlined playbook may call that playbook again: a call in words is no call to the graph.
        if self.turn.as_ref().and_then(|turn| turn.line_at.as_deref()).is_some_and(|at| at.contains('>')) {
            return false;
        }
        let frame = self.top();
        if !frame.inlined || called.callee != Callee::Playbook(frame.playbook) {
            return false;
        }
        let playbook = self.program.playbook(frame.playbook);
        let is_untouched = frame.pointer.map(Node::Step) == Some(playbook.flow.entry)
            && frame.here.performed.is_none()
            && frame.core.queue.is_empty()
            && frame.core.scope.iter().all(|(_, variable)| variable.bound);
        let name = playbook.name.clone();
        if !is_untouched {
            let at = frame.pointer.map(|pointer| self.label(pointer)).unwrap_or_default();
            self.fail_turn(&format!("{name} is being executed already: go on at line {at}"));
            return true;
        }
        self.report(Fact::Ignored { cause: format!("the interpreter has called {name} itself").into() });
        // An ordinary call, then: with a chat of its own, when the turn is over.
        let call = self.pop_dropped();
        if let Some(queued) = call.and_then(|call| self.core_mut().queue.get_mut(call)) {
            queued.put_back();
        }
        self.cut_without_line("the line calls a playbook");
        true
    }

    /// The line id of a line of the top frame as the model sees it: `03>01` in an inlined playbook.
    pub(crate) fn label(&self, step: StepId) -> Arc<str> {
        let frame = self.top();
        let label = &self.program.playbook(frame.playbook).step(step).label;
        let caller = self.frames.len().checked_sub(2).and_then(|below| self.frames[below].playbook());
        let line = caller.filter(|_| frame.inlined).and_then(|caller| {
            let pointer = caller.pointer?;
            Some(&self.program.playbook(caller.playbook).step(pointer).label)
        });
        match line {
            Some(line) => format!("{line}>{label}").into(),
            None => label.clone(),
        }
    }
}
