//! Frames come and go: pushing, returning, ending, and the limits that a frame puts on itself and those above.

use std::sync::Arc;

use playhouse_lang::flow_graph::Node;
use playhouse_lang::plan::{PlanBody, PlanId};
use playhouse_lang::program::{Mode, OnLimit, PlaybookId};
use playhouse_lang::value::{Origin, Tracked, Value};

use crate::Machine;
use crate::fault::FaultKind;
use crate::frame::{CallState, Chat, Frame, FrameCore, Here, News, Phase, PlaybookFrame, ReturnValue, Then};
use crate::protocol::{Effect, Fact, FrameId, FrameOrigin, Outcome, Progress, TimerId, Wait};

/// Frames are being dropped without results; running tools are awaited first.
#[derive(Clone, Debug)]
pub(crate) struct Unwinding {
    /// The lowest frame concerned, by depth.
    depth: usize,
    then: AfterUnwinding,
}

impl Unwinding {
    /// Whether a frame's own limit is the reason.
    pub(crate) fn is_of_limit(&self) -> bool {
        matches!(self.then, AfterUnwinding::Limit { .. })
    }
}

/// What follows when the tools have ended.
#[derive(Clone, Debug)]
enum AfterUnwinding {
    /// `end`: the program is over.
    End { reason: Option<Arc<str>> },
    /// A frame's own limit was reached.
    Limit { what: String, on_limit: OnLimit },
}

impl Machine {
    /// Pushes a frame. The arguments have been bound and checked.
    pub(crate) fn push_frame(&mut self, id: PlaybookId, bound: Vec<(Arc<str>, Tracked)>, origin: FrameOrigin) {
        let program = self.program.clone();
        let playbook = program.playbook(id);
        if !self.has_room(&playbook.name) {
            return;
        }
        if self.find_asker().is_some() {
            let since = self.stamp;
            self.asker_mut().news.covered_since.get_or_insert(since);
        }
        self.next.frame += 1;
        self.frames.push(Frame::Playbook(PlaybookFrame {
            core: FrameCore::new(FrameId(self.next.frame), playbook.agent, origin),
            playbook: id,
            inlined: false,
            is_told: false,
            pointer: None,
            here: Here::default(),
            loops: Vec::new(),
            chat: Chat::default(),
            n_elided: 0,
            discards_value: false,
            elided_results: Vec::new(),
            news: News::default(),
            fresh_since: self.stamp,
            set_names: Vec::new(),
            moved_back: false,
            claimed_names: Vec::new(),
            unclaimed_calls: Vec::new(),
            done_calls: Vec::new(),
            reached: Vec::new(),
            told_skipped: false,
            saying: None,
            n_failures: 0,
            n_idle_turns: 0,
            n_attempts: 0,
            delay_ms: 0,
        }));
        self.frame_pushed(origin);
        for (name, value) in &bound {
            self.bind_variable(name, value.clone(), false);
        }
        self.top_mut().fresh_since = self.stamp;
        match (playbook.mode, playbook.flow.entry) {
            (Mode::Goal, _) => self.reached_heading(),
            (Mode::Steps, node) => self.arrive(node),
        }
    }

    /// Pushes a frame of a plan. The arguments have been bound and checked; they become its first variables.
    pub(crate) fn push_plan(&mut self, id: PlanId, bound: Vec<(Arc<str>, Tracked)>, origin: FrameOrigin) {
        let Some(source) = self.plan(id).cloned() else { return };
        if !self.has_room(&source.name) {
            return;
        }
        match source.body {
            PlanBody::Json(_) => self.push_json_plan(id, source, bound, origin),
            PlanBody::Dataflow(_) => self.push_dataflow(id, source, bound, origin),
        }
    }

    /// Whether one more frame is allowed; else the session fails.
    fn has_room(&mut self, name: &str) -> bool {
        let has_room = self.frames.len() < self.settings.depth;
        if !has_room {
            self.fail(
                FaultKind::Limit,
                format!(
                    "calling {name} would make more than {} frames, the limit `depth`; a recursion that does not \
                     end, or raise the limit",
                    self.settings.depth
                ),
            );
        }
        has_room
    }

    /// A frame stands on the stack.
    pub(crate) fn frame_pushed(&mut self, origin: FrameOrigin) {
        self.counters.max_depth = self.counters.max_depth.max(self.frames.len() as u64);
        self.report(Fact::FramePushed { origin });
    }

    fn reached_heading(&mut self) {
        if let Some(place) = self.place() {
            self.outbox.push_back(Progress::Reached(place));
        }
    }

