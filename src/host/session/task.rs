//! The task of a session: it alone owns the machine.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use playhouse_vm::Machine;
use playhouse_vm::protocol::{
    Close, Effect, EffectClass, Event, Outcome, Progress, QuestionId, ReplyEnd, StartTurn, TimerId, Timestamp, TurnId,
    Usage, Verdict, Wait,
};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Sleep};

use crate::classify::questions::Questions;
use crate::debug::control::{Attached, Command};
use crate::debug::stepping::Reason;
use crate::events::PublicEvent;
use crate::events::make::EventMaker;
use crate::journal::Durability;
use crate::journal::record::RecordBody;
use crate::journal::tail::TailBuffer;
use crate::llm::LlmRequest;
use crate::replay::error::SessionError;
use crate::replay::messages::MessageIds;
use crate::replay::{Stop, tells_waiting};
use crate::session::calls::Calls;
use crate::session::handle::EndResult;
use crate::session::input::{Due, Input};
use crate::session::listeners::Publisher;
use crate::session::traced::Tracing;
use crate::session::turns::{Schemas, Turns, moment_after};
use crate::session::world::World;

/// A session's state, outside the machine.
pub(crate) struct Task {
    pub(crate) id: Arc<str>,
    pub(crate) machine: Machine,
    pub(crate) maker: EventMaker,
    pub(crate) journal: TailBuffer,
    pub(crate) world: World,
    pub(crate) inbox: mpsc::Receiver<Input>,
    pub(crate) end: watch::Sender<Option<EndResult>>,
    pub(crate) listeners: Vec<Publisher>,
    pub(crate) turns: Turns,
    pub(crate) schemas: Schemas,
    pub(crate) calls: Calls,
    pub(crate) questions: Questions,
    /// Tells when the tools of the world are others.
    pub(crate) tool_changes: watch::Receiver<u64>,
    /// The machine's timers that run.
    pub(crate) timers: Vec<Timer>,
    /// Events of our own making, to be handled before anything from outside.
    pub(crate) pending: VecDeque<Event>,
    /// The time of the last event; time does not go back, whatever the clock does.
    pub(crate) time: Timestamp,
    /// When this process took up the session.
    pub(crate) since: Timestamp,
    /// Whether it was resumed.
    pub(crate) is_resumed: bool,
    /// After a restart the machine may wait already, without anybody having been told.
    pub(crate) owes_waiting: bool,
    /// All handles are gone.
    pub(crate) abandoned: bool,
    /// It is to end as soon as it only waits.
    pub(crate) leaves: bool,
    /// What stops the program, and who is told.
    pub(crate) debug: Option<Box<Attached>>,
    /// How often the machine has moved since the last event.
    pub(crate) n_directives: u32,
    /// It has nothing more to do before the next.
    pub(crate) is_blocked: bool,
    /// Why a debugger finds it standing still before it moves; empty: it does not.
    pub(crate) stands: Vec<Reason>,
    /// Since when it has waited for a person and nothing else.
    pub(crate) idle_since: Option<Instant>,
    /// Told to whoever has a handle ([`SessionHandle::is_busy`]).
    pub(crate) is_busy: Arc<AtomicBool>,
    /// The messages that were sent with an id.
    pub(crate) messages: MessageIds,
    /// What came while the program stood still.
    pub(crate) deferred: VecDeque<Input>,
    /// Whether somebody is told what it does, as spans.
    pub(super) tracing: Tracing,
    /// The next moment that matters; kept between inputs, so that a chunk does not cost a timer.
    pub(crate) sleep: Option<Pin<Box<Sleep>>>,
}

/// A timer of the machine.
pub(crate) struct Timer {
    id: TimerId,
    due: Instant,
    /// The same by the session's clock: so timers that run out together do so in the order in which they began, however
    /// long it took to begin them.
    pub(super) at: Timestamp,
    /// A trigger's: it alone is no reason to go on when nobody can say anything any more.
    is_background: bool,
}

impl Timer {
    /// One that begins to run now.
    pub(crate) fn new(id: TimerId, after_ms: u64, is_background: bool, now: Timestamp) -> Timer {
        let at = Timestamp(now.0.saturating_add(i64::try_from(after_ms).unwrap_or(i64::MAX)));
        Timer { id, due: moment_after(Duration::from_millis(after_ms)), at, is_background }
    }

    fn pass(&mut self, time: Duration) {
        self.due = self.due.checked_sub(time).unwrap_or_else(Instant::now);
    }
}

