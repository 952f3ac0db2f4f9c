//! Text of servers, made fit to be shown: bounded, without control characters; and names made of it.

use std::sync::Arc;

use crate::text::{self, cut, is_invisible};

pub(super) use crate::text::{MAX_QUESTION, lines, question_of};

/// Characters of a description at most.
pub(super) const MAX_SUMMARY: usize = 1_000;

/// Characters of an error at most.
pub(super) const MAX_ERROR: usize = 2_000;

/// Characters of a name that is shown.
const MAX_NAME: usize = 128;

/// The text in one line.
pub(super) fn words(text: &str, max_chars: usize) -> String {
    let mut clean = String::new();
    // Twice as much as is wanted is enough, and a huge text is not read to its end.
    for character in text.chars().take(max_chars.saturating_mul(2)) {
        match character {
            c if c.is_whitespace() || c.is_control() => {
                if !clean.is_empty() && !clean.ends_with(' ') {
                    clean.push(' ');
                }
            }
            c if is_invisible(c) => {}
            c => clean.push(c),
        }
    }
    cut(clean.trim_end(), max_chars)
}

/// The first line with anything in it.
pub(super) fn summary(text: &str) -> Arc<str> {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    words(line, MAX_SUMMARY).into()
}

/// An identifier of the language; empty for an empty name.
pub(super) fn identifier(name: &str) -> String {
    text::identifier(&name.chars().take(MAX_NAME).collect::<String>())
}
