//! One check while a run is gone through: an automaton for each form, with a state for each binding of its names (the
//! table of spec `evaluate.md`, section 3).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::evaluation::checks::{CallPattern, Check, CheckKind};
use playhouse_lang::expr::Expr;

use crate::checks::atoms::{Atom, Match};
use crate::checks::binding::{Binding, Key};
use crate::checks::end::{End, Ended};
use crate::checks::past::{Past, Truth};
use crate::checks::schema::ReadSchema;
use crate::checks::verdict::{Breach, Verdict};
use crate::events::PublicBody;

/// So many bindings a check may have; of more it is undecided.
const MAX_BINDINGS: usize = 10_000;

/// One check.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    form: Form,
    broken: Option<Breach>,
    /// Why it cannot be told whether it holds.
    undecided: Option<String>,
}

/// The forms of checks, with their states. The state of a binding stands under the values of the names that decide.
#[derive(Clone, Debug)]
enum Form {
    Happens { atom: Atom, has_happened: bool },
    Never(Atom),
    Count(Count),
    OnlyAfter { atom: Atom, before: Atom, seen: HashSet<Key> },
    OnlyKnowing { call: Atom, known: Atom, results: HashMap<Key, Vec<Returned>> },
    OnlyIf { atom: Atom, condition: Expr, text: String },
    After(Box<After>),
    FollowedBy { atom: Atom, next: Atom, within: Option<u64>, pending: HashMap<Key, Pending> },
    End(End),
}

/// `atom N times`, `at most N atom`.
#[derive(Clone, Debug)]
struct Count {
    atom: Atom,
    n: u64,
    /// No less, either.
    exactly: bool,
    by: Vec<Arc<str>>,
    counts: HashMap<Key, (u64, Binding)>,
}

/// `after atom until atom never atom`
#[derive(Clone, Debug)]
struct After {
    after: Atom,
    until: Option<Atom>,
    never: Atom,
    /// What `after` shares with `never`: what is looked up there.
    shared: Vec<Arc<str>>,
    /// When each last happened.
    begun: HashMap<Key, HashMap<Key, (usize, Binding)>>,
    ended: HashMap<Key, usize>,
    n_begun: usize,
}

/// A result that is there.
#[derive(Clone, Copy, Debug)]
struct Returned {
    event: usize,
    call: u64,
}

/// What is to be followed by something.
#[derive(Clone, Copy, Debug)]
struct Pending {
    event: usize,
    /// How many turns had begun then.
    n_turns: u64,
}

impl Monitor {
    /// A check as it was resolved; none: something is wrong with it.
    pub(super) fn new(check: &Check, findings: &mut Vec<Diagnostic>, read: &mut ReadSchema<'_>) -> Option<Monitor> {
        let form = Form::new(check, findings, read)?;
        Some(Monitor { form, broken: None, undecided: None })
    }

    /// The event at the index happens.
    pub(super) fn step(&mut self, past: &Past<'_>, index: usize) {
        // That something has happened, or once too often, stays true whatever else is hidden.
        let is_certain = matches!(self.form, Form::Happens { .. } | Form::Never(_) | Form::Count(_));
        if self.broken.is_some() || (self.undecided.is_some() && !is_certain) {
            return;
        }
        match self.form.step(past, index) {
            // It has happened, whatever is hidden.
            Ok(None) if matches!(self.form, Form::Happens { has_happened: true, .. }) => self.undecided = None,
            Ok(None) => {}
            Ok(Some(sentence)) => self.broken = Some(past.breach(index, sentence)),
            Err(why) => self.undecided = Some(why),
        }
        if self.form.n_bindings() > MAX_BINDINGS {
            self.undecided = Some(format!("it is about more than {MAX_BINDINGS} values"));
        }
    }

