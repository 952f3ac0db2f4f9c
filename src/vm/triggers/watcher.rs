//! The watcher: which triggers an update concerns, what is asked about it, and what matches
//! (spec `triggers.md`).
//!
//! It is told what happens, reads its [`WatcherContext`] and says what it [`WatcherRequest`]s; it changes nothing but its own state. An
//! update is judged at once where its trigger is a condition. What only the classifier can judge is held with the top
//! frame until the machine may wait for an answer. So one question is open at a time, and everything after the update
//! waits in the order it came.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use playhouse_lang::program::{ARGUMENTS, EVENT, Program, Trigger, TriggerId, TriggerKind};

use crate::protocol::view::{Counters, TriggerView};
use crate::protocol::{
    Candidate, Evaluation, Fact, FrameId, Judge, Question, QuestionId, Ruling, Signal, TimerId, Tracked, USER_MESSAGE,
    Update, Verdict,
};
use crate::triggers::questions::{AHEAD, OpenQuestion, candidate, ruling_of, tokens_of};
use crate::triggers::request::{WatcherContext, WatcherRequest};
use crate::triggers::signals::Signals;
use crate::triggers::timers::Timers;
use crate::triggers::truths::{Truths, command_in, is_update};
use crate::triggers::verdicts::Verdicts;
use crate::triggers::watch::{Match, PendingUpdate};

/// What is known about triggers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watcher {
    question: Option<OpenQuestion>,
    /// Updates that the reply in progress is going to make, as far as the last question was also about them.
    ahead: VecDeque<PendingUpdate>,
    /// Updates that are asked about at the end of a turn, the last of each variable, with the first old value.
    at_turn_end: Vec<PendingUpdate>,
    truths: Truths,
    /// How often a trigger has matched whose frame has not returned; more than once only before calls.
    active: BTreeMap<TriggerId, u32>,
    verdicts: Verdicts,
    timers: Timers,
    signals: Signals,
    n_updates: u64,
    n_questions: u64,
    n_evaluations: u64,
    n_matches: u64,
    classifier_ms: u64,
    classifier_tokens: u64,
    /// What it wants, until the machine takes it.
    pub(super) requests: Vec<WatcherRequest>,
}

/// What the watcher may have to go back to.
#[derive(Clone, Debug)]
pub(crate) struct WatcherMark {
    truths: Truths,
    /// How many updates there had been.
    pub(crate) n_updates: u64,
}

/// What happens.
impl Watcher {
    /// The session begins, or its program is another one.
    pub(crate) fn begun(&mut self, context: &WatcherContext<'_>) {
        self.timers.start(context.stack, context.last_timer, &mut self.requests);
    }

    /// The process was restarted: the classifier is asked again, and timers go on.
    pub(crate) fn reopened(&mut self, context: &WatcherContext<'_>) {
        self.requests.extend(self.question.iter().map(|open| WatcherRequest::Ask(Box::new(open.question.clone()))));
        self.timers.reopen(context.stack.now, &mut self.requests);
    }

    /// Somebody has said something.
    pub(crate) fn spoken(&mut self, context: &WatcherContext<'_>) {
        self.timers.restart_silence(context.stack.now, &mut self.requests);
    }

    /// A timer has run out that may be a trigger's.
    pub(crate) fn timer_fired(&mut self, context: &WatcherContext<'_>, timer: TimerId) {
        let Some(trigger) = self.timers.run_out(timer, context.stack, &mut self.requests) else { return };
        if !context.is_over {
            let found = Match { is_timed: true, ..self.match_now(trigger, None) };
            self.rule(context, found, Ruling::Match, &[].into());
        }
    }

    /// An event from outside has come.
    pub(crate) fn signal_arrived(&mut self, context: &WatcherContext<'_>, signal: Signal) {
        let Signal { name, data, id } = signal.clone();
        let fate = self.signals.arrive(&context.stack.program, context.stack.settings.bounds(), signal);
        self.requests.push(WatcherRequest::Tell(Fact::SignalArrived { name, data, id, fate }));
    }

    /// Nothing else is in hand: the playbooks of an event's triggers are called. Answers whether there was one.
    pub(crate) fn take_signal(&mut self, context: &WatcherContext<'_>) -> bool {
        let found = self.signals.take(&context.stack.program, |trigger| self.active.contains_key(&trigger));
        let has_signal = !found.is_empty();
        for (trigger, data) in found {
            self.rule(context, self.match_now(trigger, Some((EVENT, data))), Ruling::Match, &[].into());
        }
        has_signal
    }