impl Task {
    /// Runs the session to its end and tells all who wait for it.
    pub(crate) async fn run<T>(mut self: Box<Self>, place: T) {
        let result = self.drive().await;
        // What is not flushed has not happened.
        if result.is_ok() {
            self.tracing.end();
        }
        self.calls.cancel();
        self.turns.clear();
        self.questions = Questions::default();
        let end = match result {
            Ok(outcome) => Ok(Arc::new(self.ending(outcome))),
            Err(error) => {
                tracing::error!(session = &*self.id, "the session ends: {error}");
                Err(Arc::new(error))
            }
        };
        // The session's lease and its place are free for others before anybody hears of the end.
        let Task { journal, end: ended, listeners, .. } = *self;
        journal.close().await;
        drop(place);
        ended.send_replace(Some(end));
        drop(listeners);
    }

    /// From the first word to the last. The end is the program's, or none if the task is to stop before.
    async fn drive(&mut self) -> Result<Option<Outcome>, SessionError> {
        let model = self.world.llm.id();
        let first = if self.is_resumed { self.maker.resumed(model) } else { self.maker.started(model) };
        self.flush().await?;
        self.publish(first);
        let stands = std::mem::take(&mut self.stands);
        let is_stopped = self.debug.is_some() && !stands.is_empty() && !self.stand_still(stands).await?;
        let outcome = if is_stopped { None } else { self.go_on().await? };
        self.flush_to(Durability::PowerCut).await?;
        if let Some(outcome) = &outcome {
            self.tell(&Progress::Finished(outcome.clone()));
        }
        Ok(outcome)
    }

    /// The loop.
    async fn go_on(&mut self) -> Result<Option<Outcome>, SessionError> {
        loop {
            let Some(stop) = self.advance().await? else { return Ok(None) };
            if let Some(event) = self.pending.pop_front() {
                self.happened(event);
                continue;
            }
            if let Some((call, attempt)) = self.calls.begin() {
                self.happened(Event::CallStarted { call, attempt });
                continue;
            }
            self.start_calls().await?;
            match &stop {
                Stop::Finished(outcome) if self.turns.is_empty() => return Ok(Some(outcome.clone())),
                Stop::Blocked(wait) if wait.is_for_person() => {
                    if self.owes_waiting {
                        self.flush().await?;
                    }
                    self.tell_waiting(wait);
                    // Once per wait: not before the end of a reply that still runs on for its usage, and not if the
                    // answer is here already.
                    if self.turns.is_empty() && self.inbox.is_empty() {
                        self.flush_to(Durability::PowerCut).await?;
                    }
                    if self.is_idle() {
                        self.idle_since.get_or_insert_with(Instant::now);
                        if self.abandoned {
                            return Ok(None);
                        }
                    }
                }
                Stop::Blocked(_) | Stop::Finished(_) => {}
            }
            if self.leaves && self.only_waits(&stop) {
                // What is in the inbox is handled, and nobody is told that anything else was.
                self.inbox.close();
                if self.abandoned {
                    return Ok(None);
                }
            }
            // A piece of a reply that nothing has come of yet may be lost with its reply.
            if self.journal.holds_events() {
                self.flush().await?;
            }
            let is_busy =
                matches!(stop, Stop::Blocked(Wait::Reply(_) | Wait::Call(_) | Wait::Verdict(_) | Wait::Budget));
            self.is_busy.store(is_busy, Ordering::Relaxed);
            let input = if stop == Stop::Blocked(Wait::Budget) {
                // Other sessions have their turn before this one uses another budget.
                tokio::task::yield_now().await;
                self.next_input().now_or_never()
            } else {
                Some(self.next_input().await)
            };
            match input {
                None => self.happened(Event::GoOn),
                Some(Input::Stop) => return Ok(None),
                Some(Input::Debug(command)) => {
                    let wants_pause = matches!(*command, Command::Pause);
                    self.obey(*command).await;
                    if wants_pause && !self.stand_still(vec![Reason::Pause]).await? {
                        return Ok(None);
                    }
                }
                Some(input) => self.take(input).await?,
            }
        }
    }

