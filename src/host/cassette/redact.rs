//! What is not to be in a cassette: `[record] redact` of `playhouse.toml` (spec `evaluate.md`, section 2). Each value
//! gets one stand-in of its shape, the same wherever it stands, so that what is equal stays equal.

use std::cmp::Reverse;
use std::ops::Range;

use playhouse_lang::files::case_file::item::regex_fault;
use playhouse_lang::spelling::nearest;
use playhouse_lang::value::{Map, Value};
use regex::Regex;

use crate::patterns::{Thing, forms};
use crate::secrets;

/// The kinds of values that have a name.
const KINDS: [(&str, Thing); 3] = [("email", Thing::Email), ("number", Thing::Number), ("phone", Thing::Phone)];

/// Numbers with fewer digits tell of nobody, and stand in every other line.
const MIN_DIGITS: usize = 4;

/// Values of one rule that can have stand-ins.
const MAX_VALUES: u32 = 100_000;

/// The digits as people spell them.
const SPELLED: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/// What is redacted.
#[derive(Clone, Debug)]
pub struct Rule {
    written: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Kind(Thing),
    Pattern(Regex),
}

impl Rule {
    /// Reads `email`, or `/REGEX/`.
    ///
    /// # Errors
    /// It is neither, in words that say what would be.
    pub fn read(written: &str) -> Result<Rule, String> {
        let known = || KINDS.iter().map(|(name, _)| *name);
        let what = if let Some(pattern) = written.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            What::Pattern(Regex::new(pattern).map_err(|error| regex_fault(written, &error).0)?)
        } else {
            let kind = KINDS.iter().find(|(name, _)| *name == written);
            What::Kind(kind.map(|(_, thing)| *thing).ok_or_else(|| match nearest(written, known()) {
                Some(near) => format!("there is no pattern `{written}`; did you mean `{near}`?"),
                None => {
                    let known: Vec<&str> = known().collect();
                    format!("there is no pattern `{written}`; write {}, or `/REGEX/`", known.join(", "))
                }
            })?)
        };
        Ok(Rule { written: written.to_owned(), what })
    }

    /// Where its values stand in a text.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        match &self.what {
            What::Pattern(pattern) => {
                pattern.find_iter(text).map(|found| found.range()).filter(|found| !found.is_empty()).collect()
            }
            What::Kind(Thing::Number) => {
                let mut found = forms(text, Thing::Number);
                found.retain(|found| n_digits(&text[found.clone()]) >= MIN_DIGITS);
                found
            }
            What::Kind(thing) => forms(text, *thing),
        }
    }

    /// The `n`th stand-in of the shape of `value`; none: the shape has not so many.
    fn stand_in(&self, value: &str, n: u32) -> Option<String> {
        match &self.what {
            What::Kind(Thing::Email) if value.contains('@') => Some(format!("p{n}@example.org")),
            What::Kind(Thing::Email) => Some(format!("p{n} at example dot org")),
            What::Kind(Thing::Phone) if n_digits(value) == 0 => spelled(value, n),
            What::Kind(Thing::Phone | Thing::Number | Thing::Date) | What::Pattern(_) => {
                // A number that JSON writes without quotes begins with no 0, and stays one.
                let firsts = if is_bare_number(value) { ['1', '0'] } else { ['0', '1'] };
                let is_whole = |shaped: &String| self.places(shaped).first() == Some(&(0..shaped.len()));
                firsts.into_iter().filter_map(|first| shaped(value, n, first)).find(is_whole)
            }
        }
    }
}

fn n_digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

fn is_bare_number(text: &str) -> bool {
    Value::from_json(text).is_ok_and(|value| matches!(value, Value::Int(_) | Value::Float(_)))
}

/// The number `n` in the shape of `value`: its digits, the first of them `first`; of a value without digits its letters.
fn shaped(value: &str, n: u32, first: char) -> Option<String> {
    let has_digits = n_digits(value) > 0;
    let is_place = |c: char| if has_digits { c.is_ascii_digit() } else { c.is_alphabetic() };
    let base = if has_digits { 10 } else { 26 };
    let mut left = n;
    let mut shape: Vec<char> = value.chars().collect();
    // From the end, where the last digit stands.
    for place in shape.iter_mut().rev().filter(|c| is_place(**c)) {
        let digit = u8::try_from(left % base).unwrap_or(0);
        left /= base;
        *place = match (has_digits, place.is_uppercase()) {
            (true, _) => char::from(b'0' + digit),
            (false, true) => char::from(b'A' + digit),
            (false, false) => char::from(b'a' + digit),
        };
    }
    if let Some(leading) = shape.iter_mut().find(|c| is_place(**c)).filter(|leading| **leading == '0') {
        *leading = first;
    }
    // One without places has no stand-in, and one that is too short not so many.
    (left == 0 && value.chars().any(is_place)).then(|| shape.into_iter().collect())
}

/// The number `n` as so many spelled digits as `value` has words.
fn spelled(value: &str, n: u32) -> Option<String> {
    let n_words = value.split_whitespace().count();
    let digits = format!("{n:0n_words$}");
    let words = digits.bytes().map(|digit| SPELLED[usize::from(digit - b'0')]);
    (digits.len() == n_words).then(|| words.collect::<Vec<_>>().join(" "))
}

/// Values and what stands in their place.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// No value twice, and no stand-in.
    pairs: Vec<(String, String)>,
    /// Values that stand in public, and so stay.
    public: Vec<String>,
}

