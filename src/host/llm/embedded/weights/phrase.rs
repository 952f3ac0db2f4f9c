//! Whether a sentence of the model's is better than its template.
//!
//! Two acts are left to the model, greetings and remarks: measured on `tests/cases/embedded/phrases.txt`, it words
//! them more warmly than the templates do. What it made of thanks, apologies, farewells and questions was the
//! template again, or worse ("Goodbye, it is nice to meet you!"); these stay with their templates. A sentence is
//! said only if it loses nothing of what the line wants said and invents nothing.

use super::grammar::GREETINGS;
use crate::host::llm::embedded::slots::{Phrasing, SpeechAct};

/// Sentences that the model was less sure of are not said. Found by trying; most good ones are above -0.7.
const LEAST_CERTAINTY: f32 = -0.9;

/// Of words longer than this, none stands three times in one sentence.
const SHORT_WORD: usize = 3;

/// What may be said that is neither in the line nor in the template: words that state nothing.
const PLEASANTRIES: &[&str] = &[
    "a",
    "always",
    "am",
    "an",
    "and",
    "animals",
    "are",
    "as",
    "at",
    "back",
    "be",
    "beautiful",
    "best",
    "can",
    "charming",
    "choice",
    "city",
    "come",
    "day",
    "delighted",
    "do",
    "enjoy",
    "evening",
    "exciting",
    "famous",
    "fine",
    "for",
    "friendly",
    "from",
    "fun",
    "glad",
    "good",
    "great",
    "happy",
    "have",
    "hello",
    "help",
    "here",
    "hi",
    "hobby",
    "hope",
    "how",
    "i",
    "i'm",
    "idea",
    "in",
    "indeed",
    "interesting",
    "is",
    "it",
    "it's",
    "like",
    "lovely",
    "may",
    "me",
    "meet",
    "morning",
    "much",
    "my",
    "name",
    "nice",
    "of",
    "on",
    "our",
    "place",
    "please",
    "pleased",
    "pleasure",
    "really",
    "see",
    "so",
    "some",
    "spend",
    "such",
    "sure",
    "talk",
    "thank",
    "thanks",
    "that",
    "the",
    "this",
    "time",
    "to",
    "today",
    "town",
    "truly",
    "us",
    "very",
    "visit",
    "was",
    "way",
    "we",
    "weather",
    "weekend",
    "welcome",
    "well",
    "what",
    "will",
    "wish",
    "with",
    "wonderful",
    "would",
    "you",
    "you're",
    "your",
];

/// The openings that a sentence of this act may have. None: the act is left to its template.
pub fn openings<'a>(slot: &Phrasing<'a>) -> Option<Vec<&'a str>> {
    let first = slot.template.split(|letter: char| !letter.is_alphanumeric()).next().filter(|word| !word.is_empty())?;
    let mut openings = vec![first];
    match slot.act {
        SpeechAct::Greet => openings.extend(GREETINGS.iter().filter(|opening| **opening != first)),
        SpeechAct::Remark => {}
        SpeechAct::Farewell | SpeechAct::Thank | SpeechAct::Apologise | SpeechAct::Ask => return None,
    }
    Some(openings)
}

/// Whether the sentence is to be said. `certainty` is the mean logarithm of the probability of its tokens.
pub fn is_better(slot: &Phrasing<'_>, sentence: &str, certainty: f32) -> bool {
    certainty >= LEAST_CERTAINTY && !loses(slot, sentence) && !invents(slot, sentence) && !repeats(sentence)
}

/// Whether something is missing that has to be said: a value, what the template took from the line, or, of a
/// greeting, any word of the template.
fn loses(slot: &Phrasing<'_>, sentence: &str) -> bool {
    let (said, direction) = (words(sentence), words(slot.direction));
    let is_needed = |word: &String| slot.act == SpeechAct::Greet || direction.contains(word);
    slot.must_hold.iter().any(|value| !sentence.contains(value.as_str()))
        || words(slot.template).iter().any(|word| is_needed(word) && !said.contains(word))
}

/// Whether it says something that nobody asked for.
fn invents(slot: &Phrasing<'_>, sentence: &str) -> bool {
    let (direction, template) = (words(slot.direction), words(slot.template));
    let is_known =
        |word: &String| PLEASANTRIES.contains(&word.as_str()) || direction.contains(word) || template.contains(word);
    !words(sentence).iter().all(is_known)
}

/// Whether it goes round in circles.
fn repeats(sentence: &str) -> bool {
    let words = words(sentence);
    let count = |word: &String| words.iter().filter(|other| *other == word).count();
    let is_often = |word: &String| word.chars().count() > SHORT_WORD && count(word) > 2;
    words.windows(2).any(|pair| pair[0] == pair[1]) || words.iter().any(is_often)
}

/// The words, in lower case; an apostrophe or a hyphen inside belongs to its word.
fn words(text: &str) -> Vec<String> {
    let is_inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '\'' | '’' | '-');
    let parts = text.split(|letter| !is_inside(letter)).map(|part| part.trim_matches(['\'', '’', '-']));
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
}
