//! Limits of frames, and how frames end that do not return: interrupted, dropped, taken up again.

use std::sync::Arc;

use playhouse_lang::program::{OnLimit, PlaybookId};
use playhouse_lang::value::Value;

use crate::machine::frame::Frame;
use crate::machine::frame_core::{Phase, Then};
use crate::machine::state::{AfterUnwinding, Machine, Unwinding};
use crate::protocol::fault::FaultKind;
use crate::protocol::{Effect, Fact, Origin, Outcome, TimerId, Tracked, Wait};

impl Machine {
    pub(crate) fn unwind_end(&mut self, reason: Option<Arc<str>>) {
        self.unwinding = Some(Unwinding { depth: 0, then: AfterUnwinding::End { reason } });
    }

    /// Running tools are awaited, then the frames are dropped.
    pub(crate) fn step_unwinding(&mut self) -> Option<Wait> {
        let unwinding = self.unwinding.clone()?;
        let running = self.frames[unwinding.depth..]
            .iter()
            .flat_map(|frame| frame.core().queue.iter())
            .find(|call| call.callee.effect().is_some() && call.is_running());
        if let Some(call) = running {
            return Some(Wait::Call(call.id));
        }
        self.unwinding = None;
        match unwinding.then {
            AfterUnwinding::End { reason } => {
                while !self.frames.is_empty() {
                    self.drop_frame();
                }
                let value = Tracked::new(reason.map_or(Value::Null, Value::Str), Origin::MODEL);
                self.outcome = Some(Outcome::Done { value });
            }
            AfterUnwinding::Limit { what, on_limit } => self.apply_limit(unwinding.depth, &what, on_limit),
        }
        None
    }

