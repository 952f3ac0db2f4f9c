//! A machine's state as text for people: the stack, the variables, the conversation, what is waited for. The one
//! renderer of a [`View`]; secrets are masked here. What is shown is the same in a terminal and in a debugger.

pub(crate) mod commands;
pub(crate) mod flame;
pub(crate) mod past;
pub(crate) mod sheet;
pub(crate) mod tools;
pub(crate) mod unjudged;
pub(crate) mod variables;
pub mod why;
mod words;

use std::fmt::{Display, Write as _};

use serde_json::{Value as Json, json};

use crate::host::summary::SkippedWire;
use crate::host::{text, travel};
use crate::lang::program::Program;
use crate::serve::show::variables::variables;
use crate::serve::show::words::short;
use crate::vm::protocol::view::{CallView, FrameView, TriggerView, Utterance, VariableView, View};
use crate::vm::protocol::{CallId, Location, Outcome, Signal, Wait};

#[cfg(feature = "cli")]
pub(crate) use crate::serve::show::words::{after_text, answer_text};
pub(crate) use crate::serve::show::words::{frame_name, short_value};

/// A longer text of a line is cut: who wants it has the program.
const MAX_LINE: usize = 100;

/// `1 error`, `2 errors`.
pub(crate) fn count<N: Copy + Display + PartialEq + From<u8>>(n: N, what: &str) -> String {
    if n == N::from(1) { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// How a session stands, in words: `finished`, `failed`, `waits for the user`, ….
pub(crate) fn state(view: &View) -> String {
    match (&view.outcome, &view.wait) {
        (Some(Outcome::Done { .. }), _) => "finished".to_owned(),
        (Some(Outcome::Failed(_)), _) => "failed".to_owned(),
        (None, Some(wait)) => waits_for(view, wait),
        (None, None) => "was stopped".to_owned(),
    }
}

fn waits_for(view: &View, wait: &Wait) -> String {
    let call = |id| {
        let mut calls = view.stack.iter().flat_map(|frame| &frame.queue);
        calls.find(|call| call.call == id).map_or("a call".to_owned(), |call| call.name.to_string())
    };
    wait_text(wait, &call)
}

/// What is waited for, in words; `call` names a call.
pub(crate) fn wait_text(wait: &Wait, call: &dyn Fn(CallId) -> String) -> String {
    match wait {
        Wait::User => "waits for the user".to_owned(),
        Wait::Approval(id) => format!("waits for an answer about {}", call(*id)),
        Wait::Call(id) => format!("waits for {}", call(*id)),
        Wait::Reply(_) => "waits for a reply from the model".to_owned(),
        Wait::Timer(_) => "waits for a timer".to_owned(),
        Wait::Verdict(_) => "waits for the trigger classifier".to_owned(),
        Wait::Budget => "was stopped".to_owned(),
    }
}

/// Everything, part by part.
pub(crate) fn all(view: &View, program: &Program) -> String {
    let mut text = String::new();
    for (title, part) in [
        ("Stack", stack(view, program)),
        ("Variables", variables(view, program)),
        ("Triggers", triggers(view)),
        ("Lines left out", skipped(&SkippedWire::of(view))),
        ("Conversation", conversation(&view.conversation, "  ")),
    ] {
        if !part.is_empty() {
            // Writing to a `String` can't fail.
            let _ = write!(text, "\n{title}\n{part}");
        }
    }
    if !view.messages.is_empty() {
        let _ = writeln!(text, "\nUnread messages");
        for message in &view.messages {
            let _ = writeln!(text, "  > {message}");
        }
    }
    if !view.signals.is_empty() {
        let _ = writeln!(text, "\nWaiting events");
        for Signal { name, data, .. } in &view.signals {
            let _ = writeln!(text, "  {name} {}", short_value(data));
        }
    }
    text
}

/// The frames, the one that is executed first, each with the words of its line:
///
/// ```text
///   Desk.HandOver, line 02 (call at OrderStatus:05.01)
///     | Say goodbye
/// ```
pub(crate) fn stack(view: &View, program: &Program) -> String {
    let mut text = String::new();
    for frame in view.stack.iter().rev() {
        let line = frame.line.as_ref().map_or(String::new(), |line| format!(", line {line}"));
        let result = frame.result_name.as_ref().map_or(String::new(), |name| format!(", result to ${name}"));
        let elided = match frame.n_elided {
            0 => String::new(),
            n => format!(", {} left out that would only return", count(n, "caller")),
        };
        let inlined = if frame.inlined { ", inlined" } else { "" };
        let _ = writeln!(text, "  {}{line} ({}{result}{inlined}{elided})", frame_name(frame), frame.origin);
        if let Some(words) = words_of(program, frame.location) {
            let _ = writeln!(text, "    | {words}");
        }
        for state in &frame.loops {
            let _ = writeln!(text, "    loop {state}");
        }
        for call in &frame.queue {
            let question = call.question.as_ref().map(|question| format!(": {question}")).unwrap_or_default();
            let _ = writeln!(text, "    {} {}{question}", call_text(call), call.state);
        }
    }
    text
}

/// The answer to `/stack`: the frames, or that there are none.
pub(crate) fn stack_answer(view: &View, program: &Program) -> String {
    let text = stack(view, program);
    if text.is_empty() { "nothing is running\n".to_owned() } else { text }
}

/// The words of a line, on one line; none at a heading.
pub(crate) fn words_of(program: &Program, location: Location) -> Option<String> {
    travel::words_of(program, location).map(|text| one_line(&text))
}

/// So many events were not read in time.
pub(crate) fn lost(n_events: u64) -> String {
    format!("{n_events} events were lost, including speech: too many were waiting to be shown")
}

/// Text on one line; of a long one the beginning.
pub(crate) fn one_line(text: &str) -> String {
    text::cut(&text::one_line(text), MAX_LINE)
}

/// Text that is to be read to its end, such as why something failed and what to do next, on one line.
pub(crate) fn whole_line(text: &str) -> String {
    const MAX: usize = 2_000;
    text::cut(&text::one_line(text), MAX)
}

/// The lines that the model has left out, each with its reason.
pub(crate) fn skipped(lines: &[SkippedWire]) -> String {
    let reason = |line: &SkippedWire| line.reason.as_ref().map_or("without a reason".to_owned(), |why| one_line(why));
    lines.iter().map(|line| format!("  {}: {}\n", line.line, reason(line))).collect()
}

/// The triggers that are active or hold, how many others there are, and what the classifier is being asked.
pub fn triggers(view: &View) -> String {
    let mut text = String::new();
    let is_told = |trigger: &&TriggerView| trigger.is_active || trigger.truth == Some(true);
    for trigger in view.triggers.iter().filter(is_told) {
        let state = trigger_state(trigger.is_active, trigger.truth).unwrap_or_default();
        let _ = writeln!(text, "  {} {state}", trigger.name);
    }
    let n_told = view.triggers.iter().filter(is_told).count();
    match view.triggers.len() - n_told {
        0 => {}
        n if n_told > 0 => text.push_str(&format!("  {} not active\n", count(n, "other"))),
        n => text.push_str(&format!("  {}, none active\n", count(n, "trigger"))),
    }
    if let Some(question) = &view.question {
        let names: Vec<&str> = question.candidates.iter().map(|candidate| &*candidate.name).collect();
        let updates = question.updates.iter().map(|update| format!("${}", update.name)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "  the classifier is asked about {} because of {updates}", names.join(", "));
    }
    text
}

/// How a trigger stands; none: there is nothing to say.
pub(crate) fn trigger_state(is_active: bool, holds: Option<bool>) -> Option<&'static str> {
    match (is_active, holds) {
        (true, Some(true)) => Some("active, holds"),
        (true, _) => Some("active"),
        (false, Some(true)) => Some("holds"),
        (false, Some(false)) => Some("does not hold"),
        (false, None) => None,
    }
}

/// What was said, as a terminal shows it.
pub(crate) fn conversation(utterances: &[Utterance], indent: &str) -> String {
    let mut text = String::new();
    for utterance in utterances {
        let mark = if utterance.by_user { "> " } else { "" };
        for (index, line) in utterance.text.lines().enumerate() {
            let _ = writeln!(text, "{indent}{}{line}", if index == 0 { mark } else { "" });
        }
    }
    text
}

fn call_text(call: &CallView) -> String {
    let arguments: Vec<String> =
        call.arguments.iter().map(|(name, value)| format!("{name}: {}", short(value))).collect();
    format!("{}({})", call.name, arguments.join(", "))
}

/// A view in `--format json`, the executed frame first; secrets masked. `stands` says how it stands, in words. A public
/// interface: fields are added, never changed or removed.
pub(crate) fn to_json(view: &View, stands: &str) -> Json {
    let call = |call: &CallView| {
        let arguments = call.arguments.iter().map(|(name, value)| (name.clone(), value.shown()));
        json!({
            "call": call.call.0,
            "name": call.name,
            "kind": <&str>::from(call.kind),
            "args": arguments.collect::<Vec<_>>(),
            "state": call.state,
        })
    };
    let frame = |frame: &FrameView| {
        json!({
            "agent": frame.agent,
            "playbook": frame.name,
            "line": frame.line,
            "origin": frame.origin,
            "result": frame.result_name,
            "variables": frame.variables.iter().map(variable_json).collect::<Vec<_>>(),
            "calls": frame.queue.iter().map(call).collect::<Vec<_>>(),
            "loops": frame.loops,
        })
    };
    let others = view.globals.iter().flat_map(|(agent, others)| {
        others.iter().map(move |variable| {
            let mut told = json!({"agent": agent});
            merge(&mut told, variable_json(variable));
            told
        })
    });
    let utterance = |utterance: &Utterance| json!({"by": if utterance.by_user { "user" } else { "program" }, "text": utterance.text});
    // Of a condition, whether it holds.
    let trigger =
        |trigger: &TriggerView| json!({"trigger": trigger.name, "active": trigger.is_active, "holds": trigger.truth});
    let asked = view.question.iter().flat_map(|question| &question.candidates).map(|candidate| &candidate.name);
    let mut told = json!({
        "stands": stands,
        "stack": view.stack.iter().rev().map(frame).collect::<Vec<_>>(),
        "others": others.collect::<Vec<_>>(),
        "conversation": view.conversation.iter().map(utterance).collect::<Vec<_>>(),
        "messages": view.messages,
        // From outside; their triggers' playbooks have not been called yet.
        "events": view.signals.iter().map(|signal| &signal.name).collect::<Vec<_>>(),
        "triggers": view.triggers.iter().map(trigger).collect::<Vec<_>>(),
        // Those that the classifier is being asked about.
        "asked": asked.collect::<Vec<_>>(),
        "skipped": SkippedWire::of(view),
    });
    match &view.outcome {
        Some(Outcome::Done { value }) => told["value"] = json!(value.shown()),
        Some(Outcome::Failed(fault)) => {
            told["fault"] = json!({"kind": fault.kind.to_string(), "message": fault.message});
        }
        None => {}
    }
    told
}

fn variable_json(variable: &VariableView) -> Json {
    let value = &variable.value;
    let (origin, is_secret) = (value.origin().name(), value.is_secret());
    json!({"name": variable.name, "value": value.shown(), "origin": origin, "secret": is_secret})
}

/// Adds the members of `more` to those of `told`.
pub(crate) fn merge(told: &mut Json, more: Json) {
    if let (Json::Object(told), Json::Object(more)) = (told, more) {
        told.extend(more);
    }
}
