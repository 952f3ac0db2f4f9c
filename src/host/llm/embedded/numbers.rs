//! Numbers in what people write, in digits and in words.

use playhouse_lang::expr::{number_word, read_number};
use playhouse_lang::value::Value;

use crate::patterns::{Thing, places};

use super::english::find_any;

/// All numbers of a text, in order; each value once.
pub(super) fn numbers(text: &str) -> Vec<Value> {
    // `two and a half`, `half a million`, `a dozen`: better none than a wrong one.
    if find_any(text, "half|quarter|dozen").is_some() {
        return Vec::new();
    }
    let mut values: Vec<Value> = Vec::new();
    for place in places(text, Thing::Number) {
        let written = &text[place];
        let is_in_digits = written.contains(|c: char| c.is_ascii_digit());
        let value = if is_in_digits { read_digits(written) } else { read_words(written).map(Value::Int) };
        values.extend(value.filter(|value| !values.contains(value)));
    }
    values
}

/// `1,000.5`, `1.000,5`, `2,5`.
fn read_digits(text: &str) -> Option<Value> {
    let text = text.replace('−', "-");
    let n_marks = text.matches(['.', ',']).count();
    let plain = match text.rfind(['.', ',']) {
        None => text,
        Some(at) => {
            let (behind, mark) = (&text[at + 1..], &text[at..=at]);
            // Three digits after the only comma, or after several marks of one kind, are thousands.
            let is_thousands = behind.len() == 3
                && (mark == "," || n_marks > 1)
                && (n_marks == 1 || text.matches(mark).count() == n_marks);
            let digits: String = text[..at].chars().filter(|c| *c == '-' || c.is_ascii_digit()).collect();
            if is_thousands { format!("{digits}{behind}") } else { format!("{digits}.{behind}") }
        }
    };
    read_number(&plain)
}

/// `twenty-five`, `two hundred and three`. None: words that make no number of English; a part of them would be another
/// one than was meant. No number goes beyond a milliard, so that nothing overflows.
fn read_words(text: &str) -> Option<i64> {
    // What is complete, what is being counted, and the last scale.
    let (mut sum, mut part, mut last) = (0, 0, i64::MAX);
    for (index, word) in text.split([' ', '-']).filter(|word| !word.eq_ignore_ascii_case("and")).enumerate() {
        let value = if word.eq_ignore_ascii_case("million") { 1_000_000 } else { number_word(word)? };
        let counted = if index == 0 { 1 } else { part };
        (sum, part, last) = match value {
            0..100 if index == 0 || fits_after(sum, part, value) => (sum, part + value, last),
            100 if (1..100).contains(&counted) => (sum, counted * 100, last),
            101.. if (1..1_000).contains(&counted) && value < last => (sum + counted * value, 0, value),
            _ => return None,
        };
    }
    Some(sum + part)
}

/// Whether a number may stand after another as its units: `twenty five`, `two hundred three`, `one thousand ten`.
fn fits_after(sum: i64, part: i64, value: i64) -> bool {
    (part == 0 && sum > 0)
        || (part % 100 == 0 && part >= 100)
        || (part % 10 == 0 && (20..100).contains(&(part % 100)) && (1..10).contains(&value))
}
