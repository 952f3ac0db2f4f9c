//! Why a trigger fired, and why it did not: everything a session has reported about it, as data (spec `triggers.md`).
//!
//! A journal holds events, not what the machine made of them: [`history`] replays it and keeps what it said. What is
//! made of that, [`explain`] and [`find_triggers`], needs no journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::analysis::explain::trigger_kind;
use playhouse_lang::program::{AgentId, Program, Trigger, TriggerId, TriggerKind};
use playhouse_vm::migrate::Migration;
use playhouse_vm::protocol::view::{TriggerView, View, place_name};
use playhouse_vm::protocol::{
    Effect, Evaluation, Fact, Judge, Location, Place, Progress, QuestionId, Ruling, SignalFate, Timestamp, TurnId,
    USER_MESSAGE, Update,
};

use crate::journal::record::Record;
use crate::replay::error::SessionError;
use crate::replay::replay_watched;
use crate::text::one_line;

/// What a machine reported: when, where, what.
pub type Told = (Timestamp, Option<Place>, Fact);

/// What can be said about the triggers of a session.
pub struct History {
    /// Its program.
    pub program: Arc<Program>,
    /// How it stands.
    pub view: View,
    /// What was reported that concerns triggers, the oldest first.
    pub told: Vec<Told>,
}

/// All that is known of one trigger in one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The trigger.
    pub trigger: TriggerId,
    /// `Playbook:T1`.
    pub name: String,
    /// The author's words.
    pub text: Arc<str>,
    /// Where they stand: `program.md:12`.
    pub place: String,
    /// What they were read as; of a condition the expression.
    pub read_as: String,
    /// It fires when a session begins, and nothing is evaluated for that.
    pub is_beginning: bool,
    /// The variables that they name, without `$`.
    pub names: Vec<Arc<str>>,
    /// Whether its playbook has been called and has not returned.
    pub is_active: bool,
    /// Of a condition: whether it holds.
    pub holds: Option<bool>,
    /// All evaluations, the oldest first.
    pub judged: Vec<Judged>,
    /// Updates that it was not evaluated on, by name and reason.
    pub passed_over: Vec<PassedOver>,
}

/// One evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// When.
    pub time: Timestamp,
    /// In which turn, if one was in progress.
    pub turn: Option<TurnId>,
    /// On which line: `Playbook:02`, or `Playbook` for its heading.
    pub line: Option<String>,
    /// What was judged by whom, and what came of it.
    pub evaluation: Evaluation,
    /// Whether its playbook was called.
    pub has_fired: bool,
}

/// Updates of one name that a trigger was not evaluated on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The variable's name; [`USER_MESSAGE`] for the user's words.
    pub name: Arc<str>,
    /// Why.
    pub reason: PassedOverReason,
    /// How many.
    pub n: u64,
}

/// Why a trigger is not evaluated on an update.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassedOverReason {
    /// It names variables, and this is none of them.
    NotNamed,
    /// The update was made by this agent, for which the trigger does not hold.
    OtherAgent(Arc<str>),
}

/// How many evaluations there were of each kind, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All evaluations.
    pub n: u64,
    /// Matches.
    pub n_matches: u64,
    /// Nothing matched: no match, or still true.
    pub n_no_matches: u64,
    /// Nobody judged: abstained, no answer in time, failed, faults, switched off.
    pub n_unjudged: u64,
    /// It could not fire: active, own frame, same values, not callable, dropped.
    pub n_barred: u64,
    /// Questions to the classifier that it was part of.
    pub n_asked: u64,
    /// Their milliseconds.
    pub ms: u64,
    /// Their tokens; those of other triggers in the same question included.
    pub tokens: u64,
}

/// Replays a session's records and keeps what its machine reported about triggers.
///
/// # Errors
/// The records hold no session, or the machine does not follow them.
pub fn history(records: &[Record]) -> Result<History, SessionError> {
    let mut told = Vec::new();
    let mut watch = |time: Timestamp, progress: &Progress| {
        let Progress::Emit(Effect::Report(report)) = progress else { return };
        if concerns_triggers(&report.fact) {
            told.push((time, report.place, report.fact.clone()));
        }
        if let Fact::ProgramChanged(change) = &report.fact {
            let change = Migration::new(change.old.clone(), change.new.clone());
            // What was told of triggers and agents that are gone is about nothing that can be asked for.
            let told_before = std::mem::take(&mut told);
            let now = |(time, place, fact): Told| match place {
                Some(place) => Some((time, Some(change.place(place)?), change.fact(&fact)?)),
                None => Some((time, None, change.fact(&fact)?)),
            };
            told = told_before.into_iter().filter_map(now).collect();
        }
    };
    let replayed = replay_watched(records, None, &mut watch)?;
    let machine = replayed.machine;
    Ok(History { program: machine.program().clone(), view: machine.view(), told })
}

