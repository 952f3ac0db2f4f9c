//! The interpreter does what the watcher wants, and waits for what it has asked
//! (spec `turn-protocol.md`, "The watcher's barrier").
//!
//! In a turn the classifier is asked at the end of the line that made an update, else before the frame does anything
//! more ([`Interpreter::watch`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::program::{CALL, TriggerId};
use playhouse_lang::value::Value;

use crate::calls::call::{Callee, Guard, QueuedCall};
use crate::machine::frame::Frame;
use crate::machine::frame_core::Phase;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::{CallId, Effect, FrameOrigin, Location, Tracked, Update, Wait};
use crate::triggers::calls::describe;
use crate::triggers::request::{WatcherContext, WatcherRequest};
use crate::triggers::watcher::Watcher;
use crate::variables::display::{first_line, shorten};

impl Interpreter {
    /// The watcher is told of something, and what it wants then is done.
    pub(crate) fn tell_watcher(&mut self, tell: impl FnOnce(&mut Watcher, &WatcherContext<'_>)) {
        let context = WatcherContext {
            stack: &self.stack,
            turn: self.turn(),
            last_timer: self.ids.last_timer().0,
            is_over: self.stack.frames.is_empty() || self.outcome.is_some(),
        };
        tell(&mut self.watcher, &context);
        std::mem::take(&mut self.watcher.requests).into_iter().for_each(|request| self.do_for_watcher(request));
    }

    /// Does one thing that the watcher wants.
    fn do_for_watcher(&mut self, request: WatcherRequest) {
        match request {
            WatcherRequest::Tell(fact) => self.report(fact),
            WatcherRequest::Hold(pending) => self.stack.core_mut().watch.hold(pending),
            WatcherRequest::Ask(question) => self.emit(Effect::Classify(question)),
            WatcherRequest::Call(found) => self.stack.core_mut().watch.call(found),
            WatcherRequest::CallNow(found, bound) => {
                let Some(from) = self.stack.frames.last().map(Frame::location) else { return };
                // Of words that nobody had asked for, the one who is interrupted hears when they have been dealt with.
                if self.stack.program.trigger(found.trigger).kind.waits_for_updates()
                    && let Some(text) = self.inbox.take_heard(found.seq)
                {
                    self.stack.chat_owner_mut().told.push_user(&text);
                }
                self.push_triggered(found.trigger, bound, from, found.given);
            }
            WatcherRequest::Guard(trigger, bound, call) => {
                let Some(place) = self.stack.core().queue.get(call).map(|guarded| guarded.place) else { return };
                let (playbook, name) = (trigger.playbook, self.stack.program.playbook(trigger.playbook).name.clone());
                let (id, callee) = (self.ids.next_call(), Callee::Playbook(playbook));
                let mut queued = QueuedCall::new(id, name, callee, bound, None, place);
                queued.guards = Some(Guard { trigger, call });
                self.stack.core_mut().queue.push_guard(queued, call);
            }
            WatcherRequest::StartTimer { timer, after_ms } => self.start_background_timer(timer, after_ms),
        }
    }

    /// Asks about the top frame's updates, and about those that a reply is going to make as far as it has been read;
    /// answers whether there were any. One question is open at a time: after speech that goes on beside it a debugger's
    /// edit waits for its turn.
    pub(crate) fn ask_classifier(&mut self, ahead: impl FnOnce() -> Vec<(Arc<str>, Value)>) -> bool {
        if self.watcher.question().is_some() {
            return false;
        }
        let updates = self.stack.core_mut().watch.take_updates();
        let has_updates = !updates.is_empty();
        if has_updates {
            let ahead = self.stack.updates_ahead(&ahead());
            self.tell_watcher(|watcher, context| watcher.ask(context, updates, ahead));
        }
        has_updates
    }

    /// Before a frame that is not in a turn does anything: its questions are asked, its matches called. Answers
    /// whether it did something; `Err`: what must be waited for.
    pub(crate) fn watch(&mut self) -> Result<bool, Wait> {
        if let Some(question) = self.watcher.question() {
            let wait = Wait::Verdict(question.question);
            let goes_on = self.watcher.is_asked_with_turn()
                && self.stack.core().watch.is_settled()
                && self.stack.asks_model_next();
            return if goes_on { Ok(false) } else { Err(wait) };
        }
        if self.ask_classifier(Vec::new) {
            return Ok(true);
        }
        let Some(found) = self.stack.core_mut().watch.next_match() else {
            let mut has_signal = false;
            self.tell_watcher(|watcher, context| has_signal = watcher.take_signal(context));
            return Ok(has_signal);
        };
        self.tell_watcher(|watcher, context| watcher.call_due(context, found));
        Ok(true)
    }

    /// A trigger's playbook is called as if the line at `from` had called it.
    fn push_triggered(
        &mut self,
        trigger: TriggerId,
        bound: Vec<(Arc<str>, Tracked)>,
        from: Location,
        given: Option<(&'static str, Tracked)>,
    ) {
        self.push_frame(trigger.playbook, bound, FrameOrigin::Trigger { trigger, from });
        if self.outcome.is_some() {
            return;
        }
        self.stack.core_mut().trigger = Some(trigger);
        if let Some((name, value)) = given {
            self.bind_variable(&name.into(), value, false);
        }
    }

    /// A trigger's playbook has returned to the frame that it interrupted, which is told of it.
    /// What the user had said to that frame is dealt with if the playbook was called for it, or has talked with them.
    pub(crate) fn triggered_returned(&mut self, trigger: TriggerId, value: &Tracked, has_talked: bool) {
        let shown = shorten(value, self.stack.settings.shown_value_bytes);
        let program = self.stack.program.clone();
        let (name, rule) = (&program.playbook(trigger.playbook).name, program.trigger(trigger));
        let told = format!("{name}() -> {shown}: {}", first_line(&rule.text));
        if self.stack.frames.is_empty() {
            return;
        }
        // A plan is not told anything: the playbook below it, if there is one, is.
        if self.stack.find_chat_owner().is_some() {
            let told_of = &mut self.stack.chat_owner_mut().told;
            told_of.push_meanwhile(told);
            let is_for_words = rule.kind.waits_for_updates();
            let words = if is_for_words || has_talked { told_of.deal_with_user() } else { None };
            if let Some(words) = words {
                let words = Value::Str(words).to_json();
                told_of.push_meanwhile(format!("the user said {words}, which {name} dealt with"));
                if let Some(frame) = self.stack.frames.last_mut().and_then(Frame::playbook_mut) {
                    frame.here.is_answered = false;
                }
            }
        }
        if let Some(guard) = self.stack.core_mut().queue.running_guard(trigger) {
            guard.finish_guard(value.clone());
        }
    }

    /// A guard's turn in the queue has come.
    pub(crate) fn run_guard(&mut self, id: CallId, guard: Guard) {
        let queue = &mut self.stack.core_mut().queue;
        let call = queue.get(guard.call).map(|queued| (CALL, describe(queued, None)));
        let Some(queued) = queue.get_mut(id) else { return };
        queued.begin_guard();
        let (bound, from) = (queued.arguments.clone(), queued.place.location);
        self.push_triggered(guard.trigger, bound, from, call);
    }

    /// A guard has returned: `false` refuses the call.
    pub(crate) fn take_guard(&mut self, id: CallId, guard: Guard) {
        let now = self.stack.now;
        let queue = &mut self.stack.core_mut().queue;
        let Some((queued, result)) = queue.take_done(id) else { return };
        let refuses = matches!(&result, Ok(value) if *value.value() == Value::Bool(false));
        if !refuses {
            return;
        }
        // The others need not be asked any more.
        let others = queue.drop_guards(guard.call);
        let Some(refused) = queue.get_mut(guard.call) else { return };
        let finished = refused.finish(now, Err(format!("refused by {}", queued.name).into()));
        self.tell_watcher(|watcher, _| watcher.dropped(&others));
        self.report(finished);
    }
}

impl Stack {
    /// The updates that variables will make, with the values they will have.
    fn updates_ahead(&self, sets: &[(Arc<str>, Value)]) -> Vec<Update> {
        let mut ahead = Vec::new();
        let mut values: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (name, value) in sets {
            // A value that is not known yet ends the list; so does one that will be refused.
            let Some(new) = self.literal(value, &values) else { break };
            let variable = self.reader().variable(name);
            // What stays secret is not shown, whatever the model writes.
            let is_secret = variable.is_some_and(|variable| variable.value.is_secret());
            if is_secret
                || self.is_declared_secret(self.core().agent, name)
                || self.wanted(self.top().executed(), name, &new).is_some()
            {
                break;
            }
            let old = values.insert(name.clone(), new.clone()).or_else(|| variable.map(|found| found.value.shown()));
            if old.as_ref() != Some(&new) {
                ahead.push(Update { name: name.clone(), old, new });
            }
        }
        ahead
    }

    /// Whether the frame's next step is to ask the model, and nothing else.
    fn asks_model_next(&self) -> bool {
        let Some(frame) = self.frames.last().and_then(Frame::playbook) else { return false };
        if frame.core.phase != Phase::Ready || !frame.core.queue.is_empty() {
            return false;
        }
        let Some(step) = frame.pointer else { return true };
        if frame.here.performed.is_some() {
            return false;
        }
        frame.here.ask_model
            || (!self.performs_here(frame) && self.way_out(step).is_none() && !self.waits_by_itself(step))
    }
}
