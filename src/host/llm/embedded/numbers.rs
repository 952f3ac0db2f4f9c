//! Numbers in what people write, in digits and in words.

use std::sync::OnceLock;

use regex::Regex;

use crate::host::classify::patterns::{Thing, places};
use crate::lang::expr::number_word;
use crate::value::Value;

use super::english::{Piece, find_any, pieces};

/// Words for small numbers besides the English ones ([`number_word`]): one to ten in a few neighbouring languages.
const FOREIGN: [(&str, i64); 46] = [
    ("couple", 2),
    ("eins", 1),
    ("eine", 1),
    ("einen", 1),
    ("zwei", 2),
    ("drei", 3),
    ("vier", 4),
    ("fünf", 5),
    ("sechs", 6),
    ("sieben", 7),
    ("acht", 8),
    ("neun", 9),
    ("zehn", 10),
    ("elf", 11),
    ("zwölf", 12),
    ("deux", 2),
    ("trois", 3),
    ("quatre", 4),
    ("cinq", 5),
    ("sept", 7),
    ("huit", 8),
    ("neuf", 9),
    ("dix", 10),
    ("uno", 1),
    ("una", 1),
    ("dos", 2),
    ("tres", 3),
    ("cuatro", 4),
    ("cinco", 5),
    ("seis", 6),
    ("siete", 7),
    ("ocho", 8),
    ("nueve", 9),
    ("diez", 10),
    ("due", 2),
    ("tre", 3),
    ("quattro", 4),
    ("cinque", 5),
    ("sei", 6),
    ("sette", 7),
    ("otto", 8),
    ("dieci", 10),
    ("fire", 4),
    ("fem", 5),
    ("seks", 6),
    ("sju", 7),
];

/// Words that are numbers only where nothing else is said: `sei` is a verb, too.
const ALONE: [&str; 12] = ["eine", "einen", "due", "tre", "sei", "fire", "fem", "dix", "elf", "neuf", "una", "acht"];

/// Words between numbers that belong to them.
const SCALES: [(&str, i64); 3] = [("hundred", 100), ("thousand", 1_000), ("million", 1_000_000)];

/// All numbers of a text, in order; each value once.
pub(super) fn numbers(text: &str) -> Vec<Value> {
    // `two and a half`, `half a million`: better none than a wrong one.
    if find_any(text, &["half", "quarter"]).is_some() {
        return Vec::new();
    }
    let mut found: Vec<(usize, Value)> = in_digits(text);
    found.extend(in_words(text));
    // The numbers of a day count nothing.
    let days = places(text, Thing::Date);
    found.retain(|(at, _)| !days.iter().any(|day| day.contains(at)));
    found.sort_by_key(|(at, _)| *at);
    let mut values: Vec<Value> = Vec::new();
    for (_, value) in found {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// None only if the pattern is wrong, which a test would show.
fn digits() -> Option<&'static Regex> {
    static DIGITS: OnceLock<Option<Regex>> = OnceLock::new();
    DIGITS.get_or_init(|| Regex::new(r"[-−]?\d+(?:[.,]\d+)*").ok()).as_ref()
}

fn in_digits(text: &str) -> Vec<(usize, Value)> {
    let Some(digits) = digits() else { return Vec::new() };
    let is_number = |found: &regex::Match<'_>| {
        let (before, behind) = (&text[..found.start()], &text[found.end()..]);
        let is_time = behind.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            || before.ends_with(':');
        // A part of a word, of a date or of a path is no number of its own.
        !is_time
            && !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '@' | '-'))
            && !behind.starts_with(['_', '/', '@'])
    };
    digits
        .find_iter(text)
        .filter(is_number)
        .filter_map(|found| read_digits(found.as_str()).map(|value| (found.start(), value)))
        .collect()
}

/// `1,000.5`, `1.000,5`, `2,5`.
fn read_digits(text: &str) -> Option<Value> {
    let text = text.replace('−', "-");
    let last = text.rfind(['.', ',']);
    let n_marks = text.matches(['.', ',']).count();
    let plain = match last {
        None => text,
        Some(at) => {
            let behind = &text[at + 1..];
            let mark = &text[at..=at];
            // Three digits after the only comma, or after several marks of one kind, are thousands.
            let is_thousands = behind.len() == 3
                && (mark == "," || n_marks > 1)
                && (n_marks == 1 || text.matches(mark).count() == n_marks);
            let digits: String = text[..at].chars().filter(|c| *c == '-' || c.is_ascii_digit()).collect();
            if is_thousands { format!("{digits}{behind}") } else { format!("{digits}.{behind}") }
        }
    };
    if let Ok(int) = plain.parse::<i64>() {
        return Some(Value::Int(int));
    }
    plain.parse::<f64>().ok().filter(|float| float.is_finite()).map(Value::Float)
}

