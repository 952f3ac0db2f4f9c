//! The bytes of a reply that are still needed.

use std::ops::Range;

/// The kept end of the reply. Positions are those in the whole reply, so nothing has to be shifted when the
/// beginning is forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    base: usize,
    bytes: Vec<u8>,
}

impl Window {
    /// Adds the next bytes of the reply.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The whole reply so far, if nothing of it is forgotten.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (self.base == 0).then_some(&self.bytes)
    }

    pub(super) fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    pub(super) fn get(&self, position: usize) -> Option<u8> {
        self.bytes.get(position - self.base).copied()
    }

    /// The bytes from `position` on.
    pub(super) fn from(&self, position: usize) -> &[u8] {
        &self.bytes[position - self.base..]
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range.start - self.base..range.end - self.base]
    }

    /// Forgets what stands before `position`.
    pub(super) fn forget_before(&mut self, position: usize) {
        if position > self.base {
            self.bytes.drain(..position - self.base);
            self.base = position;
        }
    }
}

/// A span as it is given out.
pub(super) fn span(range: Range<usize>) -> Range<u64> {
    range.start as u64..range.end as u64
}

/// What is trimmed from prose and thoughts: white space and byte order marks.
pub(super) fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}