    /// A variable has got a value, as the top frame sees it (spec `triggers.md`, "Update").
    pub(crate) fn updated(
        &mut self,
        context: &WatcherContext<'_>,
        name: &Arc<str>,
        old: Option<&Tracked>,
        new: &Tracked,
    ) {
        let Some(top) = context.top().filter(|_| is_update(name, old.map(Tracked::value), new.value())) else { return };
        self.n_updates += 1;
        let index = &context.stack.program.agent(top.agent).triggers;
        let naming = index.naming(name);
        // A message is asked about at once.
        let at_turn_end = if **name == *USER_MESSAGE { &[][..] } else { &index.at_turn_end[..] };
        if naming.is_empty() && at_turn_end.is_empty() {
            return;
        }
        let update = Update { name: name.clone(), old: old.map(Tracked::shown), new: new.shown() };
        let updates: Arc<[Update]> = [update.clone()].into();
        if let Some((id, words)) = command_in(&context.stack.program, naming, new) {
            return self.rule(context, self.match_now(id, Some((ARGUMENTS, words))), Ruling::Match, &updates);
        }
        let visible = context.visible_to(top.agent);
        let (mut candidates, mut later) = (Vec::new(), Vec::new());
        for &id in naming.iter().chain(at_turn_end) {
            if context.stack.program.trigger(id).kind != TriggerKind::Semantic {
                if let Some(ruling) = self.truths.judge(&context.stack.program, id, old.is_some(), &visible) {
                    self.rule(context, self.match_now(id, None), ruling, &updates);
                }
                continue;
            }
            match self.why_not(context, id) {
                Some(ruling) => self.evaluated(id, ruling, &updates),
                None if !context.stack.settings.classifier => self.evaluated(id, Ruling::Off, &updates),
                None if at_turn_end.contains(&id) => later.push(id),
                None => candidates.push(id),
            }
        }
        let seq = self.n_updates;
        let pending = |candidates| PendingUpdate { seq, update: update.clone(), candidates, matched: Vec::new() };
        if !candidates.is_empty() {
            self.note_candidates(pending(candidates));
        }
        if !later.is_empty() {
            self.note_later(pending(later));
        }
    }

    /// Triggers are concerned that are asked about at the end of a turn: of several values of a variable the last
    /// counts.
    fn note_later(&mut self, mut pending: PendingUpdate) {
        let is_it = |noted: &PendingUpdate| noted.update.name == pending.update.name;
        if let Some(index) = self.at_turn_end.iter().position(is_it) {
            let noted = self.at_turn_end.remove(index);
            pending.update.old = noted.update.old;
            pending.candidates.extend(noted.candidates);
            pending.candidates.sort_unstable();
            pending.candidates.dedup();
        }
        if pending.update.old.as_ref() != Some(&pending.update.new) {
            self.at_turn_end.push(pending);
        }
    }

    /// A turn has ended: what it has updated, and what lines before it have, is asked about together.
    pub(crate) fn turn_over(&mut self, context: &WatcherContext<'_>) {
        if context.is_over {
            return;
        }
        for mut pending in std::mem::take(&mut self.at_turn_end) {
            let updates: Arc<[Update]> = [pending.update.clone()].into();
            let (free, barred): (Vec<TriggerId>, Vec<TriggerId>) =
                pending.candidates.into_iter().partition(|id| !self.active.contains_key(id));
            barred.into_iter().for_each(|id| self.evaluated(id, Ruling::Active, &updates));
            pending.candidates = free;
            if !pending.candidates.is_empty() {
                self.requests.push(WatcherRequest::Hold(pending));
            }
        }
    }

    /// Semantic triggers are concerned: the classifier has judged the update already, or will be asked.
    fn note_candidates(&mut self, pending: PendingUpdate) {
        let is_it =
            |judged: &mut PendingUpdate| judged.update == pending.update && judged.candidates == pending.candidates;
        let Some(judged) = self.ahead.pop_front_if(is_it) else {
            self.drop_ahead();
            return self.requests.push(WatcherRequest::Hold(pending));
        };
        let updates = [pending.update].into();
        judged.matched.into_iter().for_each(|id| self.matched(Match::new(pending.seq, id, None), &updates));
    }

    /// What was judged in advance does not happen as it was expected.
    pub(crate) fn drop_ahead(&mut self) {
        for judged in std::mem::take(&mut self.ahead) {
            let updates = [judged.update].into();
            judged.matched.into_iter().for_each(|id| self.evaluated(id, Ruling::Dropped, &updates));
        }
    }

