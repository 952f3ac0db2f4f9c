//! What is to be known of a frame beside its variables, as rows: its queue, the triggers, its chat session, counters.

use crate::host::summary::Summary;
use crate::serve::dap::lists::{Entry, Inner, List, Row, members_of};
use crate::serve::show::short_value;
use crate::serve::show::variables::kind_and_origin;
use crate::value::Value;
use crate::vm::protocol::ChatMessage;
use crate::vm::protocol::view::{CallView, Counters, FrameView, TriggerView};

/// The calls in a frame's queue, with their arguments.
pub(super) fn queue(frame: &FrameView) -> Vec<Entry> {
    let row = |(index, call): (usize, &CallView)| {
        let values = call.arguments.iter().map(|(name, value)| Row {
            name: name.to_string(),
            value: short_value(&value.shown()),
            kind: Some(kind_and_origin(value)),
            list: members_of(value)
                .filter(|(_, n)| *n > 0)
                .map(|_| List::Value(Box::new(Inner { value: value.clone(), owner: None, name: None }))),
        });
        let arguments: Vec<Row> = values.collect();
        let question = call.question.as_ref().map(|question| format!(": {question}")).unwrap_or_default();
        let result = call.result_name.as_ref().map_or(String::new(), |name| format!(", result to ${name}"));
        Entry::Row(Row {
            name: format!("[{index}]"),
            value: format!("{} {}{result}{question}", call.name, call.state),
            kind: Some(format!("call {}", call.call.0)),
            list: (!arguments.is_empty()).then_some(List::Rows(arguments)),
        })
    };
    frame.queue.iter().enumerate().map(row).collect()
}

/// A trigger.
pub(super) fn trigger_row(trigger: &TriggerView) -> Row {
    let active = if trigger.is_active { "active" } else { "not active" };
    let holds = match trigger.truth {
        Some(true) => ", holds",
        Some(false) => ", does not hold",
        None => "",
    };
    Row {
        name: trigger.name.to_string(),
        value: format!("{active}{holds}"),
        kind: Some("trigger".to_owned()),
        list: None,
    }
}

/// The messages of a frame's chat session with the model.
pub(super) fn chat(frame: &FrameView) -> Vec<Entry> {
    let row = |(index, message): (usize, &ChatMessage)| {
        let role: &str = message.role.into();
        // One row per line of the text: a prompt is read, not skimmed.
        let lines = message.text.lines().enumerate().map(|(index, line)| Row {
            name: format!("[{index}]"),
            value: line.to_owned(),
            kind: None,
            list: None,
        });
        Entry::Row(Row {
            name: format!("[{index}]"),
            value: format!("{role}: {}", short_value(&Value::Str(message.text.clone()))),
            kind: Some(role.to_owned()),
            list: Some(List::Rows(lines.collect())),
        })
    };
    frame.messages.iter().enumerate().map(row).collect()
}

/// Numbers of `--summary` that nobody has counted in a frame, or that are of the whole process.
const NOT_COUNTED: [&str; 5] = ["verdict_ms", "cancels", "cancel_us", "cancel_max_us", "wall_ms"];

/// What has been counted.
pub(super) fn counters(counters: &Counters, frame: Option<&FrameView>) -> Vec<Entry> {
    let row = |name: &str, n: u64| {
        Entry::Row(Row { name: name.to_owned(), value: n.to_string(), kind: Some("int".to_owned()), list: None })
    };
    let of_frame = row("turns of this frame", frame.map_or(0, |frame| frame.n_turns));
    let summary = serde_json::to_value(Summary::new(counters, "", 0)).unwrap_or_default();
    let counted = summary.as_object().into_iter().flatten();
    let counted = counted.filter(|(name, _)| !NOT_COUNTED.contains(&name.as_str()));
    let counted = counted.filter_map(|(name, n)| Some(row(name, n.as_u64()?)));
    std::iter::once(of_frame).chain(counted).collect()
}
