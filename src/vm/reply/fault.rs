//! Faults in the making: the bad line is read to its end, so that the model is shown the line and not half of it.

use super::types::{ReadFault, ReadFaultKind};
use super::window::{Window, span};

/// How far after the fault its line is read: a longer rest says nothing new and would delay the answer.
const MAX_BYTES_AFTER: usize = 60;

/// How long an excerpt may be, in characters.
const MAX_EXCERPT: usize = 200;

/// A fault whose line has not ended yet.
#[derive(Clone, Debug)]
pub(super) struct OpenFault {
    pub(super) kind: ReadFaultKind,
    /// Where the object begins; 0 while positions are those in the object.
    pub(super) start: usize,
    /// The byte that is wrong.
    pub(super) at: usize,
    pub(super) message: String,
    /// Whether the message goes on with the character that was found.
    pub(super) names_found: bool,
}

impl OpenFault {
    /// A fault at a place in the object. Boxed, because a step of the scanner returns for every token and fails once
    /// at most.
    pub(super) fn new(kind: ReadFaultKind, at: usize, message: impl Into<String>) -> Box<OpenFault> {
        Box::new(OpenFault { kind, start: 0, at, message: message.into(), names_found: false })
    }

    /// A fault of the syntax.
    pub(super) fn json(at: usize, message: impl Into<String>) -> Box<OpenFault> {
        OpenFault::new(ReadFaultKind::Json, at, message)
    }

    /// Whether enough of the line is there.
    pub(super) fn is_complete(&self, window: &Window) -> bool {
        let rest = window.from(self.at);
        rest.len() >= MAX_BYTES_AFTER || rest.contains(&b'\n')
    }

    pub(super) fn close(self, window: &Window) -> ReadFault {
        let rest = window.from(self.at);
        let rest = &rest[..rest.len().min(MAX_BYTES_AFTER)];
        let n_rest = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let mut message = self.message;
        if self.names_found {
            message.push_str(&describe(rest));
        }
        ReadFault {
            kind: self.kind,
            span: span(self.start..self.at + 1),
            excerpt: shorten(window.slice(self.start..self.at + n_rest)),
            message,
        }
    }
}

/// The first character of `rest`, for people and models.
fn describe(rest: &[u8]) -> String {
    match String::from_utf8_lossy(rest).chars().next() {
        None => "the end".to_owned(),
        Some('\n' | '\r') => "the end of the line".to_owned(),
        Some(quote @ ('\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}')) => {
            format!("`{quote}` (JSON knows plain double quotes only)")
        }
        Some('\'') => "a single quote (JSON knows double quotes only)".to_owned(),
        Some('`') => "a backtick".to_owned(),
        Some('/') => "`/` (JSON has no comments)".to_owned(),
        Some(character) if character.is_control() => format!("the control character {:?}", character),
        Some(character) => format!("`{character}`"),
    }
}

/// The text in at most 200 characters, its beginning and its end.
pub(super) fn shorten(bytes: &[u8]) -> String {
    const MAX_HEAD: usize = 60;
    // More than 4 bytes to a character there are none; so a long object is not decoded as a whole.
    const MARGIN: usize = 4 * MAX_EXCERPT;
    let bytes = bytes.trim_ascii();
    if bytes.len() <= 2 * MARGIN {
        let text = String::from_utf8_lossy(bytes);
        if text.chars().count() <= MAX_EXCERPT {
            return text.into_owned();
        }
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(MARGIN)]);
    let head = head.chars().take(MAX_HEAD);
    let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MARGIN)..]);
    let mut tail: Vec<char> = tail.chars().rev().take(MAX_EXCERPT - MAX_HEAD - 1).collect();
    tail.reverse();
    head.chain(['…']).chain(tail).collect()
}