    /// What can be seen has changed without an update: a frame has gone, or a variable was removed.
    pub(crate) fn recheck_truths(&mut self, context: &WatcherContext<'_>) {
        self.truths.recheck(&context.stack.program, |agent| context.visible_to(agent));
    }

    /// The machine can wait for an answer: the classifier is asked about the top frame's updates, as far as it has not
    /// been asked the same before, and about what the reply in progress will set then.
    pub(crate) fn ask(&mut self, context: &WatcherContext<'_>, mut updates: Vec<PendingUpdate>, ahead: Vec<Update>) {
        let (Some(top), Some(place)) = (context.top(), context.place()) else { return };
        updates.extend(self.pending_ahead(context, &updates, ahead));
        let all: BTreeSet<TriggerId> = updates.iter().flat_map(|pending| pending.candidates.iter().copied()).collect();
        let mut asked = BTreeSet::new();
        for id in all {
            let own: Vec<&PendingUpdate> = updates.iter().filter(|pending| pending.candidates.contains(&id)).collect();
            let shown: Arc<[Update]> = own.iter().map(|pending| pending.update.clone()).collect();
            // Where part of it is only expected it is asked once more.
            let is_ahead = own.iter().any(|pending| pending.seq == AHEAD);
            match self.verdicts.known(id, &shown).filter(|_| !is_ahead) {
                Some(true) => self.rule(context, Match::new(own[0].seq, id, None), Ruling::Match, &shown),
                Some(false) => self.evaluated(id, Ruling::SameValues, &shown),
                None => drop(asked.insert(id)),
            }
        }
        updates.retain_mut(|pending| {
            pending.candidates.retain(|id| asked.contains(id));
            !pending.candidates.is_empty()
        });
        if updates.iter().all(|pending| pending.seq == AHEAD) {
            return;
        }
        self.n_questions += 1;
        let candidates =
            |ids: &mut dyn Iterator<Item = &TriggerId>| ids.map(|id| candidate(&context.stack.program, *id)).collect();
        let question = Question {
            question: QuestionId(self.n_questions),
            place,
            candidates: candidates(&mut asked.iter()),
            updates: updates.iter().map(|pending| pending.update.clone()).collect(),
            user: context
                .stack
                .conversation
                .utterances
                .iter()
                .rev()
                .find(|said| said.by_user)
                .map(|said| said.text.clone()),
            active: candidates(&mut self.active.keys()),
        };
        let is_beside = context.turn.is_none() && !context.stack.settings.classifier_first;
        let with_turn = is_beside && updates.iter().all(|pending| &*pending.update.name == USER_MESSAGE);
        self.requests.push(WatcherRequest::Ask(Box::new(question.clone())));
        self.question = Some(OpenQuestion { question, frame: top.id, updates, with_turn });
    }

    /// Updates that a reply is going to make, up to one that is known or asked already: what is known then is told
    /// when it happens.
    fn pending_ahead(
        &self,
        context: &WatcherContext<'_>,
        asked: &[PendingUpdate],
        ahead: Vec<Update>,
    ) -> Vec<PendingUpdate> {
        let Some(top) = context.top() else { return Vec::new() };
        let index = &context.stack.program.agent(top.agent).triggers;
        let mut all: Vec<PendingUpdate> = Vec::new();
        for update in ahead {
            let is_semantic = |id: &TriggerId| context.stack.program.trigger(*id).kind == TriggerKind::Semantic;
            let concerned = index.naming(&update.name).iter().copied().filter(is_semantic);
            let mut candidates: Vec<TriggerId> = concerned.filter(|id| self.why_not(context, *id).is_none()).collect();
            candidates.sort_unstable();
            let is_known = |id: &TriggerId| self.verdicts.known(*id, std::slice::from_ref(&update)).is_some();
            if all.iter().chain(asked).any(|pending| pending.update == update) || candidates.iter().any(is_known) {
                break;
            }
            if !candidates.is_empty() {
                all.push(PendingUpdate { seq: AHEAD, update, candidates, matched: Vec::new() });
            }
        }
        all
    }

