//! The interpreter does what plans want: the one place, whichever language a plan is in.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::plan::PlanId;

use crate::calls::callees::Callees;
use crate::machine::frame::{Frame, caller_of, n_frames};
use crate::machine::frame_core::FrameCore;
use crate::machine::interpreter::Interpreter;
use crate::plan::frame::PlanFrame;
use crate::plan::request::{PlanEvent, PlanRequest, SessionContext};
use crate::protocol::fault::FaultKind;
use crate::protocol::{CallId, Fact, FrameOrigin, Tracked, Wait};
use crate::variables::scope::Change;
use crate::variables::visible::Home;

impl Interpreter {
    /// Pushes a frame of a plan. The arguments have been bound and checked; they become its first variables.
    pub(crate) fn push_plan(&mut self, id: PlanId, bound: Vec<(Arc<str>, Tracked)>, origin: FrameOrigin) {
        let Some(source) = self.stack.plan(id).cloned() else { return };
        if !self.has_room(&source.name) {
            return;
        }
        let (agent, _) = caller_of(&self.stack.frames);
        let core = FrameCore::new(self.ids.next_frame(), agent, origin, n_frames(&self.stack.frames));
        let frame = match PlanFrame::new(core, id, source, self.stack.now, &self.stack.settings) {
            Ok(frame) => frame,
            Err(problem) => return self.fail(FaultKind::Begin, problem),
        };
        self.stack.frames.push(Frame::Plan(frame));
        self.frame_pushed(origin);
        let depth = self.stack.frames.len() - 1;
        let requests = self.tell_plan(depth, PlanEvent::Begun(bound));
        self.perform_wants(depth, requests);
    }

    /// One thing that the plan at a depth does next.
    pub(crate) fn step_plan(&mut self, depth: usize) -> Option<Wait> {
        let requests = self.tell_plan(depth, PlanEvent::Step);
        self.perform_wants(depth, requests)
    }

    /// Plans go on with their tools while a playbook of theirs runs above them. Answers whether one had to be asked.
    pub(crate) fn step_plan_below(&mut self) -> bool {
        let top = self.stack.frames.len() - 1;
        let has_news = |frame: &Frame| matches!(frame, Frame::Plan(plan) if plan.has_news());
        let Some(depth) = self.stack.frames[..top].iter().position(has_news) else { return false };
        self.step_plan(depth);
        true
    }

    /// What the plan at a depth wants after an event.
    fn tell_plan(&mut self, depth: usize, event: PlanEvent<'_>) -> Vec<PlanRequest> {
        let (agent, caller) = caller_of(&self.stack.frames[..=depth]);
        let session = SessionContext {
            settings: &self.stack.settings,
            callees: Callees::new(&self.stack.program, &self.stack.tools, &self.stack.prompts, agent, caller),
            written: &self.stack.written_plans,
            n_tokens: self.counters.prompt_tokens + self.counters.completion_tokens,
            is_top: depth + 1 == self.stack.frames.len(),
        };
        plan_of(&mut self.stack.frames[depth]).handle(event, session)
    }

