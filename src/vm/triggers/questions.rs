//! Questions to the classifier and their answers (spec `triggers.md`, "The classifier"; spec `turn-protocol.md`,
//! "The watcher's barrier").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use playhouse_lang::program::{TriggerId, TriggerKind};
use playhouse_lang::value::Value;

use crate::machine::state::Machine;
use crate::protocol::{
    Candidate, Effect, Evaluation, Judge, Question, QuestionId, Ruling, USER_MESSAGE, Update, Verdict,
};
use crate::triggers::watch::{Match, OpenQuestion, PendingUpdate, Prejudged};

impl Machine {
    /// Asks the classifier about the top frame's updates, as far as it has not been asked the same before.
    pub(crate) fn ask_classifier(&mut self) {
        let mut updates = std::mem::take(&mut self.core_mut().watch.updates);
        let ahead = self.updates_ahead(&updates);
        let n_ahead = ahead.len();
        updates.extend(ahead);
        let all: BTreeSet<TriggerId> = updates.iter().flat_map(|pending| pending.candidates.iter().copied()).collect();
        let mut asked = BTreeSet::new();
        for &id in &all {
            let own: Vec<&PendingUpdate> = updates.iter().filter(|pending| pending.candidates.contains(&id)).collect();
            let shown: Vec<Update> = own.iter().map(|pending| pending.update.clone()).collect();
            let (seq, n_of_ahead) = (own[0].seq, own.iter().filter(|pending| pending.seq == AHEAD).count());
            match self.watcher.verdicts.known(id, &shown) {
                // Part of it is only expected: it is asked once more.
                Some(_) if n_of_ahead > 0 => {
                    asked.insert(id);
                }
                Some(true) => self.rule(Match::new(seq, id, None), Ruling::Match, &shown.into()),
                Some(false) => self.evaluated(id, Ruling::SameValues, &shown.into()),
                None => {
                    asked.insert(id);
                }
            }
        }
        for pending in &mut updates {
            pending.candidates.retain(|id| asked.contains(id));
        }
        // Without the updates that nobody is asked about; those ahead stand last.
        let n_ahead = updates[updates.len() - n_ahead..].iter().filter(|p| !p.candidates.is_empty()).count();
        updates.retain(|pending| !pending.candidates.is_empty());
        if updates.len() == n_ahead {
            return;
        }
        let Some(place) = self.place() else { return };
        self.watcher.n_questions += 1;
        self.counters.classifier_calls += 1;
        let question = Question {
            question: QuestionId(self.watcher.n_questions),
            place,
            candidates: asked.iter().map(|&id| self.candidate(id)).collect(),
            updates: updates.iter().map(|pending| pending.update.clone()).collect(),
            user: self.conversation.utterances.iter().rev().find(|said| said.by_user).map(|said| said.text.clone()),
            active: self.watcher.active.keys().map(|&id| self.candidate(id)).collect(),
        };
        let is_beside = self.turn.is_none() && !self.settings.classifier_first;
        let with_turn = is_beside && updates.iter().all(|pending| &*pending.update.name == USER_MESSAGE);
        let frame = self.core().id;
        self.watcher.question = Some(OpenQuestion { question: question.clone(), frame, updates, n_ahead, with_turn });
        self.emit(Effect::Classify(Box::new(question)));
    }

    fn candidate(&self, id: TriggerId) -> Candidate {
        let text = self.program.trigger(id).text.clone();
        Candidate { trigger: id, name: self.program.trigger_name(id).into(), text }
    }

    /// The held updates that had been read when the last answer came, with the values they will have.
    fn updates_ahead(&self, asked: &[PendingUpdate]) -> Vec<PendingUpdate> {
        let Some(turn) = &self.turn else { return Vec::new() };
        let program = self.program.clone();
        let index = &program.agent(self.core().agent).triggers;
        let playbook = self.top().executed();
        let mut ahead: Vec<PendingUpdate> = Vec::new();
        let mut values: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (name, value) in turn.sets_ahead() {
            // A value that is not known yet ends the list; so does one that will be refused.
            let Some(new) = self.stack().literal(value, &values) else { break };
            // What stays secret is not shown, whatever the model writes.
            if self.reader().variable(name).is_some_and(|variable| variable.value.is_secret())
                || self.stack().is_declared_secret(self.core().agent, name)
            {
                break;
            }
            if self.stack().type_of(playbook, name).is_some_and(|ty| !ty.accepts(&new)) {
                break;
            }
            let old = values.get(name).cloned().or_else(|| self.reader().variable(name).map(|v| v.value.shown()));
            values.insert(name.clone(), new.clone());
            if old.as_ref() == Some(&new) {
                continue;
            }
            let is_semantic = |id: &TriggerId| program.trigger(*id).kind == TriggerKind::Semantic;
            let all = index.naming(name).iter().chain(&index.ambient).copied();
            let mut candidates: Vec<TriggerId> =
                all.filter(is_semantic).filter(|id| self.why_not(*id).is_none()).collect();
            candidates.sort_unstable();
            let update = Update { name: name.clone(), old, new };
            // What is known then is told when it happens.
            if ahead.iter().chain(asked).any(|pending| pending.update == update) {
                break;
            }
            if candidates.iter().any(|id| self.watcher.verdicts.known(*id, std::slice::from_ref(&update)).is_some()) {
                break;
            }
            if !candidates.is_empty() {
                ahead.push(PendingUpdate { seq: AHEAD, update, candidates });
            }
        }
        ahead
    }

