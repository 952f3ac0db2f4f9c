//! The one-line items of a test file: values, variables, calls, outcomes.

use super::form::{Edit, ExpectedOutcome, SentEvent};
use crate::english::grammar::time::time;
use crate::expr::{check_event_name, scan_name};
use crate::files::case_file::item::{Wrong, json, json_prefix, wrong};
use crate::value::Value;

/// The ways to write an outcome.
pub(super) const OUTCOMES: &str = "write `waits for the user`, `finished`, `finished: JSON`, `failed: KIND`, `failed: KIND: TEXT`, `refused` or \
     `refused: TEXT`";

/// `$name = JSON`, or `$name = JSON in Playbook`.
pub(super) fn edit(item: &str) -> Result<Edit, Wrong> {
    let end = item.find('=').map_or(0, |sign| sign + 1);
    let value = &item[end..];
    let rest = json_prefix(value).map_or("", |length| &value[length..]);
    let playbook = rest.trim_start().strip_prefix("in ").map(|name| name.trim().to_owned());
    let item = if playbook.is_some() { &item[..item.len() - rest.len()] } else { item };
    match variable(item)? {
        (name, Some(value)) => Ok(Edit { name, value, playbook }),
        (name, None) => {
            let next = "write `$name = JSON`, with ` in Playbook` after it if several have the variable";
            Err(wrong("bad-variable", format!("`${name}` gets no value"), next))
        }
    }
}

/// `30 s`, `2 minutes`.
pub(super) fn wait(text: &str) -> Result<u64, Wrong> {
    let next = "write a number and a unit, as in `30 s`, `2 minutes` or `3 days`; at most a year";
    time(text).ok_or_else(|| wrong("bad-time", format!("`{text}` is not a time"), next))
}

/// `120`, or `120 of reply 2`: bytes, and which reply.
pub(super) fn during(value: &str) -> Result<(usize, Option<usize>), Wrong> {
    let next = "write how many bytes of the reply come before it, as in `120`, or `120 of reply 2`";
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number > 0);
    let read = match value.split_once("of reply") {
        None => number(value).map(|bytes| (bytes, None)),
        Some((bytes, reply)) => number(bytes).zip(number(reply)).map(|(bytes, reply)| (bytes, Some(reply))),
    };
    read.ok_or_else(|| wrong("bad-during", format!("`{value}` is not a place in a reply"), next))
}

/// `$name = JSON` or `$name is not set`.
pub(super) fn variable(item: &str) -> Result<(String, Option<Value>), Wrong> {
    let form = || {
        wrong(
            "bad-variable",
            format!("`{item}` is not a variable with a value"),
            "write `$name = JSON` or `$name is not set`",
        )
    };
    let item = item.strip_prefix('$').ok_or_else(form)?;
    let length = scan_name(item);
    let (name, rest) = item.split_at(length);
    let rest = rest.trim();
    if length == 0 {
        Err(form())
    } else if rest == "is not set" {
        Ok((name.to_owned(), None))
    } else {
        let value = rest.strip_prefix('=').ok_or_else(form)?;
        Ok((name.to_owned(), Some(json(value)?)))
    }
}

/// `name JSON`, or `name`.
pub(super) fn event(text: &str) -> Result<SentEvent, Wrong> {
    let (name, data) = text.split_once(char::is_whitespace).unwrap_or((text, "null"));
    let data = json(data)?;
    check_event_name(name)
        .map_err(|message| wrong("bad-event", message, "write its name and its data: `photo_uploaded {\"id\": 7}`"))?;
    Ok(SentEvent { name: name.to_owned(), data })
}

pub(super) fn outcome(text: &str) -> Result<ExpectedOutcome, Wrong> {
    let form = || wrong("bad-outcome", format!("`{text}` is not an outcome"), OUTCOMES);
    let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word.trim(), Some(rest.trim())));
    match (word, rest) {
        ("waits for the user", None) => Ok(ExpectedOutcome::Waits),
        ("finished", None) => Ok(ExpectedOutcome::Finished { value: None }),
        ("finished", Some(value)) => Ok(ExpectedOutcome::Finished { value: Some(json(value)?) }),
        ("refused", None) => Ok(ExpectedOutcome::Refused { message: None }),
        ("refused", Some(message)) if !message.is_empty() => {
            Ok(ExpectedOutcome::Refused { message: Some(message.to_owned()) })
        }
        ("failed", Some(rest)) if !rest.is_empty() => {
            let (kind, message) =
                rest.split_once(':').map_or((rest, None), |(kind, message)| (kind.trim(), Some(message.trim())));
            Ok(ExpectedOutcome::Failed { kind: kind.to_owned(), message: message.map(str::to_owned) })
        }
        _ => Err(form()),
    }
}