/// Where values are looked for.
pub struct Texts<'a> {
    /// What people and tools have said: their values are redacted.
    pub told: Vec<&'a str>,
    /// The results of tools, likewise.
    pub results: Vec<&'a Value>,
    /// What the program says of itself: what stands there is public, and stays.
    pub public: &'a str,
    /// What is a stand-in already.
    pub stand_ins: &'a [std::sync::Arc<str>],
}

impl Redaction {
    /// Finds what the rules mean, and gives each value its stand-in.
    ///
    /// # Errors
    /// There are too many values of one shape, or no stand-in that a pattern matches.
    pub fn of(rules: &[Rule], texts: &Texts<'_>) -> Result<Redaction, String> {
        let mut redaction = Redaction::default();
        for rule in rules {
            let mut values: Vec<String> = Vec::new();
            for told in &texts.told {
                told.lines().for_each(|line| find_in_line(rule, line, &mut values));
            }
            texts.results.iter().for_each(|result| find_in(rule, result, &mut values));
            for value in values {
                redaction.add(rule, value, texts)?;
            }
        }
        Ok(redaction)
    }

    fn add(&mut self, rule: &Rule, value: String, texts: &Texts<'_>) -> Result<(), String> {
        let is_stand_in = texts.stand_ins.iter().any(|stand_in| **stand_in == *value);
        if is_stand_in || self.public.contains(&value) || self.pairs.iter().any(|(known, _)| *known == value) {
            return Ok(());
        }
        if texts.public.contains(&value) {
            self.public.push(value);
            return Ok(());
        }
        // Texts are long: they are looked through last.
        let is_free = |stand_in: &String| {
            *stand_in != value
                && !texts.stand_ins.iter().any(|known| **known == **stand_in)
                && !self.pairs.iter().any(|(_, known)| known == stand_in)
                && !texts.told.iter().any(|told| told.contains(stand_in))
                && !texts.results.iter().any(|result| result.to_json().contains(stand_in))
        };
        let stand_in = (1..MAX_VALUES).map_while(|n| rule.stand_in(&value, n)).find(is_free).ok_or_else(|| {
            format!(
                "`redact` finds no stand-in for a value of `{}` that has its shape and is not used yet; write a \
                 pattern that leaves more room",
                rule.written
            )
        })?;
        self.pairs.push((value, stand_in));
        Ok(())
    }

    /// Whether nothing is redacted.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// How many values stay, as they stand in the program's own text.
    pub fn n_public(&self) -> usize {
        self.public.len()
    }

    /// What stands in the place of something.
    pub fn stand_ins(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(_, stand_in)| stand_in.as_str())
    }

    /// The text with stand-ins, also where a value stands inside a JSON string.
    pub fn apply(&self, text: &str) -> String {
        let forms = self.pairs.iter().flat_map(|(value, stand_in)| {
            secrets::forms_of(value).into_iter().zip(secrets::forms_of(stand_in)).collect::<Vec<_>>()
        });
        let mut found: Vec<(Range<usize>, String)> = Vec::new();
        for (value, stand_in) in forms {
            let places = text.match_indices(&value).map(|(start, _)| start..start + value.len());
            found.extend(places.map(|place| (place, stand_in.clone())));
        }
        // Of values that begin together the longest; what is inside of another one goes with it.
        found.sort_by_key(|(place, _)| (place.start, Reverse(place.end)));
        let (mut redacted, mut end) = (String::with_capacity(text.len()), 0);
        for (place, stand_in) in found {
            if place.start >= end {
                redacted.push_str(&text[end..place.start]);
                redacted.push_str(&stand_in);
                end = place.end;
            }
        }
        redacted.push_str(&text[end..]);
        redacted
    }

    /// The value with stand-ins: in texts, keys and numbers, which stay numbers.
    pub fn apply_value(&self, value: &Value) -> Value {
        match value {
            Value::Str(text) => Value::from(self.apply(text)),
            Value::Int(_) | Value::Float(_) => {
                let redacted = self.apply(&value.to_json());
                Value::from_json(&redacted).unwrap_or_else(|_| Value::from(redacted))
            }
            Value::List(items) => Value::list(items.iter().map(|item| self.apply_value(item)).collect()),
            Value::Map(members) => Value::map(self.apply_map(members)),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// The members with stand-ins.
    pub fn apply_map(&self, members: &Map) -> Map {
        members.iter().map(|(name, value)| (self.apply(name).into(), self.apply_value(value))).collect()
    }
}

/// The values in a line; one of JSON is looked through as that, so that a number is seen as one.
fn find_in_line(rule: &Rule, line: &str, values: &mut Vec<String>) {
    match Value::from_json(line) {
        Ok(value @ (Value::Map(_) | Value::List(_))) => find_in(rule, &value, values),
        Ok(_) | Err(_) => values.extend(rule.places(line).into_iter().map(|found| line[found].to_owned())),
    }
}

fn find_in(rule: &Rule, value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Str(text) => text.lines().for_each(|line| find_in_line(rule, line, values)),
        Value::Int(_) | Value::Float(_) => {
            let text = value.to_json();
            values.extend(rule.places(&text).into_iter().map(|found| text[found].to_owned()));
        }
        Value::List(items) => items.iter().for_each(|item| find_in(rule, item, values)),
        Value::Map(members) => {
            for (name, member) in members.iter() {
                find_in_line(rule, name, values);
                find_in(rule, member, values);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}
