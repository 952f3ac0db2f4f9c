//! How the machine moves: an event comes in, and one step after the other is made until the world is waited for.

use std::sync::Arc;

use playhouse_lang::plan::{Plan, PlanId};
use playhouse_lang::program::{AgentId, Playbook, Program};

use crate::calls::call::{Callee, QueuedCall};
use crate::machine::frame::{Frame, PlaybookFrame};
use crate::machine::frame_core::{FrameCore, Phase};
use crate::machine::stack_view::StackView;
use crate::machine::state::Machine;
use crate::prompt::system::Prompts;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::view::Utterance;
use crate::protocol::{
    CallId, CallOutcome, Effect, Event, Fact, Origin, Outcome, Place, Progress, Report, Timestamp, ToolSignature,
    Tracked, Wait,
};
use crate::variables::scope::Stamp;

impl Machine {
    /// Something happened in the world. To be called only when `advance` has answered `Blocked` or `Finished`.
    pub fn handle(&mut self, time: Timestamp, event: Event) {
        let passed = u64::try_from(time.0.saturating_sub(self.now.0)).unwrap_or(0);
        self.now = self.now.max(time);
        self.n_directives = 0;
        if !matches!(event, Event::GoOn) {
            self.n_idle_directives = 0;
        }
        self.spend_time(passed);
        match event {
            Event::Chunk { turn, bytes } => self.handle_chunk(turn, &bytes),
            Event::ReplyEnded { turn, end, usage } => self.handle_reply_ended(turn, end, usage),
            Event::CallStarted { call, attempt } => self.handle_call_started(call, attempt),
            Event::CallEnded { call, outcome, usage } => self.handle_call_ended(call, outcome, usage),
            Event::Verdict { question, verdict, ms } => {
                self.tell_watcher(|watcher, sight| watcher.judged(sight, question, &verdict, ms));
            }
            Event::Message { text } => self.handle_message(text),
            Event::TimerFired { timer } => self.handle_timer(timer),
            Event::Approved { call, answer } => self.handle_approved(call, answer),
            Event::Interrupted => self.handle_interrupted(),
            Event::Edited { frame, name, value } => self.handle_edited(frame, &name, value),
            Event::SignaturesChanged { tools } => {
                self.prompts = Arc::new(Prompts::new(&self.program));
                self.tools = tools;
            }
            Event::ProgramChanged { program, tools, reopened } => {
                self.handle_program_changed(program.0, tools, reopened);
            }
            Event::GoOn => {}
            Event::Reopened => self.handle_reopened(),
        }
    }

    /// Moves by at most one directive.
    pub fn advance(&mut self) -> Progress {
        loop {
            if let Some(progress) = self.outbox.pop_front() {
                return progress;
            }
            if let Some(outcome) = &self.outcome {
                self.blocked = None;
                return Progress::Finished(outcome.clone());
            }
            if self.n_directives >= self.settings.budget {
                return Progress::Blocked(Wait::Budget);
            }
            self.n_directives += 1;
            self.n_idle_directives += 1;
            if self.n_idle_directives > self.settings.max_idle_directives {
                self.fail_idle();
                continue;
            }
            match self.step() {
                None => self.blocked = None,
                Some(wait) if self.blocked.as_ref() == Some(&wait) => return Progress::Blocked(wait),
                Some(wait) => {
                    self.blocked = Some(wait.clone());
                    if matches!(wait, Wait::Reply(_) | Wait::Verdict(_) | Wait::Budget) {
                        return Progress::Blocked(wait);
                    }
                    self.report(Fact::Waiting { wait });
                }
            }
        }
    }

    /// One transition; what it waits for, if it cannot make one.
    pub(crate) fn step(&mut self) -> Option<Wait> {
        if self.unwinding.is_some() {
            return self.step_unwinding();
        }
        if self.frames.is_empty() {
            self.step_empty_stack();
            return None;
        }
        if self.step_plan_below() {
            return None;
        }
        if self.core().phase == Phase::Turn {
            if self.limit_reached() {
                return None;
            }
        } else {
            match self.watch() {
                Ok(true) => return None,
                Ok(false) => {}
                Err(wait) => return Some(wait),
            }
        }
        if let Some(Frame::Plan(_)) = self.frames.last() {
            return self.step_plan(self.frames.len() - 1);
        }
        match &self.core().phase {
            Phase::Ready => {
                self.step_ready();
                None
            }
            Phase::Turn => self.step_turn(),
            Phase::Draining(_) => self.step_draining(),
            Phase::WaitingUser => match self.messages.pop_front() {
                Some(text) => {
                    self.deliver(text);
                    None
                }
                None => Some(Wait::User),
            },
            Phase::WaitingTimer(timer) => Some(Wait::Timer(*timer)),
        }
    }

