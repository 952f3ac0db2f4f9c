//! Answers: a value of the kind that is wanted, out of what the user wrote. What is not there is never made up.

use crate::host::classify::patterns::{Polarity, Thing, answer, places};
use crate::lang::program::Type;
use crate::value::Value;

use super::dates;
use super::english::{bare, find_any, is_one_of, strip_any, words};
use super::evasion::{is_nothing_to_tell, why_not};
use super::kinds::Kind;
use super::names;
use super::numbers::{numbers, spelled_digits};
use super::phrases::{Need, Trouble};
use super::wanted::Wanted;

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
pub(super) fn find(wanted: &Wanted, ty: Type, said: &str, is_again: bool) -> Found {
    let said = said.trim();
    if said.is_empty() {
        return Found::Trouble(Trouble::Empty);
    }
    if said.len() > MAX_READ && matches!(wanted.kind, Kind::Text) {
        return fitting(Value::str(said), ty, Trouble::Kind(Need::Words));
    }
    if wanted.kind == Kind::Anything {
        return fitting(Value::str(said), ty, Trouble::Kind(Need::Words));
    }
    if wanted.kind == Kind::Text {
        return text(wanted, ty, said, is_again);
    }
    let unquoted = said[..said.floor_char_boundary(MAX_READ)].replace(['"', '“', '”', '„', '«', '»'], " ");
    let said = unquoted.trim();
    match of_kind(wanted, ty, said) {
        Ok(value) => fitting(value, ty, Trouble::Kind(need(&wanted.kind, ty))),
        Err(trouble) => {
            let trouble = match trouble {
                Trouble::Kind(_) => why_not(said).unwrap_or(trouble),
                Trouble::Empty
                | Trouble::Greeting
                | Trouble::Question
                | Trouble::Refusal
                | Trouble::Nothing
                | Trouble::Several => trouble,
            };
            unfitting(wanted, ty, said, trouble, is_again)
        }
    }
}

/// What becomes of an answer that does not fit.
fn unfitting(wanted: &Wanted, ty: Type, said: &str, trouble: Trouble, is_again: bool) -> Found {
    if trouble == Trouble::Refusal && ty.optional {
        return Found::Without(Value::Null);
    }
    if is_again { second(wanted, ty, said, trouble) } else { Found::Trouble(trouble) }
}

