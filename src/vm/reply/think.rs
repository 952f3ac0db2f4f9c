//! Think blocks: `<think>`, `<thinking>` and `<reasoning>`, whatever they hold.

use std::ops::Range;

use super::types::Reading;
use super::window::{Window, is_blank, span};

const NAMES: [&str; 3] = ["think", "thinking", "reasoning"];

/// `</reasoning>`.
const LONGEST_TAG: usize = 12;

/// A tag that ends at some `>`.
pub(super) enum Tag {
    Opens { name: &'static str, start: usize },
    Closes { start: usize },
}

/// Whether the `>` at `position` ends a tag that begins at `from` or later. A tag after a backtick is only
/// talked about.
pub(super) fn tag_ending_at(window: &Window, from: usize, position: usize) -> Option<Tag> {
    let from = from.max(position.saturating_sub(LONGEST_TAG));
    let text = window.slice(from..position);
    let open = text.iter().rposition(|byte| *byte == b'<')?;
    let start = from + open;
    let tag = &text[open + 1..];
    if let Some(tag) = tag.strip_prefix(b"/") {
        return named(tag).map(|_| Tag::Closes { start });
    }
    if open > 0 && text[open - 1] == b'`' {
        return None;
    }
    named(tag).map(|name| Tag::Opens { name, start })
}

fn named(tag: &[u8]) -> Option<&'static str> {
    NAMES.into_iter().find(|name| tag.eq_ignore_ascii_case(name.as_bytes()))
}

/// A think block that is open.
#[derive(Clone, Debug)]
pub(super) struct Think {
    /// Where its opening tag begins.
    start: usize,
    /// Where its text begins.
    text: usize,
    /// What it was opened with; `None` if the reply began inside it: then any closing tag ends it.
    name: Option<&'static str>,
}

impl Think {
    pub(super) fn at_start() -> Self {
        Think { start: 0, text: 0, name: None }
    }

    pub(super) fn opened(name: &'static str, start: usize, text: usize) -> Self {
        Think { start, text, name: Some(name) }
    }

    pub(super) fn kept_from(&self) -> usize {
        self.start
    }

    /// Reads on; `None` when the block is over, `cursor` then stands after its closing tag.
    pub(super) fn advance(self, window: &Window, cursor: &mut usize, readings: &mut Vec<Reading>) -> Option<Think> {
        while let Some(n_before) = window.from(*cursor).iter().position(|byte| *byte == b'>') {
            let position = *cursor + n_before;
            *cursor = position + 1;
            if let Some(Tag::Closes { start }) = tag_ending_at(window, self.text, position)
                && self.name.is_none_or(|name| window.slice(start + 2..position).eq_ignore_ascii_case(name.as_bytes()))
            {
                self.give(window, start..*cursor, readings);
                return None;
            }
        }
        *cursor = window.end();
        Some(self)
    }

    /// Gives the block, which ends with the closing tag `closing` (empty at the end of the reply).
    pub(super) fn give(&self, window: &Window, closing: Range<usize>, readings: &mut Vec<Reading>) {
        let text = String::from_utf8_lossy(window.slice(self.text..closing.start));
        let mut text = text.trim_matches(is_blank);
        if self.name.is_none() {
            // Some models open the block all the same.
            for tag in ["<think>", "<thinking>", "<reasoning>"] {
                text = text.strip_prefix(tag).unwrap_or(text).trim_start_matches(is_blank);
            }
        }
        if !text.is_empty() {
            readings.push(Reading::Think { text: text.to_owned(), span: span(self.start..closing.end) });
        }
    }
}