    /// Moves the top frame's pointer to a node; behind the last line the frame returns null.
    pub(crate) fn arrive(&mut self, node: Node) {
        match node {
            Node::Step(step) => {
                self.claim_names();
                let stamp = self.stamp;
                let is_explicit =
                    self.settings.explicit_lines && self.program.playbook(self.top().playbook).step(step).explicit;
                let frame = self.top_mut();
                // Another round of the model's own loop: what was done in the last does not count.
                if !is_explicit && frame.pointer.is_some_and(|from| from > step) {
                    frame.start_afresh(stamp);
                }
                frame.pointer = Some(step);
                frame.here = Here::default();
                self.reached_heading();
            }
            Node::End => {
                self.core_mut().phase =
                    Phase::Draining(Then::Return { value: ReturnValue::Value(null()), failed: false });
            }
        }
    }

    /// The queue is worked off in order; then what was to follow follows.
    pub(crate) fn step_draining(&mut self) -> Option<Wait> {
        let frame = self.top();
        // What is queued and has not begun is dropped with the frames.
        if let Phase::Draining(Then::End { reason }) = &frame.core.phase {
            let reason = reason.clone();
            self.unwind_end(reason);
            return None;
        }
        if let Some(worked) = self.step_queue() {
            return worked;
        }
        let Phase::Draining(then) = self.top().core.phase.clone() else { return None };
        match then {
            Then::GoOn => self.core_mut().phase = Phase::Ready,
            Then::WaitUser => self.core_mut().phase = Phase::WaitingUser,
            Then::WaitTimer { after_ms, text } => {
                let timer = self.next_timer();
                self.core_mut().phase = Phase::WaitingTimer(timer);
                self.asker_mut().news.results.push(format!("timer {text} -> is over"));
                self.emit(Effect::StartTimer { timer, after_ms, is_background: false });
            }
            // A failed call cancels the return: the model is told, and decides.
            Then::Return { failed: true, .. } => self.ask_again(),
            Then::Return { value, failed: false } => self.finish_return(value),
            Then::End { .. } => {}
        }
        None
    }

    /// What the first call in the top frame's queue needs next, and what must be waited for; none: the queue is
    /// empty.
    pub(crate) fn step_queue(&mut self) -> Option<Option<Wait>> {
        let call = self.core().queue.front()?;
        let id = call.id;
        match (&call.state, call.guards) {
            (CallState::Done(_), Some(guard)) => self.take_guard(id, guard),
            (CallState::Queued, Some(guard)) => self.run_guard(id, guard),
            (CallState::Done(_), None) => self.take_call(id),
            (CallState::Running { .. }, _) => return Some(Some(Wait::Call(id))),
            (CallState::Asking { .. }, _) => return Some(Some(Wait::Approval(id))),
            (CallState::Queued, None) => self.run_queued(id),
        }
        Some(None)
    }

    pub(crate) fn handle_timer(&mut self, timer: TimerId) {
        if let Some(turn) = self.turn.as_mut()
            && self.time_limit == Some(timer)
        {
            self.time_limit = None;
            turn.is_time_up = true;
            return;
        }
        // A trigger's playbook may be running above the frame that waits.
        let waits = |frame: &&mut FrameCore| frame.phase == Phase::WaitingTimer(timer);
        if let Some(frame) = self.frames.iter_mut().map(Frame::core_mut).find(waits) {
            frame.phase = Phase::Ready;
        } else {
            self.trigger_timer_fired(timer);
        }
    }

    /// Every call has ended: the value is made, checked, and the frame popped.
    fn finish_return(&mut self, value: ReturnValue) {
        let value = match value {
            ReturnValue::Value(value) => value,
            ReturnValue::OfCall(_) => self.last_value.clone(),
            ReturnValue::Pending(value) => match self.resolve(&value) {
                Ok(value) => value,
                Err(fault) => {
                    self.ask_again();
                    return self.tell_problem(format!("return: {fault}"));
                }
            },
        };
        let program = self.program.clone();
        let frame = self.top();
        let playbook = program.playbook(frame.playbook);
        if let Some(returns) = playbook.returns
            && !returns.accepts(&value.value)
        {
            let problem = format!("{} must return {returns}, not {}", playbook.name, value.value.kind());
            self.ask_again();
            return self.tell_problem(problem);
        }
        if playbook.mode == Mode::Goal && !playbook.steps.is_empty() {
            let skipped: Vec<&_> = playbook.steps.iter().filter(|step| !frame.reached.contains(&step.id)).collect();
            if !skipped.is_empty() {
                let lines: Vec<Arc<str>> = skipped.iter().map(|step| step.label.clone()).collect();
                if !self.asker().told_skipped {
                    let asker = self.asker_mut();
                    asker.told_skipped = true;
                    let text = format!("not done: {}: do them or say why in \"think\"", lines.join(", "));
                    asker.news.problem = Some(text.into());
                    return self.ask_again();
                }
                self.report(Fact::LinesSkipped { lines });
            }
        }
        self.pop_frame(value);
    }

