//! The machine does what the watcher wants, and waits for what it has asked (spec `turn-protocol.md`, "The watcher's
//! barrier").
//!
//! In a turn the classifier is asked at the end of the line that made an update ([`Machine::judge_in_turn`]), else
//! before the frame does anything more ([`Machine::watch`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::program::{TriggerId, TriggerKind};
use playhouse_lang::value::Value;

use crate::calls::call::{Callee, Guard, QueuedCall};
use crate::machine::frame::Frame;
use crate::machine::frame_core::Phase;
use crate::machine::state::Machine;
use crate::protocol::settings::Barrier;
use crate::protocol::{CallId, Effect, FrameOrigin, Location, Tracked, Update, Wait};
use crate::triggers::calls::describe;
use crate::triggers::want::{Sight, Want};
use crate::triggers::watcher::Watcher;
use crate::turn::state::Gate;
use crate::variables::display::{first_line, shorten};

impl Machine {
    /// The watcher is told of something, and what it wants then is done.
    pub(crate) fn tell_watcher(&mut self, tell: impl FnOnce(&mut Watcher, &Sight<'_>)) {
        // It changes only itself, so it can be away while it looks at the rest.
        let mut watcher = std::mem::take(&mut self.watcher);
        let sight = Sight {
            stack: self.stack(),
            turn: self.turn.as_ref().map(|turn| turn.id),
            last_timer: self.next.timer,
            is_over: self.frames.is_empty() || self.outcome.is_some(),
        };
        tell(&mut watcher, &sight);
        self.watcher = watcher;
        std::mem::take(&mut self.watcher.wants).into_iter().for_each(|want| self.do_for_watcher(want));
    }

    /// Does one thing that the watcher wants.
    fn do_for_watcher(&mut self, want: Want) {
        match want {
            Want::Tell(fact) => self.report(fact),
            Want::Hold(pending) => self.core_mut().watch.hold(pending),
            Want::Ask(question) => self.emit(Effect::Classify(question)),
            Want::LookAhead => {
                if let Some(turn) = self.turn.as_mut() {
                    turn.horizon = turn.readings.len();
                }
            }
            Want::Call(found) => self.core_mut().watch.call(found),
            Want::CallNow(found, bound) => {
                let Some(from) = self.frames.last().map(Frame::location) else { return };
                self.push_triggered(found.trigger, bound, from, found.call);
            }
            Want::Guard(trigger, bound, call) => {
                let Some(place) = self.core().queue.get(call).map(|guarded| guarded.place) else { return };
                self.next.call += 1;
                let (playbook, name) = (trigger.playbook, self.program.playbook(trigger.playbook).name.clone());
                let (id, callee) = (CallId(self.next.call), Callee::Playbook(playbook));
                let mut queued = QueuedCall::new(id, name, callee, bound, None, place);
                queued.guards = Some(Guard { trigger, call });
                self.core_mut().queue.push_guard(queued, call);
            }
            Want::StartTimer { timer, after_ms } => {
                self.next.timer = self.next.timer.max(timer.0);
                self.emit(Effect::StartTimer { timer, after_ms, is_background: true });
            }
        }
    }

    /// Asks about the top frame's updates; answers whether there were any. One question is open at a time: after speech
    /// that goes on beside it a debugger's edit waits for its turn.
    pub(crate) fn ask_classifier(&mut self) -> bool {
        if self.watcher.question().is_some() {
            return false;
        }
        let updates = self.core_mut().watch.take_updates();
        let has_updates = !updates.is_empty();
        if has_updates {
            let ahead = self.updates_ahead();
            self.tell_watcher(|watcher, sight| watcher.ask(sight, updates, ahead));
        }
        has_updates
    }

    /// The held updates that had been read when the last answer came, with the values they will have.
    fn updates_ahead(&self) -> Vec<Update> {
        let Some(turn) = &self.turn else { return Vec::new() };
        let (agent, playbook) = (self.core().agent, self.top().executed());
        let mut ahead = Vec::new();
        let mut values: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (name, value) in turn.sets_ahead() {
            // A value that is not known yet ends the list; so does one that will be refused.
            let Some(new) = self.stack().literal(value, &values) else { break };
            let variable = self.reader().variable(name);
            // What stays secret is not shown, whatever the model writes.
            let is_secret = variable.is_some_and(|variable| variable.value.is_secret());
            if is_secret
                || self.stack().is_declared_secret(agent, name)
                || self.stack().type_of(playbook, name).is_some_and(|ty| !ty.accepts(&new))
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

    /// Before a frame that is not in a turn does anything: its questions are asked, its matches called. Answers
    /// whether it did something; `Err`: what must be waited for.
    pub(crate) fn watch(&mut self) -> Result<bool, Wait> {
        if let Some(question) = self.watcher.question() {
            let wait = Wait::Verdict(question.question);
            let goes_on = self.watcher.is_asked_with_turn() && self.core().watch.is_settled() && self.asks_model_next();
            return if goes_on { Ok(false) } else { Err(wait) };
        }
        if self.ask_classifier() {
            return Ok(true);
        }
        let Some(found) = self.core_mut().watch.next_match() else { return Ok(false) };
        self.tell_watcher(|watcher, sight| watcher.call_due(sight, found));
        Ok(true)
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
            || (!self.stack().performs_here(frame)
                && self.stack().way_out(step).is_none()
                && !self.stack().waits_by_itself(step))
    }

    /// A trigger's playbook is called as if the line at `from` had called it.
    fn push_triggered(
        &mut self,
        trigger: TriggerId,
        bound: Vec<(Arc<str>, Tracked)>,
        from: Location,
        call: Option<Tracked>,
    ) {
        self.push_frame(trigger.playbook, bound, FrameOrigin::Trigger { trigger, from });
        if self.outcome.is_some() {
            return;
        }
        self.core_mut().trigger = Some(trigger);
        if let Some(call) = call {
            self.bind_variable(&"call".into(), call, false);
        }
    }

    /// A trigger's playbook has returned to the frame that it interrupted, which is told of it.
    /// What the user had said to that frame is dealt with if the playbook was called for it, or has talked with them.
    pub(crate) fn triggered_returned(&mut self, trigger: TriggerId, value: &Tracked, has_talked: bool) {
        let shown = shorten(value, self.settings.shown_value_bytes);
        let program = self.program.clone();
        let (name, rule) = (&program.playbook(trigger.playbook).name, program.trigger(trigger));
        let told = format!("{name}() -> {shown}: {}", first_line(&rule.text));
        if self.frames.is_empty() {
            return;
        }
        // A plan is not told anything: the playbook below it, if there is one, is.
        if self.stack().find_chat_owner().is_some() {
            let told_of = &mut self.chat_owner_mut().told;
            told_of.push_meanwhile(told);
            let is_for_words =
                matches!(rule.kind, TriggerKind::Semantic | TriggerKind::Condition(_) | TriggerKind::Changes(_));
            let words = if is_for_words || has_talked { told_of.deal_with_user() } else { None };
            if let Some(words) = words {
                let words = Value::Str(words).to_json();
                told_of.push_meanwhile(format!("the user said {words}, which {name} dealt with"));
                if let Some(frame) = self.frames.last_mut().and_then(Frame::playbook_mut) {
                    frame.here.is_answered = false;
                }
            }
        }
        if let Some(guard) = self.core_mut().queue.running_guard(trigger) {
            guard.finish_guard(value.clone());
        }
    }

    /// A guard's turn in the queue has come.
    pub(crate) fn run_guard(&mut self, id: CallId, guard: Guard) {
        let queue = &mut self.core_mut().queue;
        let call = queue.get(guard.call).map(|queued| describe(queued, None));
        let Some(queued) = queue.get_mut(id) else { return };
        queued.begin_guard();
        let (bound, from) = (queued.arguments.clone(), queued.place.location);
        self.push_triggered(guard.trigger, bound, from, call);
    }

    /// A guard has returned: `false` refuses the call.
    pub(crate) fn take_guard(&mut self, id: CallId, guard: Guard) {
        let now = self.now;
        let queue = &mut self.core_mut().queue;
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

    /// In a turn, after an update: asks about it, or cuts the reply. Answers whether the reply must not go on
    /// now. `drops_line`: the line in hand has not taken effect, and will not if a trigger matches.
    pub(crate) fn judge_in_turn(&mut self, drops_line: bool) -> bool {
        self.ask_classifier();
        // Nothing need be waited for to know that the rest of the reply is not wanted.
        if self.core().watch.first_match().is_some() {
            self.cut_for_match(drops_line);
            return true;
        }
        self.hold_while_asking(drops_line)
    }

    /// Everything after the line in hand waits if a question is open; answers whether one is.
    pub(crate) fn hold_while_asking(&mut self, drops_line: bool) -> bool {
        let is_open = self.watcher.question().is_some();
        if let (true, Some(turn)) = (is_open, self.turn.as_mut()) {
            turn.gate = Gate::Judging { drops_line };
        }
        is_open
    }

    /// The classifier is being asked: everything after the update waits, or everything but speech.
    pub(crate) fn step_judging(&mut self, drops_line: bool) -> Option<Wait> {
        if let Some(question) = self.watcher.question() {
            let wait = Wait::Verdict(question.question);
            let may_speak = self.settings.barrier == Barrier::Effects && !self.watcher.is_asked_with_turn();
            return if may_speak && self.step_speech_only() { None } else { Some(wait) };
        }
        if let Some(turn) = self.turn.as_mut() {
            turn.gate = Gate::Open;
        }
        // A debugger may have changed something meanwhile: that is asked about before anything else is done.
        self.ask_classifier();
        if self.hold_while_asking(drops_line) {
            return None;
        }
        let is_matched = self.core().watch.first_match().is_some();
        if let Some(turn) = self.turn.as_mut().filter(|_| !is_matched) {
            turn.undo = None;
        }
        if is_matched && !self.returns_inside() {
            self.cut_for_match(drops_line);
        }
        None
    }
}
