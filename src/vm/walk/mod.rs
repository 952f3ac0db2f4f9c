//! The walker: how the pointer moves over lines, and what the interpreter performs on the way.
//!
//! One function performs a line whose meaning is exact ([`Interpreter::perform`]); one decides which way a pointer
//! may go ([`Stack::way`]). Both serve the interpreter's own running ahead and the `at`s of a model
//! (spec `turn-protocol.md`, "The pointer").

mod loops;
mod region;
pub(crate) mod tail_call;
pub(crate) mod way;
pub(crate) mod work;

use std::sync::Arc;

use playhouse_lang::program::flow_graph::{EdgeKind, Node};
use playhouse_lang::program::{Arm, CallSite, Returned, StepId, StepKind};
use playhouse_lang::value::Value;

use crate::calls::arguments::{Given, Resolved, bind, describe_call};
use crate::calls::call::{CallState, Called, Callee, QueuedCall};
use crate::machine::frame::{Performed, PlaybookFrame};
use crate::machine::frame_core::{Phase, ReturnValue, Then};
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::fault::FaultKind;
use crate::protocol::{Approval, CallId, EffectClass, ToolSignature, Tracked};
use crate::variables::bounds::describe_excess;
use crate::variables::display::shorten;
use crate::variables::eval::{eval, eval_condition};
use crate::variables::fault::EvalFault;
use crate::walk::tail_call::TailCall;

/// What performing a line came to.
pub(crate) enum LineOutcome {
    /// It is done; `here.performed` says where to go.
    Done,
    /// It is not explicit, or not now: the model's.
    Left,
    /// It needs the result of a call that is on its way.
    NeedsCalls,
    /// The frame's turn at lines is over.
    Yield(Then),
    /// The playbook that the line calls takes the frame's place.
    TailCall(Box<TailCall>),
}

/// What a line did.
pub(crate) enum LineEffect {
    /// The next line follows.
    Next(Option<(Arc<str>, Value)>),
    /// A branch or loop has been decided.
    Go(EdgeKind),
    /// The playbook is over, or waits.
    Yield(Then),
    /// The playbook that the line calls takes the frame's place.
    TailCall(Box<TailCall>),
}

/// What calling came to.
enum CallMade {
    /// The call is queued.
    Queued(CallId),
    /// A limit ended the session.
    Failed,
    /// The callee takes the frame's place.
    TailCall(Box<TailCall>),
}

/// What a frame comes to that moves without its model.
pub(crate) enum Ready {
    /// It has moved, or waits.
    Moved,
    /// The model is to go on.
    AsksModel,
    /// The playbook that its line calls takes its place.
    TailCall(Box<TailCall>),
}

impl Interpreter {
    /// One move of the top frame on its own: perform an explicit line, leave a line that is done, or ask the
    /// model.
    pub(crate) fn step_ready(&mut self) -> Ready {
        let frame = self.stack.top();
        let Some(step) = frame.pointer.filter(|_| !frame.here.ask_model) else {
            return self.drain_or_ask();
        };
        if let Some(performed) = &frame.here.performed {
            let next = performed.next;
            self.arrive(next);
            return Ready::Moved;
        }
        match self.perform(step) {
            LineOutcome::Done => {}
            LineOutcome::TailCall(tail_call) => return Ready::TailCall(tail_call),
            LineOutcome::NeedsCalls => self.drain(Then::GoOn),
            LineOutcome::Yield(then) => self.drain(then),
            LineOutcome::Left => match self.stack.way_out(step) {
                Some(next) => self.arrive(next),
                None if self.stack.waits_by_itself(step) => self.drain(Then::WaitUser),
                None => return self.drain_or_ask(),
            },
        }
        Ready::Moved
    }

    fn drain_or_ask(&mut self) -> Ready {
        if self.stack.core().queue.is_empty() {
            return Ready::AsksModel;
        }
        self.drain(Then::GoOn);
        Ready::Moved
    }

    /// The top frame's queue is worked off; then this follows.
    pub(crate) fn drain(&mut self, then: Then) {
        self.stack.core_mut().phase = Phase::Draining(then);
    }

