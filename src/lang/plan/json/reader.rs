//! JSON text to a tree, up to the first fault.
//!
//! As plans are written by models, raw line breaks and tabs inside strings are fine (spec `plans.md`, 1.1); all else
//! is JSON as in RFC 8259. No crate reads it so: `serde_json` has no places and refuses raw line breaks, and the
//! parsers that have places take stack for each level.

use std::borrow::Cow;

use crate::diagnostic::Diagnostic;
use crate::plan::json::tree::{Document, Kind};
use crate::plan::wording::shown;
use crate::source::json::{is_number, read_escape};
use crate::span::{FileId, Span};

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

/// A fault ends the reading. Boxed, because a step returns for every token and fails once at most.
type Step<T> = Result<T, Box<Diagnostic>>;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// A value after a colon.
    Value,
    /// An element or the end of the list.
    Item,
    /// A key or the end of the object.
    Key,
    Colon,
    /// A comma, or the end of what is open.
    Comma,
}

enum Token<'a> {
    /// One of `[ ] { } : ,`.
    Sign(char),
    /// A value without members; also a key.
    Value(Kind<'a>),
    /// Letters that are no value.
    Word(&'a str),
}

struct Reader<'a> {
    file: FileId,
    text: &'a str,
    /// Where the next token is looked for.
    at: usize,
    document: Document<'a>,
    expected: Expected,
    /// The place of the comma that was read last, if nothing has followed it.
    comma: Option<Span>,
    /// Where the last token ended.
    before: usize,
    /// Where the last token began, if it was text.
    text_before: Option<usize>,
    /// As in [`Reading`].
    resume: usize,
}

/// Reads the list whose bracket stands at `start`; what is after it does not matter.
pub(crate) fn read(file: FileId, text: &str, start: usize) -> Reading<'_> {
    let mut document = Document::default();
    document.add(Kind::List, Span::new(file, start, start + 1));
    let (at, expected) = (start + 1, Expected::Item);
    let mut reader =
        Reader { file, text, at, document, expected, comma: None, before: at, text_before: None, resume: at };
    let mut fault = None;
    while fault.is_none() && reader.document.depth() > 0 {
        fault = reader.step().err();
    }
    let Reader { document, at, resume, .. } = reader;
    let resume = if fault.is_none() { at } else { resume };
    Reading { document, fault, resume }
}

