//! Tokens of the expressions of dataflow documents (spec `plans.md`, 3.2).
//!
//! The language is a small part of JavaScript. What a model may take from the rest of it is recognised, so that
//! the finding can say what it is.

use crate::source::json::read_escape;

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
    /// Something that the language does not have; what it is.
    Foreign(String),
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

/// What models take from other languages, by how it begins; other signs are operators.
const FOREIGN: [(&str, &str); 7] = [
    ("...", "a spread (`...`)"),
    ("=>", "an arrow function (`=>`)"),
    ("?.", "optional chaining (`?.`)"),
    ("//", "a comment (`//`)"),
    ("/*", "a comment (`/*`)"),
    ("`", "a template string (`` ` ``)"),
    (";", "a statement (`;`)"),
];

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
        return match string(rest) {
            Ok((content, length)) => lexed(Token::Str(content), length),
            Err((message, at, length)) => {
                Lexed { token: Token::Bad(message), start: start + at, end: start + at + length }
            }
        };
    }
    if "[]{}(),:".contains(first) || (first == '.' && !rest.starts_with("...")) {
        return lexed(Token::Symbol(first), 1);
    }
    if let Some((sign, what)) = FOREIGN.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return lexed(Token::Foreign((*what).to_owned()), sign.len());
    }
    let length = rest.len() - rest.trim_start_matches(|sign| "=!<>+-*/%&|^?".contains(sign)).len();
    match &rest[..length] {
        "" => lexed(Token::Bad("this is not part of an expression"), first.len_utf8()),
        "=" => lexed(Token::Foreign("an assignment (`=`)".to_owned()), length),
        "?" => lexed(Token::Foreign("a condition (`? :`)".to_owned()), length),
        sign => lexed(Token::Foreign(format!("an operator (`{sign}`)")), length),
    }
}

/// The integer at the beginning of `text`, with its length. What other languages take for a number comes as one
/// token.
fn number(text: &str) -> (Token<'static>, usize) {
    let bytes = text.as_bytes();
    let sign = usize::from(bytes[0] == b'-');
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = sign + digits(sign);
    if bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(u8::is_ascii_digit) {
        while bytes.get(length).is_some_and(|byte| *byte == b'.' || byte.is_ascii_alphanumeric()) {
            length += 1;
        }
        return (Token::Foreign("a number with a fraction".to_owned()), length);
    }
    if text[length..].starts_with(continues_name) {
        length += text[length..].find(|character| !continues_name(character)).unwrap_or(text.len() - length);
        return (Token::Bad("a number has digits only, and a name does not begin with one"), length);
    }
    let int = text[..length].parse().map_or(Token::Bad("this number is too large"), Token::Int);
    (int, length)
}

/// The content and length of the string at the beginning of `text`; or what is wrong with it, where, and how long
/// that place is.
fn string(text: &str) -> Result<(String, usize), (&'static str, usize, usize)> {
    const UNKNOWN: &str = "a string knows the escapes \\n \\t \\r \\\\ \\' \\\" \\uXXXX";
    let mut content = String::new();
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    while let Some((at, character)) = characters.next() {
        if Some(character) == quote {
            return Ok((content, at + 1));
        }
        if character != '\\' {
            content.push(character);
            continue;
        }
        let escape = characters.clone().next().map(|(_, escape)| escape);
        let (character, length) = match escape {
            Some('\'') => ('\'', 2),
            Some('n' | 't' | 'r' | '\\' | '"' | 'u') => read_escape(&text[at..]).ok_or((UNKNOWN, at, 2))?,
            other => return Err((UNKNOWN, at, 1 + other.map_or(0, char::len_utf8))),
        };
        content.push(character);
        characters.nth(length - 2);
    }
    Err(("this string has no closing quote", 0, 1))
}
