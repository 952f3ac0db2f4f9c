//! Texts for people that several rooms make.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

pub use playhouse_lang::diagnostic::wording::{cut, one_line};
use playhouse_lang::expr::{begins_name, continues_name};

/// The beginning and the end of a long text: what a message shows of a prompt or of an error page.
pub fn shorten(text: &str, n_characters: usize) -> Cow<'_, str> {
    let text = text.trim();
    let n_all = text.chars().count();
    if n_all <= n_characters {
        return Cow::Borrowed(text);
    }
    let n_head = n_characters / 2;
    let head: String = text.chars().take(n_head).collect();
    let tail: String = text.chars().skip(n_all - (n_characters - n_head)).collect();
    Cow::Owned(format!("{head} […] {tail}"))
}

/// Characters of a question at most that somebody asks a person whom nobody here has written.
pub(crate) const MAX_QUESTION: usize = 4_000;

/// Foreign text with its line ends, fit to be shown: bounded, without control characters.
pub(crate) fn lines(text: &str, n_characters: usize) -> String {
    let clean: String = text
        .chars()
        .take(n_characters.saturating_add(1))
        .filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(*c)))
        .collect();
    cut(clean.trim(), n_characters)
}

/// Characters that change how others are shown, or are not shown themselves.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A question to a person of somebody whom people may trust or not: who asks stands in front of it.
pub(crate) fn question_of(asker: &str, question: &str) -> String {
    format!("The {asker} asks: {question}")
}

/// The first of a list, and how many more there are: `a, b and 3 more`.
pub(crate) fn first_few(items: &[String], n_shown: usize) -> String {
    let (shown, rest) = items.split_at(n_shown.min(items.len()));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    shown.join(", ") + &more
}

/// An id that nobody else gives: 128 random bits. Not for what must not be guessed.
pub(crate) fn unique() -> Arc<str> {
    format!("{:032x}", fastrand::u128(..)).into()
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// A foreign name as one of the language: other characters become `_`. Empty for an empty name.
pub(crate) fn identifier(name: &str) -> String {
    let mut identifier: String = name.chars().map(|c| if continues_name(c) { c } else { '_' }).collect();
    if identifier.starts_with(|c| !begins_name(c)) {
        identifier.insert(0, '_');
    }
    identifier
}

/// A name for the texts of a program: FNV-1a (64 bits) over names and texts in load order. It tells whether two
/// programs are the same one, not whether somebody has tampered with one.
pub fn text_hash<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in files.into_iter().flat_map(|(name, text)| [name, "\0", text, "\0"]) {
        for byte in part.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("fnv1a64:{hash:016x}")
}

/// Two lists line by line: `-` expected and not there, `+` there and not expected. Lists are short: the longest
/// common sequence is found in the plain way.
pub fn difference<T: AsRef<str> + PartialEq>(expected: &[T], actual: &[T]) -> String {
    let mut longest = vec![vec![0; actual.len() + 1]; expected.len() + 1];
    for (e, wanted) in expected.iter().enumerate().rev() {
        for (a, found) in actual.iter().enumerate().rev() {
            longest[e][a] =
                if wanted == found { longest[e + 1][a + 1] + 1 } else { longest[e + 1][a].max(longest[e][a + 1]) };
        }
    }
    let (mut e, mut a, mut text) = (0, 0, String::new());
    let mut line = |mark: &str, line: &str| {
        text.push_str(format!("{mark} {line}").trim_end());
        text.push('\n');
    };
    while e < expected.len() || a < actual.len() {
        if e < expected.len() && a < actual.len() && expected[e] == actual[a] {
            line(" ", expected[e].as_ref());
            (e, a) = (e + 1, a + 1);
        } else if a == actual.len() || (e < expected.len() && longest[e + 1][a] >= longest[e][a + 1]) {
            line("-", expected[e].as_ref());
            e += 1;
        } else {
            line("+", actual[a].as_ref());
            a += 1;
        }
    }
    text
}
