//! The lexer of playbooks: tokens of conditions, explicit lines and references. (Dataflow plans have a language of
//! their own for `${…}`: `dataflow::lexer`.)
//!
//! It reads on demand, one token at a time, because an expression may stand in front of prose
//! (`If $x > 3, tell the user …`) in which apostrophes and dashes are no tokens at all.

use std::sync::Arc;

use crate::expr::names::{begins_name, continues_name, scan_name, scan_reference};
use crate::value::json::read_string;
use crate::value::{Reference, Value, is_date};

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
const SYMBOLS: [&str; 26] = [
    "==", "!=", "<>", "<=", ">=", "≠", "≤", "≥", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]",
    "{", "}", ",", ":", "=",
];

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
        if let Some((time, length)) = scan_date(rest).or_else(|| scan_time(rest)) {
            return lexed(Token::Str(time), length);
        }
        let length = scan_number(rest);
        return lexed(read_number(&rest[..length]).map_or(Token::Bad("number is too large"), Token::Number), length);
    }
    // `.5`; a full stop before a number stands after something.
    let begins =
        start == 0 || text[..start].ends_with(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | ',' | '='));
    if first == '.' && begins && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
        let length = scan_number(rest);
        return lexed(read_number(&rest[..length]).map_or(Token::Bad("number is too large"), Token::Number), length);
    }
    if first == '"' || first == '\'' {
        return match scan_string(rest) {
            Some((content, length)) => lexed(Token::Str(content.into()), length),
            None => lexed(Token::Bad("text has no closing quote, or a bad escape"), 1),
        };
    }
    if first == '$' {
        return match scan_reference(rest) {
            Some((reference, length)) => lexed(Token::Reference(reference), length),
            None => lexed(Token::Bad("expected a name after `$`"), 1),
        };
    }
    if let Some((content, length)) = scan_curly_quotes(rest) {
        return lexed(Token::Str(content.into()), length);
    }
    if begins_name(first) {
        return lexed(Token::Word, scan_word(rest));
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => lexed(Token::Symbol(symbol), symbol.len()),
        None => lexed(Token::Bad("not part of an expression"), first.len_utf8()),
    }
}

/// The length of the word at the beginning of `text`; `isn't` is one word.
fn scan_word(text: &str) -> usize {
    let length = scan_name(text);
    let contracted = ["'t", "’t"].iter().find(|end| text[length..].starts_with(**end)).map_or(0, |end| end.len());
    if text[length + contracted..].starts_with(continues_name) { length } else { length + contracted }
}

/// The content and length of the text in typographic quotes at the beginning of `text`; there are no escapes in it.
pub(crate) fn scan_curly_quotes(text: &str) -> Option<(&str, usize)> {
    const QUOTES: [(char, char); 4] = [('“', '”'), ('„', '“'), ('«', '»'), ('‘', '’')];
    let first = text.chars().next()?;
    let (open, close) = QUOTES.into_iter().find(|(open, _)| *open == first)?;
    let inside = &text[open.len_utf8()..];
    let end = inside.find([open, close]).filter(|&end| inside[end..].starts_with(close))?;
    Some((&inside[..end], open.len_utf8() + end + close.len_utf8()))
}

/// `2026-01-31` at the beginning of `text`.
fn scan_date(text: &str) -> Option<(Arc<str>, usize)> {
    let date = text.get(..10)?;
    let ends = !text[10..].starts_with(|c: char| c.is_ascii_digit() || c == '-');
    (ends && is_date(date)).then(|| (date.into(), 10))
}

/// `9:30`, `17:30`, `9 am`, `5:15 pm` at the beginning of `text`: the time of day as `"09:30"`.
fn scan_time(text: &str) -> Option<(Arc<str>, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let n_hour = digits(text);
    let hour: u8 = text.get(..n_hour).filter(|hour| hour.len() <= 2)?.parse().ok()?;
    let minutes = text[n_hour..].strip_prefix(':').filter(|rest| digits(rest) == 2);
    let minute: u8 = minutes.map_or(Some(0), |rest| rest[..2].parse().ok())?;
    let clock = n_hour + minutes.map_or(0, |_| 3);
    let rest = text[clock..].trim_start_matches(' ');
    let half = rest.get(..2).map(str::to_ascii_lowercase).filter(|_| !rest[2..].starts_with(continues_name));
    let (hour, length) = match half.as_deref() {
        Some("am") if (1..=12).contains(&hour) => (hour % 12, text.len() - rest.len() + 2),
        Some("pm") if (1..=12).contains(&hour) => (hour % 12 + 12, text.len() - rest.len() + 2),
        _ if minutes.is_some() => (hour, clock),
        _ => return None,
    };
    let ends = !text[length..].starts_with(|c: char| c == ':' || c.is_ascii_digit());
    (hour < 24 && minute < 60 && ends).then(|| (format!("{hour:02}:{minute:02}").into(), length))
}

/// The length of `,000` and the like at the beginning of `text`, which goes on with the number before it.
pub(crate) fn scan_thousands(text: &str) -> usize {
    let mut length = 0;
    while let Some(group) = text[length..].strip_prefix(',') {
        let n_digits = group.bytes().take_while(u8::is_ascii_digit).count();
        if n_digits != 3 {
            break;
        }
        length += 4;
    }
    length
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
pub fn read_number(text: &str) -> Option<Value> {
    if let Ok(int) = text.parse() {
        return Some(Value::Int(int));
    }
    text.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float)
}

/// The content and length of the quoted text at the beginning of `text`.
pub(crate) fn scan_string(text: &str) -> Option<(String, usize)> {
    read_string(text).ok()
}

/// The number that an English word says, in any case.
pub fn number_word(word: &str) -> Option<i64> {
    const UP_TO_TWENTY: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const LARGER: [(&str, i64); 9] = [
        ("thirty", 30),
        ("forty", 40),
        ("fifty", 50),
        ("sixty", 60),
        ("seventy", 70),
        ("eighty", 80),
        ("ninety", 90),
        ("hundred", 100),
        ("thousand", 1000),
    ];
    let small = (0..).zip(UP_TO_TWENTY).map(|(number, known)| (known, number));
    small.chain(LARGER).find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, number)| number)
}
