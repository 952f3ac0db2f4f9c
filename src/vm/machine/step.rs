//! How the machine moves: an event comes in, and one step after the other is made until the world is waited for.

use std::sync::Arc;

use playhouse_lang::plan::{Plan, PlanId};
use playhouse_lang::program::{AgentId, Program};

use crate::machine::frame_core::{Phase, Then};
use crate::machine::state::{AfterUnwinding, Machine, Unwinding};
use crate::protocol::fault::FaultKind;
use crate::protocol::{Event, Fact, Location, Place, Progress, Timestamp, ToolSignature, Wait};
use crate::walk::Ready;

impl Machine {
    /// Something happened in the world. To be called only when `advance` has answered `Blocked` or `Finished`.
    pub fn handle(&mut self, time: Timestamp, event: Event) {
        let stack = &mut self.interpreter.stack;
        let passed = u64::try_from(time.0.saturating_sub(stack.now.0)).unwrap_or(0);
        stack.now = stack.now.max(time);
        stack.spend_time(passed);
        self.n_directives = 0;
        if !matches!(event, Event::GoOn) {
            self.n_idle_directives = 0;
        }
        // Whatever else happens, who waits is told again what for.
        if !matches!(event, Event::Verdict { .. }) {
            self.heard = None;
        }
        match event {
            Event::Chunk { turn, bytes } => self.handle_chunk(turn, &bytes),
            Event::ReplyEnded { turn, end, usage } => self.handle_reply_ended(turn, end, usage),
            Event::CallStarted { call, attempt } => self.interpreter.handle_call_started(call, attempt),
            Event::CallEnded { call, outcome, usage } => self.interpreter.handle_call_ended(call, outcome, usage),
            Event::Verdict { question, verdict, ms } => self.handle_verdict(question, &verdict, ms),
            Event::Message { text } => self.handle_message(text),
            Event::Signal(signal) => {
                // Whoever sent it is told when the machine waits again.
                self.blocked = None;
                self.interpreter.tell_watcher(|watcher, context| watcher.signal_arrived(context, signal));
            }
            Event::TimerFired { timer } => self.handle_timer(timer),
            Event::Approved { call, answer, by } => self.interpreter.handle_approved(call, answer, by),
            Event::Interrupted => self.handle_interrupted(),
            Event::Edited { frame, name, value } => self.interpreter.handle_edited(frame, &name, value),
            Event::SignaturesChanged { tools } => self.interpreter.stack.change_tools(tools),
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
            // A session that has failed wants no more of its reply.
            if self.interpreter.outcome.is_some() && self.turn.is_some() {
                self.close_turn("the session failed");
            }
            if let Some(progress) = self.interpreter.take_told() {
                return progress;
            }
            if let Some(outcome) = &self.interpreter.outcome {
                self.blocked = None;
                return Progress::Finished(outcome.clone());
            }
            let settings = &self.interpreter.stack.settings;
            if self.n_directives >= settings.budget {
                return Progress::Blocked(Wait::Budget);
            }
            self.n_directives += 1;
            self.n_idle_directives += 1;
            if self.n_idle_directives > settings.max_idle_directives {
                self.fail_idle();
                continue;
            }
            match self.step() {
                None => self.blocked = None,
                Some(wait) if self.blocked.as_ref() == Some(&wait) => {
                    if !self.hear_while(&wait) {
                        return Progress::Blocked(wait);
                    }
                    self.heard = Some((wait, self.interpreter.ids.last_frame()));
                }
                Some(wait) => {
                    self.blocked = Some(wait.clone());
                    if matches!(wait, Wait::Reply(_) | Wait::Verdict(_) | Wait::Budget) {
                        return Progress::Blocked(wait);
                    }
                    // A message of which nothing has come changes nothing about what is waited for.
                    let last_frame = self.interpreter.ids.last_frame();
                    if self.heard.take().is_none_or(|heard| heard != (wait.clone(), last_frame)) {
                        self.interpreter.report(Fact::Waiting { wait });
                    }
                }
            }
        }
    }

    /// One transition; what it waits for, if it cannot make one.
    fn step(&mut self) -> Option<Wait> {
        if self.unwinding.is_some() {
            return self.step_unwinding();
        }
        if self.interpreter.stack.frames.is_empty() {
            self.step_empty_stack();
            return None;
        }
        if self.interpreter.step_plan_below() {
            return None;
        }
        if matches!(self.interpreter.stack.core().phase, Phase::Turn) {
            if self.limit_reached() {
                return None;
            }
        } else {
            match self.interpreter.watch() {
                Ok(true) => return None,
                Ok(false) => {}
                Err(wait) => return Some(wait),
            }
        }
        if self.interpreter.stack.is_plan_on_top() {
            return self.interpreter.step_plan(self.interpreter.stack.frames.len() - 1);
        }
        match &self.interpreter.stack.core().phase {
            Phase::Ready => {
                match self.interpreter.step_ready() {
                    Ready::Moved => {}
                    Ready::AsksModel => self.start_turn(),
                    Ready::TailCall(tail_call) => self.interpreter.make_tail_call(*tail_call),
                }
                None
            }
            Phase::Turn => self.step_turn(),
            // What is queued and has not begun is dropped with the frames.
            Phase::Draining(Then::End { reason }) => {
                let then = AfterUnwinding::End { reason: reason.clone() };
                self.unwinding = Some(Unwinding { depth: 0, then });
                None
            }
            Phase::Draining(_) => self.interpreter.step_draining(),
            Phase::WaitingUser => match self.interpreter.inbox.next() {
                Some(message) => {
                    self.interpreter.deliver(message);
                    None
                }
                None => Some(Wait::User),
            },
            Phase::WaitingTimer(timer) => Some(Wait::Timer(*timer)),
        }
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.interpreter.stack.program
    }

    /// The plan with this number: one of the program, or one that a model wrote.
    pub fn plan(&self, id: PlanId) -> Option<&Arc<Plan>> {
        self.interpreter.stack.plan(id)
    }

    /// The tools there are.
    pub fn tools(&self) -> &Arc<[ToolSignature]> {
        &self.interpreter.stack.tools
    }

    /// The system message of an agent: the same bytes for all its turns.
    pub fn system_message(&self, agent: AgentId) -> Arc<str> {
        self.interpreter.stack.system_message(agent)
    }

    /// Where the top frame is; none: no frame is on the stack.
    pub fn place(&self) -> Option<Place> {
        self.interpreter.place()
    }

    /// `Name:03`, or `Name` for its heading.
    pub fn describe(&self, location: Location) -> String {
        self.interpreter.stack.describe(location)
    }

    /// A program that spins is stopped where it is.
    fn fail_idle(&mut self) {
        let stack = &self.interpreter.stack;
        let line = stack.frames.last().map(|frame| stack.describe(frame.location())).unwrap_or_default();
        let limit = stack.settings.max_idle_directives;
        let message = format!(
            "{line}: {limit} steps without a model, a tool, the user or a timer, the limit `max_idle_directives`; is \
             there a loop that does not end? Give it an end, or raise the limit"
        );
        self.interpreter.fail(FaultKind::Limit, message);
    }
}