fn concerns_triggers(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TriggerEvaluated(_)
            | Fact::TriggerMatched { .. }
            | Fact::VariableSet { .. }
            | Fact::UserMessage { .. }
            | Fact::SignalArrived { .. }
    )
}

impl History {
    /// All that is known of one trigger.
    pub fn explain(&self, trigger: TriggerId) -> Why {
        explain(&self.program, &self.view.triggers, trigger, &self.told)
    }

    /// All that is known of all triggers, in program order.
    pub fn explain_all(&self) -> Vec<Why> {
        triggers(&self.program).map(|trigger| self.explain(trigger.id)).collect()
    }
}

/// What is known of one trigger, from how the triggers stand and from what the machine reported, the oldest first.
pub fn explain<'t>(
    program: &Program,
    stands: &[TriggerView],
    id: TriggerId,
    told: impl IntoIterator<Item = &'t Told>,
) -> Why {
    let playbook = program.playbook(id.playbook);
    let trigger = &playbook.triggers[id.index as usize];
    let view = stands.iter().find(|view| view.trigger == id);
    let mut judged: Vec<Judged> = Vec::new();
    let mut passed_over: BTreeMap<(PassedOverReason, Arc<str>), u64> = BTreeMap::new();
    for (time, place, fact) in told {
        let entry = |evaluation: Evaluation, has_fired| Judged {
            time: *time,
            turn: place.and_then(|place| place.turn),
            line: place.map(|place| line(program, place.location)),
            evaluation,
            has_fired,
        };
        if let Fact::TriggerEvaluated(evaluation) = fact {
            if evaluation.trigger == id {
                judged.push(entry(Evaluation::clone(evaluation), false));
            }
        } else if let Fact::TriggerMatched { trigger, updates } = fact {
            // Its evaluation, if that was told by itself.
            let is_it = |judged: &&mut Judged| judged.evaluation.ruling == Ruling::Match && !judged.has_fired;
            match judged.iter_mut().find(is_it) {
                _ if *trigger != id => {}
                Some(judged) => judged.has_fired = true,
                None => judged.push(entry(plain_match(id, updates), true)),
            }
        } else if let Some(name) = update_name(fact).filter(|_| trigger.kind.waits_for_updates())
            && let Some(reason) = passed_over_reason(program, id, *place, &name)
        {
            *passed_over.entry((reason, name)).or_default() += 1;
        }
    }
    Why {
        trigger: id,
        name: program.trigger_name(id),
        text: trigger.text.clone(),
        place: program.place_of(trigger.span).unwrap_or_default(),
        read_as: trigger_kind(trigger),
        is_beginning: trigger.kind == TriggerKind::Beginning,
        names: trigger.names.clone(),
        is_active: view.is_some_and(|view| view.is_active),
        holds: view.and_then(|view| view.truth),
        judged,
        passed_over: passed_over.into_iter().map(|((reason, name), n)| PassedOver { name, reason, n }).collect(),
    }
}

/// The names of the events that no trigger waited for when they came, in order, and how often each came.
pub fn passed_over_events(told: &[Told]) -> Vec<(Arc<str>, usize)> {
    let mut events: Vec<(Arc<str>, usize)> = Vec::new();
    for (_, _, fact) in told {
        let Fact::SignalArrived { name, fate: SignalFate::PassedOver, .. } = fact else { continue };
        match events.iter_mut().find(|(known, _)| known == name) {
            Some((_, n)) => *n += 1,
            None => events.push((name.clone(), 1)),
        }
    }
    events
}