    /// Performs the pointer's line if it is explicit and everything it needs is there. Once for each arrival.
    pub(crate) fn perform(&mut self, step: StepId) -> LineOutcome {
        let layouts = self.stack.layouts.clone();
        let body = layouts.body(self.stack.top().playbook);
        let line = body.step(step);
        if !self.stack.performs_here(self.stack.top()) {
            return LineOutcome::Left;
        }
        if self.stack.blocking_call(step).is_some() {
            return LineOutcome::NeedsCalls;
        }
        self.stack.touch(line.reads.iter());
        if let Some((name, callee)) = self.stack.core().outdated_value(line) {
            self.stack.top_mut().here.left_to_model = true;
            self.stack.note_done_line(step, format_args!("is left to you: ${name} is from before, {callee} failed"));
            return LineOutcome::Left;
        }
        match self.act(step, &line.kind) {
            Ok(act) => {
                self.counters.explicit_lines += 1;
                let (next, assigned) = match act {
                    LineEffect::Next(assigned) => (body.flow.follow(step, EdgeKind::Next), assigned),
                    LineEffect::Go(kind) => (body.flow.follow(step, kind), None),
                    LineEffect::Yield(then) => return LineOutcome::Yield(then),
                    LineEffect::TailCall(tail_call) => return LineOutcome::TailCall(tail_call),
                };
                if self.outcome.is_none() {
                    self.stack.top_mut().here.performed = Some(Performed { next, assigned, left_at: None });
                    if line.call().is_some() {
                        self.enter_region(step);
                    }
                }
                LineOutcome::Done
            }
            // What is too large for the interpreter is too large for the model.
            Err(EvalFault::Excess(excess)) => {
                let (line, excess) = (self.stack.label(step), describe_excess(excess));
                self.fail(FaultKind::Limit, format!("line {line}: the result would be {excess}"));
                LineOutcome::Done
            }
            Err(fault) => {
                self.stack.top_mut().here.left_to_model = true;
                // Only worth telling where the author wrote something exact; an else-arm has nothing to read.
                self.stack.note_done_line(step, format_args!("is left to you: {fault}"));
                LineOutcome::Left
            }
        }
    }

    fn act(&mut self, step: StepId, kind: &StepKind) -> Result<LineEffect, EvalFault> {
        match kind {
            StepKind::Assign { target, value: Some(value) } => {
                let value = self.stack.as_declared(&target.name, eval(value, &self.stack.reader())?)?;
                let shown = shorten(&value, self.stack.settings.shown_value_bytes);
                let assigned = (target.name.clone(), value.value().clone());
                self.set_variable(&target.name, value);
                self.stack.note_done_line(step, format_args!("${} = {shown}", target.name));
                Ok(LineEffect::Next(Some(assigned)))
            }
            StepKind::Branch { arm, condition } => {
                let holds = match condition {
                    Some(condition) => eval_condition(condition, &self.stack.reader())?,
                    None if *arm == Arm::Else => true,
                    None => return Err(EvalFault::words("its condition is in words")),
                };
                // Of several branches the true one says it all.
                if condition.is_some() && holds {
                    self.stack.note_done_line(step, format_args!("is true"));
                }
                Ok(LineEffect::Go(if holds { EdgeKind::Then } else { EdgeKind::Else }))
            }
            StepKind::Loop(header) => self.act_loop(step, header),
            StepKind::Return(returned) => {
                let value = match returned {
                    Returned::Nothing => ReturnValue::Value(Tracked::NULL),
                    Returned::Value(value) => ReturnValue::Value(eval(value, &self.stack.reader())?),
                    Returned::Call(site) => match self.act_call(step, site)? {
                        CallMade::Queued(call) => ReturnValue::OfCall(call),
                        CallMade::Failed => return Ok(LineEffect::Next(None)),
                        CallMade::TailCall(tail_call) => return Ok(LineEffect::TailCall(tail_call)),
                    },
                    Returned::Words => return Err(EvalFault::words("what it returns is in words")),
                };
                if let ReturnValue::Value(value) = &value
                    && let Some(problem) = self.stack.wrong_return(value)
                {
                    return Err(EvalFault::words(format!("it {problem}")));
                }
                Ok(LineEffect::Yield(Then::Return { value, failed: false }))
            }
            StepKind::End => Ok(LineEffect::Yield(Then::End { reason: None })),
            StepKind::Break => {
                self.stack.note_done_line(step, format_args!("the loop is over"));
                Ok(LineEffect::Next(None))
            }
            StepKind::Continue | StepKind::Gone(_) => Ok(LineEffect::Next(None)),
            StepKind::Call(site) => match self.act_call(step, site)? {
                CallMade::Queued(_) | CallMade::Failed => Ok(LineEffect::Next(None)),
                CallMade::TailCall(tail_call) => Ok(LineEffect::TailCall(tail_call)),
            },
            StepKind::Say { literal: Some(text) } => {
                let said = self.say_whole(text)?;
                self.stack.note_done_line(step, format_args!("said {}", Value::from(said).to_json()));
                Ok(LineEffect::Next(None))
            }
            StepKind::Assign { value: None, .. }
            | StepKind::Say { literal: None }
            | StepKind::Ask { .. }
            | StepKind::Free => Err(EvalFault::words("it is in words")),
        }
    }