    /// The classifier has answered.
    pub(crate) fn handle_verdict(&mut self, id: QuestionId, verdict: Verdict, ms: u64) {
        if self.watcher.question.as_ref().is_none_or(|open| open.question.question != id) {
            return;
        }
        let Some(open) = self.watcher.question.take() else { return };
        self.counters.classifier_ms += ms;
        let tokens = match &verdict {
            Verdict::Judged { usage: Some(usage), .. } => usage.prompt_tokens + usage.completion_tokens,
            Verdict::Judged { usage: None, .. } | Verdict::TimedOut | Verdict::Failed { .. } => 0,
        };
        self.counters.classifier_tokens += tokens;
        let is_there = self.frames.last().is_some_and(|frame| frame.core().id == open.frame);
        let n_taken = open.updates.len() - open.n_ahead;
        let mut prejudged: Vec<Prejudged> = open.updates[n_taken..]
            .iter()
            .map(|pending| Prejudged {
                update: pending.update.clone(),
                candidates: pending.candidates.clone(),
                matched: Vec::new(),
            })
            .collect();
        for candidate in &open.question.candidates {
            let id = candidate.trigger;
            let (by, mut ruling) = ruling_of(&verdict, id);
            let own: Vec<usize> =
                (0..open.updates.len()).filter(|&i| open.updates[i].candidates.contains(&id)).collect();
            let shown: Arc<[Update]> = own.iter().map(|&i| open.updates[i].update.clone()).collect();
            self.learn(id, &ruling, &shown);
            // The earliest update that it names is where it takes effect.
            let Some(&first) = own.first() else { continue };
            if ruling == Ruling::Match {
                if !is_there {
                    ruling = Ruling::Dropped;
                } else if first < n_taken {
                    ruling = self.why_not(id).unwrap_or(Ruling::Match);
                } else {
                    prejudged[first - n_taken].matched.push(id);
                }
            }
            let fires = ruling == Ruling::Match && first < n_taken;
            let question = Some(open.question.question);
            let n_asked = open.question.candidates.len();
            let updates = shown.clone();
            self.report_evaluation(Evaluation { trigger: id, by, ruling, updates, question, n_asked, ms, tokens });
            if fires {
                self.matched(Match::new(open.updates[first].seq, id, None), &shown);
            }
        }
        if let Some(turn) = self.turn.as_mut() {
            turn.prejudged = prejudged.into();
            turn.horizon = turn.readings.len();
        }
    }

    /// Remembers an answer. What did not match together does not match one by one.
    fn learn(&mut self, id: TriggerId, ruling: &Ruling, updates: &[Update]) {
        let limit = self.settings.max_verdicts;
        match ruling {
            Ruling::Match => self.watcher.verdicts.learn(id, updates, true, limit),
            Ruling::NoMatch => {
                self.watcher.verdicts.learn(id, updates, false, limit);
                for update in updates.iter().filter(|_| updates.len() > 1) {
                    self.watcher.verdicts.learn(id, std::slice::from_ref(update), false, limit);
                }
            }
            Ruling::StillTrue
            | Ruling::Fault(_)
            | Ruling::Active
            | Ruling::OwnFrame
            | Ruling::SameValues
            | Ruling::TimedOut
            | Ruling::Abstained
            | Ruling::Failed(_)
            | Ruling::Off
            | Ruling::NotCallable(_)
            | Ruling::Dropped => {}
        }
    }

    /// The open question is given up, for what it is about has gone; a verdict that still comes is ignored.
    pub(crate) fn give_up_question(&mut self) {
        let Some(open) = self.watcher.question.take() else { return };
        let (question, n_asked) = (Some(open.question.question), open.question.candidates.len());
        for candidate in &open.question.candidates {
            let own = open.updates.iter().filter(|pending| pending.candidates.contains(&candidate.trigger));
            let updates = own.map(|pending| pending.update.clone()).collect();
            let (by, ruling) = (Judge::Interpreter, Ruling::Dropped);
            let trigger = candidate.trigger;
            self.report_evaluation(Evaluation { trigger, by, ruling, updates, question, n_asked, ms: 0, tokens: 0 });
        }
    }

    /// Updates of the top frame that have been taken back are not asked about.
    pub(crate) fn forget_updates_after(&mut self, n_updates: u64) {
        self.core_mut().watch.updates.retain(|pending| pending.seq <= n_updates);
        let open = self.watcher.question.as_ref();
        if open.is_some_and(|open| open.updates.iter().all(|pending| pending.seq > n_updates)) {
            self.give_up_question();
        }
    }

    /// After a restart the classifier is asked again.
    pub(crate) fn reopen_question(&mut self) {
        if let Some(open) = &self.watcher.question {
            let question = Box::new(open.question.clone());
            self.emit(Effect::Classify(question));
        }
    }
}

/// The place among all updates of one that has not taken effect.
const AHEAD: u64 = u64::MAX;

fn ruling_of(verdict: &Verdict, id: TriggerId) -> (Judge, Ruling) {
    match verdict {
        Verdict::Judged { by, matched, .. } if matched.contains(&id) => (*by, Ruling::Match),
        Verdict::Judged { by, abstained, .. } if abstained.contains(&id) => (*by, Ruling::Abstained),
        Verdict::Judged { by, .. } => (*by, Ruling::NoMatch),
        Verdict::TimedOut => (Judge::Model, Ruling::TimedOut),
        Verdict::Failed { reason } => (Judge::Model, Ruling::Failed(reason.clone())),
    }
}
