//! The lexer of playbooks: tokens of conditions, explicit lines and references. (Dataflow plans have a language of
//! their own for `${…}`: `dataflow::lexer`.)
//!
//! It reads on demand, one token at a time, because an expression may stand in front of prose
//! (`If $x > 3, tell the user …`) in which apostrophes and dashes are no tokens at all.

use std::sync::Arc;

use crate::expr::names::{begins_name, scan_name, scan_reference};
use crate::value::json::read_string;
use crate::value::{Reference, Value};

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// An integer or a decimal fraction, without sign.
    Number(Value),
    /// A quoted text, its escapes resolved.
    Str(Arc<str>),
    /// `$a.b[0]`.
    Reference(Reference),
    /// A bare word; its text is what stands at its place.
    Word,
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
    /// No token of the language; the message says why.
    Bad(&'static str),
}

/// A token and its place, in bytes from the beginning of the lexed text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lexed {
    /// What it is.
    pub(crate) token: Token,
    /// Its first byte.
    pub(crate) start: usize,
    /// One past its last byte.
    pub(crate) end: usize,
}

/// Longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 20] =
    ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ":", "="];

/// Reads the token at or after `position` (white space is skipped). Never fails: what is no token is
/// [`Token::Bad`], one character long.
pub(crate) fn next_token(text: &str, position: usize) -> Lexed {
    let rest = text.get(position..).unwrap_or("");
    let start = position + (rest.len() - rest.trim_start().len());
    let rest = &text[start.min(text.len())..];
    let Some(first) = rest.chars().next() else {
        return Lexed { token: Token::End, start: text.len(), end: text.len() };
    };
    let lexed = |token, length| Lexed { token, start, end: start + length };
    if first.is_ascii_digit() {
        let length = scan_number(rest);
        return lexed(read_number(&rest[..length]).map_or(Token::Bad("number is too large"), Token::Number), length);
    }
    if first == '"' || first == '\'' {
        return match scan_string(rest) {
            Some((content, length)) => lexed(Token::Str(content.into()), length),
            None => lexed(Token::Bad("text has no closing quote or a bad escape"), 1),
        };
    }
    if first == '$' {
        return match scan_reference(rest) {
            Some((reference, length)) => lexed(Token::Reference(reference), length),
            None => lexed(Token::Bad("expected a name after `$`"), 1),
        };
    }
    if begins_name(first) {
        return lexed(Token::Word, scan_name(rest));
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => lexed(Token::Symbol(symbol), symbol.len()),
        None => lexed(Token::Bad("not part of an expression"), first.len_utf8()),
    }
}

/// The length of the number at the beginning of `text`. `3.` is `3` and a full stop.
fn scan_number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        if length + 1 + sign <= bytes.len() && digits(length + 1 + sign) > 0 {
            length += 1 + sign + digits(length + 1 + sign);
        }
    }
    length
}

/// The value of a number as written; none if it is beyond every finite number. An integer beyond 64 bits
/// becomes a float, as it does in JSON.
pub(crate) fn read_number(text: &str) -> Option<Value> {
    if let Ok(int) = text.parse() {
        return Some(Value::Int(int));
    }
    text.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float)
}

/// The content and length of the quoted text at the beginning of `text`.
pub(crate) fn scan_string(text: &str) -> Option<(String, usize)> {
    read_string(text).ok()
}