    fn act_call(&mut self, step: StepId, site: &CallSite) -> Result<CallMade, EvalFault> {
        let resolved = self.stack.find_callee(&site.callee).map_err(EvalFault::words)?;
        let arguments = site.arguments.as_deref().ok_or_else(|| EvalFault::words("its arguments are in words"))?;
        let mut given = Given::default();
        for argument in arguments {
            let value = eval(&argument.value, &self.stack.reader())?;
            match &argument.name {
                Some(name) => given.named.push((name.clone(), value)),
                None => given.positional.push(value),
            }
        }
        let bound = bind(&resolved, given).map_err(EvalFault::words)?;
        let Some(bound) = self.admit_arguments(self.stack.frames.len() - 1, resolved.callee, &site.callee, bound)
        else {
            return Ok(CallMade::Failed);
        };
        let result_name = site.result.as_ref().map(|target| target.name.clone());
        let called = Called { callee: resolved.callee, name: site.callee.clone() };
        let is_inside = self.stack.region_at(step).is_some();
        if !is_inside && let Some(site) = self.stack.tail_call(&called, result_name.as_ref()) {
            return Ok(CallMade::TailCall(site.call(&resolved, bound, None)));
        }
        let called = describe_call(&resolved.signature.name, &bound);
        let call = self.queue_call(&resolved, bound, result_name, None);
        self.stack.note_done_line(step, format_args!("called {called}"));
        Ok(CallMade::Queued(call))
    }
}

impl Stack {
    /// Whether the user is to speak next, and the model would only say so: what the line waits the answer to has been
    /// said.
    pub(crate) fn waits_by_itself(&self, step: StepId) -> bool {
        let is_silent = self.chat_owner().told.is_silent();
        let is_said = self.conversation.utterances.back().is_some_and(|last| !last.by_user);
        // What the model has begun on the line it may go on with.
        let here = &self.top().here;
        !here.ask_model && !here.touched && is_silent && is_said && self.only_waits(step)
    }

    /// Whether a line says no more than that the user is waited for, who has not answered yet.
    pub(crate) fn only_waits(&self, step: StepId) -> bool {
        let line = self.body(self.top()).step(step);
        let verb = line.text.get(.."wait".len()).unwrap_or_default();
        matches!(line.kind, StepKind::Ask { .. }) && verb.eq_ignore_ascii_case("wait") && self.is_unanswered(step)
    }

    /// Whether a line asks the user for something that it has not got: of the variables that it names, or an answer
    /// since the pointer came to it.
    pub(crate) fn is_unanswered(&self, step: StepId) -> bool {
        let frame = self.top();
        let line = self.body(frame).step(step);
        let StepKind::Ask { targets } = &line.kind else { return false };
        match targets.is_empty() {
            true => frame.pointer != Some(step) || !frame.here.is_answered,
            false => !frame.work.is_done(line),
        }
    }

    /// Where a line of the top frame is left to that has done its work and has one successor.
    pub(crate) fn way_out(&self, step: StepId) -> Option<Node> {
        self.way_out_of(self.top(), step)
    }