    /// Does what a plan wants, in order. Answers what must be waited for.
    fn perform_wants(&mut self, depth: usize, requests: Vec<PlanRequest>) -> Option<Wait> {
        let mut requests = VecDeque::from(requests);
        while let Some(request) = requests.pop_front() {
            match request {
                PlanRequest::Bind(name, value) => drop(self.put_in_plan(depth, &name, value)),
                PlanRequest::Set(name, value) => match value.value().check_bounds(self.stack.settings.bounds()) {
                    Ok(()) => {
                        if let Some((value, old)) = self.put_in_plan(depth, &name, value) {
                            let old = old.as_ref().map(Tracked::shown);
                            requests.push_front(PlanRequest::Tell(Fact::VariableSet { name, value, old, local: true }));
                        }
                    }
                    Err(excess) => requests = self.tell_plan(depth, PlanEvent::TooLarge(&name, excess)).into(),
                },
                PlanRequest::Again => requests = self.tell_plan(depth, PlanEvent::Step).into(),
                PlanRequest::GoTo(node) => {
                    plan_of(&mut self.stack.frames[depth]).go_to(node);
                    if node.is_some() {
                        let place = self.stack.frames[depth].place(None);
                        self.reached(place);
                    }
                }
                PlanRequest::Call { resolved, arguments, unit } => {
                    let name = resolved.signature.name.clone();
                    let arguments = self.admit_arguments(depth, resolved.callee, &name, arguments)?;
                    let call = self.queue_call_at(depth, &resolved, arguments, None, None);
                    requests.extend(self.tell_plan(depth, PlanEvent::CallQueued { call, unit, resolved: &resolved }));
                }
                PlanRequest::Take(call) => self.take_plan_call(depth, call),
                PlanRequest::Work(call) => return self.step_call(call),
                PlanRequest::Tell(fact) => self.report_at(self.stack.frames[depth].place(None), fact),
                PlanRequest::Fault(fault) => {
                    plan_of(&mut self.stack.frames[depth]).go_to(Some(fault.node));
                    requests.push_front(PlanRequest::Tell(Fact::PlanFault(fault)));
                }
                PlanRequest::Adopt { written, at, attempt } => {
                    let index = self.stack.program.plans.len() + self.stack.written_plans.len();
                    let (id, source) = (PlanId(u32::try_from(index).unwrap_or(u32::MAX)), written.plan.clone());
                    self.stack.written_plans.push(written);
                    let plan = plan_of(&mut self.stack.frames[depth]);
                    plan.adopt(id, source.clone());
                    plan.go_to(at);
                    requests.push_front(PlanRequest::Tell(Fact::Replanned { plan: id, source, attempt }));
                }
                PlanRequest::Stop(reason) => plan_of(&mut self.stack.frames[depth]).stop(reason),
                PlanRequest::Wait(wait) => return Some(wait),
                PlanRequest::Return(value) => self.pop_frame(value),
                PlanRequest::Fail(message) => self.fail_plan(message),
            }
        }
        None
    }

    /// Takes the result of a call of the plan at a depth.
    pub(crate) fn take_plan_call(&mut self, depth: usize, call: CallId) {
        let Some((queued, result)) = self.stack.frames[depth].core_mut().queue.take_done(call) else { return };
        let requests = self.tell_plan(depth, PlanEvent::CallEnded(&queued, &result));
        let is_top = depth + 1 == self.stack.frames.len();
        let is_sequential = plan_of(&mut self.stack.frames[depth]).is_sequential();
        // What triggers make of the call comes before the next instruction; without such, after the call's own fault.
        if is_top && is_sequential {
            self.tell_watcher(|watcher, context| watcher.call_taken(context, &queued, &result));
        }
        self.perform_wants(depth, requests);
        if is_top && !is_sequential {
            self.tell_watcher(|watcher, context| watcher.call_taken(context, &queued, &result));
        }
    }

    /// A variable of the plan at a depth has this value, if a limit lets it. Answers the value as it is kept, and the
    /// one before.
    fn put_in_plan(&mut self, depth: usize, name: &Arc<str>, value: Tracked) -> Option<(Tracked, Option<Tracked>)> {
        let at = Some(self.stack.frames[depth].location());
        let change = Change { stamp: self.stack.next_stamp(), at, turn: None, binds: false };
        self.put(self.stack.frames[depth].core().agent, Home::Frame(depth), name, value, change)
    }

    /// The plan on top of the stack has failed for good: its caller's call fails with it, or the session.
    fn fail_plan(&mut self, message: Arc<str>) {
        let FrameOrigin::Call { call, .. } = self.stack.core().origin else {
            return self.fail(FaultKind::Plan, message);
        };
        self.drop_frame();
        self.refuse_call(call, message);
        self.remove_stale(false);
    }
}

fn plan_of(frame: &mut Frame) -> &mut PlanFrame {
    match frame {
        Frame::Plan(plan) => plan,
        Frame::Playbook(_) => unreachable!("only asked for at the depth of a plan"),
    }
}
