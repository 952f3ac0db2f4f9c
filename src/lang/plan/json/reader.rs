//! JSON text to a tree, up to the first fault: what is no JSON is refused, with its place and what was expected there.
//!
//! As plans are written by models, raw line breaks and tabs inside strings are fine (spec `plans.md`, 1.1); all else
//! is JSON as in RFC 8259. No crate reads it so: `serde_json` has no places and refuses raw line breaks, and the
//! parsers that have places take stack for each level.

use std::borrow::Cow;

use crate::diagnostic::Diagnostic;
use crate::plan::json::tree::{Document, Kind};
use crate::plan::wording::shown;
use crate::span::{FileId, Span};
use crate::value::Value;
use crate::value::json::{is_number, read_escape};

/// What reading gave.
pub(crate) struct Reading<'a> {
    /// The list; with a fault, as far as it was read.
    pub(crate) document: Document<'a>,
    /// Why it is none.
    pub(crate) fault: Option<Box<Diagnostic>>,
    /// Where whoever looks for another value goes on: after this one; if it is none, where it broke, or at the text
    /// before that place, which a quotation mark that belongs to something else may have made.
    pub(crate) resume: usize,
}

/// What may come next in the list or object that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The first element or key, or the end.
    First,
    /// An element or key, after a comma.
    Further,
    Colon,
    /// A value after a colon.
    Value,
    /// A comma or the end.
    Comma,
}

enum Token<'a> {
    /// One of `[ ] { } : ,`.
    Sign(char),
    /// A value without members; also a key.
    Value(Kind<'a>),
    /// No token of JSON.
    Other,
}

struct Reader<'a> {
    file: FileId,
    text: &'a str,
    /// Where the next token is looked for: where the last one ended.
    at: usize,
    document: Document<'a>,
    expected: Expected,
    /// Where the last token began, if it was text.
    text_before: Option<usize>,
    /// As in [`Reading`].
    resume: usize,
}

/// Reads the list whose bracket stands at `start`; what is after it does not matter.
pub(crate) fn read(file: FileId, text: &str, start: usize) -> Reading<'_> {
    let mut document = Document::default();
    document.add(Kind::List, Span::new(file, start, start + 1));
    let at = start + 1;
    let mut reader = Reader { file, text, at, document, expected: Expected::First, text_before: None, resume: at };
    let mut fault = None;
    while fault.is_none() && reader.document.depth() > 0 {
        fault = reader.step().err();
    }
    let Reader { document, at, resume, .. } = reader;
    let resume = if fault.is_none() { at } else { resume };
    Reading { document, fault, resume }
}

impl<'a> Reader<'a> {
    fn fault(&self, start: usize, end: usize, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error("plan-bad-json", Span::new(self.file, start, end), message))
    }

    /// Handles one token.
    fn step(&mut self) -> Result<(), Box<Diagnostic>> {
        let rest = &self.text[self.at..];
        let start = self.text.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        let Some((kind, open)) = self.document.innermost() else { return Ok(()) };
        let in_list = *kind == Kind::List;
        let text_before = self.text_before.take();
        self.resume = text_before.unwrap_or(start);
        if start == self.text.len() {
            let message =
                format!("the text ends here, but this {} is not closed", if in_list { "list" } else { "object" });
            return Err(Box::new(self.fault(self.at, self.at, message).with_place(open, "it begins here")));
        }
        let (token, end) = self.token(start)?;
        self.at = end;
        let place = Span::new(self.file, start, end);
        if let Token::Value(Kind::Text(_)) = token {
            self.text_before = Some(start);
        }
        let closing = if in_list { ']' } else { '}' };
        let takes_value = self.expected == Expected::Value || in_list;
        self.expected = match (self.expected, token) {
            (Expected::First | Expected::Comma, Token::Sign(sign)) if sign == closing => {
                self.document.close(place);
                Expected::Comma
            }
            (Expected::Comma, Token::Sign(',')) => Expected::Further,
            (Expected::Colon, Token::Sign(':')) => Expected::Value,
            (Expected::First | Expected::Further, Token::Value(key @ Kind::Text(_))) if !in_list => {
                self.document.add(key, place);
                Expected::Colon
            }
            (Expected::First | Expected::Further | Expected::Value, Token::Sign(sign @ ('[' | '{'))) if takes_value => {
                self.document.add(if sign == '[' { Kind::List } else { Kind::Object }, place);
                Expected::First
            }
            (Expected::First | Expected::Further | Expected::Value, Token::Value(value)) if takes_value => {
                self.document.add(value, place);
                Expected::Comma
            }
            (expected, _) => {
                let what = if takes_value { "a value" } else { "a key in quotation marks" };
                let wanted = match expected {
                    Expected::First => format!("{what} or `{closing}`"),
                    Expected::Further | Expected::Value => what.to_owned(),
                    Expected::Colon => "`:`".to_owned(),
                    Expected::Comma => format!("`,` or `{closing}`"),
                };
                let written = shown(&self.text[place.range()]);
                return Err(self.fault(start, end, format!("expected {wanted}, not `{written}`")));
            }
        };
        Ok(())
    }

    /// The token that begins at `start`, and where it ends.
    fn token(&self, start: usize) -> Result<(Token<'a>, usize), Box<Diagnostic>> {
        let rest = &self.text[start..];
        if let Some(sign) = rest.chars().next().filter(|first| "[]{}:,".contains(*first)) {
            return Ok((Token::Sign(sign), start + 1));
        }
        if rest.starts_with('"') {
            let (text, end) = self.read_text(start)?;
            return Ok((Token::Value(Kind::Text(text)), end));
        }
        let is_end = |next: char| " \t\n\r[]{}:,\"".contains(next);
        let word = rest.find(is_end).map_or(rest, |length| &rest[..length]);
        let end = start + word.len();
        let token = match Value::from_json(word) {
            Ok(value) => Token::Value(Kind::Scalar(value)),
            Err(_) if is_number(word.as_bytes()) => return Err(self.fault(start, end, "this number is too large")),
            Err(_) => Token::Other,
        };
        Ok((token, end))
    }

    /// The text whose quotation mark stands at `start`, and where it ends.
    fn read_text(&self, start: usize) -> Result<(Cow<'a, str>, usize), Box<Diagnostic>> {
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ') && !matches!(byte, b'\n' | b'\r' | b'\t');
        let mut decoded = Cow::Borrowed("");
        let mut from = start + 1;
        loop {
            let Some(n_plain) = self.text.as_bytes()[from..].iter().position(is_special) else {
                // Up to the end of the line, not of the file.
                let end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
                return Err(self.fault(start, end, "this text has no closing quotation mark"));
            };
            let at = from + n_plain;
            decoded += &self.text[from..at];
            match (self.text.as_bytes()[at], read_escape(&self.text[at..])) {
                (b'"', _) => return Ok((decoded, at + 1)),
                (b'\\', Some((character, length))) => {
                    decoded.to_mut().push(character);
                    from = at + length;
                }
                (b'\\', None) => {
                    let message = "this is not a JSON escape; write a backslash as `\\\\`";
                    return Err(self.fault(at, at + 1, message));
                }
                (control, _) => {
                    let message = format!("write this control character as `\\u{control:04x}` inside text");
                    return Err(self.fault(at, at + 1, message));
                }
            }
        }
    }
}