/// A value that an assignment wants out of the user's words; nothing is asked again there.
pub(super) fn assigned(kind: &Kind, ty: Type, said: &str, line: &str) -> Option<Value> {
    let wanted = Wanted {
        phrase: super::wanted::Phrase::Unsaid,
        kind: kind.clone(),
        once_more: false,
        if_unclear: false,
        words: line.to_owned(),
    };
    let said = said.trim();
    let value = of_kind(&wanted, ty, &said[..said.floor_char_boundary(MAX_READ)]).ok()?;
    ty.accepts(&value).then_some(value)
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

fn need(kind: &Kind, ty: Type) -> Need {
    match kind {
        Kind::Name => Need::Name,
        Kind::Place => Need::Place,
        Kind::Choice(_) => Need::Choice,
        Kind::Text | Kind::List | Kind::Anything => Need::Words,
        Kind::Number if ty.accepts(&Value::Float(0.5)) => Need::Number,
        Kind::Number | Kind::WholeNumber => Need::WholeNumber,
        Kind::Digits => Need::Digits,
        Kind::Email => Need::Email,
        Kind::Phone => Need::Phone,
        Kind::Date { full: true } => Need::FullDate,
        Kind::Date { full: false } => Need::Date,
        Kind::YesOrNo => Need::YesOrNo,
    }
}

fn of_kind(wanted: &Wanted, ty: Type, said: &str) -> Result<Value, Trouble> {
    let none = Trouble::Kind(need(&wanted.kind, ty));
    match &wanted.kind {
        Kind::Anything | Kind::Text => Ok(Value::str(said)),
        Kind::Name => named(said, names::name(said), none),
        Kind::Place => named(said, names::place(said), none),
        Kind::Number | Kind::WholeNumber => number(wanted, ty, said),
        Kind::Digits => digits(said).map(Value::from).ok_or(none),
        Kind::Email => email(said).map(Value::from).ok_or(none),
        Kind::Phone => phone(said, &wanted.words).map(Value::from).ok_or(none),
        Kind::Date { full } => dates::date(said, *full).map(Value::from).ok_or(none),
        Kind::YesOrNo => yes_or_no(said).map(Value::Bool).ok_or(none),
        Kind::Choice(options) => choice(said, options).map(Value::from).ok_or(none),
        Kind::List => Ok(list(said)),
    }
}

/// A name or a place. What is nothing but the whole answer may be something else: "bye".
fn named(said: &str, found: Option<String>, none: Trouble) -> Result<Value, Trouble> {
    let name = found.ok_or(none)?;
    match why_not(said).filter(|_| name == bare(said)) {
        Some(trouble) => Err(trouble),
        None => Ok(Value::from(name)),
    }
}

/// The second answer that does not fit: text is taken as it is, where the type allows it.
fn second(wanted: &Wanted, ty: Type, said: &str, trouble: Trouble) -> Found {
    let stand_in = match (&wanted.kind, trouble) {
        (Kind::Name, Trouble::Refusal) => Some("somebody"),
        (Kind::Place, Trouble::Refusal) => Some("somewhere"),
        (Kind::Text | Kind::Choice(_), Trouble::Refusal) => Some("something"),
        (Kind::Name, Trouble::Kind(_)) if (1..=2).contains(&words(said).len()) => Some(bare(said)),
        (Kind::Place, Trouble::Kind(_)) if (1..=4).contains(&words(said).len()) && !speaks_of_self(said) => {
            Some(bare(said))
        }
        (Kind::Date { .. }, Trouble::Kind(_)) if dates::speaks_of_time(said) => Some(bare(said)),
        (Kind::Choice(_) | Kind::Text, Trouble::Kind(_)) => Some(bare(said)),
        (Kind::Digits, Trouble::Kind(_)) if words(said).len() == 1 => Some(bare(said)),
        _ => None,
    };
    match stand_in.map(Value::str).filter(|value| ty.accepts(value)) {
        Some(value) if trouble == Trouble::Refusal => Found::Without(value),
        Some(value) => Found::Value(value),
        None => Found::Trouble(trouble),
    }
}

/// Whether a text is about the one who speaks, and so no name of anything.
fn speaks_of_self(said: &str) -> bool {
    strip_any(said, &["i", "i'm", "we", "we're", "my", "ich", "je"]).is_some()
}

/// Plain text: without what people say around it.
fn text(wanted: &Wanted, ty: Type, said: &str, is_again: bool) -> Found {
    let is_short = words(said).len() <= 8;
    let trouble = why_not(said).filter(|trouble| is_short || *trouble == Trouble::Question);
    let trouble = trouble.or((!said.chars().any(char::is_alphanumeric)).then_some(Trouble::Kind(Need::Words)));
    if let Some(trouble) = trouble.filter(|_| !is_nothing_to_tell(said)) {
        let again = is_again && !matches!(trouble, Trouble::Greeting | Trouble::Nothing);
        // A long question may be the answer after all.
        let is_long = words(said).len() > 3;
        let trouble =
            if again && is_long && trouble == Trouble::Question { Trouble::Kind(Need::Words) } else { trouble };
        return unfitting(wanted, ty, said, trouble, again);
    }
    let rest = names::leading(said);
    let rest = strip_any(rest, &["it's", "it is", "that would be", "that is", "that's", "i would say", "i'd say"])
        .unwrap_or(rest);
    let likes = find_any(&wanted.words, &["like", "likes", "love", "enjoy", "prefer"]).is_some();
    let rest = if likes { without_liking(rest) } else { rest };
    let value = Value::str(bare(rest));
    fitting(value, ty, Trouble::Kind(Need::Words))
}

/// `I like to walk` is `walk`, where the question was what somebody likes.
fn without_liking(text: &str) -> &str {
    let Some(rest) = strip_any(text, &["i", "we", "i'd"]) else { return text };
    let rest = strip_any(rest, &["really", "usually", "mostly", "often", "would"]).unwrap_or(rest);
    match strip_any(rest, &["like to", "love to", "like", "love", "enjoy", "prefer to", "prefer"]) {
        Some(rest) if !bare(rest).is_empty() => rest,
        _ => text,
    }
}

fn number(wanted: &Wanted, ty: Type, said: &str) -> Result<Value, Trouble> {
    let none = Trouble::Kind(need(&wanted.kind, ty));
    let found = numbers(said);
    match found.as_slice() {
        [Value::Float(_)] if wanted.kind == Kind::WholeNumber && !ty.accepts(&Value::Float(0.5)) => Err(none),
        [only] => Ok(only.clone()),
        [] if is_alone(said) && counts_people(&wanted.words) => Ok(Value::Int(1)),
        [] => Err(none),
        _ => Err(Trouble::Several),
    }
}

fn is_alone(said: &str) -> bool {
    find_any(said, &["just me", "only me", "just myself", "only myself", "alone", "by myself", "nobody else"]).is_some()
}

fn counts_people(line: &str) -> bool {
    find_any(line, &["people", "persons", "guests", "party", "party size", "travellers", "visitors"]).is_some()
}

/// Something with digits in it: "It's #4334, I think" is `4334`.
fn digits(said: &str) -> Option<String> {
    let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    let tokens: Vec<&str> = said
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '?' | '!'))
        .map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|token| !token.is_empty())
        .collect();
    // Groups of digits with nothing but spaces between them are one number.
    let mut joined: Vec<String> = Vec::new();
    let is_group = |token: &str| token.bytes().all(|byte| byte.is_ascii_digit());
    for (index, token) in tokens.iter().enumerate() {
        let goes_on = index > 0
            && is_group(token)
            && is_group(tokens[index - 1])
            && stand_together(said, tokens[index - 1], token);
        match joined.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(token),
            None => joined.push((*token).to_owned()),
        }
    }
    let tokens: Vec<&str> = joined.iter().map(String::as_str).collect();
    let candidates: Vec<(usize, &str)> =
        tokens.iter().enumerate().filter(|(_, token)| has_digit(token)).map(|(index, token)| (index, *token)).collect();
    let leads = |index: usize| {
        let before = index.checked_sub(1).and_then(|index| tokens.get(index));
        before.is_some_and(|word| {
            is_one_of(word, &["number", "no", "nr", "order", "id", "code", "is", "reference", "it's"])
        })
    };
    let led = candidates.iter().rev().find(|(index, token)| leads(*index) && token.len() > 2);
    let longest = || candidates.iter().rev().max_by_key(|(_, token)| token.bytes().filter(u8::is_ascii_digit).count());
    match led.or_else(longest) {
        Some((_, token)) => Some((*token).to_owned()),
        None => spelled_digits(said),
    }
}