    /// The classifier has answered.
    pub(crate) fn judged(&mut self, context: &WatcherContext<'_>, question: QuestionId, verdict: &Verdict, ms: u64) {
        let Some(mut open) = self.question.take_if(|open| open.question.question == question) else { return };
        let tokens = tokens_of(verdict);
        self.classifier_ms += ms;
        self.classifier_tokens += tokens;
        let is_there = context.top().is_some_and(|core| core.id == open.frame);
        let (n_taken, n_asked) = (open.n_taken(), open.question.candidates.len());
        for Candidate { trigger, .. } in std::mem::take(&mut open.question.candidates) {
            let (by, mut ruling) = ruling_of(verdict, trigger);
            let (first, updates) = open.concerning(trigger);
            if matches!(ruling, Ruling::Match | Ruling::NoMatch) {
                let limit = context.stack.settings.max_verdicts;
                self.verdicts.learn(trigger, &updates, ruling == Ruling::Match, limit);
            }
            // The earliest update that it names is where it takes effect.
            let Some(first) = first else { continue };
            if ruling == Ruling::Match {
                if !is_there {
                    ruling = Ruling::Dropped;
                } else if first < n_taken {
                    ruling = self.why_not(context, trigger).unwrap_or(Ruling::Match);
                } else {
                    open.updates[first].matched.push(trigger);
                }
            }
            let fires = ruling == Ruling::Match && first < n_taken;
            let (question, shown) = (Some(question), updates.clone());
            self.report(Evaluation { trigger, by, ruling, updates: shown, question, n_asked, ms, tokens });
            if fires {
                self.matched(Match::new(open.updates[first].seq, trigger, None), &updates);
            }
        }
        // A reply that has ended meanwhile makes none of its updates.
        self.ahead = if context.turn.is_some() { open.updates.split_off(n_taken).into() } else { VecDeque::new() };
    }

    /// The open question is given up, for what it is about has gone; a verdict that still comes is ignored.
    pub(crate) fn give_up_question(&mut self) {
        let Some(open) = self.question.take() else { return };
        let (question, n_asked) = (Some(open.question.question), open.question.candidates.len());
        for trigger in open.question.candidates.iter().map(|candidate| candidate.trigger) {
            let (by, ruling, (_, updates)) = (Judge::Interpreter, Ruling::Dropped, open.concerning(trigger));
            self.report(Evaluation { trigger, by, ruling, updates, question, n_asked, ms: 0, tokens: 0 });
        }
    }

    /// The top frame calls the playbook of what has matched.
    pub(crate) fn call_due(&mut self, context: &WatcherContext<'_>, found: Match) {
        match context.bind(found.trigger) {
            Ok(bound) => self.requests.push(WatcherRequest::CallNow(found, bound)),
            // What it needs has gone since it matched.
            Err(missing) => {
                self.deactivate(found.trigger);
                self.evaluated(found.trigger, Ruling::NotCallable(missing), &[].into());
            }
        }
    }

    /// A frame has gone: its trigger may fire again, and what it still owed to others is dropped.
    pub(crate) fn frame_gone(&mut self, frame: FrameId, trigger: Option<TriggerId>, owed: &[TriggerId]) {
        if self.question.as_ref().is_some_and(|open| open.frame == frame) {
            self.give_up_question();
        }
        trigger.into_iter().for_each(|trigger| self.deactivate(trigger));
        self.dropped(owed);
    }

    /// Playbooks of triggers that have matched are not called.
    pub(crate) fn dropped(&mut self, triggers: &[TriggerId]) {
        for &trigger in triggers {
            self.deactivate(trigger);
            self.evaluated(trigger, Ruling::Dropped, &[].into());
        }
    }

    /// A playbook that was called will be called again.
    pub(crate) fn put_back(&mut self, trigger: TriggerId) {
        *self.active.entry(trigger).or_default() += 1;
    }

    /// What came after a mark is taken back: it cannot make a trigger true, and is not asked about. One that has fired
    /// is not undone.
    pub(crate) fn roll_back(&mut self, mark: WatcherMark) {
        self.truths = mark.truths;
        let is_after = |pending: &PendingUpdate| pending.seq > mark.n_updates;
        self.at_turn_end.retain(|pending| !is_after(pending));
        if self.question.as_ref().is_some_and(|open| open.updates.iter().all(is_after)) {
            self.give_up_question();
        }
    }

    /// Takes what is known of triggers over to others; what is about triggers that are gone is forgotten.
    pub(crate) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) {
        self.truths.map(&trigger);
        self.verdicts.map(&trigger);
        self.timers.map(&trigger);
        self.at_turn_end.retain_mut(|pending| pending.map(&trigger));
        let active = std::mem::take(&mut self.active);
        self.active = active.into_iter().filter_map(|(id, n)| Some((trigger(id)?, n))).collect();
    }
}

