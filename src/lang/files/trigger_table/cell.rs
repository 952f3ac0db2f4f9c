//! The cells of a trigger table: values, updates, names.

use super::table::TriggerUpdate;
use crate::expr::scan_name;
use crate::files::case_file::item::{Wrong, json, wrong};
use crate::value::Value;

/// The ways to write that a cell holds nothing.
const NOTHING: [&str; 3] = ["—", "–", "-"];

/// `$name = JSON`, several separated by `;`.
pub(super) fn given(cell: &str) -> Result<Vec<(String, Value)>, Wrong> {
    let pieces = pieces(cell);
    pieces.iter().map(|piece| assignment(piece).unwrap_or_else(|| Err(no_value(piece)))).collect()
}

fn no_value(piece: &str) -> Wrong {
    wrong(
        "bad-given",
        format!("`{piece}` is not a variable with a value"),
        "write `$name = JSON`, several separated by `;`; what the user says goes into `update`",
    )
}

/// `user: "…"` or `$name = JSON`, several separated by `;`, at least one.
pub(super) fn updates(cell: &str) -> Result<Vec<TriggerUpdate>, Wrong> {
    let pieces = pieces(cell);
    if pieces.is_empty() {
        return Err(wrong("empty-update", "nothing happens in this row", "write `user: \"…\"` or `$name = JSON`"));
    }
    pieces.iter().map(|piece| update(piece)).collect()
}

fn update(piece: &str) -> Result<TriggerUpdate, Wrong> {
    if piece.is_empty() {
        return Err(wrong("bad-update", "one side of a `;` is empty", "remove the `;`, or add an update"));
    }
    if let Some(set) = assignment(piece) {
        return set.map(|(name, value)| TriggerUpdate::Set(name, value));
    }
    let message = piece.strip_prefix("user:").map(json).transpose()?;
    match message.as_ref().and_then(Value::as_str) {
        Some(message) => Ok(TriggerUpdate::User(message.to_owned())),
        None => {
            let next = "write `user: \"…\"` or `$name = JSON`, several separated by `;`";
            Err(wrong("bad-update", format!("`{piece}` is not an update"), next))
        }
    }
}

/// None: it is not written like one.
fn assignment(piece: &str) -> Option<Result<(String, Value), Wrong>> {
    let text = piece.strip_prefix('$')?;
    let (name, rest) = text.split_at(scan_name(text));
    let value = rest.trim_start().strip_prefix('=')?;
    (!name.is_empty()).then(|| Ok((name.to_owned(), json(value)?)))
}

/// Names of playbooks and triggers, separated by commas, each once; none at all is written `—`.
pub(super) fn fires(cell: &str) -> Result<Vec<&str>, Wrong> {
    if NOTHING.contains(&cell) {
        return Ok(Vec::new());
    }
    let mut names: Vec<&str> = Vec::new();
    for name in without_ticks(cell).split(',') {
        let name = without_ticks(name.trim());
        if name.is_empty() {
            let next = "name playbooks or triggers (`Playbook:T1`), separated by commas; write `—` if nothing fires";
            return Err(wrong("empty-fires", "a name is missing under `fires`", next));
        }
        if names.contains(&name) {
            return Err(wrong("duplicate-name", format!("`{name}` is named twice"), "remove one of them"));
        }
        names.push(name);
    }
    Ok(names)
}

/// The parts of a cell between `;` outside JSON strings, without code ticks.
fn pieces(cell: &str) -> Vec<&str> {
    let cell = without_ticks(cell);
    if cell.is_empty() || NOTHING.contains(&cell) {
        return Vec::new();
    }
    let mut pieces = Vec::new();
    let (mut begin, mut in_string, mut escaped) = (0, false, false);
    for (index, byte) in cell.bytes().enumerate() {
        match byte {
            b'"' if !escaped => in_string = !in_string,
            b';' if !in_string => {
                pieces.push(&cell[begin..index]);
                begin = index + 1;
            }
            _ => {}
        }
        escaped = in_string && byte == b'\\' && !escaped;
    }
    pieces.push(&cell[begin..]);
    pieces.into_iter().map(|piece| without_ticks(piece.trim())).collect()
}

/// The text inside a code span that is the whole `text`, else the text.
fn without_ticks(text: &str) -> &str {
    let n_ticks = text.bytes().take_while(|&byte| byte == b'`').count();
    let ticks = &text[..n_ticks];
    let inside = text[n_ticks..].strip_suffix(ticks).filter(|inside| n_ticks > 0 && !inside.contains(ticks));
    inside.map_or(text, str::trim)
}
