//! Which component, and which of its instances (spec `components.md`, 4.1 and 4.3).

use std::fmt;
use std::sync::Arc;

use playhouse_lang::value::Value;

/// The keys of an identity, in order.
pub(super) const KEYS: [&str; 3] = ["group_id", "artifact_id", "version"];

/// The longest part of a path, in bytes: what file systems take.
const MAX_PART: usize = 255;

/// What names a component, as it was written: `1.10` is not `1.1`, and nothing is equal that is not the same text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// Who made it; parts between dots.
    pub group_id: Arc<str>,
    /// Its name there.
    pub artifact_id: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.group_id, self.artifact_id, self.version)
    }
}

/// The text of what is no list, no map and not null.
pub(crate) fn scalar_text(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::Str(text) => Some(text.clone()),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Some(value.to_text().into()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Why `text` cannot be the name of a folder, if it cannot.
pub(super) fn bad_part(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("is empty")
    } else if text == "." || text == ".." {
        Some("leads to another folder")
    } else if text.contains(['/', '\\']) {
        Some("holds a separator of paths")
    } else if text.chars().any(char::is_control) {
        Some("holds a control character")
    } else if text.trim() != text {
        Some("begins or ends with white space")
    } else if text.len() > MAX_PART {
        Some("is longer than 255 bytes")
    } else {
        None
    }
}