    /// Lets the machine go on as far as it can, and performs what it says. None: the task is to stop.
    async fn advance(&mut self) -> Result<Option<Stop>, SessionError> {
        loop {
            let progress = self.machine.advance();
            self.is_blocked = matches!(progress, Progress::Blocked(_) | Progress::Finished(_));
            self.n_directives = self.n_directives.saturating_add(u32::from(!self.is_blocked));
            if self.leaves(&progress) {
                self.flush().await?;
            }
            self.tracing.moved(&progress);
            let reasons = self.observe(&progress);
            if tells_waiting(&progress) {
                self.owes_waiting = false;
            }
            // The end is told when nothing else comes any more: a reply may still run on for its usage.
            if !matches!(progress, Progress::Finished(_)) {
                self.tell(&progress);
            }
            let stop = match progress {
                Progress::Emit(effect) => {
                    let closes = matches!(effect, Effect::CloseReply { close: Close::Now, .. });
                    self.perform(effect);
                    if closes {
                        // The connection is some other task's, which closes it as soon as it runs; the machine may
                        // have much to do before it waits for anything.
                        tokio::task::yield_now().await;
                    }
                    None
                }
                Progress::Reached(_) => None,
                Progress::Blocked(wait) => Some(Stop::Blocked(wait)),
                Progress::Finished(outcome) => Some(Stop::Finished(outcome)),
            };
            if !reasons.is_empty() && !self.stand_still(reasons).await? {
                return Ok(None);
            }
            if stop.is_some() && self.is_blocked {
                return Ok(stop);
            }
        }
    }

    /// Whether somebody else hears of this.
    fn leaves(&self, progress: &Progress) -> bool {
        let is_heard = !self.listeners.is_empty() || self.debug.is_some() || self.tracing.is_on();
        let Progress::Emit(effect) = progress else {
            return is_heard && matches!(progress, Progress::Reached(_) | Progress::Finished(_));
        };
        match effect {
            Effect::StartTurn(_) | Effect::Classify(_) | Effect::CancelCall { .. } => true,
            Effect::Say { .. } | Effect::Report(_) => is_heard,
            // A call starts after its record ([`Task::start_calls`]); the others are nobody's but ours.
            Effect::StartCall(_) | Effect::CloseReply { .. } | Effect::StartTimer { .. } => false,
        }
    }

    /// What has happened outlives this process from here on, so that others may hear what came of it.
    pub(crate) async fn flush(&mut self) -> Result<(), SessionError> {
        self.flush_to(Durability::Killed).await
    }

    async fn flush_to(&mut self, durability: Durability) -> Result<(), SessionError> {
        self.journal.flush(durability).await?;
        self.tracing.flushed();
        Ok(())
    }

