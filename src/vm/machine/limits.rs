//! Limits of frames, and how frames end that do not return: interrupted, dropped, taken up again.

use std::sync::Arc;

use playhouse_lang::program::{OnLimit, PlaybookId, Program};
use playhouse_lang::value::Value;

use crate::machine::frame::Frame;
use crate::machine::frame_core::{FrameCore, Phase, Then};
use crate::machine::interpreter::Interpreter;
use crate::machine::state::{AfterUnwinding, Machine, Unwinding};
use crate::protocol::fault::FaultKind;
use crate::protocol::{Effect, Fact, INTERRUPTED, Origin, Outcome, TimerId, Tracked, Wait};
use crate::turn::state::Turn;

impl Machine {
    /// Running tools are awaited, then the frames are dropped.
    pub(crate) fn step_unwinding(&mut self) -> Option<Wait> {
        let unwinding = self.unwinding.clone()?;
        let running = self.interpreter.stack.frames[unwinding.depth..]
            .iter()
            .flat_map(|frame| frame.core().queue.iter())
            .find(|call| call.callee.effect().is_some() && call.is_running());
        if let Some(call) = running {
            return Some(Wait::Call(call.id));
        }
        self.unwinding = None;
        match unwinding.then {
            AfterUnwinding::End { reason } => {
                while !self.interpreter.stack.frames.is_empty() {
                    self.interpreter.drop_frame();
                }
                let value = Tracked::new(reason.map_or(Value::Null, Value::Str), Origin::MODEL);
                let program = &self.interpreter.stack.program;
                self.interpreter.outcome = self.ending.begin(value, program, &mut self.entries);
            }
            AfterUnwinding::Limit { what, on_limit } => self.interpreter.apply_limit(unwinding.depth, &what, on_limit),
        }
        None
    }

    /// Whether a frame's own limit is reached; begins what the playbook wants done then.
    ///
    /// Asked before a turn and while one is read; what a frame does without the model is not limited.
    pub(crate) fn limit_reached(&mut self) -> bool {
        if !self.interpreter.stack.analysis.has_frame_limits() {
            return false;
        }
        let stack = &self.interpreter.stack;
        let at = (0..stack.frames.len()).find_map(|depth| self.frame_limit(depth).map(|what| (depth, what)));
        let Some((depth, what)) = at else { return false };
        let Some(frame) = stack.frames[depth].playbook() else { return false };
        let on_limit = stack.program.playbook(frame.playbook).limits.on_limit.clone();
        self.cut_turn("a limit was reached");
        self.unwinding = Some(Unwinding { depth, then: AfterUnwinding::Limit { what, on_limit } });
        true
    }

    fn frame_limit(&self, depth: usize) -> Option<String> {
        let stack = &self.interpreter.stack;
        // A plan has no limits of its own but those of its steps.
        let frame = stack.frames[depth].playbook()?;
        let limits = &stack.program.playbook(frame.playbook).limits;
        let is_asking = stack.core().phase == Phase::Turn;
        let in_turn = self.turn.as_ref().map_or(0, |turn| turn.spent_tokens());
        if let Some(tokens) = limits.tokens
            && frame.core.spent.tokens + in_turn > tokens
        {
            return Some(format!("{tokens} tokens"));
        }
        // While a reply is read only the timer decides: the time of a chunk is that of whichever chunks it was
        // joined with in the journal.
        if let Some(seconds) = limits.seconds
            && frame.core.spent.active_ms >= seconds.saturating_mul(1_000)
            && (!is_asking || self.turn.as_ref().is_some_and(Turn::is_time_up))
        {
            return Some(format!("{seconds} seconds"));
        }
        // Turns are counted when one begins; the limit is judged before the next.
        let turns = limits.turns.filter(|&turns| !is_asking && frame.core.spent.turns >= turns);
        turns.map(|turns| format!("{turns} turns"))
    }

    /// A reply begins: the frames' limits of seconds run.
    pub(crate) fn start_time_limit(&mut self) {
        let stack = &self.interpreter.stack;
        let left = stack.frames.iter().filter_map(|frame| {
            let frame = frame.playbook()?;
            let seconds = stack.program.playbook(frame.playbook).limits.seconds?;
            Some(seconds.saturating_mul(1_000).saturating_sub(frame.core.spent.active_ms))
        });
        let after_ms = left.min();
        self.time_limit = after_ms.map(|after_ms| self.interpreter.start_timer(after_ms));
    }

    /// A timer has run out: of a limit, of a frame that waits, or of a trigger.
    pub(crate) fn handle_timer(&mut self, timer: TimerId) {
        if let Some(turn) = self.turn.as_mut()
            && self.time_limit == Some(timer)
        {
            self.time_limit = None;
            turn.note_time_up();
            return;
        }
        // A trigger's playbook may be running above the frame that waits.
        let waits = |frame: &&mut FrameCore| frame.phase == Phase::WaitingTimer(timer);
        if let Some(frame) = self.interpreter.stack.frames.iter_mut().map(Frame::core_mut).find(waits) {
            frame.phase = Phase::Ready;
        } else {
            self.interpreter.tell_watcher(|watcher, context| watcher.timer_fired(context, timer));
        }
    }

