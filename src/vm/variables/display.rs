//! How values and texts are shown to a model.

use playhouse_lang::value::Value;

use crate::protocol::Tracked;

/// A value as the model is shown it: whole JSON up to `limit` bytes, else type, size and the first part.
pub(crate) fn shorten(value: &Tracked, limit: usize) -> String {
    if value.is_secret() {
        return "(secret)".to_owned();
    }
    let (json, is_whole) = value.value().to_json_within(limit);
    if is_whole {
        return json;
    }
    let size = match value.value() {
        Value::List(items) => format!("{} items", items.len()),
        Value::Map(members) => format!("{} keys", members.len()),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            format!("{} bytes", value.value().as_str().map_or(0, str::len) + 2)
        }
    };
    let end = json.floor_char_boundary(limit.min(300));
    let start = Value::str(&json[..end]).to_json();
    format!("({}, {size}, begins with {start})", value.value().kind())
}

pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

/// A text that is remembered, not needed word for word.
pub(crate) fn shorten_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}… ({} bytes in all)", &text[..text.floor_char_boundary(limit)], text.len())
}