    fn apply_limit(&mut self, depth: usize, what: &str, on_limit: OnLimit) {
        while self.frames.len() > depth + 1 {
            self.drop_frame();
        }
        if self.top().inside.is_some() {
            self.drop_region();
        }
        let name = self.program.playbook(self.top().playbook).name.clone();
        match on_limit {
            OnLimit::Fail => self.fail(
                FaultKind::FrameLimit,
                format!("{name} has reached its limit: {what}; raise it in the playbook's `limits`, or say what to do with `return` or `call`"),
            ),
            OnLimit::Return(value) => self.pop_frame(Tracked::new(value, Origin::CODE)),
            OnLimit::Call(callee) => {
                let agent = self.core().agent;
                let Some(id) = self.program.find_playbook(agent, &callee) else {
                    return self.fail(
                        FaultKind::FrameLimit,
                        format!("{name} has reached its limit ({what}) and would call {callee}, which is no playbook"),
                    );
                };
                let program = self.program.clone();
                let bound = match bind_defaults(&program, id) {
                    Ok(bound) => bound,
                    Err(problem) => {
                        return self.fail(
                            FaultKind::FrameLimit,
                            format!("{name} has reached its limit ({what}) and would call {callee}, but {problem}"),
                        );
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

    /// Whether a frame's own limit is reached; begins what the playbook wants done then.
    ///
    /// Asked before a turn and while one is read; what a frame does without the model is not limited.
    pub(crate) fn limit_reached(&mut self) -> bool {
        if !self.has_frame_limits {
            return false;
        }
        let at = (0..self.frames.len()).find_map(|depth| self.frame_limit(depth).map(|what| (depth, what)));
        let Some((depth, what)) = at else { return false };
        let Some(frame) = self.frames[depth].playbook() else { return false };
        let on_limit = self.program.playbook(frame.playbook).limits.on_limit.clone();
        self.cut_turn("a limit was reached");
        self.unwinding = Some(Unwinding { depth, then: AfterUnwinding::Limit { what, on_limit } });
        true
    }

    fn frame_limit(&self, depth: usize) -> Option<String> {
        // A plan has no limits of its own but those of its steps.
        let frame = self.frames[depth].playbook()?;
        let limits = &self.program.playbook(frame.playbook).limits;
        let is_asking = self.core().phase == Phase::Turn;
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
            && (!is_asking || self.is_time_up())
        {
            return Some(format!("{seconds} seconds"));
        }
        // Turns are counted when one begins; the limit is judged before the next.
        let turns = limits.turns.filter(|&turns| !is_asking && frame.core.spent.turns >= turns);
        turns.map(|turns| format!("{turns} turns"))
    }

    fn is_time_up(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.is_time_up)
    }

    /// A reply begins: the frames' limits of seconds run.
    pub(crate) fn start_time_limit(&mut self) {
        let program = self.program.clone();
        let left = self.frames.iter().filter_map(|frame| {
            let frame = frame.playbook()?;
            let seconds = program.playbook(frame.playbook).limits.seconds?;
            Some(seconds.saturating_mul(1_000).saturating_sub(frame.core.spent.active_ms))
        });
        self.time_limit = left.min().map(|after_ms| {
            let timer = self.next_timer();
            self.emit(Effect::StartTimer { timer, after_ms, is_background: false });
            timer
        });
    }

    pub(crate) fn next_timer(&mut self) -> TimerId {
        self.next.timer += 1;
        TimerId(self.next.timer)
    }

    /// Time has passed; it counts for every frame unless the user was waited for.
    pub(crate) fn spend_time(&mut self, ms: u64) {
        if self.frames.last().is_some_and(|frame| frame.core().phase != Phase::WaitingUser) {
            for frame in &mut self.frames {
                frame.core_mut().spent.active_ms += ms;
            }
        }
    }

    /// The user cancelled: the reply is closed and the frame waits to be told how to go on.
    pub(crate) fn handle_interrupted(&mut self) {
        if self.outcome.is_some() || self.unwinding.is_some() || self.frames.is_empty() {
            return;
        }
        if let Some(Frame::Plan(plan)) = self.frames.last_mut() {
            plan.stop("interrupted by the user".into());
            // The playbook that called it waits to be told how to go on, too.
            let caller = self.frames.iter_mut().rev().find_map(Frame::playbook_mut);
            if let Some(caller) = caller
                && matches!(caller.core.phase, Phase::Draining(Then::GoOn | Then::WaitTimer { .. }))
            {
                caller.core.phase = Phase::Draining(Then::WaitUser);
            }
            return;
        }
        match self.core().phase {
            Phase::Turn => {
                self.cut_turn("interrupted by the user");
                self.core_mut().phase = Phase::Draining(Then::WaitUser);
            }
            Phase::Ready | Phase::WaitingTimer(_) | Phase::Draining(Then::GoOn | Then::WaitTimer { .. }) => {
                self.core_mut().phase = Phase::Draining(Then::WaitUser);
            }
            // A return or an end goes on: it would only be asked for again.
            Phase::WaitingUser | Phase::Draining(_) => {}
        }
    }

    /// The process was restarted: what was in progress is taken up again.
    pub(crate) fn handle_reopened(&mut self) {
        self.blocked = None;
        // A model that could not be reached may answer now.
        if matches!(&self.outcome, Some(Outcome::Failed(fault)) if fault.kind == FaultKind::Model) {
            self.outcome = None;
            if self.stack().find_chat_owner().is_some() {
                self.chat_owner_mut().n_attempts = 0;
            }
        }
        self.reopen_turns();
        self.reopen_calls();
        self.reopen_timers();
    }

    /// After a restart of the process: what is waited for of the classifier and of timers.
    pub(crate) fn reopen_timers(&mut self) {
        self.tell_watcher(|watcher, sight| watcher.reopened(sight));
        let waiting: Vec<TimerId> = self
            .frames
            .iter()
            .filter_map(|frame| if let Phase::WaitingTimer(timer) = frame.core().phase { Some(timer) } else { None })
            .collect();
        for timer in waiting {
            // How much of the time had passed is not known to be right after a pause: it is over now.
            self.emit(Effect::StartTimer { timer, after_ms: 0, is_background: false });
        }
    }
}

/// A call without arguments: every parameter must have a default.
fn bind_defaults(
    program: &playhouse_lang::program::Program,
    id: PlaybookId,
) -> Result<Vec<(Arc<str>, Tracked)>, String> {
    program
        .playbook(id)
        .parameters
        .iter()
        .map(|parameter| match &parameter.default {
            Some(default) => Ok((parameter.name.clone(), Tracked::new(default.clone(), Origin::CODE))),
            None => Err(format!("it needs ${}", parameter.name)),
        })
        .collect()
}
