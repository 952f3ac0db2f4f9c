//! What is known of a trigger, as text for people and as JSON: `sessions why` and, in a conversation, `/why`.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Value as Json, json};

use crate::host::clock::{Clock, SystemClock, iso_text};
use crate::host::events::wire::{UpdateWire, ruling_name};
use crate::host::journal::record::Record;
use crate::host::summary::SkippedWire;
use crate::host::text::one_line;
use crate::host::why::{
    History, Judged, PassedOver, PassedOverReason, Why, find_triggers, history, passed_over_events,
};
use crate::serve::show::{count, short_value, skipped, trigger_state};
use crate::vm::protocol::{Evaluation, Judge, Ruling, USER_MESSAGE, Update};

/// Of a trigger that is never evaluated.
const BEGINNING: &str = "fires when a session begins, and only then";

/// The answer to `/why` in a conversation with a session of which these are the records.
///
/// # Errors
/// What can be asked for, or why the records cannot be followed, in words.
pub(crate) fn of_records(records: &[Record], wanted: Option<&str>) -> Result<String, String> {
    let history = history(records).map_err(|error| error.to_string())?;
    answer(&history, wanted, &SystemClock.zone())
}

/// What is known of the triggers that `wanted` means, or of all, one line each.
///
/// # Errors
/// What can be asked for, in words: no trigger is meant, or several.
pub fn answer(history: &History, wanted: Option<&str>, zone: &TimeZone) -> Result<String, String> {
    match wanted {
        None => Ok(all(&history.explain_all()) + &passed_over(history) + &left_out(history)),
        Some(wanted) => {
            let found: Vec<String> = find(history, wanted)?.iter().map(|why| one(why, zone)).collect();
            Ok(found.join("\n"))
        }
    }
}

/// The same as one line of JSON: an object, or an array of several or all.
///
/// # Errors
/// The same.
pub fn answer_json(history: &History, wanted: Option<&str>, zone: &TimeZone) -> Result<String, String> {
    let json = match wanted {
        None => history.explain_all().iter().map(|why| to_json(why, zone)).collect(),
        Some(wanted) => match &find(history, wanted)?[..] {
            [only] => to_json(only, zone),
            found => found.iter().map(|why| to_json(why, zone)).collect(),
        },
    };
    Ok(format!("{json}\n"))
}

/// The lines that the model has left out, if any.
fn left_out(history: &History) -> String {
    match skipped(&SkippedWire::of(&history.view)) {
        lines if lines.is_empty() => lines,
        lines => format!("\nlines left out\n{lines}"),
    }
}

fn find(history: &History, wanted: &str) -> Result<Vec<Why>, String> {
    let program = &history.program;
    let found = find_triggers(program, wanted);
    found.map(|ids| ids.into_iter().map(|id| history.explain(id)).collect()).map_err(|possible| {
        let list: String = possible
            .iter()
            .map(|id| {
                let trigger = &program.playbook(id.playbook).triggers[id.index as usize];
                format!("\n  {}  {}", program.trigger_name(*id), one_line(&trigger.text))
            })
            .collect();
        let n_all = program.playbooks.iter().flat_map(|playbook| &playbook.triggers).count();
        match possible.len() {
            0 => "the program has no triggers".to_owned(),
            n if n < n_all => format!("`{wanted}` can mean several triggers; write more of it:{list}"),
            _ => format!("there is no trigger `{wanted}`; there are:{list}"),
        }
    })
}

/// All triggers, one line each: their state and last verdict.
pub fn all(all: &[Why]) -> String {
    if all.is_empty() {
        return "the program has no triggers\n".to_owned();
    }
    let width = all.iter().map(|why| why.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for why in all {
        let last = match why.judged.last() {
            None if why.is_beginning => BEGINNING.to_owned(),
            None => "not evaluated yet".to_owned(),
            Some(last) => format!(
                "evaluated {}, last: {} ({})",
                times(why.judged.len() as u64),
                ruling_name(&last.evaluation.ruling).0.replace('_', " "),
                where_text(last)
            ),
        };
        let stands = state(why).map_or(String::new(), |state| format!(" [{state}]"));
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "{:width$}  {}{stands}: {last}", why.name, one_line(&why.text));
    }
    text
}

