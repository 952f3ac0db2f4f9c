//! Frames come and go: pushing, returning, ending, and the limits that a frame puts on itself and those above.

use std::sync::Arc;

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Mode, PlaybookId, StepKind};

use crate::calls::call::CallState;
use crate::machine::frame::{Frame, LineState, PlaybookFrame, n_frames};
use crate::machine::frame_core::{FrameCore, Phase, ReturnValue, Then};
use crate::machine::interpreter::Interpreter;
use crate::protocol::fault::FaultKind;
use crate::protocol::{CallId, Fact, FrameOrigin, Tracked, Wait};
use crate::variables::bounds::describe_excess;

impl Interpreter {
    /// Pushes a frame. The arguments have been bound and checked.
    pub(crate) fn push_frame(&mut self, id: PlaybookId, bound: Vec<(Arc<str>, Tracked)>, origin: FrameOrigin) {
        let program = self.stack.program.clone();
        let playbook = program.playbook(id);
        if !self.has_room(&playbook.name) {
            return;
        }
        if self.stack.find_chat_owner().is_some() {
            let since = self.stack.stamp();
            self.stack.chat_owner_mut().told.suspend(since);
        }
        let core = FrameCore::new(self.ids.next_frame(), playbook.agent, origin, n_frames(&self.stack.frames));
        self.stack.frames.push(Frame::Playbook(PlaybookFrame::new(core, id)));
        self.frame_pushed(origin);
        for (name, value) in &bound {
            self.bind_variable(name, value.clone(), false);
        }
        match (playbook.mode, playbook.flow.entry) {
            (Mode::Goal, _) => self.reached_heading(),
            (Mode::Steps, node) => self.arrive(node),
        }
        self.run_first_commands();
    }

    /// Whether one more frame is allowed; else the session fails.
    pub(crate) fn has_room(&mut self, name: &str) -> bool {
        let has_room = n_frames(&self.stack.frames) < self.stack.settings.depth;
        if !has_room {
            self.fail(
                FaultKind::Limit,
                format!(
                    "calling {name} would make more than {} frames, the limit `depth`; give the recursion an end, or \
                     raise the limit",
                    self.stack.settings.depth
                ),
            );
        }
        has_room
    }

    /// A frame stands on the stack.
    pub(crate) fn frame_pushed(&mut self, origin: FrameOrigin) {
        self.counters.max_depth = self.counters.max_depth.max(n_frames(&self.stack.frames) as u64);
        self.report(Fact::FramePushed { origin });
    }

    fn reached_heading(&mut self) {
        if let Some(place) = self.place() {
            self.reached(place);
        }
    }

    /// Moves the top frame's pointer to a node; after the last line the frame, or what runs inside it, returns null.
    pub(crate) fn arrive(&mut self, node: Node) {
        if self.pass_to(node) {
            self.reached_heading();
        }
    }

    /// The same to a line that is only passed. Answers whether there is one.
    pub(crate) fn pass_to(&mut self, node: Node) -> bool {
        let node = if self.stack.leaves_region(node) { Node::End } else { node };
        match node {
            Node::Step(step) => {
                let layouts = self.stack.layouts.clone();
                let body = layouts.body(self.stack.top().playbook);
                let is_interpreters = self.stack.is_interpreters(body, step);
                let is_back = self.stack.top().pointer.is_some_and(|from| self.stack.is_before(step, from));
                let frame = self.stack.top_mut();
                if let Some(from) = frame.pointer {
                    frame.work.leave(from);
                    // Another round of the model's own loop: what was done in the last does not count.
                    if !is_interpreters && is_back {
                        frame.work.start_afresh();
                    }
                }
                // A loop is over where the pointer is not in it any more.
                frame.loops.retain(|state| state.header == step || body.is_nested(step, state.header));
                frame.pointer = Some(step);
                frame.here = LineState::default();
                true
            }
            Node::End => {
                self.stack.core_mut().phase =
                    Phase::Draining(Then::Return { value: ReturnValue::Value(Tracked::NULL), failed: false });
                false
            }
        }
    }

    /// The queue is worked off in order; then what was to follow follows.
    pub(crate) fn step_draining(&mut self) -> Option<Wait> {
        if let Some(id) = self.stack.core().queue.first().map(|call| call.id) {
            return self.step_call(id);
        }
        let Phase::Draining(then) = self.stack.core().phase.clone() else { return None };
        match then {
            Then::GoOn => self.stack.core_mut().phase = Phase::Ready,
            Then::WaitUser => self.stack.core_mut().phase = Phase::WaitingUser,
            Then::WaitTimer { after_ms, text } => {
                let timer = self.start_timer(after_ms);
                self.stack.core_mut().phase = Phase::WaitingTimer(timer);
                self.stack.chat_owner_mut().told.push_result(format!("timer {text} -> is over"));
            }
            // A failed call cancels the return: the model is told, and decides.
            Then::Return { failed: true, .. } => self.ask_again(),
            Then::Return { value, failed: false } => self.finish_return(value),
            Then::End { .. } => {}
        }
        None
    }