impl Why {
    /// The evaluations, counted.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally { n: self.judged.len() as u64, ..Tally::default() };
        let mut questions: Vec<QuestionId> = Vec::new();
        for Judged { evaluation, .. } in &self.judged {
            match &evaluation.ruling {
                Ruling::Match => tally.n_matches += 1,
                Ruling::NoMatch | Ruling::StillTrue => tally.n_no_matches += 1,
                Ruling::Fault(_) | Ruling::TimedOut | Ruling::Abstained | Ruling::Failed(_) | Ruling::Off => {
                    tally.n_unjudged += 1;
                }
                Ruling::Active | Ruling::OwnFrame | Ruling::SameValues | Ruling::NotCallable(_) | Ruling::Dropped => {
                    tally.n_barred += 1
                }
            }
            // What was asked before may be told of again, as dropped.
            if let Some(question) = evaluation.question.filter(|question| !questions.contains(question)) {
                questions.push(question);
                tally.n_asked += 1;
                tally.ms += evaluation.ms;
                tally.tokens += evaluation.tokens;
            }
        }
        tally
    }
}

/// The triggers that are meant: one by its name, all of a playbook by that one's name, or one by the author's words, or by
/// the beginning of any of them if only one begins so. Capital letters make no difference.
///
/// # Errors
/// None is meant, or any of several: those that can be.
pub fn find_triggers(program: &Program, text: &str) -> Result<Vec<TriggerId>, Vec<TriggerId>> {
    let plain = |text: &str| one_line(text).to_lowercase();
    let wanted = plain(text);
    let name = |trigger: &Trigger| plain(&program.trigger_name(trigger.id));
    let playbook = |trigger: &Trigger| plain(&program.playbook(trigger.id.playbook).name);
    let words = |trigger: &Trigger| plain(&trigger.text);
    let of_playbook: Vec<TriggerId> =
        triggers(program).filter(|trigger| playbook(trigger) == wanted).map(|trigger| trigger.id).collect();
    if !of_playbook.is_empty() {
        return Ok(of_playbook);
    }
    let fits: [&dyn Fn(&Trigger) -> bool; 4] = [
        &|trigger| name(trigger) == wanted,
        &|trigger| words(trigger) == wanted,
        &|trigger| name(trigger).starts_with(&wanted),
        &|trigger| words(trigger).starts_with(&wanted),
    ];
    for fits in fits {
        let found: Vec<TriggerId> =
            triggers(program).filter(|trigger| fits(trigger)).map(|trigger| trigger.id).collect();
        match found.as_slice() {
            [] => {}
            [_] => return Ok(found),
            _ => return Err(found),
        }
    }
    Err(triggers(program).map(|trigger| trigger.id).collect())
}

fn triggers(program: &Program) -> impl Iterator<Item = &Trigger> {
    program.playbooks.iter().flat_map(|playbook| &playbook.triggers)
}

/// The name of the variable that has got another value. The user's words are told as such.
fn update_name(fact: &Fact) -> Option<Arc<str>> {
    if let Fact::VariableSet { name, value, old, .. } = fact {
        let is_update = &**name != USER_MESSAGE && old.as_ref() != Some(&value.shown());
        return is_update.then(|| name.clone());
    }
    matches!(fact, Fact::UserMessage { .. }).then(|| USER_MESSAGE.into())
}

/// Why a trigger is no candidate for an update of `name` at `place`; none: it is.
fn passed_over_reason(
    program: &Program,
    id: TriggerId,
    place: Option<Place>,
    name: &Arc<str>,
) -> Option<PassedOverReason> {
    if !program.trigger(id).is_concerned(name) {
        return Some(PassedOverReason::NotNamed);
    }
    let holds = |agent: AgentId| {
        let triggers = &program.agent(agent).triggers;
        triggers.naming(name).contains(&id) || triggers.at_turn_end.contains(&id)
    };
    let by = place.map(|place| place.agent).filter(|agent| !holds(*agent))?;
    Some(PassedOverReason::OtherAgent(program.agent(by).name.clone()))
}

/// A match that was told without an evaluation: of a trigger on calls or of time.
fn plain_match(trigger: TriggerId, updates: &Arc<[Update]>) -> Evaluation {
    Evaluation {
        trigger,
        by: Judge::Interpreter,
        ruling: Ruling::Match,
        updates: updates.clone(),
        question: None,
        n_asked: 0,
        ms: 0,
        tokens: 0,
    }
}

/// `Playbook:02`, or `Playbook` for its heading.
fn line(program: &Program, location: Location) -> String {
    place_name(program, &[], location).unwrap_or_default()
}
