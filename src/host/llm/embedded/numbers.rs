//! Numbers in what people write, in digits and in words.

use std::sync::OnceLock;

use regex::Regex;

use crate::host::classify::patterns::{Thing, places};
use crate::lang::expr::number_word;
use crate::value::Value;

use super::english::{Piece, find_any, pieces};

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

/// The number that a word says; what scales others is none of its own.
fn small(word: &str) -> Option<i64> {
    number_word(word).filter(|number| *number < 100)
}

fn scale(word: &str) -> Option<i64> {
    if word == "million" { Some(1_000_000) } else { number_word(word).filter(|number| *number >= 100) }
}

/// Numbers in words: `twenty-five`, `two hundred and three`. Words that make no number of English are left out as a
/// whole: a part of them would be another number than was meant.
fn in_words(text: &str) -> Vec<(usize, Value)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    for piece in pieces(text) {
        if let Piece::Word(word) = piece {
            let mut inside = at;
            for part in word.split('-') {
                words.push((inside, part.to_lowercase()));
                inside += part.len() + 1;
            }
        } else if !piece.source().trim().is_empty() {
            // A mark ends a number.
            words.push((at, String::new()));
        }
        at += piece.source().len();
    }
    let mut found = Vec::new();
    let mut index = 0;
    while index < words.len() {
        let run = run_of_numbers(&words[index..]);
        let next = words.get(index + run).map_or("", |(_, word)| word.as_str());
        // `the blue one`, `one of them`: only what counts.
        let is_other = run == 1 && words[index].1 == "one" && (index > 0 || next == "of");
        if run > 0 && !is_other {
            let run: Vec<&str> = words[index..index + run].iter().map(|(_, word)| word.as_str()).collect();
            found.extend(read_words(&run).into_iter().flatten().map(|value| (words[index].0, Value::Int(value))));
        }
        index += run.max(1);
    }
    found
}

/// How many words at the beginning may belong to numbers: `a` and `and` only between others.
fn run_of_numbers(words: &[(usize, String)]) -> usize {
    let mut length = 0;
    for (index, (_, word)) in words.iter().enumerate() {
        let next = words.get(index + 1).map_or("", |(_, word)| word.as_str());
        let links = match word.as_str() {
            "a" => length == 0 && scale(next).is_some(),
            "and" => length > 0 && small(next).is_some(),
            // Counted in another way: with it nothing else of the run is a number.
            "dozen" => true,
            word => small(word).is_some() || scale(word).is_some(),
        };
        if !links {
            break;
        }
        length = index + 1;
    }
    length
}

/// The numbers that a run of words says, one after the other; none: they make none. No sum goes beyond a milliard.
fn read_words(run: &[&str]) -> Option<Vec<i64>> {
    let mut values = Vec::new();
    // What is complete, what is being counted, and the last scale.
    let mut open: Option<(i64, i64, i64)> = None;
    for word in run {
        open = match (*word, small(word), scale(word), open) {
            ("a", ..) => Some((0, 1, i64::MAX)),
            ("and", ..) => open.filter(|(sum, part, _)| *sum > 0 || *part >= 100),
            (_, Some(value), _, Some((sum, part, last))) if fits_after(sum, part, value) => {
                Some((sum, part + value, last))
            }
            (_, Some(value), _, before) => {
                values.extend(before.map(|(sum, part, _)| sum + part));
                Some((0, value, i64::MAX))
            }
            (_, None, Some(100), Some((sum, part @ 1..100, last))) => Some((sum, part * 100, last)),
            (_, None, Some(scale), Some((sum, part @ 1..1_000, last))) if (101..last).contains(&scale) => {
                Some((sum + part * scale, 0, scale))
            }
            _ => return None,
        };
        // `five and three` may be two numbers, or a sum.
        open?;
    }
    values.extend(open.map(|(sum, part, _)| sum + part));
    Some(values)
}

/// Whether a number may stand after another as its units: `twenty five`, `two hundred three`, `one thousand ten`.
fn fits_after(sum: i64, part: i64, value: i64) -> bool {
    (part == 0 && sum > 0)
        || (part % 100 == 0 && part >= 100)
        || (part % 10 == 0 && (20..100).contains(&(part % 100)) && (1..10).contains(&value))
}

/// Digits that are spelled one by one: "four three three four".
pub(super) fn spelled_digits(text: &str) -> Option<String> {
    let mut digits = String::new();
    for piece in pieces(text) {
        let Piece::Word(word) = piece else { continue };
        let digit = match word.to_lowercase().as_str() {
            "oh" | "o" => Some(0),
            word => small(word).filter(|value| *value < 10),
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
