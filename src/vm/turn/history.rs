//! What a chat session keeps of a turn: its applied trace lines as JSON Lines (spec `turn-protocol.md`, "What a
//! chat session keeps").

use std::sync::Arc;

use playhouse_lang::value::{Map, Value};

use crate::reply::{Action, CallArguments, TraceLine, WaitFor};

/// Appends a line to what the chat session keeps: one object, one line.
pub(crate) fn append_line(applied: &mut String, line: &str) {
    if !applied.is_empty() {
        applied.push('\n');
    }
    applied.push_str(line);
}

/// A line as the chat session keeps it: the bytes received where they are one line of strict JSON, else
/// rewritten.
pub(crate) fn as_json_line(line: &TraceLine) -> Arc<str> {
    let source = &line.source;
    let has_break = source.contains('\n') || source.contains('\r');
    let has_trailing_comma =
        source.match_indices(',').any(|(at, _)| source[at + 1..].trim_start().starts_with(['}', ']']));
    if !has_break && !has_trailing_comma {
        return source.clone();
    }
    let mut members = Map::new();
    for (index, action) in line.actions.iter().enumerate() {
        if index == line.at_index {
            members.extend(line.at.clone().map(|at| ("at".into(), Value::Str(at))));
        }
        write_action(action, &mut members);
    }
    if let Some(at) = &line.at {
        members.entry("at".into()).or_insert(Value::Str(at.clone()));
    }
    Value::map(members).to_json().into()
}

fn write_action(action: &Action, members: &mut Map) {
    let (key, value) = match action {
        Action::Say(text) => ("say", Value::from(text.as_str())),
        Action::Set(set) => ("set", Value::map(set.clone())),
        Action::Call { name, arguments, each, result } => {
            members.insert("call".into(), Value::Str(name.clone()));
            let arguments = match arguments {
                CallArguments::Named(named) => Value::map(named.clone()),
                CallArguments::Positional(values) => Value::list(values.clone()),
            };
            members.insert("args".into(), arguments);
            let each = each.as_ref().map(|each| Value::map(Map::from_iter([(each.0.clone(), each.1.clone())])));
            members.extend(each.map(|each| ("each".into(), each)));
            members.extend(result.clone().map(|result| ("as".into(), Value::Str(result))));
            return;
        }
        Action::Think(text) => ("think", Value::from(text.as_str())),
        Action::Skip(reason) => ("skip", Value::Str(reason.clone())),
        Action::Wait(WaitFor::Calls) => ("wait", Value::from("calls")),
        Action::Wait(WaitFor::User) => ("wait", Value::from("user")),
        Action::Wait(WaitFor::Timer(text)) => ("wait", Value::from(format!("timer:{text}"))),
        Action::Wait(WaitFor::Agent(name)) => ("wait", Value::from(format!("agent:{name}"))),
        Action::Return(value) => ("return", value.clone()),
        Action::End(reason) => ("end", reason.as_deref().map_or(Value::Bool(true), Value::from)),
    };
    members.insert(key.into(), value);
}

/// A `say` line with what was delivered of it.
pub(crate) fn say_line(at: Option<&Arc<str>>, said: &str) -> String {
    let mut members = Map::new();
    if let Some(at) = at {
        members.insert("at".into(), Value::Str(at.clone()));
    }
    members.insert("say".into(), Value::from(said));
    Value::map(members).to_json()
}