    /// Nothing more has happened.
    pub(super) fn end(self, past: &Past<'_>) -> Verdict {
        let last = past.run.events.len().saturating_sub(1);
        match (self.broken, self.undecided) {
            (Some(breach), _) => Verdict::Broken(breach),
            (None, Some(why)) => Verdict::Undecided { why },
            (None, None) if past.run.events.is_empty() => Verdict::Undecided { why: "nothing has happened".to_owned() },
            (None, None) => match self.form.end(past) {
                Ended::Holds => Verdict::Holds,
                Ended::Missing(why, event) if past.is_over => Verdict::Broken(past.breach(event.unwrap_or(last), why)),
                Ended::Missing(why, _) => Verdict::Open { why },
                Ended::Broken(why) => Verdict::Broken(past.breach(last, why)),
                Ended::Unknown(why) => Verdict::Undecided { why },
            },
        }
    }
}

/// What an event does to a form: how it breaks it, or why it can't be told from there on.
type Stepped = Result<Option<String>, String>;

/// The match, if there is one.
fn found(atom: &Atom, past: &Past<'_>, index: usize) -> Result<Option<Binding>, String> {
    match atom.matches(past, index) {
        Match::No => Ok(None),
        Match::Yes(binding) => Ok(Some(binding)),
        Match::Hidden(why) => Err(why),
    }
}

impl Form {
    fn new(check: &Check, findings: &mut Vec<Diagnostic>, read: &mut ReadSchema<'_>) -> Option<Form> {
        let mut atom = |atom| Atom::new(check, atom, findings);
        Some(match &check.kind {
            CheckKind::Happens(happens) => Form::Happens { atom: atom(happens)?, has_happened: false },
            CheckKind::Never(never) => Form::Never(atom(never)?),
            CheckKind::Times(counted, n) => Form::Count(Count::new(atom(counted)?, *n, true, None)),
            CheckKind::AtMost { most, atom: counted, per } => {
                let per = per.as_ref().map(|per| per.text.clone());
                Form::Count(Count::new(atom(counted)?, *most, false, per))
            }
            CheckKind::OnlyAfter(after, before) => {
                let (after, before) = (atom(after), atom(before));
                Form::OnlyAfter { atom: after?, before: before?, seen: HashSet::new() }
            }
            CheckKind::OnlyKnowing(call, known) => {
                let mut of_call = |call: &CallPattern, is_known| Atom::of_call(check, call, is_known, findings);
                let (call, known) = (of_call(call, false), of_call(known, true));
                Form::OnlyKnowing { call: call?, known: known?, results: HashMap::new() }
            }
            CheckKind::OnlyIf(only, condition) => {
                let text = check.text_at(condition.span).to_owned();
                Form::OnlyIf { atom: atom(only)?, condition: condition.clone(), text }
            }
            CheckKind::After { after, until, never } => {
                let (after, until, never) = (atom(after), until.as_ref().map(&mut atom), atom(never));
                Form::After(Box::new(After::new(after?, until.map_or(Some(None), |until| until.map(Some))?, never?)))
            }
            CheckKind::FollowedBy { atom: followed, next, within } => {
                let (followed, next) = (atom(followed), atom(next));
                Form::FollowedBy { atom: followed?, next: next?, within: *within, pending: HashMap::new() }
            }
            CheckKind::AtEnd(condition) => Form::End(End::Condition(condition.clone())),
            CheckKind::Matches { subject, schema } => Form::End(End::schema(subject, schema, findings, read)?),
            CheckKind::Bounded { measure, most } => Form::End(End::meter(*measure, *most)),
            CheckKind::Judge(_) => Form::End(End::Judge),
        })
    }

    fn n_bindings(&self) -> usize {
        match self {
            Form::Happens { .. } | Form::Never(_) | Form::OnlyIf { .. } | Form::End(_) => 0,
            Form::Count(Count { counts, .. }) => counts.len(),
            Form::OnlyAfter { seen, .. } => seen.len(),
            Form::OnlyKnowing { results, .. } => results.len(),
            Form::After(after) => after.n_begun.max(after.ended.len()),
            Form::FollowedBy { pending, .. } => pending.len(),
        }
    }