    /// A return did not come about: the model is asked at the line the pointer stands on.
    fn ask_again(&mut self) {
        let frame = self.top_mut();
        frame.core.phase = Phase::Ready;
        frame.here.performed = None;
        frame.here.ask_model = true;
    }

    /// Tells the model of a mistake that has not to do with reading its reply.
    fn tell_problem(&mut self, problem: String) {
        let asker = self.asker_mut();
        asker.n_failures += 1;
        let attempt = asker.n_failures;
        if attempt >= self.settings.max_repairs {
            return self.protocol_failure(&problem);
        }
        self.counters.repairs += 1;
        let problem: Arc<str> = problem.into();
        self.report(Fact::Repair { cause: problem.clone(), attempt });
        self.asker_mut().news.problem = Some(problem);
    }

    /// The top frame returns `value`: its variables join the others, the caller gets the value.
    pub(crate) fn pop_frame(&mut self, value: Tracked) {
        self.report(Fact::FramePopped { value: Some(value.clone()) });
        let frame = self.leave_frame();
        let origin = frame.core().origin;
        let (value, inlined) = match frame {
            Frame::Playbook(frame) => {
                let inlined = frame.inlined;
                (self.settle_elided(frame, value), inlined)
            }
            Frame::Plan(_) | Frame::Dataflow(_) => (value, false),
        };
        if let FrameOrigin::Trigger { trigger, .. } = origin {
            self.triggered_returned(trigger, &value);
        }
        if let FrameOrigin::Call { call, .. } = origin {
            let now = self.now;
            let caller = self.frames.iter_mut().rev().find_map(|frame| frame.core_mut().call_mut(call));
            if let Some(queued) = caller {
                queued.state = CallState::Done(Ok(value.clone()));
                let finished = queued.finished(now, Ok(value.clone()));
                self.report(finished);
            }
        }
        self.last_value = value;
        self.remove_stale();
        if let FrameOrigin::Call { call, .. } = origin
            && inlined
        {
            self.take_inlined(call);
        }
    }

    /// Takes the top frame off; a playbook's variables join its agent's others, a plan's are gone.
    pub(crate) fn leave_frame(&mut self) -> Frame {
        let Some(mut frame) = self.frames.pop() else { unreachable!("only called with a frame on the stack") };
        let inlined = frame.playbook().is_some_and(|frame| frame.inlined);
        self.drop_watch(frame.core_mut(), inlined);
        if let Frame::Playbook(frame) = &mut frame {
            let scope = std::mem::take(&mut frame.core.scope);
            self.others[frame.core.agent.0 as usize].join(scope);
        }
        frame
    }

    pub(crate) fn unwind_end(&mut self, reason: Option<Arc<str>>) {
        self.unwinding = Some(Unwinding { depth: 0, then: AfterUnwinding::End { reason } });
    }

    /// Running tools are awaited, then the frames are dropped.
    pub(crate) fn step_unwinding(&mut self) -> Option<Wait> {
        let unwinding = self.unwinding.clone()?;
        let running = self.frames[unwinding.depth..]
            .iter()
            .flat_map(|frame| &frame.core().queue)
            .find(|call| call.callee.effect().is_some() && matches!(call.state, CallState::Running { .. }));
        if let Some(call) = running {
            return Some(Wait::Call(call.id));
        }
        self.unwinding = None;
        match unwinding.then {
            AfterUnwinding::End { reason } => {
                while !self.frames.is_empty() {
                    self.report(Fact::FramePopped { value: None });
                    self.leave_frame();
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
            self.report(Fact::FramePopped { value: None });
            self.leave_frame();
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
                let left = self.leave_to_successor();
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
        if self.frames.last().is_some_and(|frame| frame.playbook().is_none()) {
            self.stop_plan("interrupted by the user");
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
            if self.find_asker().is_some() {
                self.asker_mut().n_attempts = 0;
            }
        }
        self.reopen_turns();
        self.reopen_calls();
        self.reopen_question();
        self.reopen_timers();
    }

    /// After a restart of the process: the timers that ran run again.
    pub(crate) fn reopen_timers(&mut self) {
        self.reopen_trigger_timers();
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

pub(crate) fn null() -> Tracked {
    Tracked::new(Value::Null, Origin::CODE)
}
