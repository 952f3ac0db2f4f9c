//! References inside text: `{$name.path[0]}`, a bare `$name`, `$$`.
//!
//! A text is scanned once, and what is put in place of a reference is never scanned again. There is one
//! scanner, for whole texts and for speech that is still arriving: it looks at every character once.

use crate::expr::names::{begins_name, continues_name, scan_reference};
use crate::value::Reference;

/// `{$` that is not closed within so many bytes, from its brace on, is text. Streamed speech is held back so far.
const MAX_BRACED: usize = 64;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text as it is meant: `$$` is `$` here.
    Text(String),
    /// A reference.
    Reference {
        /// To what.
        reference: Reference,
        /// Whether it stood in braces. A bare one counts in speech only, and for a visible variable only.
        braced: bool,
        /// As it was written, for the case that it stays text.
        source: String,
    },
}

/// The parts of a whole text.
pub fn scan_text(text: &str) -> Vec<Part> {
    let mut scanner = TextScanner::default();
    let mut parts = Vec::new();
    scanner.push(text, &mut parts);
    scanner.finish(&mut parts);
    parts
}

/// The reference that is the whole text, exactly `$name` or `$name.path[0]`.
pub fn whole_reference(text: &str) -> Option<Reference> {
    scan_reference(text).filter(|(_, length)| *length == text.len()).map(|(reference, _)| reference)
}

/// Scans a text that arrives in pieces; how it is cut makes no difference to the parts.
#[derive(Clone, Debug, Default)]
pub struct TextScanner {
    /// What may be a reference, as it was written.
    held: String,
    /// How much of `held` is a reference for certain.
    n_certain: usize,
    braced: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After `{`.
    Brace,
    /// After `$`.
    Dollar,
    /// In the first name, or in that of a member.
    Name,
    /// After a `.` of the path.
    Dot,
    /// After a `[` of the path, in its digits.
    Index { from: usize },
    /// After a `]` of the path.
    IndexEnd,
}

impl TextScanner {
    /// Scans the next piece.
    pub fn push(&mut self, text: &str, parts: &mut Vec<Part>) {
        let mut rest = text;
        loop {
            if self.state == State::Text {
                let n_plain = rest.find(['$', '{']).unwrap_or(rest.len());
                add_text(&rest[..n_plain], parts);
                rest = &rest[n_plain..];
            }
            let Some(character) = rest.chars().next() else {
                return;
            };
            rest = &rest[character.len_utf8()..];
            self.scan(character, parts);
        }
    }

    /// The text is over.
    pub fn finish(&mut self, parts: &mut Vec<Part>) {
        self.release(parts);
    }

    /// What is held back: not given yet, because it may be the beginning of a reference.
    pub fn pending(&self) -> &str {
        &self.held
    }

    fn scan(&mut self, character: char, parts: &mut Vec<Part>) {
        if self.braced && self.held.len() + character.len_utf8() > MAX_BRACED {
            self.drop_brace(parts);
        }
        let next = match self.state {
            State::Text => None,
            State::Brace if character == '$' => {
                self.braced = true;
                Some(State::Dollar)
            }
            State::Brace => None,
            State::Dollar | State::Dot if begins_name(character) => Some(State::Name),
            State::Dollar if character == '$' => {
                if self.braced {
                    self.drop_brace(parts);
                }
                self.reset();
                add_text("$", parts);
                return;
            }
            State::Dollar | State::Dot => None,
            State::Name if continues_name(character) => Some(State::Name),
            State::Name | State::IndexEnd => match character {
                '.' => Some(State::Dot),
                '[' => Some(State::Index { from: self.held.len() + 1 }),
                '}' if self.braced => {
                    self.held.push('}');
                    self.give_reference(parts);
                    return;
                }
                _ => None,
            },
            State::Index { from } => match character {
                '0'..='9' => Some(State::Index { from }),
                // The same limit as `scan_reference`: an index that is no number of ours is not part of it.
                ']' if self.held[from..].parse::<usize>().is_ok() => Some(State::IndexEnd),
                _ => None,
            },
        };
        let Some(next) = next else {
            self.release(parts);
            match character {
                '{' => self.state = State::Brace,
                '$' => self.state = State::Dollar,
                _ => {
                    add_text(character.encode_utf8(&mut [0; 4]), parts);
                    return;
                }
            }
            self.held.push(character);
            return;
        };
        self.held.push(character);
        self.state = next;
        if matches!(next, State::Name | State::IndexEnd) {
            self.n_certain = self.held.len();
        }
    }

    /// The brace is text, what stands after it goes on as a bare reference.
    fn drop_brace(&mut self, parts: &mut Vec<Part>) {
        add_text("{", parts);
        self.held.remove(0);
        self.n_certain = self.n_certain.saturating_sub(1);
        self.braced = false;
        if let State::Index { from } = &mut self.state {
            *from -= 1;
        }
    }

    /// Nothing continues what is held: gives the reference in it, if there is one, and the rest as text.
    fn release(&mut self, parts: &mut Vec<Part>) {
        if self.braced {
            self.drop_brace(parts);
        }
        let rest = self.held.split_off(self.n_certain);
        if self.n_certain > 0 {
            self.give_reference(parts);
        }
        add_text(&rest, parts);
        self.reset();
    }

    /// `held` is a reference.
    fn give_reference(&mut self, parts: &mut Vec<Part>) {
        let source = std::mem::take(&mut self.held);
        let inner = if self.braced { &source[1..source.len() - 1] } else { &source };
        match scan_reference(inner) {
            Some((reference, _)) => parts.push(Part::Reference { reference, braced: self.braced, source }),
            None => add_text(&source, parts),
        }
        self.reset();
    }

    fn reset(&mut self) {
        self.held.clear();
        self.n_certain = 0;
        self.braced = false;
        self.state = State::Text;
    }
}

/// Adds text, to the last part if that is text too.
fn add_text(text: &str, parts: &mut Vec<Part>) {
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        Some(Part::Reference { .. }) | None => parts.push(Part::Text(text.to_owned())),
    }
}
