//! The framing: everything between the objects. Finds out where an object is a trace line, and what is prose.
//!
//! Brackets, commas and the braces that close a wrapper are framing where a line begins or directly after an
//! object; whether they belong to prose (`[draft] …`) is known only when the next character is seen, so they
//! are held until then. Nothing is read twice: what was held becomes part of the run of prose as it stands.

use std::ops::Range;

use super::think::{Tag, Think, tag_ending_at};
use super::types::Reading;
use super::window::{Window, is_blank, span};

/// Outside of objects and think blocks. Positions are those of the reply.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    /// Where the run of prose begins that was not given yet.
    run: usize,
    /// Whether the run holds white space and framing only, so far.
    blank: bool,
    /// Where the current line begins, or the rest of it after an object.
    line: usize,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// At the beginning of a line.
    Line,
    /// After an object or a wrapper's `[`, on the same line or a later one.
    Item,
    /// After brackets that are framing if an object follows.
    Held { from: usize, line_ended: bool },
    /// After the brace of what may be an object.
    Brace { from: usize, brace: usize, line_ended: bool },
    /// In a line of prose, to its end.
    Prose,
}

/// What ended the framing.
pub(super) enum Found {
    /// Nothing did: all bytes are looked at.
    Nothing,
    /// An object, which begins here.
    Object(usize),
    /// A think block.
    Think(Think),
}

impl Outside {
    /// Where a line begins.
    pub(super) fn at(position: usize) -> Self {
        Outside { run: position, blank: true, line: position, place: Place::Line }
    }

    /// After an object or a wrapper's `[`.
    pub(super) fn after_item(position: usize) -> Self {
        Outside { place: Place::Item, ..Outside::at(position) }
    }

    pub(super) fn kept_from(&self) -> usize {
        self.run.min(self.line)
    }

    pub(super) fn advance(&mut self, window: &Window, cursor: &mut usize, readings: &mut Vec<Reading>) -> Found {
        while let Some(byte) = window.get(*cursor) {
            let here = *cursor;
            match self.place {
                Place::Line | Place::Item => match byte {
                    b' ' | b'\t' | b'\r' => *cursor += 1,
                    b'\n' => {
                        *cursor += 1;
                        self.begin_line(*cursor);
                    }
                    b'{' => {
                        *cursor += 1;
                        self.place = Place::Brace { from: here, brace: here, line_ended: false };
                    }
                    b']' | b'}' | b',' if matches!(self.place, Place::Item) => {
                        *cursor += 1;
                        *self = Outside::after_item(*cursor);
                    }
                    b'[' | b']' | b'}' | b',' => {
                        *cursor += 1;
                        self.place = Place::Held { from: here, line_ended: false };
                    }
                    _ => self.begin_prose(here),
                },
                Place::Held { from, line_ended } => match byte {
                    b' ' | b'\t' | b'\r' => *cursor += 1,
                    b'\n' => {
                        *cursor += 1;
                        self.line = *cursor;
                        self.place = Place::Held { from, line_ended: true };
                    }
                    b'[' | b']' | b'}' | b',' => {
                        *cursor += 1;
                        self.place = Place::Held { from, line_ended: false };
                    }
                    b'{' => {
                        *cursor += 1;
                        self.place = Place::Brace { from, brace: here, line_ended: false };
                    }
                    _ => self.begin_prose(if line_ended { self.line } else { from }),
                },
                Place::Brace { from, brace, line_ended } => match byte {
                    b' ' | b'\t' | b'\r' => *cursor += 1,
                    b'\n' => {
                        *cursor += 1;
                        self.line = *cursor;
                        self.place = Place::Brace { from, brace, line_ended: true };
                    }
                    // A single quote is no JSON, but certainly meant as an object: the scanner says so.
                    b'"' | b'}' | b'\'' => {
                        self.give_prose(window, self.run..self.end_before_framing(window, from, brace), readings);
                        return Found::Object(brace);
                    }
                    _ => {
                        self.begin_prose(from);
                        if line_ended {
                            self.place = Place::Line;
                        }
                    }
                },
                Place::Prose => {
                    let Some(n_before) = window.from(here).iter().position(|byte| matches!(byte, b'\n' | b'>')) else {
                        *cursor = window.end();
                        break;
                    };
                    let position = here + n_before;
                    *cursor = position + 1;
                    if window.get(position) == Some(b'\n') {
                        if is_fence(window.slice(self.line..position)) {
                            self.give_prose(window, self.run..self.line, readings);
                            *self = Outside::at(*cursor);
                        } else {
                            self.begin_line(*cursor);
                        }
                        self.place = Place::Line;
                        continue;
                    }
                    match tag_ending_at(window, self.run, position) {
                        Some(Tag::Opens { name, start }) => {
                            self.give_prose(window, self.run..start, readings);
                            return Found::Think(Think::opened(name, start, *cursor));
                        }
                        Some(Tag::Closes { start }) => {
                            // The opening tag was the server's. Thinking is over: a line begins.
                            self.give_prose(window, self.run..start, readings);
                            *self = Outside::at(*cursor);
                        }
                        None => {}
                    }
                }
            }
        }
        Found::Nothing
    }

    /// The reply is over. Gives the position of a brace that may have begun an object.
    pub(super) fn finish(self, window: &Window, readings: &mut Vec<Reading>) -> Option<usize> {
        let end = window.end();
        let (prose_end, brace) = match self.place {
            Place::Line | Place::Item => (end, None),
            Place::Held { from, .. } => (self.end_before_framing(window, from, end), None),
            Place::Brace { from, brace, .. } => (self.end_before_framing(window, from, brace), Some(brace)),
            Place::Prose if is_fence(window.slice(self.line..end)) => (self.line, None),
            Place::Prose => (end, None),
        };
        self.give_prose(window, self.run..prose_end, readings);
        brace
    }

    fn begin_line(&mut self, position: usize) {
        self.line = position;
        if self.blank {
            self.run = position;
        }
    }

    fn begin_prose(&mut self, from: usize) {
        if self.blank {
            self.run = from;
            self.blank = false;
        }
        self.place = Place::Prose;
    }

    /// Where prose ends whose next characters, from `from` on, were held: closing brackets belong to it (it may
    /// be code), opening ones and commas to the object at `object`.
    fn end_before_framing(&self, window: &Window, from: usize, object: usize) -> usize {
        if matches!(window.get(from), Some(b']' | b'}')) { object } else { from }
    }

    fn give_prose(&self, window: &Window, range: Range<usize>, readings: &mut Vec<Reading>) {
        if self.blank || range.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(window.slice(range.clone()));
        // What is trimmed is valid UTF-8, so it has the same length in the reply.
        let n_before = text.len() - text.trim_start_matches(is_blank).len();
        let n_behind = text.len() - text.trim_end_matches(is_blank).len();
        let text = text.trim_matches(is_blank);
        if !text.is_empty() {
            let span = span(range.start + n_before..range.end - n_behind);
            readings.push(Reading::Prose { text: text.to_owned(), span });
        }
    }
}

/// Whether a line is the beginning or the end of a fenced block: three backticks or tildes, then one word at
/// most. Anything more is prose, so that nothing is lost unseen.
fn is_fence(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let Some(mark) = line.first().filter(|byte| matches!(byte, b'`' | b'~')) else {
        return false;
    };
    let n_marks = line.iter().take_while(|byte| *byte == mark).count();
    let tag = line[n_marks..].trim_ascii();
    n_marks >= 3 && tag.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_+-.#".contains(byte))
}