    fn step(&mut self, past: &Past<'_>, index: usize) -> Stepped {
        match self {
            Form::Happens { atom, has_happened } => {
                *has_happened = *has_happened || found(atom, past, index)?.is_some();
                Ok(None)
            }
            Form::Never(atom) => Ok(found(atom, past, index)?.map(|_| past.told(index))),
            Form::Count(count) => count.step(past, index),
            Form::OnlyAfter { atom, before, seen } => {
                if let Some(binding) = found(atom, past, index)?
                    && !seen.contains(&binding.key(&before.names))
                {
                    return Ok(Some(format!("{} with no {} before it", past.told(index), before.text)));
                }
                if let Some(binding) = found(before, past, index)? {
                    seen.insert(binding.key(&before.names));
                }
                Ok(None)
            }
            Form::OnlyKnowing { call, known, results } => {
                if let Some(binding) = found(call, past, index)? {
                    let results = results.get(&binding.key(&known.names)).map_or(&[][..], Vec::as_slice);
                    if let Some(sentence) = ignorant(past, index, results, known) {
                        return Ok(Some(sentence));
                    }
                }
                if let (Some(binding), PublicBody::CallFinished { call, .. }) =
                    (found(known, past, index)?, &past.run.events[index].body)
                {
                    let returned = Returned { event: index, call: *call };
                    results.entry(binding.key(&known.names)).or_default().push(returned);
                }
                Ok(None)
            }
            Form::OnlyIf { atom, condition, text } => {
                let Some(binding) = found(atom, past, index)? else { return Ok(None) };
                match past.truth(condition, &binding) {
                    Truth::Holds => Ok(None),
                    Truth::Fails(told) => Ok(Some(format!("{}, and {text} did not hold: {told}", past.told(index)))),
                    Truth::Unknown(why) => Err(why),
                }
            }
            Form::After(after) => after.step(past, index),
            Form::FollowedBy { atom, next, within, pending } => {
                if let Some(binding) = found(next, past, index)? {
                    pending.remove(&binding.key(&next.names));
                }
                if let (Some(within), PublicBody::TurnStarted { .. }) = (within, &past.run.events[index].body) {
                    let late = pending.values().filter(|pending| past.n_turns + 1 - pending.n_turns > *within);
                    if let Some(late) = late.min_by_key(|pending| pending.event) {
                        return Ok(Some(unfollowed(past, late.event, next, Some(*within))));
                    }
                }
                if let Some(binding) = found(atom, past, index)? {
                    let new = Pending { event: index, n_turns: past.n_turns };
                    pending.entry(binding.key(&next.names)).or_insert(new);
                }
                Ok(None)
            }
            Form::End(end) => end.step(past, index),
        }
    }

    fn end(self, past: &Past<'_>) -> Ended {
        match self {
            Form::Happens { has_happened: false, .. } => Ended::Missing("it has not happened".to_owned(), None),
            Form::Count(count) => count.end(),
            Form::FollowedBy { next, pending, .. } => {
                let first = pending.values().min_by_key(|pending| pending.event);
                first.map_or(Ended::Holds, |first| {
                    Ended::Missing(unfollowed(past, first.event, &next, None), Some(first.event))
                })
            }
            Form::End(end) => end.end(past),
            Form::Happens { .. }
            | Form::Never(_)
            | Form::OnlyAfter { .. }
            | Form::OnlyKnowing { .. }
            | Form::OnlyIf { .. }
            | Form::After(_) => Ended::Holds,
        }
    }
}

/// That what happened at the index was not followed.
fn unfollowed(past: &Past<'_>, index: usize, next: &Atom, within: Option<u64>) -> String {
    let turns = match within {
        Some(1) => " within 1 turn".to_owned(),
        Some(n) => format!(" within {n} turns"),
        None => String::new(),
    };
    format!("{}{}, and no {} followed{turns}", past.told(index), past.at(index), next.text)
}