    /// What a call in the top frame's queue needs next. Answers what must be waited for.
    pub(crate) fn step_call(&mut self, id: CallId) -> Option<Wait> {
        let call = self.stack.core().queue.get(id)?;
        match (call.state(), call.guards) {
            (CallState::Done(_), Some(guard)) => self.take_guard(id, guard),
            (CallState::Queued, Some(guard)) => self.run_guard(id, guard),
            (CallState::Done(_), None) => self.take_call(id),
            (CallState::Running { .. }, _) => return Some(Wait::Call(id)),
            (CallState::Asking { .. }, _) => return Some(Wait::Approval(id)),
            (CallState::Queued, None) => self.run_queued(id),
        }
        None
    }

    /// Every call has ended: the value is made, checked, and the frame popped.
    fn finish_return(&mut self, value: ReturnValue) {
        let value = match value {
            ReturnValue::Value(value) => value,
            ReturnValue::OfCall(_) => self.last_value.clone(),
            ReturnValue::Pending(value) => match self.resolve(&value) {
                Ok(value) => value,
                Err(fault) => return self.tell_problem(format!("return: {fault}")),
            },
        };
        let program = self.stack.program.clone();
        let frame = self.stack.top();
        let playbook = program.playbook(frame.executed());
        if let Some(problem) = self.stack.wrong_return(&value) {
            return self.tell_problem(format!("{} {problem}", playbook.name));
        }
        if self.stack.top().inside.is_some() { self.return_from_region(value) } else { self.pop_frame(value) }
    }

    /// A return did not come about: the model is asked at the line the pointer stands on.
    fn ask_again(&mut self) {
        let frame = self.stack.top();
        let is_text = |step| matches!(self.stack.body(frame).step(step).kind, StepKind::Say { literal: Some(_) });
        let is_said = frame.here.performed.is_some() && frame.pointer.is_some_and(is_text);
        let frame = self.stack.top_mut();
        frame.core.phase = Phase::Ready;
        match is_said {
            // Nothing is said twice.
            true => (frame.here.is_said, frame.here.ask_model) = (true, true),
            false => frame.ask_model_again(),
        }
    }

    /// A return did not come about, for it was a mistake, of which the model is told.
    fn tell_problem(&mut self, problem: String) {
        self.ask_again();
        self.note_mistake(&problem);
    }

    /// The model has made a mistake, and is told of it; one too many is a failure.
    pub(crate) fn note_mistake(&mut self, problem: &str) {
        let chat_owner = self.stack.chat_owner_mut();
        chat_owner.n_failures += 1;
        let attempt = chat_owner.n_failures;
        if attempt >= self.stack.settings.max_repairs {
            return self.protocol_failure(problem);
        }
        self.counters.repairs += 1;
        self.report(Fact::Repair { cause: problem.into(), attempt });
        self.stack.chat_owner_mut().told.set_problem(problem);
    }

    /// The top frame returns `value`: its variables join the globals, the caller gets the value.
    pub(crate) fn pop_frame(&mut self, value: Tracked) {
        if let Err(excess) = value.value().check_bounds(self.stack.settings.bounds()) {
            return self.fail(FaultKind::Limit, format!("the returned value would be {}", describe_excess(excess)));
        }
        self.report(Fact::FramePopped { value: Some(value.clone()) });
        let frame = self.leave_frame();
        let origin = frame.core().origin;
        let has_talked = frame.playbook().is_some_and(|frame| !frame.opening.is_empty());
        let value = match frame {
            Frame::Playbook(frame) => self.assign_elided_results(frame, value),
            Frame::Plan(_) => value,
        };
        if let FrameOrigin::Trigger { trigger, .. } = origin {
            self.triggered_returned(trigger, &value, has_talked);
        }
        if let FrameOrigin::Call { call, .. } = origin {
            let now = self.stack.now;
            let caller = self.stack.frames.iter_mut().rev().find_map(|frame| frame.core_mut().queue.get_mut(call));
            if let Some(queued) = caller {
                let finished = queued.finish(now, Ok(value.clone()));
                self.report(finished);
            }
        }
        self.last_value = value;
        self.remove_stale(false);
        self.tell_watcher(|watcher, context| watcher.recheck_truths(context));
    }

    /// The top frame goes without a result, and what runs inside it before.
    pub(crate) fn drop_frame(&mut self) -> Frame {
        if self.stack.frames.last().is_some_and(|frame| frame.inside().is_some()) {
            self.drop_region();
        }
        self.report(Fact::FramePopped { value: None });
        self.leave_frame()
    }

    /// Takes the top frame off; a playbook's variables join its agent's globals, a plan's are gone.
    pub(crate) fn leave_frame(&mut self) -> Frame {
        let Some(mut frame) = self.stack.frames.pop() else { unreachable!("only called with a frame on the stack") };
        let core = frame.core_mut();
        let (id, trigger) = (core.id, core.trigger.take());
        let owed: Vec<_> = std::mem::take(&mut core.watch).dropped().chain(core.queue.waiting_guards()).collect();
        self.tell_watcher(|watcher, _| watcher.frame_gone(id, trigger, &owed));
        if let Frame::Playbook(frame) = &mut frame {
            let scope = std::mem::take(&mut frame.core.scope);
            self.stack.globals[frame.core.agent.0 as usize].join(scope);
        }
        frame
    }
}
