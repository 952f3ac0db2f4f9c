//! Answers: a value of the kind that is wanted, out of what the user wrote. What is not there is never made up.

use playhouse_lang::program::Type;
use playhouse_lang::value::Value;

use crate::patterns::{Polarity, Thing, answer, places};

use super::dates;
use super::english::{bare, strip_any, words};
use super::evasion::why_not;
use super::names;
use super::numbers::numbers;
use super::phrases::Trouble;
use super::wanted::Kind;

/// So much of what the user wrote is looked at for patterns, in bytes; nobody answers a question with more.
pub(super) const MAX_READ: usize = 4_000;

/// What came of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// The value.
    Value(Value),
    /// The user does not want to answer; a word that stands for what they do not say.
    Without(Value),
    /// Nothing that fits.
    Trouble(Trouble),
}

/// Looks for the value in the user's words. `is_again`: the user has been asked again already, so that text is taken
/// as it is.
pub(super) fn find(kind: &Kind, ty: Type, said: &str, is_again: bool) -> Found {
    let said = said.trim();
    if said.is_empty() {
        return Found::Trouble(Trouble::Empty);
    }
    if *kind == Kind::Anything || (*kind == Kind::Text && said.len() > MAX_READ) {
        return fitting(Value::str(said), ty, need(&Kind::Text, ty));
    }
    let read = if *kind == Kind::Text { said.to_owned() } else { within(said) };
    let trouble = match of_kind(kind, ty, read.trim()) {
        Ok(value) => return fitting(value, ty, need(kind, ty)),
        Err(trouble @ Trouble::Kind(_)) => why_not(said).unwrap_or(trouble),
        Err(trouble) => trouble,
    };
    if trouble == Trouble::Refusal && ty.optional {
        return Found::Without(Value::Null);
    }
    if is_again { second(kind, ty, said, trouble) } else { Found::Trouble(trouble) }
}

/// A value that an assignment wants out of the user's words; nothing is asked again there.
pub(super) fn assigned(kind: &Kind, ty: Type, said: &str) -> Option<Value> {
    of_kind(kind, ty, within(said).trim()).ok().filter(|value| ty.accepts(value))
}

/// What patterns look at: not too much, and without quotes.
fn within(said: &str) -> String {
    said[..said.floor_char_boundary(MAX_READ)].replace(['"', '“', '”', '„', '«', '»'], " ")
}

fn fitting(value: Value, ty: Type, trouble: Trouble) -> Found {
    // A name that somebody gave a number: text is what the type wants.
    let value = match (&value, ty.accepts(&value)) {
        (_, true) => return Found::Value(value),
        (Value::Int(_) | Value::Float(_), false) => Value::str(value.to_text()),
        (Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_), false) => value,
    };
    if ty.accepts(&value) { Found::Value(value) } else { Found::Trouble(trouble) }
}

/// What is said of an answer of another kind.
fn need(kind: &Kind, ty: Type) -> Trouble {
    Trouble::Kind(match kind {
        Kind::Name => "I am looking for a name here, nothing else.",
        Kind::Choice(_) => "I can only take one of these.",
        Kind::Text | Kind::List | Kind::Anything => "I need an answer in words here.",
        Kind::Number if ty.accepts(&Value::Float(0.5)) => "I need a number here, such as 3 or 2.5.",
        Kind::Number | Kind::WholeNumber => "I need a whole number here, such as 3.",
        Kind::Digits => "I need something with digits in it here.",
        Kind::Email => "I need an e-mail address here, such as ann@example.org.",
        Kind::Phone => "I need a phone number here.",
        Kind::Date { full: true } => "I need the whole date here, such as 2026-05-03.",
        Kind::Date { full: false } => "I need a day here, such as 3 May.",
        Kind::YesOrNo => "I need a yes or a no here.",
    })
}

fn of_kind(kind: &Kind, ty: Type, said: &str) -> Result<Value, Trouble> {
    let none = need(kind, ty);
    match kind {
        Kind::Anything => Ok(Value::str(said)),
        Kind::Text => text(said, none),
        Kind::Name => match (names::name(said), why_not(said)) {
            // What is nothing but the whole answer may be something else: "bye".
            (Some(name), Some(trouble)) if name == bare(said) => Err(trouble),
            (name, _) => name.map(Value::from).ok_or(none),
        },
        Kind::Number | Kind::WholeNumber => match numbers(said).as_slice() {
            [Value::Float(_)] if *kind == Kind::WholeNumber => Err(none),
            [only] => Ok(only.clone()),
            [] => Err(none),
            _ => Err(Trouble::Several),
        },
        Kind::Digits => digits(said).map(Value::from).ok_or(none),
        Kind::Email => email(said).map(Value::from).ok_or(none),
        Kind::Phone => phone(said).map(Value::from).ok_or(none),
        Kind::Date { full } => dates::date(said, *full).map(Value::from).ok_or(none),
        Kind::YesOrNo => yes_or_no(said).map(Value::Bool).ok_or(none),
        Kind::Choice(options) => choice(said, options).map(Value::from).ok_or(none),
        Kind::List => Ok(list(said)),
    }
}

