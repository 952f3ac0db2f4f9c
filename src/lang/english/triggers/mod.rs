//! Reads a trigger's text for what it waits for (spec `triggers.md`).
//!
//! When in doubt a trigger is semantic: one that fires on something else than its author meant is worse than one
//! that costs a model call.

pub(crate) mod conditions;
pub(crate) mod topics;
mod wordings;

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::callables::Meaning;
use crate::english::grammar::pattern::{Matched, Pattern};
use crate::english::grammar::time::{read_beat, read_clock, read_days, read_time, read_unit};
use crate::english::near::{MAX_REPAIRS, misspelt, slips, unclosed, unfinished};
use crate::english::phrase::{Phrase, without_emphasis};
use crate::english::reading::Surroundings;
use crate::english::triggers::conditions::read_watched;
use crate::english::triggers::wordings::{MOMENT, NEAR_ROWS, ROWS, VOCABULARY, WORDINGS, Waits, is_group, strip_group};
use crate::english::words::{capitalised, looks_like_name, scan_path, split_camel_case};
use crate::expr::is_one_of;
use crate::program::{CallName, Days, TriggerKind};

/// Minutes from midnight to noon.
const NOON: u16 = 12 * 60;

/// What was read of a trigger.
pub(crate) struct ReadTrigger {
    pub(crate) kind: TriggerKind,
    /// Names it mentions, in order of mention, each once.
    pub(crate) names: Vec<Arc<str>>,
}

/// Reads `words`, the whole text of a trigger. `begins`: an older tool's numbering says that it is a beginning.
/// `is_list`: items are nested under its first line, so `words` has no places in the file.
pub(crate) fn read_trigger(
    words: Phrase<'_>,
    begins: bool,
    is_list: bool,
    around: Surroundings<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> ReadTrigger {
    let text = without_emphasis(words.text);
    let words = Phrase::at(&text, words.span());
    let words = if is_list { words.trim() } else { words.plain() };
    let kind = if begins || is_beginning(words) {
        TriggerKind::Beginning
    } else if is_list {
        TriggerKind::Semantic
    } else {
        classify(words.trim_end_marks(), around, diagnostics)
    };
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    let mut add = |name: &Arc<str>| {
        if seen.insert(name.clone()) {
            names.push(name.clone());
        }
    };
    if let TriggerKind::Condition(expr) = &kind {
        // A `$` in a quoted text is no variable.
        expr.for_each_reference(&mut |reference| add(&reference.name));
    } else {
        words.mentions().iter().for_each(|mention| add(&mention.name.into()));
    }
    ReadTrigger { kind, names }
}

fn is_beginning(words: Phrase<'_>) -> bool {
    rows(words, |waits| waits == Waits::Beginning).next().is_some()
}

/// The rows that the whole of `words` fits, each with what stands in its hole.
fn rows<'a>(words: Phrase<'a>, wanted: impl Fn(Waits) -> bool) -> impl Iterator<Item = (Waits, Vec<Phrase<'a>>)> {
    let found: Vec<&str> = words.words().map(|(_, word)| word).collect();
    let rows = ROWS.iter().filter(move |(waits, pattern)| wanted(*waits) && pattern.may_match(words.text, &found));
    rows.filter_map(move |(waits, pattern)| Some((*waits, in_holes(pattern, words)?)))
}

/// What stands in the holes of a pattern that the whole of `words` fits.
fn in_holes<'a>(pattern: &Pattern, words: Phrase<'a>) -> Option<Vec<Phrase<'a>>> {
    if let Matched::Whole(holes) = pattern.matches(words) { Some(holes) } else { None }
}

/// The wordings of the table by themselves: a text that each reads.
pub fn examples() -> impl Iterator<Item = &'static str> {
    WORDINGS.iter().map(|wording| wording.example)
}