impl<'a> Reader<'a> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Handles one token.
    fn step(&mut self) -> Step<()> {
        let before = self.before;
        self.skip_white_space()?;
        let start = self.at;
        let text_before = self.text_before.take();
        self.resume = text_before.unwrap_or(start);
        let goes_on = |first: char| !"[]{}:,\"".contains(first) && !first.is_ascii_digit();
        if text_before.is_some() && before == start && self.rest().starts_with(goes_on) {
            let mark = self.span(start - 1, start);
            let message = "the text ends here, and something follows it";
            return Err(mend(mark, message, "if it is a part of the text, escape it", "\\\""));
        }
        let token = self.token()?;
        let place = self.span(start, self.at);
        self.before = self.at;
        let in_list = self.document.innermost().is_some_and(|(kind, _)| *kind == Kind::List);
        let comma = self.comma.take();
        if let Token::Value(Kind::Text(_)) = token {
            self.text_before = Some(start);
        }
        let closing = if in_list { ']' } else { '}' };
        self.expected = match (self.expected, token) {
            (Expected::Item | Expected::Key | Expected::Comma, Token::Sign(sign)) if sign == closing => {
                if let Some(comma) = comma {
                    let what = if in_list { "element" } else { "member" };
                    let message = format!("behind the last {what} there must be no comma");
                    return Err(mend(comma, message, "remove it", ""));
                }
                self.document.close(place);
                Expected::Comma
            }
            (Expected::Comma, Token::Sign(',')) => {
                self.comma = Some(place);
                if in_list { Expected::Item } else { Expected::Key }
            }
            (Expected::Colon, Token::Sign(':')) => Expected::Value,
            (Expected::Key, Token::Value(key @ Kind::Text(_))) => {
                self.document.add(key, place);
                Expected::Colon
            }
            (Expected::Value | Expected::Item, Token::Sign('[')) => {
                self.document.add(Kind::List, place);
                Expected::Item
            }
            (Expected::Value | Expected::Item, Token::Sign('{')) => {
                self.document.add(Kind::Object, place);
                Expected::Key
            }
            (Expected::Value | Expected::Item, Token::Value(value)) => {
                self.document.add(value, place);
                Expected::Comma
            }
            (expected, token) => return Err(self.unexpected(expected, &token, place, before)),
        };
        Ok(())
    }

    /// What is wrong with a token that cannot stand at `place`; the one before it ended at `before`.
    fn unexpected(&self, expected: Expected, token: &Token<'_>, place: Span, before: usize) -> Box<Diagnostic> {
        let written = shown(&self.text[place.range()]);
        match (expected, token) {
            (Expected::Colon, _) => fault(place, "`:` is expected behind a key"),
            (Expected::Comma, Token::Sign(':')) => fault(place, "`,` is expected behind a value, not `:`"),
            (Expected::Comma, Token::Sign(']' | '}')) => {
                let (kind, open) = self.document.innermost().unwrap_or((&Kind::Null, place));
                let what = if *kind == Kind::List { "list" } else { "object" };
                let fault = fault(place, format!("`{written}` does not end a {what}"));
                Box::new(fault.with_place(open, format!("the {what} begins here")))
            }
            (Expected::Comma, Token::Word(_)) => mend(place, format!("`{written}` is no JSON"), "remove it", ""),
            (Expected::Comma, Token::Sign(_) | Token::Value(_)) => {
                let fault = fault(place, "a comma is missing before this");
                Box::new(fault.with_fix("add it", self.span(before, before), ","))
            }
            (Expected::Key, Token::Word(word)) => {
                let message = format!("the key `{written}` needs quotation marks");
                mend(place, message, "add them", format!("\"{word}\""))
            }
            (Expected::Key, Token::Sign(_) | Token::Value(_)) => {
                fault(place, format!("a key in quotation marks is expected here, not `{written}`"))
            }
            (Expected::Value | Expected::Item, Token::Sign(_) | Token::Value(_)) => {
                fault(place, format!("a value is expected here, not `{written}`"))
            }
            // Those of other languages are known.
            (Expected::Value | Expected::Item, Token::Word(word)) => {
                let meant = match *word {
                    "True" | "TRUE" => "true".to_owned(),
                    "False" | "FALSE" => "false".to_owned(),
                    "None" | "NULL" | "Null" | "undefined" | "nil" | "NaN" | "Infinity" => "null".to_owned(),
                    word => format!("\"{word}\""),
                };
                let how = format!("write `{}`", shown(&meant));
                mend(place, format!("`{written}` is no JSON"), how, meant)
            }
        }
    }

    fn skip_white_space(&mut self) -> Step<()> {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
        let (start, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else { return Err(self.ended()) };
        if rest.starts_with("//") || rest.starts_with("/*") {
            let end = if rest.starts_with("//") { rest.find(['\n', '\r']) } else { rest.find("*/").map(|at| at + 2) };
            let length = end.unwrap_or(rest.len());
            self.resume = start + length;
            return Err(mend(self.span(start, start + length), "JSON has no comments", "remove it", ""));
        }
        if first.is_whitespace() {
            let place = self.span(start, start + first.len_utf8());
            let message = format!("the character U+{:04X} between values is no white space of JSON", u32::from(first));
            self.resume = start;
            return Err(mend(place, message, "write a space", " "));
        }
        Ok(())
    }

    /// The text is over, and the list is not.
    fn ended(&mut self) -> Box<Diagnostic> {
        self.resume = self.text_before.unwrap_or(self.before);
        let end = self.span(self.before, self.before);
        let (kind, open) = self.document.innermost().unwrap_or((&Kind::Null, end));
        let what = if *kind == Kind::List { "list" } else { "object" };
        let fault = fault(end, format!("the text ends here, before this {what} does"));
        let fault = fault.with_place(open, "it begins here");
        Box::new(match self.document.depth() - 1 {
            0 => fault,
            1 => fault.with_note("what is around it is open too"),
            n => fault.with_note(format!("{n} lists and objects around it are open too")),
        })
    }

    /// Takes the token that begins here.
    fn token(&mut self) -> Step<Token<'a>> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or(' ');
        let run = |ends: &dyn Fn(char) -> bool| rest.find(ends).map_or(rest, |length| &rest[..length]);
        let (token, length) = match first {
            '[' | ']' | '{' | '}' | ':' | ',' => (Token::Sign(first), 1),
            '"' => {
                let (text, length) = self.read_text()?;
                (Token::Value(Kind::Text(text)), length)
            }
            '\'' => return Err(fault(self.span(self.at, self.at + 1), "text stands in double quotation marks")),
            _ if first.is_alphabetic() || matches!(first, '_' | '$') => {
                let word = run(&|next| !next.is_alphanumeric() && !matches!(next, '_' | '-' | '$'));
                let token = match word {
                    "true" | "false" => Token::Value(Kind::Bool(word == "true")),
                    "null" => Token::Value(Kind::Null),
                    _ => Token::Word(word),
                };
                (token, word.len())
            }
            '0'..='9' | '-' | '+' | '.' if !rest.starts_with("..") => {
                let number = run(&|next| !next.is_ascii_alphanumeric() && !matches!(next, '-' | '+' | '.'));
                (Token::Value(self.read_number(number)?), number.len())
            }
            _ => {
                let signs = run(&|next| next != first);
                let place = self.span(self.at, self.at + signs.len());
                return Err(fault(place, format!("`{}` is no JSON", shown(signs))));
            }
        };
        self.at += length;
        Ok(token)
    }

    /// The text that begins here, and the length of it as it is written.
    fn read_text(&self) -> Step<(Cow<'a, str>, usize)> {
        let rest = self.rest();
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ') && !matches!(byte, b'\n' | b'\r' | b'\t');
        let mut decoded = Cow::Borrowed("");
        let mut from = 1;
        loop {
            let Some(n_plain) = rest.as_bytes()[from..].iter().position(is_special) else {
                // Up to the end of the line, not of the file.
                let place = self.span(self.at, self.at + rest.find('\n').unwrap_or(rest.len()));
                return Err(fault(place, "this text has no closing quotation mark"));
            };
            let at = from + n_plain;
            decoded += &rest[from..at];
            match (rest.as_bytes()[at], read_escape(&rest[at..])) {
                (b'"', _) => return Ok((decoded, at + 1)),
                (b'\\', Some((character, length))) => {
                    decoded.to_mut().push(character);
                    from = at + length;
                }
                (b'\\', None) => return Err(self.bad_escape(self.at + at)),
                (control, _) => {
                    let place = self.span(self.at + at, self.at + at + 1);
                    let message = "a text can't hold this control character as it is";
                    return Err(mend(place, message, "escape it", format!("\\u{control:04x}")));
                }
            }
        }
    }

    /// What is wrong with the escape at `start`.
    fn bad_escape(&self, start: usize) -> Box<Diagnostic> {
        let behind = &self.text[start + 1..];
        let place = |length| self.span(start, start + 1 + length);
        if let Some(code) = behind.strip_prefix('u') {
            return match code.bytes().take(4).take_while(u8::is_ascii_hexdigit).count() {
                4 => fault(place(5), "this escape stands for no character"),
                n_digits => fault(place(1 + n_digits), "four hexadecimal digits are expected behind `\\u`"),
            };
        }
        let escaped = behind.chars().next().map_or("", |first| &behind[..first.len_utf8()]);
        let message = format!("`\\{}` is no escape of JSON; a backslash itself is written `\\\\`", shown(escaped));
        fault(place(escaped.len()), message)
    }

    /// A number that begins here, as [`crate::value::Value::from_json`] reads it.
    fn read_number(&self, written: &str) -> Step<Kind<'a>> {
        let place = self.span(self.at, self.at + written.len());
        if !is_number(written.as_bytes()) {
            let digits = written.trim_start_matches('-');
            let (message, from, to) = if written.starts_with('+') {
                ("a number is not written with a plus sign", 0, 1)
            } else if digits.starts_with('.') {
                ("digits are expected on both sides of a decimal point", 0, 1)
            } else if digits.ends_with('.') {
                ("digits are expected on both sides of a decimal point", 0, written.len())
            } else if digits.starts_with("0x") {
                ("a number is written in decimal digits", 0, 1)
            } else if digits.starts_with('0') {
                ("a number is not written with a leading zero", 1, 2)
            } else {
                return Err(fault(place, format!("`{}` is no JSON", shown(written))));
            };
            return Err(fault(self.span(self.at + from, self.at + to), message));
        }
        // Minus zero is a float: an integer would lose its sign.
        if let Some(int) = written.parse().ok().filter(|_| written != "-0") {
            return Ok(Kind::Int(int));
        }
        let float = written.parse().ok().filter(|float: &f64| float.is_finite());
        float.map(Kind::Float).ok_or_else(|| {
            let fault = fault(place, "this number is too large");
            Box::new(fault.with_note("numbers are 64-bit integers and floats"))
        })
    }
}

fn fault(place: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("plan-bad-json", place, message))
}

/// A fault with what to write instead.
fn mend(place: Span, message: impl Into<String>, how: impl Into<String>, text: impl Into<String>) -> Box<Diagnostic> {
    Box::new(fault(place, message).with_fix(how, place, text))
}