/// How the call at the index was made without knowing any of these results; none: it was made knowing one. What the
/// interpreter makes knows all before it; what a reply holds knows what was taken before its turn began.
fn ignorant(past: &Past<'_>, index: usize, results: &[Returned], known: &Atom) -> Option<String> {
    let call = past.call_text(index);
    let Some(first) = results.first() else {
        return Some(format!("{call} was called with no {} before it", known.text));
    };
    let made = past.call_at(index)?;
    let Some(turn) = made.written_in.and_then(|turn| past.turn(turn)) else {
        let is_known = results.iter().any(|result| result.event < made.made);
        return (!is_known)
            .then(|| format!("{call} was called{}, before {}", past.at(made.made), past.told(first.event)));
    };
    let is_known = |result: &Returned| result.event < turn.began && !turn.untaken.contains(&result.call);
    if results.iter().any(is_known) {
        return None;
    }
    let result = past.call(first.call).map_or("", |known| known.name);
    let (began, returned) = (past.at(turn.began), past.at(first.event));
    Some(match first.event < turn.began {
        true => format!("{call} written in the turn begun{began}; {result} returned{returned}, which it was not told"),
        false => format!("{call} written in the turn begun{began}; {result} returned{returned}"),
    })
}

impl Count {
    fn new(atom: Atom, n: u64, exactly: bool, per: Option<Arc<str>>) -> Count {
        let by = per.map_or_else(|| atom.names.clone(), |per| vec![per]);
        Count { atom, n, exactly, by, counts: HashMap::new() }
    }

    fn step(&mut self, past: &Past<'_>, index: usize) -> Stepped {
        let Some(binding) = found(&self.atom, past, index)? else { return Ok(None) };
        let (count, _) = self.counts.entry(binding.key(&self.by)).or_insert_with(|| (0, binding));
        *count += 1;
        let bound = if self.exactly { "" } else { "at most " };
        Ok((*count > self.n)
            .then(|| format!("{}, and that is {}, not {bound}{}", past.told(index), times(*count), self.n)))
    }

    fn end(self) -> Ended {
        if !self.exactly {
            return Ended::Holds;
        }
        if self.by.is_empty() && self.counts.is_empty() && self.n > 0 {
            return Ended::Missing(format!("it has happened 0 times, not {}", self.n), None);
        }
        let mut few: Vec<String> = self
            .counts
            .values()
            .filter(|(count, _)| *count < self.n)
            .map(|(count, binding)| {
                let of = if self.by.is_empty() { String::new() } else { format!(" with {binding}") };
                format!("it has happened {}{of}, not {}", times(*count), self.n)
            })
            .collect();
        few.sort();
        few.into_iter().next().map_or(Ended::Holds, |first| Ended::Missing(first, None))
    }
}

fn times(n: u64) -> String {
    if n == 1 { "1 time".to_owned() } else { format!("{n} times") }
}

impl After {
    fn new(after: Atom, until: Option<Atom>, never: Atom) -> After {
        let shared = after.names.iter().filter(|name| never.names.contains(name)).cloned().collect();
        After { after, until, never, shared, begun: HashMap::new(), ended: HashMap::new(), n_begun: 0 }
    }

    fn step(&mut self, past: &Past<'_>, index: usize) -> Stepped {
        if let Some(binding) = found(&self.never, past, index)?
            && let Some(begun) = self.begun.get(&binding.key(&self.shared))
        {
            // Of each that began, the last time counts: the least can have ended since.
            let is_open = |(at, of): &&(usize, Binding)| {
                let ended = self.until.as_ref().and_then(|until| self.ended.get(&of.with(&binding).key(&until.names)));
                ended.is_none_or(|ended| ended <= at)
            };
            if let Some((at, _)) = begun.values().filter(is_open).min_by_key(|(at, _)| *at) {
                return Ok(Some(format!("{} after {}{}", past.told(index), past.told(*at), past.at(*at))));
            }
        }
        if let Some(until) = &self.until
            && let Some(binding) = found(until, past, index)?
        {
            self.ended.insert(binding.key(&until.names), index);
        }
        if let Some(binding) = found(&self.after, past, index)? {
            let of_shared = self.begun.entry(binding.key(&self.shared)).or_default();
            let is_new = of_shared.insert(binding.key(&self.after.names), (index, binding)).is_none();
            self.n_begun += usize::from(is_new);
        }
        Ok(None)
    }
}
