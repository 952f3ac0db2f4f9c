//! Frames and values in a few words.

#[cfg(feature = "cli")]
use std::sync::Arc;

#[cfg(feature = "cli")]
use crate::host::text::one_line;
use crate::value::Value;
use crate::vm::protocol::Tracked;
use crate::vm::protocol::view::FrameView;

/// A longer value is cut: the whole one is in `--format json`, and in `/vars NAME`.
const MAX_SHOWN: usize = 200;

/// `Desk.HandOver`.
pub(crate) fn frame_name(frame: &FrameView) -> String {
    format!("{}.{}", frame.agent, frame.name)
}

pub(crate) fn short(value: &Tracked) -> String {
    short_value(&value.shown())
}

/// A value as JSON; of a long one the beginning.
pub(crate) fn short_value(value: &Value) -> String {
    let json = value.to_json();
    if json.chars().count() <= MAX_SHOWN {
        return json;
    }
    let head: String = json.chars().take(MAX_SHOWN).collect();
    format!("{head}… ({} bytes)", json.len())
}

/// What was answered to a question about a call, and by whom: `refused by otto: "a photo first"`.
#[cfg(feature = "cli")]
pub(crate) fn answer_text(answer: &Value, refused: bool, by: &Option<Arc<str>>) -> String {
    let is_yes = *answer == Value::Bool(true);
    let outcome = if refused {
        "refused"
    } else if is_yes {
        "confirmed"
    } else {
        "answered"
    };
    let by = by.as_ref().map(|by| format!(" by {}", one_line(by))).unwrap_or_default();
    let words = match is_yes || (refused && *answer == Value::Bool(false)) {
        true => String::new(),
        false => format!(": {}", short_value(answer)),
    };
    format!("{outcome}{by}{words}")
}

/// After how long something is done: ` in 120 s`. Nobody waits for less than a second.
#[cfg(feature = "cli")]
pub(crate) fn after_text(ms: u64) -> String {
    match ms / 1000 {
        0 => String::new(),
        seconds => format!(" in {seconds} s"),
    }
}
