//! The machine does what plans want: the one place, whichever language a plan is in.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::plan::PlanId;

use crate::calls::callees::Callees;
use crate::machine::frame::{Frame, caller_of};
use crate::machine::frame_core::FrameCore;
use crate::machine::state::Machine;
use crate::plan::frame::PlanFrame;
use crate::plan::want::{PlannedCall, Session, Want};
use crate::protocol::fault::FaultKind;
use crate::protocol::{CallId, Fact, FrameId, FrameOrigin, Progress, Tracked, Wait};
use crate::variables::scope::Change;
use crate::variables::visible::Home;

impl Machine {
    /// Pushes a frame of a plan. The arguments have been bound and checked; they become its first variables.
    pub(crate) fn push_plan(&mut self, id: PlanId, bound: Vec<(Arc<str>, Tracked)>, origin: FrameOrigin) {
        let Some(source) = self.plan(id).cloned() else { return };
        if !self.has_room(&source.name) {
            return;
        }
        let (agent, _) = caller_of(&self.frames);
        let core = FrameCore::new(FrameId(self.next.frame + 1), agent, origin);
        let frame = match PlanFrame::new(core, id, source, self.now, &self.settings) {
            Ok(frame) => frame,
            Err(problem) => return self.fail(FaultKind::Begin, problem),
        };
        self.next.frame += 1;
        self.frames.push(Frame::Plan(frame));
        self.frame_pushed(origin);
        let depth = self.frames.len() - 1;
        let (plan, session) = self.plan_at(depth);
        let wants = plan.begin(bound, session);
        self.perform_wants(depth, wants);
    }

    /// One thing that the plan at a depth does next.
    pub(crate) fn step_plan(&mut self, depth: usize) -> Option<Wait> {
        let (plan, session) = self.plan_at(depth);
        let wants = plan.next(session);
        self.perform_wants(depth, wants)
    }

    /// Plans go on with their tools while a playbook of theirs runs above them. Answers whether one had to be asked.
    pub(crate) fn step_plan_below(&mut self) -> bool {
        let top = self.frames.len() - 1;
        let has_news = |frame: &Frame| matches!(frame, Frame::Plan(plan) if plan.has_news());
        let below = self.frames[..top].iter().position(has_news);
        below.into_iter().for_each(|depth| drop(self.step_plan(depth)));
        below.is_some()
    }

    /// The plan at a depth, and what it can see of the session.
    fn plan_at(&mut self, depth: usize) -> (&mut PlanFrame, Session<'_>) {
        let (agent, caller) = caller_of(&self.frames[..=depth]);
        let session = Session {
            settings: &self.settings,
            callees: Callees::new(&self.program, &self.tools, &self.prompts, agent, caller),
            written: &self.written_plans,
            n_tokens: self.counters.prompt_tokens + self.counters.completion_tokens,
            is_top: depth + 1 == self.frames.len(),
        };
        match &mut self.frames[depth] {
            Frame::Plan(plan) => (plan, session),
            Frame::Playbook(_) => unreachable!("only asked for at the depth of a plan"),
        }
    }

    /// Does what a plan wants, in order. Answers what must be waited for.
    fn perform_wants(&mut self, depth: usize, wants: Vec<Want>) -> Option<Wait> {
        let mut wants = VecDeque::from(wants);
        while let Some(want) = wants.pop_front() {
            match want {
                Want::Bind(name, value) => {
                    self.put_in_plan(depth, &name, value);
                }
                Want::Set(name, value) => match value.value().check_bounds(self.settings.bounds()) {
                    Ok(()) => {
                        let put = self.put_in_plan(depth, &name, value);
                        if let Some((value, old)) = put {
                            let old = old.as_ref().map(Tracked::shown);
                            self.report_in_plan(depth, Fact::VariableSet { name, value, old, local: true });
                        }
                    }
                    Err(excess) => {
                        let (plan, session) = self.plan_at(depth);
                        wants = plan.refuse(&name, excess, session).into();
                    }
                },
                Want::Again => {
                    let (plan, session) = self.plan_at(depth);
                    wants = plan.next(session).into();
                }
                Want::GoTo(node) => {
                    self.plan_at(depth).0.go_to(node);
                    if node.is_some() {
                        let place = self.frames[depth].place(depth, None);
                        self.outbox.push_back(Progress::Reached(place));
                    }
                }
                Want::Call(PlannedCall { resolved, arguments, unit }) => {
                    let call = self.queue_call_at(depth, &resolved, arguments, None);
                    let (plan, session) = self.plan_at(depth);
                    plan.call_queued(call, unit, &resolved, session);
                }
                Want::Take(call) => self.take_plan_call(depth, call),
                Want::Work(call) => return self.step_call(call),
                Want::Tell(fact) => self.report_in_plan(depth, fact),
                Want::Adopt { written, at, attempt } => {
                    let index = self.program.plans.len() + self.written_plans.len();
                    let (id, source) = (PlanId(u32::try_from(index).unwrap_or(u32::MAX)), written.plan.clone());
                    self.written_plans.push(written);
                    let (plan, _) = self.plan_at(depth);
                    plan.adopt(id, source.clone());
                    plan.go_to(at);
                    self.report_in_plan(depth, Fact::Replanned { plan: id, source, attempt });
                }
                Want::Stop(reason) => self.plan_at(depth).0.stop(reason),
                Want::Wait(wait) => return Some(wait),
                Want::Return(value) => self.pop_frame(value),
                Want::Fail(message) => self.fail_plan(message),
            }
        }
        None
    }

    /// Takes the result of a call of the plan at a depth.
    pub(crate) fn take_plan_call(&mut self, depth: usize, call: CallId) {
        let Some((queued, result)) = self.frames[depth].core_mut().queue.take_done(call) else { return };
        let (plan, session) = self.plan_at(depth);
        let (is_top, is_sequential) = (session.is_top, plan.is_sequential());
        let wants = plan.take(&queued, &result, session);
        // What triggers make of the call comes before the next instruction; without such, after the call's own fault.
        if is_top && is_sequential {
            self.call_taken(&queued, &result);
        }
        self.perform_wants(depth, wants);
        if is_top && !is_sequential {
            self.call_taken(&queued, &result);
        }
    }

    /// A variable of the plan at a depth has this value, if a limit lets it. Answers the value as it is kept, and the
    /// one before.
    fn put_in_plan(&mut self, depth: usize, name: &Arc<str>, value: Tracked) -> Option<(Tracked, Option<Tracked>)> {
        // Whatever turn there is belongs to a playbook above.
        let change = Change { turn: None, ..self.change(Some(depth), false) };
        self.put(self.frames[depth].core().agent, Home::Frame(depth), name, value, change)
    }

    fn report_in_plan(&mut self, depth: usize, fact: Fact) {
        let place = self.frames[depth].place(depth, None);
        self.report_at(place, fact);
    }

    /// The plan on top of the stack has failed for good: its caller's call fails with it, or the session.
    fn fail_plan(&mut self, message: Arc<str>) {
        let FrameOrigin::Call { call, .. } = self.core().origin else {
            return self.fail(FaultKind::Plan, message);
        };
        self.report(Fact::FramePopped { value: None });
        self.leave_frame();
        self.refuse_call(call, message);
        self.remove_stale();
    }
}