/// What it waits for that the interpreter can tell.
fn read_exact(words: Phrase<'_>, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<TriggerKind> {
    let mut fits = rows(words, |waits| waits != Waits::Beginning);
    read_watched(words).or_else(|| fits.find_map(|(waits, holes)| kind_of(waits, words, &holes, around, diagnostics)))
}

fn classify(words: Phrase<'_>, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> TriggerKind {
    let n_before = diagnostics.len();
    if let Some(kind) = read_exact(words, around, diagnostics) {
        return kind;
    }
    let is_callable = |call: Phrase<'_>| around.names.is_callable(around.agent, call.text);
    let is_near = |(pattern, calls, _): &&(Pattern, bool, &str)| {
        in_holes(pattern, words).is_some_and(|holes| !calls || holes.first().copied().is_some_and(is_callable))
    };
    if let Some(guard) = near_guard(words, around) {
        diagnostics.push(guard);
    } else if let Some(note) = NEAR_ROWS.iter().find(is_near).map(|(.., note)| *note).or_else(|| near_moment(words)) {
        let message = "no trigger waits for this, so the classifier judges it";
        diagnostics.push(Diagnostic::warning("nearly-understood", words.span(), message).with_note(note));
    } else if diagnostics.len() == n_before {
        diagnostics.extend(misspelt_trigger(words, around));
    }
    TriggerKind::Semantic
}