    /// Somebody has said something; the playbooks on the stack remember how their conversation began.
    pub(crate) fn note_utterance(&mut self, by_user: bool, text: Arc<str>) {
        const OPENING: usize = 2;
        let number = self.conversation.n_total();
        let beginning = self.frames.iter_mut().filter_map(Frame::playbook_mut).filter(|f| f.opening.len() < OPENING);
        beginning.for_each(|frame| frame.opening.push((number, Utterance { by_user, text: text.clone() })));
        self.conversation.push(by_user, text, self.settings.conversation.max(1));
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The plan with this number: one of the program, or one that a model wrote.
    pub fn plan(&self, id: PlanId) -> Option<&Arc<Plan>> {
        let written = || self.written_plans.get((id.0 as usize).checked_sub(self.program.plans.len())?);
        self.program.plan(id).or_else(|| written().map(|written| &written.plan))
    }

    /// The tools there are.
    pub fn tools(&self) -> &Arc<[ToolSignature]> {
        &self.tools
    }

    /// The system message of an agent: the same bytes for all its turns.
    pub fn system_message(&self, agent: AgentId) -> Arc<str> {
        self.prompts.system(&self.program, &self.tools, agent, &self.layouts)
    }

    pub(crate) fn top_mut(&mut self) -> &mut PlaybookFrame {
        self.frames
            .last_mut()
            .and_then(Frame::playbook_mut)
            .expect("only asked for with a playbook on top of the stack")
    }

    pub(crate) fn core_mut(&mut self) -> &mut FrameCore {
        self.frames.last_mut().expect("a step is made only with a frame on the stack").core_mut()
    }

    /// The call with this id, wherever it stands.
    pub(crate) fn find_call(&mut self, call: CallId) -> Option<&mut QueuedCall> {
        self.frames.iter_mut().find_map(|frame| frame.core_mut().queue.get_mut(call))
    }

    pub(crate) fn chat_owner_mut(&mut self) -> &mut PlaybookFrame {
        let depth = self.stack().chat_owner_depth();
        self.frames[depth].playbook_mut().expect("only asked for with a playbook on the stack")
    }

    /// Where the top frame is; none: no frame is on the stack.
    pub fn place(&self) -> Option<Place> {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        Some(self.frames.last()?.place(turn))
    }

    pub(crate) fn emit(&mut self, effect: Effect) {
        self.outbox.push_back(Progress::Emit(effect));
    }

    pub(crate) fn report(&mut self, fact: Fact) {
        let report = Report { place: self.place(), fact };
        self.emit(Effect::Report(Box::new(report)));
    }

    /// Reports what happens in a frame that need not be on top.
    pub(crate) fn report_at(&mut self, place: Place, fact: Fact) {
        self.emit(Effect::Report(Box::new(Report { place: Some(place), fact })));
    }

    /// Ends the session with a fault at the top frame's place. The frames stay, so that they can be looked at.
    pub(crate) fn fail(&mut self, kind: FaultKind, message: impl Into<Arc<str>>) {
        let fault = Fault { kind, place: self.place(), message: message.into() };
        self.close_turn_now("the session failed");
        self.outcome = Some(Outcome::Failed(fault));
    }

    /// A program that spins is stopped where it is.
    pub(crate) fn fail_idle(&mut self) {
        let line = self.frames.last().map(|frame| self.describe(frame.location())).unwrap_or_default();
        let limit = self.settings.max_idle_directives;
        let message = format!(
            "{line}: {limit} steps without a model, a tool, the user or a timer, the limit `max_idle_directives`; is \
             there a loop that does not end? Give it an end, or raise the limit"
        );
        self.fail(FaultKind::Limit, message);
    }

    pub(crate) fn next_stamp(&mut self) -> Stamp {
        self.stamp.0 += 1;
        self.stamp
    }

    /// The playbook on top of the stack. To be asked for only by what is done for a playbook.
    pub(crate) fn top(&self) -> &PlaybookFrame {
        self.stack().top()
    }

    /// What the top frame has in whatever language.
    pub(crate) fn core(&self) -> &FrameCore {
        self.stack().core()
    }

    /// The nearest playbook's frame: its chat session is where what a plan above it brings is told.
    pub(crate) fn chat_owner(&self) -> &PlaybookFrame {
        self.stack().chat_owner()
    }
}

impl<'a> StackView<'a> {
    /// The playbook on top of the stack. To be asked for only by what is done for a playbook.
    pub(crate) fn top(self) -> &'a PlaybookFrame {
        self.frames.last().and_then(Frame::playbook).expect("only asked for with a playbook on top of the stack")
    }

    /// What the top frame has in whatever language.
    pub(crate) fn core(self) -> &'a FrameCore {
        self.frames.last().expect("a step is made only with a frame on the stack").core()
    }

    /// The nearest playbook's frame: its chat session is where what a plan above it brings is told.
    pub(crate) fn chat_owner(self) -> &'a PlaybookFrame {
        self.frames[self.chat_owner_depth()].playbook().expect("only asked for with a playbook on the stack")
    }

    pub(crate) fn chat_owner_depth(self) -> usize {
        self.find_chat_owner().unwrap_or(0)
    }

    /// The depth of the nearest playbook, if there is one.
    pub(crate) fn find_chat_owner(self) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.playbook().is_some())
    }

    /// A frame's playbook as it is executed.
    pub(crate) fn body(self, frame: &PlaybookFrame) -> &'a Playbook {
        self.layouts.body(frame.playbook)
    }
}

/// What came of a call, as the program is told.
pub(crate) fn result_of(outcome: CallOutcome, callee: Callee) -> Result<Tracked, Arc<str>> {
    let origin = if callee == Callee::Model { Origin::MODEL } else { Origin::TOOL };
    match outcome {
        CallOutcome::Value { value, secret } => Ok(Tracked::new(value, origin).secret_if(secret)),
        CallOutcome::Error(error) => Err(error),
        CallOutcome::Needs { question, .. } => Err(question),
    }
}
