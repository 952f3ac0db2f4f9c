//! The new text, written piece by piece from the old one: what stands between two pieces is settled where it is white
//! space, and kept where it is not.

use std::ops::Range;

use crate::source::line_length;
use crate::source::parse::{FORMAT_OFF, FORMAT_ON};

/// What is to stand between a piece and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// A line break.
    Line,
    /// One empty line.
    Blank,
    /// Line breaks as there are, two at most.
    Kept,
}

pub(super) struct Writer<'t> {
    pub(super) text: &'t str,
    /// What stands between `fmt: off` and `fmt: on`.
    off: Vec<Range<usize>>,
    /// The places of numbers in lists, with what they are to be.
    numbers: Vec<(Range<usize>, String)>,
    written: String,
    /// Everything before this place is written.
    at: usize,
    is_first: bool,
}

impl<'t> Writer<'t> {
    /// Begins at a place of the text; what stands before it is kept.
    pub(super) fn new(text: &'t str, at: usize, numbers: Vec<(Range<usize>, String)>) -> Writer<'t> {
        Writer { text, off: off(text), numbers, written: text[..at].to_owned(), at, is_first: true }
    }

    /// Whether the author wants this left alone.
    pub(super) fn is_off(&self, range: &Range<usize>) -> bool {
        self.off.iter().any(|off| off.start < range.end && range.start < off.end)
    }

    /// Goes on from this place of the text, without what stands before it.
    pub(super) fn skip_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Writes `piece` in the place of a range of the text.
    pub(super) fn put(&mut self, range: Range<usize>, piece: &str, gap: Gap) {
        let between = self.at..range.start;
        // What overlaps is lost, and the proof sees that.
        let Some(source) = self.text.get(between.clone()) else { return };
        let is_first = std::mem::replace(&mut self.is_first, false);
        if is_first || self.is_off(&between) {
            self.written.push_str(source);
        } else {
            let kept = source.trim_end().len();
            self.written.push_str(&source[..kept]);
            let n_breaks = source[kept..].matches('\n').count();
            self.written.push_str(match (gap, n_breaks) {
                (Gap::Kept, 0) => " ",
                (Gap::Line, _) | (Gap::Kept, 1) => "\n",
                (Gap::Blank | Gap::Kept, _) => "\n\n",
            });
        }
        let is_off = self.is_off(&range);
        self.written.push_str(if is_off { &self.text[range.clone()] } else { piece });
        self.at = range.end;
    }

    /// Writes lines as they stand, without empty lines around them; nothing if there are only such.
    pub(super) fn put_prose(&mut self, range: Range<usize>) {
        let Some(range) = prose(self.text, range) else { return };
        let (mut piece, mut at) = (String::new(), range.start);
        let numbers = self.numbers.iter().filter(|(place, _)| range.start <= place.start && place.end <= range.end);
        for (place, number) in numbers {
            piece.push_str(&self.text[at..place.start]);
            piece.push_str(number);
            at = place.end;
        }
        piece.push_str(&self.text[at..range.end]);
        self.put(range, &piece, Gap::Blank);
    }

    /// Writes a line that stands elsewhere in the text.
    pub(super) fn put_moved(&mut self, piece: &str, gap: Gap) {
        self.written.push_str(if gap == Gap::Blank { "\n\n" } else { "\n" });
        self.written.push_str(piece);
    }

    /// The whole text, with one line break at its end.
    pub(super) fn finish(mut self) -> String {
        let rest = self.at..self.text.len();
        let source = &self.text[rest.clone()];
        if self.is_off(&rest) || self.off.last().is_some_and(|off| off.end == self.text.len()) {
            self.written.push_str(source);
            return self.written;
        }
        self.written.push_str(source.trim_end());
        if !self.written.trim_start_matches('\u{feff}').is_empty() {
            self.written.push('\n');
        }
        self.written
    }
}

/// The lines of a range that are not empty, and those between them.
pub(super) fn prose(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let source = text.get(range.clone())?;
    let first = source.len() - source.trim_start().len();
    let start = range.start + source[..first].rfind('\n').map_or(0, |at| at + 1);
    let end = range.start + source.trim_end().len();
    (start < end).then_some(start..end)
}

/// Where formatting is switched off: from the line that says so to the one that switches it on, or to the end.
fn off(text: &str) -> Vec<Range<usize>> {
    let (mut ranges, mut start, mut at) = (Vec::new(), None, 0);
    while at < text.len() {
        let end = at + line_length(&text[at..]);
        match text[at..end].trim() {
            FORMAT_OFF => start = start.or(Some(at)),
            FORMAT_ON => ranges.extend(start.take().map(|start| start..at + text[at..end].trim_end().len())),
            _ => {}
        }
        at = end;
    }
    ranges.extend(start.map(|start| start..text.len()));
    ranges
}

/// Whether lines end with `\r\n`: as the first one does.
pub fn has_carriage_returns(text: &str) -> bool {
    text.split('\n').next().is_some_and(|first| first.len() < text.len() && first.ends_with('\r'))
}

/// The text with the line breaks that it had.
pub fn with_line_breaks(text: String, carriage_returns: bool) -> String {
    if carriage_returns { text.replace('\n', "\r\n") } else { text }
}