/// What it is asked.
impl Watcher {
    /// The question that is open.
    pub(crate) fn question(&self) -> Option<&Question> {
        self.question.as_ref().map(|open| &open.question)
    }

    /// Whether the open question is judged together with the frame's next turn.
    pub(crate) fn is_asked_with_turn(&self) -> bool {
        self.question.as_ref().is_some_and(|open| open.with_turn)
    }

    /// What has happened of what the open question is about, and the frame in which it did.
    pub(crate) fn asked(&self) -> Option<(FrameId, Vec<PendingUpdate>)> {
        self.question.as_ref().map(|open| (open.frame, open.updates[..open.n_taken()].to_vec()))
    }

    /// Events whose triggers' playbooks have not been called yet.
    pub(crate) fn signals(&self) -> impl Iterator<Item = &Signal> {
        self.signals.waiting()
    }

    pub(crate) fn mark(&self) -> WatcherMark {
        WatcherMark { truths: self.truths.clone(), n_updates: self.n_updates }
    }

    /// The counters with what it has counted.
    pub(crate) fn count(&self, others: Counters) -> Counters {
        Counters {
            updates: self.n_updates,
            signals: self.signals.n,
            trigger_evaluations: self.n_evaluations,
            classifier_calls: self.n_questions,
            classifier_ms: self.classifier_ms,
            classifier_tokens: self.classifier_tokens,
            trigger_matches: self.n_matches,
            ..others
        }
    }

    /// All triggers as plain data.
    pub(crate) fn view(&self, program: &Program) -> Vec<TriggerView> {
        let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
        let view = |trigger: &Trigger| TriggerView {
            trigger: trigger.id,
            name: program.trigger_name(trigger.id).into(),
            truth: matches!(trigger.kind, TriggerKind::Condition(_)).then(|| self.truths.contains(trigger.id)),
            is_active: self.active.contains_key(&trigger.id),
        };
        triggers.filter(|trigger| trigger.kind != TriggerKind::Beginning).map(view).collect()
    }
}

/// Its rules.
impl Watcher {
    /// A match with the last update.
    pub(super) fn match_now(&self, trigger: TriggerId, given: Option<(&'static str, Tracked)>) -> Match {
        Match::new(self.n_updates, trigger, given)
    }

    /// A ruling of the interpreter's; a match fires if nothing stands against it.
    pub(super) fn rule(&mut self, context: &WatcherContext<'_>, found: Match, ruling: Ruling, updates: &Arc<[Update]>) {
        let against = if ruling == Ruling::Match { self.why_not(context, found.trigger) } else { None };
        let ruling = against.unwrap_or(ruling);
        let fires = ruling == Ruling::Match;
        self.evaluated(found.trigger, ruling, updates);
        if fires {
            self.matched(found, updates);
        }
    }

    /// Why a trigger that matches does not fire; none: it does.
    fn why_not(&self, context: &WatcherContext<'_>, id: TriggerId) -> Option<Ruling> {
        if self.active.contains_key(&id) {
            return Some(Ruling::Active);
        }
        if context.executed() == Some(id.playbook) {
            return Some(Ruling::OwnFrame);
        }
        context.bind(id).err().map(Ruling::NotCallable)
    }

    /// An evaluation by the interpreter.
    pub(super) fn evaluated(&mut self, trigger: TriggerId, ruling: Ruling, updates: &Arc<[Update]>) {
        let (by, updates) = (Judge::Interpreter, updates.clone());
        self.report(Evaluation { trigger, by, ruling, updates, question: None, n_asked: 0, ms: 0, tokens: 0 });
    }

    fn report(&mut self, evaluation: Evaluation) {
        self.n_evaluations += 1;
        self.requests.push(WatcherRequest::Tell(Fact::TriggerEvaluated(Box::new(evaluation))));
    }

    /// The trigger is active from now on, and its playbook will be called.
    fn matched(&mut self, found: Match, updates: &Arc<[Update]>) {
        self.activate(found.trigger, updates);
        self.requests.push(WatcherRequest::Call(found));
    }

    pub(super) fn activate(&mut self, trigger: TriggerId, updates: &Arc<[Update]>) {
        self.n_matches += 1;
        *self.active.entry(trigger).or_default() += 1;
        self.requests.push(WatcherRequest::Tell(Fact::TriggerMatched { trigger, updates: updates.clone() }));
    }

    fn deactivate(&mut self, trigger: TriggerId) {
        if let Some(n) = self.active.get_mut(&trigger) {
            *n -= 1;
            if *n == 0 {
                self.active.remove(&trigger);
            }
        }
    }
}