/// Whether two tokens of a text stand side by side, spaces between them.
fn stand_together(said: &str, first: &str, second: &str) -> bool {
    said.match_indices(first).any(|(at, _)| {
        let rest = &said[at + first.len()..];
        rest.starts_with(' ') && rest.trim_start().starts_with(second)
    })
}

fn email(said: &str) -> Option<String> {
    let place = places(said, Thing::Email).into_iter().next()?;
    let written = &said[place];
    if written.contains('@') {
        return Some(written.to_owned());
    }
    // `ann at example dot org`.
    let parts = written.split_whitespace().map(|word| match word.trim_matches(['(', ')', '[', ']']) {
        "at" | "At" | "AT" => "@",
        "dot" | "Dot" | "DOT" => ".",
        other => other,
    });
    Some(parts.collect())
}

fn phone(said: &str, line: &str) -> Option<String> {
    let place = places(said, Thing::Phone).into_iter().next()?;
    let written = said[place].trim();
    let is_spelled = !written.bytes().any(|byte| byte.is_ascii_digit());
    if is_spelled {
        return spelled_digits(written);
    }
    if find_any(line, &["digits only", "only digits", "only the digits", "without spaces"]).is_some() {
        return Some(written.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect());
    }
    Some(written.to_owned())
}

/// A yes or a no, in words, in a few languages, or as a sign.
pub(super) fn yes_or_no(said: &str) -> Option<bool> {
    const YES: [&str; 15] =
        ["y", "true", "ja", "oui", "si", "sí", "jo", "da", "yes", "👍", "✅", "jawohl", "klar", "natürlich", "claro"];
    const NO: [&str; 10] = ["n", "false", "nein", "non", "nei", "nej", "no", "👎", "❌", "niet"];
    let first = bare(said).split([',', '.', '!', ' ']).next().unwrap_or("").to_lowercase();
    let whole = bare(said).to_lowercase();
    if find_any(said, &["i think so", "i guess so", "i believe so", "i suppose so", "i hope so"]).is_some() {
        return Some(find_any(said, &["don't", "not"]).is_none());
    }
    if let Some(polarity) = answer(said) {
        return Some(polarity == Polarity::Yes);
    }
    let is_in = |list: &[&str]| {
        list.contains(&whole.as_str())
            || (list.contains(&first.as_str())
                && first.len() > 1
                && !["no", "yes"].contains(&first.as_str())
                && words(said).len() <= 4)
    };
    match (is_in(&YES), is_in(&NO)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

fn choice(said: &str, options: &[String]) -> Option<String> {
    let lower: Vec<String> = options.iter().map(|option| option.to_lowercase()).collect();
    let named: Vec<usize> = (0..options.len()).filter(|&index| find_any(said, &[&lower[index]]).is_some()).collect();
    match named.as_slice() {
        [only] => Some(options[*only].clone()),
        [] => {
            const PLACES: [(&str, usize); 6] =
                [("the first", 0), ("first", 0), ("the second", 1), ("second", 1), ("the third", 2), ("third", 2)];
            let place = PLACES.iter().find(|(word, _)| find_any(said, &[word]).is_some())?;
            options.get(place.1).cloned()
        }
        _ => None,
    }
}

fn list(said: &str) -> Value {
    let parts = said.split([',', ';', '\n']).flat_map(|part| part.split(" and "));
    let items =
        parts.map(|part| strip_any(part.trim(), &["and"]).unwrap_or(part)).map(bare).filter(|part| !part.is_empty());
    Value::list(items.map(Value::str).collect())
}
