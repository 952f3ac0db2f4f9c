//! Whether a sentence of the model's is better than its template.
//!
//! One act is left to the model, greetings: measured on `tests/cases/embedded/phrases.txt`, it words them more warmly
//! than the templates do. The others stay with their templates. What it made of thanks, apologies and questions was
//! the template again, of farewells "Goodbye, it is nice to meet you!"; and remarks can't be told apart by any simple
//! check when they are right ("Bergen is a beautiful city!") and when they are not ("Ada is a beautiful city!").
//!
//! A greeting is said only if it holds every word of its template and adds nothing but words that state nothing.

use super::grammar::GREETINGS;
use crate::host::llm::embedded::slots::{Phrasing, SpeechAct};

/// Sentences that the model was less sure of are not said. Found by trying; most good ones are above -0.7.
const LEAST_CERTAINTY: f32 = -0.9;

/// Of words longer than this, none stands three times in one sentence.
const SHORT_WORD: usize = 3;

/// What may be said that is neither in the line nor in the template: words that state nothing.
const PLEASANTRIES: &[&str] = &[
    "a",
    "afternoon",
    "again",
    "all",
    "always",
    "am",
    "an",
    "and",
    "are",
    "at",
    "back",
    "be",
    "can",
    "day",
    "delighted",
    "do",
    "enjoy",
    "evening",
    "fine",
    "for",
    "friendly",
    "from",
    "glad",
    "good",
    "great",
    "happy",
    "have",
    "hello",
    "help",
    "here",
    "hi",
    "hope",
    "how",
    "i",
    "i'm",
    "in",
    "is",
    "it",
    "it's",
    "lovely",
    "may",
    "me",
    "meet",
    "morning",
    "much",
    "my",
    "nice",
    "of",
    "on",
    "our",
    "please",
    "pleased",
    "pleasure",
    "really",
    "see",
    "so",
    "such",
    "talk",
    "thank",
    "thanks",
    "that",
    "the",
    "this",
    "time",
    "to",
    "today",
    "us",
    "very",
    "visit",
    "was",
    "we",
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
    match slot.act {
        SpeechAct::Greet => {}
        SpeechAct::Farewell | SpeechAct::Thank | SpeechAct::Apologise | SpeechAct::Remark | SpeechAct::Ask => {
            return None;
        }
    }
    let first = slot.template.split(|letter: char| !letter.is_alphanumeric()).next().filter(|word| !word.is_empty())?;
    Some(std::iter::once(first).chain(GREETINGS.iter().copied().filter(|opening| *opening != first)).collect())
}

/// Whether the sentence is to be said. `certainty` is the mean logarithm of the probability of its tokens.
pub fn is_better(slot: &Phrasing<'_>, sentence: &str, certainty: f32) -> bool {
    certainty >= LEAST_CERTAINTY && !loses(slot, sentence) && !invents(slot, sentence) && !repeats(sentence)
}

/// Whether a value or a word of the template is missing.
fn loses(slot: &Phrasing<'_>, sentence: &str) -> bool {
    let said = words(sentence);
    slot.must_hold.iter().any(|value| !sentence.contains(value.as_str()))
        || !words(slot.template).iter().all(|word| said.contains(word))
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
