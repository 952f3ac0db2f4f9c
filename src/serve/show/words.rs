//! Frames and values in a few words.

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
