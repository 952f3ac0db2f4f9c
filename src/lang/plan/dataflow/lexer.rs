//! Tokens of the expressions of dataflow documents (spec `plans.md`, 3.2).
//!
//! The language is a small part of JavaScript; what a model may take from the rest of it is one token, which the
//! finding names.

use crate::value::json::read_string;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Int(i64),
    Str(String),
    Name(&'a str),
    /// One of `[ ] { } ( ) , : .`.
    Symbol(char),
    /// After the last one.
    End,
    /// Something that the language does not have.
    Foreign,
    /// No token; the message says why.
    Bad(&'static str),
}

/// A token and its place in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lexed<'a> {
    pub(super) token: Token<'a>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Whether a name may begin with `character`.
pub(super) fn begins_name(character: char) -> bool {
    matches!(character, 'a'..='z' | 'A'..='Z' | '_' | '$')
}

/// Whether a name may go on with `character`.
fn continues_name(character: char) -> bool {
    begins_name(character) || character.is_ascii_digit()
}

/// Whether `text` is a name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(continues_name)
}

/// Reads the token at or after `position`, white space skipped.
pub(super) fn next_token(text: &str, position: usize) -> Lexed<'_> {
    let rest = text.get(position..).unwrap_or("");
    let start = position + (rest.len() - rest.trim_start().len());
    let rest = text.get(start..).unwrap_or("");
    let lexed = |token, length| Lexed { token, start, end: start + length };
    let Some(first) = rest.chars().next() else {
        return Lexed { token: Token::End, start: text.len(), end: text.len() };
    };
    if begins_name(first) {
        let length = rest.find(|character| !continues_name(character)).unwrap_or(rest.len());
        return lexed(Token::Name(&rest[..length]), length);
    }
    if first.is_ascii_digit() || (first == '-' && rest[1..].starts_with(|next: char| next.is_ascii_digit())) {
        let (token, length) = number(rest);
        return lexed(token, length);
    }
    if matches!(first, '"' | '\'') {
        return match read_string(rest) {
            Ok((content, length)) => lexed(Token::Str(content), length),
            Err(None) => lexed(Token::Bad("this string has no closing quote"), 1),
            Err(Some(at)) => {
                let message = "strings have JSON's escapes, and \\'";
                Lexed { token: Token::Bad(message), start: start + at, end: start + at + 1 }
            }
        };
    }
    if "[]{}(),:".contains(first) || (first == '.' && !rest.starts_with("...")) {
        return lexed(Token::Symbol(first), 1);
    }
    let signs = rest.find(|sign| !"=!<>+-*/%&|^?.;".contains(sign)).unwrap_or(rest.len());
    lexed(Token::Foreign, signs.max(first.len_utf8()))
}

/// The integer at the beginning of `text`, with its length. What other languages take for a number comes as one
/// token.
fn number(text: &str) -> (Token<'static>, usize) {
    let n_digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with('-'));
    let length = sign + n_digits(&text[sign..]);
    let rest = &text[length..];
    if rest.starts_with(continues_name) || rest.strip_prefix('.').is_some_and(|fraction| n_digits(fraction) > 0) {
        let more = rest.find(|next| next != '.' && !continues_name(next)).unwrap_or(rest.len());
        return (Token::Foreign, length + more);
    }
    (text[..length].parse().map_or(Token::Bad("this number is too large"), Token::Int), length)
}