/// Plain text: without what people say around it.
fn text(said: &str, none: Trouble) -> Result<Value, Trouble> {
    const LEADS: &str = "it's|it is|that is|that's|that would be|i live in|i'm from|i am from|from|i like to|i like|\
        i love to|i love|i enjoy|i would say";
    let is_short = words(said).len() <= 8;
    match why_not(said).filter(|trouble| is_short || *trouble == Trouble::Question) {
        Some(trouble) => Err(trouble),
        None if !said.chars().any(char::is_alphanumeric) => Err(none),
        None => {
            let rest = names::leading(said);
            let taken = bare(strip_any(rest, LEADS).unwrap_or(rest));
            Ok(Value::str(if taken.is_empty() { bare(rest) } else { taken }))
        }
    }
}

/// The second answer that does not fit: text is taken as it is, where the type allows it.
fn second(kind: &Kind, ty: Type, said: &str, trouble: Trouble) -> Found {
    let n_words = words(said).len();
    let stand_in = match (kind, trouble) {
        (_, Trouble::Greeting | Trouble::Nothing) => None,
        (Kind::Name, Trouble::Refusal) => Some("somebody"),
        (Kind::Text | Kind::Choice(_), Trouble::Refusal) => Some("something"),
        (Kind::Name, Trouble::Kind(_)) if (1..=2).contains(&n_words) => Some(bare(said)),
        // A long question may be the answer after all.
        (Kind::Text, Trouble::Question) if n_words > 3 => Some(bare(said)),
        (Kind::Choice(_) | Kind::Text, Trouble::Kind(_)) => Some(bare(said)),
        (Kind::Digits, Trouble::Kind(_)) if n_words == 1 => Some(bare(said)),
        _ => None,
    };
    match stand_in.map(Value::str).filter(|value| ty.accepts(value)) {
        Some(value) if trouble == Trouble::Refusal => Found::Without(value),
        Some(value) => Found::Value(value),
        None => Found::Trouble(trouble),
    }
}

/// Something with digits in it: "It's #4334, I think" is `4334`. Groups with nothing but blanks between them are one.
fn digits(said: &str) -> Option<String> {
    let is_cut = |c: char| matches!(c, ',' | ';' | '(' | ')' | '?' | '!');
    let mut found: Vec<String> = Vec::new();
    for part in said.split(is_cut) {
        let mut goes_on = false;
        for token in part.split_whitespace() {
            let token = token.trim_matches(|c: char| !c.is_alphanumeric());
            let is_group = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
            match found.last_mut().filter(|_| goes_on && is_group) {
                Some(last) => last.push_str(token),
                None if token.bytes().any(|byte| byte.is_ascii_digit()) => found.push(token.to_owned()),
                None => {}
            }
            goes_on = is_group;
        }
    }
    // Of several the longest: "two teas, the number is 4334".
    let n_digits = |token: &String| token.bytes().filter(u8::is_ascii_digit).count();
    found.into_iter().rev().max_by_key(n_digits)
}

fn email(said: &str) -> Option<String> {
    let written = &said[places(said, Thing::Email).into_iter().next()?];
    // One that is spelled is left to a person who reads it.
    written.contains('@').then(|| written.to_owned())
}

fn phone(said: &str) -> Option<String> {
    let written = said[places(said, Thing::Phone).into_iter().next()?].trim();
    written.bytes().any(|byte| byte.is_ascii_digit()).then(|| written.to_owned())
}

/// A yes or a no.
pub(super) fn yes_or_no(said: &str) -> Option<bool> {
    match bare(said).to_lowercase().as_str() {
        "y" | "true" | "👍" => Some(true),
        "n" | "false" | "👎" => Some(false),
        _ => answer(said).map(|polarity| polarity == Polarity::Yes),
    }
}

fn choice(said: &str, options: &[String]) -> Option<String> {
    let mut named = options.iter().filter(|option| super::english::find(said, &option.to_lowercase()).is_some());
    named.next().filter(|_| named.next().is_none()).cloned()
}

fn list(said: &str) -> Value {
    let parts = said.split([',', ';', '\n']).flat_map(|part| part.split(" and "));
    let items =
        parts.map(|part| strip_any(part.trim(), "and").unwrap_or(part)).map(bare).filter(|part| !part.is_empty());
    Value::list(items.map(Value::str).collect())
}
