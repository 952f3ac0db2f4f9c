//! The watcher: which triggers an update concerns, what is asked about it, and what a match does
//! (spec `triggers.md`; spec `turn-protocol.md`, "The watcher's barrier").
//!
//! An update is noted with the top frame ([`Watch`]). Conditions are judged at once. What only the classifier can
//! judge is asked at the next point where the machine may wait for it: in a turn at the end of the line
//! ([`Machine::judge_in_turn`]), else before the frame does anything more ([`Machine::watch`]). So one question is
//! open at a time, and everything behind the update waits in the order it came.

use crate::triggers::watch::Match;
use crate::triggers::watch::PendingUpdate;
use crate::triggers::watch::Prejudged;
use std::sync::Arc;

use crate::protocol::{Origin, Tracked};
use playhouse_lang::program::{TriggerId, TriggerKind};
use playhouse_lang::value::Value;

use crate::machine::frame::Frame;
use crate::machine::frame_core::{FrameCore, Phase};
use crate::machine::state::Machine;
use crate::protocol::settings::Barrier;
use crate::protocol::view::TriggerView;
use crate::protocol::{Evaluation, Fact, FrameOrigin, Judge, Ruling, Update, Wait};
use crate::triggers::truths::is_update;
use crate::turn::state::Gate;
use crate::variables::display::{first_line, shorten};
use crate::variables::eval::holds;

impl Machine {
    /// A variable has got a value, as the top frame sees it (spec `triggers.md`, "Update").
    pub(crate) fn updated(&mut self, name: &Arc<str>, old: Option<&Tracked>, new: &Tracked) {
        if !is_update(name, old.map(Tracked::value), new.value()) {
            return;
        }
        self.counters.updates += 1;
        let program = self.program.clone();
        let index = &program.agent(self.core().agent).triggers;
        let naming = index.naming(name);
        if naming.is_empty() && index.ambient.is_empty() {
            return;
        }
        let update = Update { name: name.clone(), old: old.map(Tracked::shown), new: new.shown() };
        let updates: Arc<[Update]> = [update.clone()].into();
        let seq = self.counters.updates;
        let mut candidates = Vec::new();
        for &id in naming.iter().chain(&index.ambient) {
            if program.trigger(id).kind != TriggerKind::Semantic {
                let mut truths = std::mem::take(&mut self.watcher.truths);
                let ruling = truths.judge(&program, id, old.is_some(), &self.reader());
                self.watcher.truths = truths;
                if let Some(ruling) = ruling {
                    self.rule(Match::new(seq, id, None), ruling, &updates);
                }
                continue;
            }
            match self.why_not(id) {
                Some(ruling) => self.evaluated(id, ruling, &updates),
                None if !self.settings.classifier => self.evaluated(id, Ruling::Off, &updates),
                None => candidates.push(id),
            }
        }
        candidates.sort_unstable();
        if !candidates.is_empty() {
            self.note_candidates(PendingUpdate { seq, update, candidates });
        }
    }

    /// What can be seen has changed without an update: a frame has gone, or a variable was removed.
    pub(crate) fn recheck_truths(&mut self) {
        if self.watcher.truths.is_empty() {
            return;
        }
        let program = self.program.clone();
        let mut truths = std::mem::take(&mut self.watcher.truths);
        truths.recheck(&program, |id| {
            let TriggerKind::Condition(condition) = &program.trigger(id).kind else { return false };
            let agent = program.playbook(id.playbook).agent;
            holds(condition, &self.visible_to(agent)).unwrap_or(false)
        });
        self.watcher.truths = truths;
    }

    /// A ruling of the interpreter's; a match fires if nothing stands against it.
    pub(crate) fn rule(&mut self, found: Match, ruling: Ruling, updates: &Arc<[Update]>) {
        let against = if ruling == Ruling::Match { self.why_not(found.trigger) } else { None };
        let ruling = against.unwrap_or(ruling);
        let fires = ruling == Ruling::Match;
        self.evaluated(found.trigger, ruling, updates);
        if fires {
            self.matched(found, updates);
        }
    }

    /// Why a trigger that matches does not fire; none: it does.
    pub(crate) fn why_not(&self, id: TriggerId) -> Option<Ruling> {
        if self.watcher.active.contains_key(&id) {
            return Some(Ruling::Active);
        }
        if self.frames.last().and_then(Frame::playbook).is_some_and(|frame| frame.executed() == id.playbook) {
            return Some(Ruling::OwnFrame);
        }
        self.bind_triggered(id).err().map(|missing| Ruling::NotCallable(missing.into()))
    }

