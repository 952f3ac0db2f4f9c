//! What a model says in the place of a user: asked, read, and held against what the person can know.

use std::sync::OnceLock;
use std::time::Duration;

use playhouse_lang::files::user_file::Person;
use playhouse_vm::protocol::Usage;
use regex::Regex;
use serde::Deserialize;

use crate::judge::prompt::user_messages;
use crate::judge::transcript::Transcript;
use crate::llm::answer::{NoAnswer, ask_twice, last_object};
use crate::llm::{Llm, LlmRequest, Purpose};
use crate::patterns::{Thing, forms};

/// Why a person wants nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::Display)]
pub enum Done {
    /// They have what they wanted.
    #[serde(rename = "goal")]
    #[strum(to_string = "the goal is reached")]
    Goal,
    /// They leave without it.
    #[serde(rename = "gave up")]
    #[strum(to_string = "they gave up")]
    GaveUp,
    /// They were asked what they don't know.
    #[serde(rename = "not in my brief")]
    #[strum(to_string = "what was asked is not in their brief")]
    NotInBrief,
}

/// What a person says next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    /// Their words; empty only where they are done.
    pub(super) say: String,
    /// Whether they are the last ones.
    pub(super) done: Option<Done>,
}

/// As a model answers.
#[derive(Deserialize)]
struct Reply {
    say: String,
    done: Option<String>,
}

/// Asks a model what the person says next. `must_speak`: a question waits for an answer, whatever the person wants.
pub(super) async fn speak(
    llm: &dyn Llm,
    timeout: Duration,
    (person, spoken): (&Person, &Transcript),
    must_speak: bool,
) -> (Result<Spoken, NoAnswer>, Usage) {
    let request = |problem: Option<&str>| {
        let messages = user_messages(person, spoken, problem);
        LlmRequest { purpose: Purpose::User, messages, schema: None, turn: None }
    };
    ask_twice(llm, timeout, request, |text| read(text, must_speak)).await
}

fn read(text: &str, must_speak: bool) -> Result<Spoken, String> {
    let Reply { say, done } = last_object(text)
        .ok_or(r#"it has no object {"say": "…", "done": null or "goal", "gave up", "not in my brief"}"#)?;
    let say = say.trim().to_owned();
    let known = |word: String| {
        Done::deserialize(serde_json::Value::from(word.as_str()))
            .map_err(|_| format!("`done` is null, \"goal\", \"gave up\" or \"not in my brief\", and not {word:?}"))
    };
    let done = done.map(known).transpose()?;
    match (say.is_empty(), done) {
        (true, _) if must_speak => {
            Err("`program asks` waits for an answer: `say` must be \"yes\" or \"no\"".to_owned())
        }
        (true, None) => Err("`say` is empty and `done` is null: say something, or that it is over".to_owned()),
        (true | false, done) => Ok(Spoken { say, done }),
    }
}

/// The first e-mail address, or number of four digits or more, that stands neither in what the person was told to know
/// nor in what was said before.
pub fn invented(say: &str, person: &Person, spoken: &Transcript) -> Option<String> {
    let Person { goal, knows, manner } = person;
    let known = [goal, knows, manner, &spoken.text()].map(String::as_str).join("\n");
    let addresses = known.to_lowercase();
    let mut emails = forms(say, Thing::Email).into_iter().map(|place| &say[place]);
    let is_known = |email: &str| addresses.contains(&email.to_lowercase()) || addresses.contains(&unspelled(email));
    let email = emails.find(|email| !is_known(email));
    let digits = joined_digits(&known);
    let mut numbers = numbers(say).into_iter();
    email.map(str::to_owned).or_else(|| numbers.find(|number| !digits.iter().any(|known| known.contains(number))))
}

/// `ann at example dot org` as ann@example.org.
fn unspelled(email: &str) -> String {
    let word = |word: &str| match word.trim_matches(['(', ')', '[', ']']).to_lowercase() {
        at if at == "at" => "@".to_owned(),
        dot if dot == "dot" => ".".to_owned(),
        part => part,
    };
    email.split_whitespace().map(word).collect()
}

/// The numbers of four digits or more, `1,234` as 1234.
fn numbers(text: &str) -> Vec<String> {
    static NUMBER: OnceLock<Option<Regex>> = OnceLock::new();
    let Some(pattern) = NUMBER.get_or_init(|| Regex::new(r"[0-9]{1,3}(?:[.,][0-9]{3})+\b|[0-9]+").ok()) else {
        return Vec::new();
    };
    let numbers = pattern.find_iter(text).map(|found| digits_of(found.as_str()));
    numbers.filter(|digits| digits.len() >= 4).collect()
}

/// The digits of all numbers, those with a sign between groups (`555-123 4567`) as one.
fn joined_digits(text: &str) -> Vec<String> {
    static GROUPS: OnceLock<Option<Regex>> = OnceLock::new();
    let Some(pattern) = GROUPS.get_or_init(|| Regex::new(r"[0-9](?:[ .,/-]?[0-9])*").ok()) else { return Vec::new() };
    pattern.find_iter(text).map(|found| digits_of(found.as_str())).collect()
}

fn digits_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}
