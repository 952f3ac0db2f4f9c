//! Tokens of the expressions of dataflow documents (spec `plans.md`, 3.2).
//!
//! The language is a small part of JavaScript. What a model may take from the rest of it is recognised, so that
//! the finding can say what it is.

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Int(i64),
    Str(String),
    Name(&'a str),
    /// One of `[ ] { } ( ) , : .`.
    Symbol(char),
    /// Behind the last one.
    End,
    /// Something that the language does not have; what it is.
    Foreign(&'static str),
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

/// What other languages have, longest first.
const FOREIGN: [(&str, &str); 29] = [
    ("...", "a spread (`...`)"),
    ("===", "an operator (`===`)"),
    ("!==", "an operator (`!==`)"),
    ("=>", "an arrow function (`=>`)"),
    ("?.", "optional chaining (`?.`)"),
    ("??", "an operator (`??`)"),
    ("==", "an operator (`==`)"),
    ("!=", "an operator (`!=`)"),
    ("<=", "an operator (`<=`)"),
    (">=", "an operator (`>=`)"),
    ("&&", "an operator (`&&`)"),
    ("||", "an operator (`||`)"),
    ("//", "a comment (`//`)"),
    ("/*", "a comment (`/*`)"),
    ("=", "an assignment (`=`)"),
    ("?", "a condition (`? :`)"),
    ("+", "an operator (`+`)"),
    ("-", "an operator (`-`)"),
    ("*", "an operator (`*`)"),
    ("/", "an operator (`/`)"),
    ("%", "an operator (`%`)"),
    ("<", "an operator (`<`)"),
    (">", "an operator (`>`)"),
    ("!", "an operator (`!`)"),
    ("&", "an operator (`&`)"),
    ("|", "an operator (`|`)"),
    ("^", "an operator (`^`)"),
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
    match FOREIGN.iter().find(|(sign, _)| rest.starts_with(sign)) {
        Some((sign, what)) => lexed(Token::Foreign(what), sign.len()),
        None => lexed(Token::Bad("this is not part of an expression"), first.len_utf8()),
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
        return (Token::Foreign("a number with a fraction"), length);
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
        let escape = characters.next().map(|(_, escape)| escape);
        let unknown = "a string knows the escapes \\n \\t \\r \\\\ \\' \\\" \\uXXXX";
        content.push(match escape {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some(plain @ ('\\' | '\'' | '"')) => plain,
            Some('u') => {
                let (character, n_read) = unicode(&text[at..]).ok_or((unknown, at, 2))?;
                characters.nth(n_read - 3);
                character
            }
            other => return Err((unknown, at, 1 + other.map_or(0, char::len_utf8))),
        });
    }
    Err(("this string has no closing quote", 0, 1))
}

/// The character of the `\uXXXX` at the beginning of `text`, or of a pair of them, and the length.
fn unicode(text: &str) -> Option<(char, usize)> {
    let code = |from: usize| {
        let digits = text.get(from..from + 4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    let first = code(2)?;
    if !(0xD800..0xDC00).contains(&first) {
        return char::from_u32(first).map(|character| (character, 6));
    }
    let second = code(8).filter(|second| text.get(6..8) == Some("\\u") && (0xDC00..0xE000).contains(second))?;
    char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).map(|character| (character, 12))
}