    /// A triggered playbook has no caller who gives it arguments: each parameter gets the variable of its name that
    /// its agent can see, else its default. (A timer's agent need not be that of the top frame.)
    pub(crate) fn bind_triggered(&self, id: TriggerId) -> Result<Vec<(Arc<str>, Tracked)>, String> {
        if let Some(reason) = self.program.unsupported(id.playbook) {
            return Err(reason);
        }
        let reader = self.visible_to(self.program.playbook(id.playbook).agent);
        let bind = |parameter: &playhouse_lang::program::Parameter| {
            let visible = reader.variable(&parameter.name).map(|variable| &variable.value);
            match (visible.filter(|value| parameter.ty.accepts(value.value())), &parameter.default) {
                (Some(value), _) => Ok((parameter.name.clone(), value.clone())),
                (None, Some(default)) => Ok((parameter.name.clone(), Tracked::new(default.clone(), Origin::CODE))),
                (None, None) => {
                    Err(format!("it needs ${}: {}, and no such variable is set", parameter.name, parameter.ty))
                }
            }
        };
        self.program.playbook(id.playbook).parameters.iter().map(bind).collect()
    }

    /// Tells watchers of an evaluation by the interpreter.
    pub(crate) fn evaluated(&mut self, trigger: TriggerId, ruling: Ruling, updates: &Arc<[Update]>) {
        let (by, updates) = (Judge::Interpreter, updates.clone());
        self.report_evaluation(Evaluation {
            trigger,
            by,
            ruling,
            updates,
            question: None,
            n_asked: 0,
            ms: 0,
            tokens: 0,
        });
    }

    /// Tells watchers of an evaluation by whomever.
    pub(crate) fn report_evaluation(&mut self, evaluation: Evaluation) {
        self.counters.trigger_evaluations += 1;
        self.report(Fact::TriggerEvaluated(Box::new(evaluation)));
    }

    /// The trigger is active from now on, and its playbook will be called.
    pub(crate) fn matched(&mut self, found: Match, updates: &Arc<[Update]>) {
        self.activate(found.trigger, updates);
        let matches = &mut self.core_mut().watch.matches;
        matches.push(found);
        matches.sort_by_key(|found| (found.seq, found.trigger));
    }

    pub(crate) fn activate(&mut self, trigger: TriggerId, updates: &Arc<[Update]>) {
        self.counters.trigger_matches += 1;
        *self.watcher.active.entry(trigger).or_default() += 1;
        self.report(Fact::TriggerMatched { trigger, updates: updates.clone() });
    }

    pub(crate) fn deactivate(&mut self, trigger: TriggerId) {
        if let Some(n) = self.watcher.active.get_mut(&trigger) {
            *n -= 1;
            if *n == 0 {
                self.watcher.active.remove(&trigger);
            }
        }
    }

    /// Semantic triggers are concerned: the classifier has judged the update already, or will be asked.
    fn note_candidates(&mut self, pending: PendingUpdate) {
        let judged = self.turn.as_mut().and_then(|turn| {
            let is_it = |judged: &Prejudged| judged.update == pending.update && judged.candidates == pending.candidates;
            let is_next = turn.prejudged.front().is_some_and(is_it);
            if is_next { turn.prejudged.pop_front() } else { None }
        });
        match judged {
            Some(judged) => {
                let updates: Arc<[Update]> = [pending.update].into();
                for trigger in judged.matched {
                    self.matched(Match::new(pending.seq, trigger, None), &updates);
                }
            }
            None => {
                self.drop_prejudged();
                self.core_mut().watch.updates.push(pending);
            }
        }
    }

    /// What was judged in advance did not happen as it was expected.
    pub(crate) fn drop_prejudged(&mut self) {
        let dropped = self.turn.as_mut().map(|turn| std::mem::take(&mut turn.prejudged)).unwrap_or_default();
        for judged in dropped {
            let updates: Arc<[Update]> = [judged.update].into();
            for trigger in judged.matched {
                self.evaluated(trigger, Ruling::Dropped, &updates);
            }
        }
    }

    /// Before a frame that is not in a turn does anything: its questions are asked, its matches called. Answers
    /// whether it did something; `Err`: what must be waited for.
    pub(crate) fn watch(&mut self) -> Result<bool, Wait> {
        if let Some(open) = &self.watcher.question {
            if open.with_turn && self.core().watch.is_settled() && self.asks_model_next() {
                return Ok(false);
            }
            return Err(Wait::Verdict(open.question.question));
        }
        let watch = &mut self.core_mut().watch;
        if !watch.updates.is_empty() {
            self.ask_classifier();
            return Ok(true);
        }
        let later = std::mem::take(&mut watch.later);
        watch.matches.extend(later);
        if watch.matches.is_empty() {
            return Ok(false);
        }
        let found = watch.matches.remove(0);
        self.call_triggered(found);
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
            || (!self.performs_here(frame) && self.way_out(step).is_none() && !self.waits_by_itself(step))
    }

