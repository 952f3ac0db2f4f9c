//! The keys of a trace line, and the ids of lines.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use super::value::text_of;

/// A key of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    At,
    Say,
    Set,
    Call,
    Args,
    Each,
    As,
    Think,
    Skip,
    Wait,
    Return,
    End,
    Unknown(String),
}

/// The known keys and how they are written.
static KEYS: [(&str, Key); 12] = [
    ("at", Key::At),
    ("say", Key::Say),
    ("set", Key::Set),
    ("call", Key::Call),
    ("args", Key::Args),
    ("each", Key::Each),
    ("as", Key::As),
    ("think", Key::Think),
    ("skip", Key::Skip),
    ("wait", Key::Wait),
    ("return", Key::Return),
    ("end", Key::End),
];

/// The names of all known keys.
pub(super) fn known_keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(name, _)| *name)
}

impl Key {
    pub(super) fn new(text: &str) -> Key {
        let known = KEYS.iter().find(|(name, _)| *name == text);
        known.map_or_else(|| Key::Unknown(text.to_owned()), |(_, key)| key.clone())
    }

    /// The place of a known key among [`KEYS`].
    fn index(&self) -> Option<usize> {
        KEYS.iter().position(|(_, key)| key == self)
    }

    pub(super) fn name(&self) -> &str {
        if let Key::Unknown(name) = self { name } else { self.index().map_or("", |index| KEYS[index].0) }
    }

    /// A bit of its own for each known key, 0 for an unknown one.
    pub(super) fn bit(&self) -> u16 {
        self.index().map_or(0, |index| 1 << index)
    }
}

/// The bits of what takes effect before a `say` that stands after it. (Yields do not: they come last.)
pub(super) fn before_say() -> u16 {
    [Key::Set, Key::Call, Key::Think, Key::Skip].iter().fold(0, |bits, key| bits | key.bit())
}

/// A member of the object, closed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) key_start: usize,
    pub(super) value: Range<usize>,
}

/// The line id whose JSON text is `raw`: numbers and digits with two digits or more per level, `"2.1"` is
/// `02.01`; anything else as it is, since the machine knows which lines there are. `None` if it can't be one.
pub(super) fn line_id(raw: &str) -> Option<Arc<str>> {
    let text = if raw.starts_with('"') {
        text_of(raw).ok()??
    } else if raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        Cow::Borrowed(raw)
    } else {
        return None;
    };
    // With the mark that it has in a listing it is the same.
    let text = text.trim().trim_end_matches(['=', '!']);
    if text.is_empty() {
        return None;
    }
    if is_normal(text) {
        return Some(text.into());
    }
    let mut id = String::with_capacity(text.len() + 2);
    for level in text.split_inclusive(['.', '>']) {
        let (digits, separator) = match level.as_bytes().last() {
            Some(b'.' | b'>') => level.split_at(level.len() - 1),
            _ => (level, ""),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(text.into());
        }
        // Writing to a string never fails.
        let _ = write!(id, "{:0>2}{separator}", digits.trim_start_matches('0'));
    }
    Some(if id.ends_with(['.', '>']) { text.into() } else { id.into() })
}

/// Whether the text is a line id as it is written normally, `03.01`.
fn is_normal(text: &str) -> bool {
    text.as_bytes().split(|byte| matches!(byte, b'.' | b'>')).all(|level| {
        level.iter().all(u8::is_ascii_digit) && (level.len() == 2 || (level.len() > 2 && level[0] != b'0'))
    })
}