    /// The user cancelled: the reply is closed and the frame waits to be told how to go on.
    pub(crate) fn handle_interrupted(&mut self) {
        if self.interpreter.outcome.is_some() {
            return;
        }
        for call in self.interpreter.stack.started_calls() {
            self.interpreter.emit(Effect::CancelCall { call });
        }
        if self.unwinding.is_some() || self.interpreter.stack.frames.is_empty() {
            return;
        }
        let frames = &mut self.interpreter.stack.frames;
        if let Some(Frame::Plan(plan)) = frames.last_mut() {
            plan.stop(INTERRUPTED.into());
            // The playbook that called it waits to be told how to go on, too.
            let caller = frames.iter_mut().rev().find_map(Frame::playbook_mut);
            if let Some(caller) = caller
                && matches!(caller.core.phase, Phase::Draining(Then::GoOn | Then::WaitTimer { .. }))
            {
                caller.core.phase = Phase::Draining(Then::WaitUser);
            }
            return;
        }
        self.cut_turn(INTERRUPTED);
        match self.interpreter.stack.core().phase {
            Phase::Turn
            | Phase::Ready
            | Phase::WaitingTimer(_)
            | Phase::Draining(Then::GoOn | Then::WaitTimer { .. }) => self.interpreter.drain(Then::WaitUser),
            // A return or an end goes on: it would only be asked for again.
            Phase::WaitingUser | Phase::Draining(_) => {}
        }
    }

    /// The process was restarted: what was in progress is taken up again.
    pub(crate) fn handle_reopened(&mut self) {
        self.blocked = None;
        // A model that could not be reached may answer now.
        if matches!(&self.interpreter.outcome, Some(Outcome::Failed(fault)) if fault.kind.can_go_on()) {
            self.interpreter.outcome = None;
            if self.interpreter.stack.find_chat_owner().is_some() {
                let chat_owner = self.interpreter.stack.chat_owner_mut();
                (chat_owner.n_attempts, chat_owner.n_unfinished) = (0, 0);
            }
        }
        self.reopen_turns();
        self.interpreter.reopen_calls();
        self.interpreter.reopen_timers();
    }
}

impl Interpreter {
    /// A frame's own limit was reached: what runs above it goes, and what its playbook wants then is done.
    fn apply_limit(&mut self, depth: usize, what: &str, on_limit: OnLimit) {
        while self.stack.frames.len() > depth + 1 {
            self.drop_frame();
        }
        if self.stack.top().inside.is_some() {
            self.drop_region();
        }
        let program = self.stack.program.clone();
        let name = &program.playbook(self.stack.top().playbook).name;
        match on_limit {
            OnLimit::Fail => self.fail(
                FaultKind::FrameLimit,
                format!(
                    "{name} has reached its limit: {what}; raise it in the playbook's `limits`, or say what to do with \
                     `return` or `call`"
                ),
            ),
            OnLimit::Return(value) => self.pop_frame(Tracked::new(value, Origin::CODE)),
            OnLimit::Call(callee) => {
                let bound = match program.find_playbook(self.stack.core().agent, &callee) {
                    Some(id) => bind_defaults(&program, id).map(|bound| (id, bound)),
                    None => Err("which is not a playbook".to_owned()),
                };
                let (id, bound) = match bound {
                    Ok(bound) => bound,
                    Err(problem) => {
                        let message =
                            format!("{name} has reached its limit ({what}) and would call {callee}, {problem}");
                        return self.fail(FaultKind::FrameLimit, message);
                    }
                };
                // As a tail call: the callee takes over why the frame exists.
                self.report(Fact::FramePopped { value: None });
                let left = self.pop_for_tail_call();
                self.push_frame(id, bound, left.core.origin);
                if self.outcome.is_none() {
                    self.take_over(left);
                }
            }
        }
    }

    /// After a restart of the process: what is waited for of the classifier and of timers.
    pub(crate) fn reopen_timers(&mut self) {
        self.tell_watcher(|watcher, context| watcher.reopened(context));
        let timer_of =
            |frame: &Frame| if let Phase::WaitingTimer(timer) = frame.core().phase { Some(timer) } else { None };
        let waiting: Vec<TimerId> = self.stack.frames.iter().filter_map(timer_of).collect();
        for timer in waiting {
            // How much of the time had passed is not known to be right after a pause: it is over now.
            self.emit(Effect::StartTimer { timer, after_ms: 0, is_background: false });
        }
    }
}

/// A call without arguments: every parameter must have a default.
fn bind_defaults(program: &Program, id: PlaybookId) -> Result<Vec<(Arc<str>, Tracked)>, String> {
    program
        .playbook(id)
        .parameters
        .iter()
        .map(|parameter| match &parameter.default {
            Some(default) => Ok((parameter.name.clone(), Tracked::new(default.clone(), Origin::CODE))),
            None => Err(format!("but it needs ${}", parameter.name)),
        })
        .collect()
}