    /// Calls a trigger's playbook as if the current line had called it.
    fn call_triggered(&mut self, found: Match) {
        let trigger = found.trigger;
        let bound = match self.bind_triggered(trigger) {
            Ok(bound) => bound,
            // What it needs has gone since it matched.
            Err(missing) => {
                self.deactivate(trigger);
                return self.evaluated(trigger, Ruling::NotCallable(missing.into()), &[].into());
            }
        };
        let Some(from) = self.frames.last().map(Frame::location) else { return };
        self.push_frame(trigger.playbook, bound, FrameOrigin::Trigger { trigger, from });
        self.dress_triggered(trigger, found.call);
    }

    /// What a trigger's frame has besides its arguments.
    pub(crate) fn dress_triggered(&mut self, trigger: TriggerId, call: Option<Tracked>) {
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
        if self.find_asker().is_some() {
            let told_of = &mut self.asker_mut().told;
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

    /// A frame goes: its trigger may fire again, and what it still owed to others is dropped.
    pub(crate) fn drop_watch(&mut self, frame: &mut FrameCore) {
        if self.watcher.question.as_ref().is_some_and(|open| open.frame == frame.id) {
            self.give_up_question();
        }
        frame.trigger.take().into_iter().for_each(|trigger| self.deactivate(trigger));
        let watch = std::mem::take(&mut frame.watch);
        let matches = watch.matches.iter().chain(&watch.later).map(|found| found.trigger);
        for trigger in matches.chain(frame.queue.waiting_guards()) {
            self.deactivate(trigger);
            self.evaluated(trigger, Ruling::Dropped, &[].into());
        }
    }

    /// In a turn, behind an update: asks about it, or cuts the reply. Answers whether the reply must not go on
    /// now. `drops_line`: the line in hand has not taken effect, and will not if a trigger matches.
    pub(crate) fn judge_in_turn(&mut self, drops_line: bool) -> bool {
        // Behind speech that goes on beside an open question a debugger's edit waits for its turn.
        if self.watcher.question.is_none() && !self.core().watch.updates.is_empty() {
            self.ask_classifier();
        }
        // Nothing need be waited for to know that the rest of the reply is not wanted.
        if !self.core().watch.matches.is_empty() {
            self.cut_for_match(drops_line);
            return true;
        }
        self.hold_while_asking(drops_line)
    }

    /// Everything behind the line in hand waits if a question is open; answers whether one is.
    fn hold_while_asking(&mut self, drops_line: bool) -> bool {
        let is_open = self.watcher.question.is_some();
        if let (true, Some(turn)) = (is_open, self.turn.as_mut()) {
            turn.gate = Gate::Judging { drops_line };
        }
        is_open
    }

    /// After an update, before the playbook inside that made it returns: asks about it. What matches is called
    /// when the turn has ended, and the playbook returns then.
    pub(crate) fn ask_before_return(&mut self) {
        if !self.core().watch.updates.is_empty() {
            self.ask_classifier();
        }
        self.hold_while_asking(false);
    }

    /// The classifier is being asked: everything behind the update waits, or everything but speech.
    pub(crate) fn step_judging(&mut self, drops_line: bool) -> Option<Wait> {
        if let Some(open) = &self.watcher.question {
            let id = open.question.question;
            let may_speak = self.settings.barrier == Barrier::Effects && !open.with_turn;
            return if may_speak && self.step_speech_only() { None } else { Some(Wait::Verdict(id)) };
        }
        if let Some(turn) = self.turn.as_mut() {
            turn.gate = Gate::Open;
        }
        // A debugger may have changed something meanwhile: that is asked about before anything else is done.
        if !self.core().watch.updates.is_empty() {
            self.ask_classifier();
            if self.hold_while_asking(drops_line) {
                return None;
            }
        }
        let is_matched = !self.core().watch.matches.is_empty();
        if let Some(turn) = self.turn.as_mut().filter(|_| !is_matched) {
            turn.undo = None;
        }
        if is_matched && !self.returns_inside() {
            self.cut_for_match(drops_line);
        }
        None
    }

    pub(crate) fn view_triggers(&self) -> Vec<TriggerView> {
        let triggers = self.program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
        let view = |trigger: &playhouse_lang::program::Trigger| TriggerView {
            trigger: trigger.id,
            name: self.program.trigger_name(trigger.id).into(),
            truth: matches!(trigger.kind, TriggerKind::Condition(_)).then(|| self.watcher.truths.contains(trigger.id)),
            is_active: self.watcher.active.contains_key(&trigger.id),
        };
        triggers.filter(|trigger| trigger.kind != TriggerKind::Beginning).map(view).collect()
    }
}