/// `When $deadline is over`: a moment, if the name of the variable says so.
fn near_moment(words: Phrase<'_>) -> Option<&'static str> {
    const NAMES: &str =
        "deadline date day time due until expiry expires end ends checkout checkin appointment birthday";
    let (target, rest) = strip_group("when", words)?.target()?;
    let mut name = Vec::new();
    split_camel_case(&target.name, &mut name);
    (name.iter().any(|word| is_one_of(NAMES, word)) && is_group("comes_due", rest.trim())).then_some(MOMENT)
}

/// A trigger that begins as a guard does and says more, so that no call waits for it: `Before calling Refund, if $n > 200`.
fn near_guard(words: Phrase<'_>, around: Surroundings<'_>) -> Option<Diagnostic> {
    let rest = strip_group("before", words)?;
    let calling = strip_group("calling", rest);
    let rest = calling.unwrap_or(rest);
    let rest = strip_group("thing", rest).unwrap_or(rest);
    let plain = rest.strip_any(&["the", "a", "an"]).unwrap_or(rest);
    let path = scan_path(plain.text);
    let (name, more) = (plain.until(path), plain.from(path).trim());
    let named = |name: &str| around.names.is_callable(around.agent, name);
    // `Before a refund` names `Refund` in words.
    let title = capitalised(name.text);
    let known = [name.text, &title].into_iter().find(|name| named(name))?.to_owned();
    let is_written = known == name.text && known.contains(char::is_uppercase);
    if calling.is_none() && !is_written && !(more.is_empty() || more.text.starts_with([',', ':'])) {
        return None;
    }
    let message = format!("no call of `{known}` waits for this: a guard is `Before calling {known}` and nothing else");
    let warning = Diagnostic::warning("near-guard", words.span(), message);
    let advice = "the classifier judges this trigger when something changes, not before a call";
    let guard = format!("Before calling {known}");
    Some(if more.is_empty() {
        warning.with_fix(format!("write `{guard}`"), words.span(), guard)
    } else {
        warning.with_note(format!("{advice}; write `{guard}`, and put what else it says into a line of the playbook"))
    })
}

/// A trigger with one word or sign that is nearly another, with which it would need no classifier.
fn misspelt_trigger(words: Phrase<'_>, around: Surroundings<'_>) -> Option<Diagnostic> {
    let repairs = misspelt(words, &VOCABULARY, around).chain(slips(words)).chain(unclosed(words));
    let repairs = repairs.chain(unfinished(words)).take(MAX_REPAIRS);
    let mut repaired = repairs.map(|(from, to, text, why)| {
        (format!("{}{text}{}", &words.text[..from], &words.text[to..]), words.from(from).until(to - from).span(), why)
    });
    let (wording, place, why) = repaired.find(|(wording, ..)| {
        let words = Phrase::by_itself(wording);
        is_beginning(words) || read_exact(words, around, &mut Vec::new()).is_some()
    })?;
    let warning = Diagnostic::warning("nearly-understood", place, why);
    Some(warning.with_fix(format!("write `{wording}`"), words.span(), wording))
}

/// What a row of the table means with what stands in its holes; none: what is called there is unknown.
fn kind_of(
    waits: Waits,
    words: Phrase<'_>,
    holes: &[Phrase<'_>],
    around: Surroundings<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<TriggerKind> {
    let hole = holes.first().copied();
    let mut call = || read_call(hole?, around, diagnostics);
    let time = || {
        let words = hole?;
        let time = read_time(words).or_else(|| read_unit(words, true)).or_else(|| read_beat(words));
        Some(time?.0)
    };
    Some(match waits {
        Waits::Beginning => TriggerKind::Beginning,
        Waits::Ending => TriggerKind::Ending,
        Waits::Clock => {
            let days = holes.iter().find_map(|hole| read_days(*hole)).map_or(Days::ALL, |(days, _)| days);
            let minute = holes.iter().find_map(|hole| read_clock(*hole)).map_or(0, |(minute, _)| minute);
            // `Every evening at 6`.
            let is_late = ["afternoon", "evening", "night"].iter().any(|part| words.find_word(part).is_some());
            TriggerKind::Clock { days, minute: if is_late && minute < NOON { minute + NOON } else { minute } }
        }
        Waits::Silence => TriggerKind::Silence { after_ms: time()? },
        Waits::Period => TriggerKind::Every { period_ms: time()? },
        Waits::BeforeCall => TriggerKind::BeforeCall(call()?),
        Waits::AfterCall => TriggerKind::AfterCall(call()?),
        Waits::CallFails => TriggerKind::CallFails(Some(call()?)),
        Waits::AnyCallFails => TriggerKind::CallFails(None),
        // What is not said to be an event may be a call.
        Waits::NamedSignal if hole.is_some_and(|name| around.names.is_callable(around.agent, name.text)) => {
            return None;
        }
        Waits::Signal | Waits::NamedSignal => TriggerKind::Signal(hole?.text.into()),
    })
}

/// The playbook or tool that a trigger names, also by the words of its title.
fn read_call(name: Phrase<'_>, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<CallName> {
    let playbook = match around.names.resolve(around.agent, name.text) {
        Meaning::Playbook(id) => Some(id),
        // What cannot be run yet can still be named.
        Meaning::Tool(_) | Meaning::Later => None,
        Meaning::Private(_) | Meaning::Builtin(_) | Meaning::Unknown => {
            match around.names.in_plain_words(around.agent, name.text) {
                Some(playbook) => Some(playbook.id),
                None => {
                    diagnostics.extend(unknown_callable(name, around));
                    return None;
                }
            }
        }
    };
    // The plain name says all of a playbook of the same agent.
    let own = playbook.map(|id| around.names.playbook(id)).filter(|playbook| playbook.agent == around.agent);
    Some(CallName { name: own.map_or(name.text, |playbook| &playbook.name).into(), playbook })
}

/// A word that is no name (`When payment fails`) needs no warning, unless it is nearly one.
fn unknown_callable(name: Phrase<'_>, around: Surroundings<'_>) -> Option<Diagnostic> {
    if scan_path(name.text) != name.text.len() {
        return None;
    }
    let near = around.names.nearest(around.agent, name.text);
    if near.is_none() && !looks_like_name(name.text) {
        return None;
    }
    let message = format!("there is no playbook or tool `{}`, so the classifier judges this trigger", name.text);
    let warning = Diagnostic::warning("unknown-trigger-call", name.span(), message);
    Some(match near {
        Some(near) => warning.with_fix(format!("write `{near}`"), name.span(), near),
        None => warning.with_note("name a playbook of this agent, a public one of another agent, or a configured tool"),
    })
}