/// The events from outside that no trigger waited for, one line each.
fn passed_over(history: &History) -> String {
    let line = |(name, n): (Arc<str>, usize)| {
        let come = format!("the event {name} has come {}, and no trigger was waiting for it", times(n as u64));
        format!("{come}; `When the event {name} arrives` is one\n")
    };
    passed_over_events(&history.told).into_iter().map(line).collect()
}

/// One trigger: what it is, every evaluation, the updates it was not evaluated on, and the sum of it all.
pub fn one(why: &Why, zone: &TimeZone) -> String {
    let stands = state(why).unwrap_or("not active");
    let mut text = format!("{}  {}\n", why.name, one_line(&why.text));
    let _ = writeln!(text, "  {}; read as {}; {stands}", why.place, why.read_as);
    for judged in &why.judged {
        let _ = writeln!(text, "\n{}  {}", iso_text(judged.time, zone), where_text(judged));
        for update in judged.evaluation.updates.iter() {
            let _ = writeln!(text, "  {}", update_text(update));
        }
        let _ = writeln!(text, "  {}{}", ruling_text(judged), cost_text(&judged.evaluation));
    }
    if !why.passed_over.is_empty() {
        text.push_str("\nnot evaluated\n");
        for passed in &why.passed_over {
            let _ = writeln!(text, "  {}", passed_text(passed, &why.names));
        }
    }
    let _ = writeln!(text, "\n{}", sum_text(why));
    text
}

fn state(why: &Why) -> Option<&'static str> {
    trigger_state(why.is_active, why.holds)
}

/// `Checkout:03, turn 2`.
fn where_text(judged: &Judged) -> String {
    let turn = judged.turn.map(|turn| format!("turn {}", turn.0));
    let parts: Vec<String> = judged.line.iter().cloned().chain(turn).collect();
    if parts.is_empty() { "before the first line".to_owned() } else { parts.join(", ") }
}

fn update_text(update: &Update) -> String {
    let new = short_value(&update.new);
    if &*update.name == USER_MESSAGE {
        return format!("the user said {new}");
    }
    match &update.old {
        Some(old) => format!("${}: {} -> {new}", update.name, short_value(old)),
        None => format!("${}: no value -> {new}", update.name),
    }
}

/// What came of an evaluation, and what that means.
fn ruling_text(judged: &Judged) -> String {
    let by: &str = judged.evaluation.by.into();
    match &judged.evaluation.ruling {
        Ruling::Match if judged.has_fired => format!("match, by {by}: its playbook was called"),
        Ruling::Match => format!("match, by {by}: its playbook has not been called"),
        Ruling::NoMatch => format!("no match, by {by}"),
        Ruling::StillTrue => "no match: it held before, and fires only when it becomes true".to_owned(),
        Ruling::Fault(reason) => format!("no match: it could not be evaluated and counts as false: {reason}"),
        Ruling::Active => "not judged: it is active, its playbook has not returned".to_owned(),
        Ruling::OwnFrame => "not judged: its own playbook made the change".to_owned(),
        Ruling::SameValues => "not asked again: the same values did not match before".to_owned(),
        Ruling::TimedOut => "no match: the classifier gave no answer in time (classifier_timeout)".to_owned(),
        Ruling::Abstained => format!("no match: {by} cannot judge these words; a model can (--classifier model)"),
        Ruling::Failed(reason) => format!("no match: the classifier failed: {reason}"),
        Ruling::Off => "not asked: the classifier is switched off".to_owned(),
        Ruling::NotCallable(reason) => format!("not judged: its playbook cannot be called: {reason}"),
        Ruling::Dropped if judged.evaluation.by == Judge::Interpreter && judged.evaluation.question.is_some() => {
            "not judged: what it was asked about was gone before there was an answer".to_owned()
        }
        Ruling::Dropped if judged.evaluation.updates.is_empty() => {
            "match without effect: what it needed was gone".to_owned()
        }
        Ruling::Dropped => format!("match, by {by}, without effect: the line of the change did not take effect"),
    }
}

/// Of a question to the classifier: how long, how much, how many triggers together.
fn cost_text(evaluation: &Evaluation) -> String {
    if evaluation.question.is_none() {
        return String::new();
    }
    let tokens = tokens_text(evaluation.tokens);
    let together =
        if evaluation.n_asked > 1 { format!(" for {} triggers together", evaluation.n_asked) } else { String::new() };
    format!(" ({} ms{tokens}{together})", evaluation.ms)
}

