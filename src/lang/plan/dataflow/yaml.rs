//! Where the text of a scalar stands in the file of a dataflow document (spec `plans.md`, 3.1).

use crate::plan::dataflow::mend::Mended;
use crate::source::yaml::{Scalar, Style};
use crate::span::{FileId, Span};
use crate::value::json::read_escape;

/// Where each byte of a scalar's text is in the file.
pub(super) struct Places {
    file: FileId,
    /// Per byte of the text, and for its end: the first byte in the file.
    starts: Vec<usize>,
    /// Per byte of the text: one past the character it belongs to, in the file.
    ends: Vec<usize>,
}

impl Places {
    /// The place in the file of a range of the scalar's text.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let last = self.starts.last().copied().unwrap_or(0);
        let from = self.starts.get(start).copied().unwrap_or(last);
        let to = if end > start { self.ends.get(end - 1).copied().unwrap_or(last) } else { from };
        Span::new(self.file, from, to)
    }
}

impl Scalar {
    /// The lines of a plain scalar that begin with a dash without white space after it, with their places in the
    /// mended text; none unless the first of them does and nothing stands before it.
    pub(super) fn dashes<'a>(&self, mended: &'a Mended) -> Vec<(usize, &'a str)> {
        let source = mended.text.get(self.range.clone()).unwrap_or("");
        let before = mended.text[..self.range.start].rsplit('\n').next().unwrap_or("");
        let mut lines = Vec::new();
        if self.style == Style::Plain && before.trim().is_empty() && source.starts_with('-') {
            let mut start = self.range.start;
            for line in source.split_inclusive('\n') {
                let text = line.trim_start_matches(' ');
                if text.len() > 1 && text.starts_with('-') && !text[1..].starts_with(['-', ' ', '\n']) {
                    lines.push((start + line.len() - text.len(), text));
                }
                start += line.len();
            }
        }
        lines
    }

    /// Finds its text again in what was written, with quotes, escapes and folded lines.
    pub(super) fn places(&self, mended: &Mended, file: FileId) -> Places {
        let mut source = Written { text: mended.text.get(..self.range.end).unwrap_or(""), at: self.range.start };
        let quoted = matches!(self.style, Style::SingleQuoted | Style::DoubleQuoted);
        source.at += usize::from(quoted);
        let mut places = Places { file, starts: Vec::with_capacity(self.text.len() + 1), ends: Vec::new() };
        for character in self.text.chars() {
            let (start, end) = source.find(character, self.style);
            for _ in 0..character.len_utf8() {
                places.starts.push(mended.original(start));
                places.ends.push(mended.original(end));
            }
        }
        places.starts.push(mended.original(source.at));
        places
    }
}

/// What is left of a scalar as it was written.
pub(crate) struct Written<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

impl Written<'_> {
    /// The place of the next piece that stands for `wanted`.
    pub(crate) fn find(&mut self, wanted: char, style: Style) -> (usize, usize) {
        loop {
            let start = self.at;
            let rest = self.text.get(start..).unwrap_or("");
            let Some(character) = rest.chars().next() else { return (start, start) };
            let length = match character {
                '\\' if style == Style::DoubleQuoted => escape_length(rest),
                '\'' if style == Style::SingleQuoted => rest.len() - rest.trim_start_matches('\'').len(),
                _ => character.len_utf8(),
            };
            // Of `''''` only two stand for one quote.
            let length = if character == '\'' { length.min(2) } else { length };
            self.at = start + length;
            let is_break = character == '\\' && length > 1 && rest[1..].starts_with(['\n', '\r']);
            let is_escape = character == '\\' && style == Style::DoubleQuoted && !is_break;
            // A folded line break is a space, and what indents the next line is nothing.
            if is_escape || character == wanted || (character.is_whitespace() && wanted.is_whitespace()) {
                return (start, self.at);
            }
        }
    }
}

/// The length of the escape at the beginning of `text`.
fn escape_length(text: &str) -> usize {
    let length = match text[1..].chars().next() {
        None => 1,
        Some('x') => 4,
        // A pair of two halves is one character.
        Some('u') => read_escape(text).map_or(6, |(_, length)| length),
        Some('U') => 10,
        Some(other) => 1 + other.len_utf8(),
    };
    (length..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len())
}
