//! The keys of a trace line.

use std::ops::Range;

/// A key of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    At,
    Say,
    Set,
    Call,
    Args,
    As,
    Think,
    Wait,
    Return,
    End,
    Unknown(String),
}

impl Key {
    pub(super) fn new(text: &str) -> Key {
        match text {
            "at" => Key::At,
            "say" => Key::Say,
            "set" => Key::Set,
            "call" => Key::Call,
            "args" => Key::Args,
            "as" => Key::As,
            "think" => Key::Think,
            "wait" => Key::Wait,
            "return" => Key::Return,
            "end" => Key::End,
            _ => Key::Unknown(text.to_owned()),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Key::At => "at",
            Key::Say => "say",
            Key::Set => "set",
            Key::Call => "call",
            Key::Args => "args",
            Key::As => "as",
            Key::Think => "think",
            Key::Wait => "wait",
            Key::Return => "return",
            Key::End => "end",
            Key::Unknown(name) => name,
        }
    }

    /// A bit of its own for each known key, 0 for an unknown one.
    pub(super) fn bit(&self) -> u16 {
        match self {
            Key::At => 1,
            Key::Say => 1 << 1,
            Key::Set => 1 << 2,
            Key::Call => 1 << 3,
            Key::Args => 1 << 4,
            Key::As => 1 << 5,
            Key::Think => 1 << 6,
            Key::Wait => 1 << 7,
            Key::Return => 1 << 8,
            Key::End => 1 << 9,
            Key::Unknown(_) => 0,
        }
    }
}

/// What takes effect before a `say` that stands behind it. (Yields do not: they come last.)
pub(super) const BEFORE_SAY: u16 = 1 << 2 | 1 << 3 | 1 << 6;

/// A member of the object, closed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) key_start: usize,
    pub(super) value: Range<usize>,
}
