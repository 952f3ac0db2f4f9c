//! The user's words in pieces, and from pieces back to the very words.

use std::ops::Range;

/// What ends a word or stands around it. Other signs belong to it (`C++`, `#12`, `5%`), and so do these inside it
/// (`AX-77120`, `6:45`).
const EDGES: &[char] = &[
    '.', ',', ';', ':', '!', '?', '\'', '"', '(', ')', '[', ']', '…', '«', '»', '„', '“', '”', '‘', '’', '-', '–', '—',
];

/// A text in pieces: words, what stands around words, and one space between what any space separates.
#[derive(Debug)]
pub struct Pieces<'a> {
    text: &'a str,
    pieces: Vec<Piece>,
}

/// A piece as the model is shown it.
#[derive(Debug)]
struct Piece {
    shown: String,
    /// Where it stands in the text.
    range: Range<usize>,
    is_word: bool,
}

impl<'a> Pieces<'a> {
    /// The pieces of a text.
    pub fn of(text: &'a str) -> Pieces<'a> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut end = 0;
        for word in text.split_whitespace() {
            let start = end + text[end..].find(word).unwrap_or(0);
            if end > 0 {
                pieces.push(Piece { shown: " ".to_owned(), range: end..start, is_word: false });
            }
            end = start + word.len();
            let inner = word.trim_matches(EDGES);
            let before = word.len() - word.trim_start_matches(EDGES).len();
            let (inner_start, inner_end) = (start + before, start + before + inner.len());
            for (range, is_word) in
                [(start..inner_start, false), (inner_start..inner_end, true), (inner_end..end, false)]
            {
                if !range.is_empty() {
                    pieces.push(Piece { shown: text[range.clone()].replace('"', "'"), range, is_word });
                }
            }
        }
        Pieces { text, pieces }
    }

    /// How many of them are words.
    pub fn n_words(&self) -> usize {
        self.pieces.iter().filter(|piece| piece.is_word).count()
    }

    /// The pieces as they are shown.
    pub fn shown(&self) -> Vec<&str> {
        self.pieces.iter().map(|piece| piece.shown.as_str()).collect()
    }

    /// The words of the text that `quote`, some pieces as they are shown, stands for, without what stands around
    /// them. None: it is no such thing, or has no word.
    pub fn find(&self, quote: &str) -> Option<&'a str> {
        let pieces = (0..self.pieces.len()).find_map(|first| {
            let mut rest = quote;
            for (index, piece) in self.pieces.iter().enumerate().skip(first) {
                rest = rest.strip_prefix(piece.shown.as_str())?;
                if rest.is_empty() {
                    return Some(&self.pieces[first..=index]);
                }
            }
            None
        })?;
        let first = pieces.iter().find(|piece| piece.is_word)?;
        let last = pieces.iter().rfind(|piece| piece.is_word)?;
        self.text.get(first.range.start..last.range.end)
    }
}

/// Text on one line that can stand in quotes.
pub fn one_line(text: &str) -> String {
    Pieces::of(text).shown().concat()
}