fn small(word: &str) -> Option<i64> {
    let word = word.to_lowercase();
    // What scales others is no small number.
    let english = number_word(&word).filter(|number| *number < 100);
    english.or_else(|| FOREIGN.iter().find(|(known, _)| *known == word).map(|(_, value)| *value))
}

fn scale(word: &str) -> Option<i64> {
    let word = word.to_lowercase();
    SCALES.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// Numbers in words: `twenty-five`, `two hundred and three`.
fn in_words(text: &str) -> Vec<(usize, Value)> {
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for piece in pieces(text) {
        if let Piece::Word(word) = piece {
            let mut inside = at;
            for part in word.split('-') {
                words.push((inside, part));
                inside += part.len() + 1;
            }
        } else if !piece.source().trim().is_empty() {
            words.push((at, ""));
        }
        at += piece.source().len();
    }
    let is_alone = words.iter().filter(|(_, word)| !word.is_empty()).count() == 1;
    let mut found = Vec::new();
    let mut open: Option<(usize, i64, i64)> = None;
    for (index, (at, word)) in words.iter().enumerate() {
        let lower = word.to_lowercase();
        let before = index.checked_sub(1).map_or("", |index| words[index].1).to_lowercase();
        // `the blue one`, `one of them`, `a couple`: only what counts.
        let next = words.get(index + 1).map_or("", |(_, word)| *word);
        let is_other = (lower == "one"
            && !is_alone
            && (["the", "this", "that", "no", "which", "any", "blue", "red", "next", "last", "first"]
                .contains(&before.as_str())
                || next.eq_ignore_ascii_case("of")
                || next.eq_ignore_ascii_case("moment")))
            || (ALONE.contains(&lower.as_str()) && !is_alone);
        match (open, small(word), scale(word)) {
            (Some((start, sum, part)), Some(value), _) if !is_other && fits_behind(part, value) => {
                open = Some((start, sum, part + value));
            }
            (_, Some(value), _) if !is_other => {
                found.extend(open.take().map(|(start, sum, part)| (start, sum + part)));
                open = Some((*at, 0, value));
            }
            (Some((start, sum, part)), None, Some(scale)) => {
                open = Some(if scale == 100 {
                    (start, sum, part.max(1) * 100)
                } else {
                    (start, sum + part.max(1) * scale, 0)
                });
            }
            (None, None, Some(100)) if before == "a" => open = Some((*at, 0, 100)),
            (None, None, Some(scale)) if before == "a" => open = Some((*at, scale, 0)),
            (None, None, None) if lower == "dozen" => open = Some((*at, 0, 12)),
            (Some(_), None, None)
                if lower == "and"
                    && small(next).is_some()
                    && open.is_some_and(|(_, sum, part)| sum > 0 || part >= 100) => {}
            (Some((start, sum, part)), None, None) if lower == "dozen" => open = Some((start, sum, part * 12)),
            _ => found.extend(open.take().map(|(start, sum, part)| (start, sum + part))),
        }
    }
    found.extend(open.map(|(start, sum, part)| (start, sum + part)));
    found.into_iter().map(|(start, value)| (start, Value::Int(value))).collect()
}

/// Whether a number may stand after another as its units: `twenty five`, `two hundred three`.
fn fits_behind(part: i64, value: i64) -> bool {
    (part % 100 == 0 && part >= 100 && value < 100)
        || (part % 10 == 0 && (20..100).contains(&(part % 100)) && (1..10).contains(&value))
}

/// Digits that are spelled one by one: "four three three four".
pub(super) fn spelled_digits(text: &str) -> Option<String> {
    let mut digits = String::new();
    for piece in pieces(text) {
        let Piece::Word(word) = piece else { continue };
        let digit = match word.to_lowercase().as_str() {
            "oh" | "o" => Some(0),
            _ => small(word).filter(|value| *value < 10),
        };
        match digit {
            Some(digit) => digits.push_str(&digit.to_string()),
            None if digits.len() >= 3 => break,
            None => digits.clear(),
        }
    }
    (digits.len() >= 3).then_some(digits)
}

/// A count in words, as in `three times`.
pub(super) fn count(text: &str) -> Option<i64> {
    match text.trim().to_lowercase().as_str() {
        "twice" => Some(2),
        "once" => Some(1),
        "thrice" => Some(3),
        text => match numbers(text).as_slice() {
            [Value::Int(count)] => Some(*count),
            _ => None,
        },
    }
}