    fn way_out_of(&self, frame: &PlaybookFrame, step: StepId) -> Option<Node> {
        let body = self.body(frame);
        let line = body.step(step);
        let is_work = match &line.kind {
            StepKind::Ask { targets } => !targets.is_empty(),
            StepKind::Call(_) | StepKind::Assign { .. } => true,
            StepKind::Branch { .. }
            | StepKind::Loop(_)
            | StepKind::Return(_)
            | StepKind::End
            | StepKind::Break
            | StepKind::Continue
            | StepKind::Say { .. }
            | StepKind::Free
            | StepKind::Gone(_) => false,
        };
        let [only] = body.flow.successors(step) else { return None };
        let is_left_out = frame.pointer == Some(step) && frame.here.skipped.is_some();
        (is_left_out || is_work && frame.work.is_done(line)).then_some(only.to)
    }

    /// The first line that a frame has not done with: after its pointer's line, if the frame is going to leave
    /// that by itself. Whether it has left it already is a matter of when its calls are worked off.
    ///
    /// A line that a return follows is not done with: should that not come about, the model is asked there.
    pub(crate) fn goes_on_from(&self, frame: &PlaybookFrame) -> Node {
        let body = self.body(frame);
        let Some(step) = frame.pointer else { return body.flow.entry };
        let here = &frame.here;
        let behind = match &here.performed {
            Some(performed) => Some(performed.next),
            None if here.ask_model || self.performs_here(frame) => None,
            None => self.way_out_of(frame, step),
        };
        let returns = matches!(frame.core.phase, Phase::Draining(Then::Return { .. }));
        behind.filter(|next| *next != Node::End && !returns).unwrap_or(Node::Step(step))
    }

    /// Whether a line's work is done. `strictly`: since the frame began or the pointer last moved back; else a
    /// variable that was known before counts for a line that asks for it.
    pub(crate) fn has_done_work(&self, step: StepId, strictly: bool) -> bool {
        let frame = self.top();
        let line = self.body(frame).step(step);
        if frame.pointer == Some(step) && frame.here.skipped.is_some() {
            return true;
        }
        if let StepKind::Ask { targets } = &line.kind
            && !strictly
            && frame.work.is_first_pass()
        {
            return targets.iter().all(|target| self.reader().variable(&target.name).is_some());
        }
        frame.work.is_done(line)
    }

    /// Whether the pointer's line of a frame is the interpreter's to perform: it is exact, and performing it has not
    /// failed.
    pub(crate) fn performs_here(&self, frame: &PlaybookFrame) -> bool {
        let body = self.body(frame);
        frame.pointer.is_some_and(|step| self.is_interpreters(body, step) && !frame.here.left_to_model)
    }

    /// The queued call that must be over before an explicit line is performed. Lines are done in the order
    /// written: only tools that change nothing may still run beside the next line, and that only if it neither
    /// needs their results nor changes anything itself.
    pub(crate) fn blocking_call(&self, step: StepId) -> Option<CallId> {
        let frame = self.top();
        let line = self.body(frame).step(step);
        // A result on its way hides any older value of its name.
        if let Some(call) = line.reads.iter().find_map(|name| frame.pending(name)) {
            return Some(call.id);
        }
        // What a person may refuse is not passed over.
        let asks_nobody =
            |name: &str| ToolSignature::find(&self.tools, name).is_some_and(|tool| tool.approval == Approval::Never);
        let calls_quietly = |name: &str| {
            matches!(self.find_callee(name), Ok(Resolved { callee: Callee::Tool(EffectClass::ReadOnly), .. }))
                && asks_nobody(name)
        };
        let changes_something = line.call().is_some_and(|site| !calls_quietly(&site.callee));
        if let Some(call) = self.call_in_the_way().filter(|_| line.call().is_some()) {
            return Some(call);
        }
        // A return waits for its queue anyway.
        if matches!(line.kind, StepKind::Return(Returned::Nothing)) {
            return None;
        }
        let is_quiet = |call: &QueuedCall| {
            call.callee == Callee::Tool(EffectClass::ReadOnly)
                && asks_nobody(&call.name)
                && !matches!(call.state(), CallState::Asking { .. })
        };
        frame.core.queue.iter().find(|call| changes_something || !is_quiet(call)).map(|call| call.id)
    }
}