fn passed_text(passed: &PassedOver, names: &[Arc<str>]) -> String {
    let what =
        if &*passed.name == USER_MESSAGE { "the user's message".to_owned() } else { format!("${}", passed.name) };
    match &passed.reason {
        PassedOverReason::NotNamed => {
            let about = if names.iter().all(|name| &**name == USER_MESSAGE) {
                "it is about the user's messages".to_owned()
            } else {
                let names: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
                format!("it names {}", names.join(", "))
            };
            format!("{} × not a candidate: {about}, the update was {what}", passed.n)
        }
        PassedOverReason::OtherAgent(agent) => {
            format!("{} × not a candidate: {what} was the agent {agent}'s", passed.n)
        }
    }
}

/// `evaluated 7 times: 1 match, 4 no match, 2 not judged; …`.
fn sum_text(why: &Why) -> String {
    let tally = why.tally();
    if tally.n == 0 {
        return if why.is_beginning { BEGINNING } else { "never evaluated" }.to_owned();
    }
    let parts = [
        (tally.n_matches, if tally.n_matches == 1 { "match" } else { "matches" }),
        (tally.n_no_matches, "no match"),
        (tally.n_unjudged, "without a verdict"),
        (tally.n_barred, "could not fire"),
    ];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let cost = match tally.n_asked {
        0 => String::new(),
        n => format!("; the classifier was asked {}: {} ms{}", times(n), tally.ms, tokens_text(tally.tokens)),
    };
    format!("evaluated {}: {}{cost}", times(tally.n), parts.join(", "))
}

/// `, 210 tokens`; nothing where no server has counted any.
fn tokens_text(tokens: u64) -> String {
    match tokens {
        0 => String::new(),
        tokens => format!(", {tokens} tokens"),
    }
}

fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => count(n, "time"),
    }
}

/// A trigger in `sessions why --format json`. A public interface: fields are added, never changed or removed.
fn to_json(why: &Why, zone: &TimeZone) -> Json {
    let tally = why.tally();
    json!({
        "trigger": why.name,
        "text": why.text,
        "place": why.place,
        "read_as": why.read_as,
        "names": why.names,
        "active": why.is_active,
        // Of a condition.
        "holds": why.holds,
        "evaluations": why.judged.iter().map(|judged| judged_json(judged, zone)).collect::<Vec<_>>(),
        "not_evaluated": why.passed_over.iter().map(passed_json).collect::<Vec<_>>(),
        "evaluated": tally.n,
        "matches": tally.n_matches,
        "no_matches": tally.n_no_matches,
        "without_verdict": tally.n_unjudged,
        "could_not_fire": tally.n_barred,
        "asked": tally.n_asked,
        "ms": tally.ms,
        "tokens": tally.tokens,
    })
}

fn judged_json(judged: &Judged, zone: &TimeZone) -> Json {
    let evaluation = &judged.evaluation;
    let (verdict, reason) = ruling_name(&evaluation.ruling);
    let mut told = json!({
        "time": iso_text(judged.time, zone),
        "line": judged.line,
        "turn": judged.turn.map(|turn| turn.0),
        "update": UpdateWire::of(&evaluation.updates),
        "by": <&str>::from(evaluation.by),
        "verdict": verdict,
    });
    if let Some(reason) = reason {
        told["reason"] = json!(reason);
    }
    told["fired"] = judged.has_fired.into();
    told["ms"] = evaluation.ms.into();
    // Of the whole question, where the classifier was asked, and how many triggers it was about.
    if evaluation.question.is_some() {
        told["tokens"] = evaluation.tokens.into();
        told["asked"] = evaluation.n_asked.into();
    }
    told
}

fn passed_json(passed: &PassedOver) -> Json {
    match &passed.reason {
        PassedOverReason::NotNamed => json!({"name": passed.name, "reason": "not_named", "count": passed.n}),
        PassedOverReason::OtherAgent(agent) => {
            json!({"name": passed.name, "reason": "other_agent", "agent": agent, "count": passed.n})
        }
    }
}