    fn perform(&mut self, effect: Effect) {
        // What is asked before it is asked anew.
        let is_void = self.pending.contains(&Event::Reopened);
        match effect {
            Effect::StartTurn(_) | Effect::StartCall(_) | Effect::Classify(_) if is_void => {}
            Effect::StartTurn(start) => self.start_turn(&start),
            Effect::CloseReply { turn, close } => {
                if self.turns.close(turn, close, self.world.options.yield_grace) {
                    self.pending.push_back(Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None });
                }
            }
            Effect::StartCall(call) => self.calls.ask(*call),
            Effect::CancelCall { call } => self.calls.interrupt(call),
            Effect::Classify(question) => {
                let id = question.question;
                let World { classifier, options, .. } = &self.world;
                if let Some((verdict, ms)) =
                    self.questions.ask(*question, classifier.clone(), options.classifier_timeout)
                {
                    self.pending.push_back(Event::Verdict { question: id, verdict, ms });
                }
            }
            Effect::StartTimer { timer: id, after_ms, is_background } => {
                self.timers.retain(|running| running.id != id);
                self.timers.push(Timer::new(id, after_ms, is_background, self.world.clock.now()));
            }
            // Watchers have been told.
            Effect::Say { .. } | Effect::Report(_) => {}
        }
    }

    fn start_turn(&mut self, start: &StartTurn) {
        tracing::debug!(
            session = &*self.id,
            turn = start.turn.0,
            attempt = start.attempt,
            messages = start.messages.len(),
            prompt_tokens = start.prompt_tokens,
            "asks the model"
        );
        let schema = self.world.options.constrain.then(|| self.schemas.of(&start.callables));
        let request = LlmRequest::of_turn(&self.machine, start, schema);
        // Up to a quarter more, so that sessions which failed together do not come back together.
        let delay = start.delay_ms.saturating_add(fastrand::u64(0..=start.delay_ms / 4));
        let (llm, cap) = (&*self.world.llm, self.world.options.turn_timeout);
        self.turns.start(start.turn, request, Duration::from_millis(delay), llm, cap);
    }

    /// One event: recorded, then handled.
    fn happened(&mut self, event: Event) {
        // A change of the program is recorded by whoever has its texts.
        if let Some(body) = RecordBody::from_event(&event) {
            self.recorded(body, event);
        }
    }

    pub(super) fn recorded(&mut self, body: RecordBody, event: Event) {
        self.time = self.time.max(self.world.clock.now());
        self.record(body);
        self.machine.handle(self.time, event);
    }

    /// Records what is about to be handled. A debugger's edits count from the piece of a reply that set off where they
    /// stand.
    pub(crate) fn record(&mut self, body: RecordBody) {
        self.idle_since = None;
        let is_apart = self.debug.is_some() || self.tracing.keeps_apart(&body);
        self.tracing.recorded(self.time, &body);
        self.journal.append(self.time, body, is_apart);
        (self.n_directives, self.is_blocked) = (0, false);
    }

    /// Starts the tools whose `CallStarted` is recorded: when that is flushed, and a writing one when it is on disk.
    async fn start_calls(&mut self) -> Result<(), SessionError> {
        match self.calls.begun() {
            None => return Ok(()),
            Some(EffectClass::ReadOnly) => self.flush().await?,
            Some(EffectClass::Idempotent | EffectClass::Write) => self.flush_to(Durability::PowerCut).await?,
        }
        let Task { calls, id, world, tracing, .. } = self;
        calls.start(id, world, &|call| tracing.context(call));
        Ok(())
    }

    /// Waits for whatever comes first.
    async fn next_input(&mut self) -> Input {
        if let Some(input) = self.deferred.pop_front() {
            return input;
        }
        let due = self.next_due();
        match (&mut self.sleep, due) {
            (Some(sleep), Some((moment, _))) if sleep.deadline() == moment => {}
            (Some(sleep), Some((moment, _))) => sleep.as_mut().reset(moment),
            (sleep, Some((moment, _))) => *sleep = Some(Box::pin(tokio::time::sleep_until(moment))),
            (sleep, None) => *sleep = None,
        }
        let Task { inbox, calls, questions, turns, sleep, abandoned, tool_changes, .. } = self;
        let moment = async {
            match (sleep, due) {
                (Some(sleep), Some((_, due))) => {
                    sleep.await;
                    Input::Due(due)
                }
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            // People first, then what is finished; a fast model cannot keep either waiting.
            biased;
            input = inbox.recv(), if !*abandoned => input.unwrap_or(Input::Abandoned),
            input = calls.next_input(), if calls.are_any_running() => input,
            Ok(()) = tool_changes.changed() => Input::ToolsChanged,
            judged = std::future::poll_fn(|context| questions.poll(context)) => Input::Verdict(Box::new(judged)),
            input = moment => input,
            input = std::future::poll_fn(|context| turns.poll(context)) => input,
        }
    }

    fn next_due(&self) -> Option<(Instant, Due)> {
        let now = Instant::now();
        let first = self.timers.iter().min_by_key(|timer| (timer.due.max(now), timer.at));
        let first = first.map(|timer| (timer.due, Due::Timer(timer.id)));
        first.into_iter().chain(self.turns.next_due()).min_by_key(|(moment, _)| *moment)
    }

    /// What an input means: at most one event.
    pub(crate) async fn take(&mut self, input: Input) -> Result<(), SessionError> {
        match input {
            Input::Act(act) => self.act(*act).await?,
            Input::SignaturesChanged(tools) => self.happened(Event::SignaturesChanged { tools }),
            Input::ToolsChanged => {
                let tools = self.world.tools.signatures();
                if tools != *self.machine.tools() {
                    self.happened(Event::SignaturesChanged { tools });
                }
            }
            Input::CallProgress(call, value) => {
                let event = self.maker.call_progress(call, value);
                self.publish(event);
            }
            Input::ReplyBytes(turn, bytes) => self.happened(Event::Chunk { turn, bytes: bytes.into() }),
            Input::ReplyEnded(turn, end) => {
                let (end, usage) = *end;
                self.reply_ended(turn, end, usage);
            }
            Input::CallEnded(ended) => {
                let (call, (outcome, usage)) = *ended;
                let outcome = self.machine.bounded(outcome);
                self.happened(Event::CallEnded { call, outcome, usage });
            }
            Input::Verdict(judged) => {
                let (question, verdict, ms) = *judged;
                self.judged(question, verdict, ms);
            }
            Input::Due(Due::Timer(timer)) => {
                self.timers.retain(|running| running.id != timer);
                self.happened(Event::TimerFired { timer });
            }
            Input::Due(Due::Delay(turn)) => {
                self.turns.ask(turn, &*self.world.llm, self.world.options.turn_timeout);
            }
            Input::Due(Due::Grace(turn)) => self.reply_ended(turn, ReplyEnd::Closed, None),
            Input::Due(Due::Cap(turn)) => {
                let seconds = self.world.options.turn_timeout.as_secs_f64();
                let reason = format!("the reply had no end after {seconds} s (turn_timeout)").into();
                self.reply_ended(turn, ReplyEnd::Broken { reason, retry_after_ms: None }, None);
            }
            Input::Rest(idle) => {
                self.listeners.retain(Publisher::is_heard);
                let is_idle = self.is_idle() && self.idle_since.is_some_and(|since| since.elapsed() >= idle);
                if is_idle && self.listeners.is_empty() && self.debug.is_none() {
                    // Nobody is told that something came which is not handled any more: what is in the inbox already
                    // is, and then the session is abandoned like one whose handles are all gone.
                    self.inbox.close();
                }
            }
            Input::Leave => self.leaves = true,
            Input::Pass(time) => {
                self.timers.iter_mut().for_each(|timer| timer.pass(time));
                // What runs out now does so before anything else is looked at.
                let first = self.timers.iter().min_by_key(|timer| timer.at);
                let now = self.world.clock.now();
                let is_over = |timer: &&Timer| timer.at <= now;
                self.deferred.extend(first.filter(is_over).map(|timer| Input::Due(Due::Timer(timer.id))));
            }
            Input::View(sender) => {
                self.flush().await?;
                // Whoever asked may have gone.
                let _ = sender.send(self.present());
            }
            Input::Records(sender) => {
                let _ = sender.send(self.journal.records(false).await);
            }
            Input::Subscribe(publisher) => {
                self.listeners.push(publisher);
            }
            Input::Abandoned => {
                self.abandoned = true;
            }
            // Seen by the loop.
            Input::Stop | Input::Debug(_) => {}
        }
        Ok(())
    }

    fn reply_ended(&mut self, turn: TurnId, end: ReplyEnd, usage: Option<Usage>) {
        self.turns.remove(turn);
        match &end {
            ReplyEnd::Broken { reason, .. } | ReplyEnd::Refused { reason } => {
                tracing::warn!(session = &*self.id, turn = turn.0, "a reply failed: {reason}");
            }
            ReplyEnd::Complete(_) | ReplyEnd::Closed => {}
        }
        self.happened(Event::ReplyEnded { turn, end, usage });
    }

    fn judged(&mut self, question: QuestionId, verdict: Verdict, ms: u64) {
        match &verdict {
            Verdict::Failed { reason } => {
                tracing::warn!(session = &*self.id, question = question.0, "the trigger classifier failed: {reason}");
            }
            Verdict::TimedOut => {
                tracing::warn!(session = &*self.id, question = question.0, "the trigger classifier gave no answer");
            }
            Verdict::Judged { .. } => {}
        }
        self.happened(Event::Verdict { question, verdict, ms });
    }

    /// Nothing is under way that could wake the machine, but for timers of triggers.
    fn is_idle(&self) -> bool {
        self.is_quiet() && self.timers.iter().all(|timer| timer.is_background)
    }

    /// Nothing is under way that could wake the machine, but for timers.
    fn is_quiet(&self) -> bool {
        self.turns.is_empty() && !self.calls.are_any_running() && self.questions.is_empty()
    }

    /// It waits for a person or a moment, and nothing else is left to be done.
    fn only_waits(&self, stop: &Stop) -> bool {
        let waits = matches!(stop, Stop::Blocked(wait) if wait.is_for_person() || matches!(wait, Wait::Timer(_)));
        waits && self.is_quiet() && self.pending.is_empty() && self.deferred.is_empty()
    }

    fn tell_waiting(&mut self, wait: &Wait) {
        if std::mem::take(&mut self.owes_waiting) {
            let event = self.maker.waiting(wait);
            self.publish(event);
        }
    }

    fn tell(&mut self, progress: &Progress) {
        if let Some(event) = self.maker.of_progress(progress) {
            self.publish(event);
        }
    }

    fn publish(&mut self, event: PublicEvent) {
        if self.listeners.is_empty() {
            return;
        }
        let event = Arc::new(PublicEvent { time: self.time, ..event });
        self.listeners.retain(|publisher| publisher.push(&event));
    }
}
