//! Words that are no answer: greetings, refusals, questions back.

use crate::host::classify::patterns::answer;

use super::english::{bare, find_any, is_one_of, words};
use super::phrases::Trouble;

/// Why an answer that does not fit does not.
pub(super) fn why_not(said: &str) -> Option<Trouble> {
    if !said.chars().any(char::is_alphanumeric) {
        return said.contains('?').then_some(Trouble::Question);
    }
    if is_greeting(said) {
        return Some(Trouble::Greeting);
    }
    if is_refusal(said) {
        return Some(Trouble::Refusal);
    }
    if is_question(said) {
        return Some(Trouble::Question);
    }
    is_nothing(said).then_some(Trouble::Nothing)
}

fn is_greeting(said: &str) -> bool {
    const GREETINGS: [&str; 20] = [
        "hi",
        "hello",
        "hey",
        "hiya",
        "howdy",
        "hello there",
        "hi there",
        "hey there",
        "good morning",
        "good evening",
        "good afternoon",
        "good day",
        "hallo",
        "guten tag",
        "moin",
        "hola",
        "bonjour",
        "salut",
        "ciao",
        "hei",
    ];
    let said = bare(said).to_lowercase();
    GREETINGS.contains(&said.as_str())
}

/// Whether the user does not know, or does not want to say.
pub(super) fn is_refusal(said: &str) -> bool {
    const REFUSALS: [&str; 49] = [
        "i don't know",
        "i do not know",
        "i dont know",
        "don't know",
        "dunno",
        "no idea",
        "not sure",
        "no clue",
        "rather not",
        "none of your business",
        "prefer not",
        "not telling",
        "won't tell",
        "will not tell",
        "won't say",
        "don't want to",
        "do not want to",
        "i don't have",
        "i do not have",
        "don't have one",
        "haven't got",
        "have none",
        "no comment",
        "never mind",
        "nevermind",
        "i forgot",
        "can't say",
        "can't remember",
        "don't remember",
        "why should i",
        "leave me alone",
        "keine ahnung",
        "weiß nicht",
        "weiss nicht",
        "sag ich nicht",
        "no sé",
        "je ne sais pas",
        "non lo so",
        "vet ikke",
        "i lost it",
        "there is none",
        "can't find it",
        "cannot find it",
        "i refuse",
        "i said no",
        "i told you",
        "not yet",
        "forget it",
        "idk",
    ];
    const WHOLE: [&str; 27] = [
        "no",
        "nope",
        "nah",
        "never",
        "nein",
        "non",
        "nei",
        "skip",
        "pass",
        "next",
        "secret",
        "nobody",
        "none",
        "nothing",
        "bye",
        "goodbye",
        "good bye",
        "stop",
        "quit",
        "cancel",
        "exit",
        "end",
        "no thanks",
        "no thank you",
        "no way",
        "enough",
        "n/a",
    ];
    let whole = bare(said).to_lowercase();
    WHOLE.contains(&whole.as_str()) || (words(said).len() <= 14 && find_any(said, &REFUSALS).is_some())
}

/// An answer that says that there is nothing, which is one where text is wanted.
pub(super) fn is_nothing_to_tell(said: &str) -> bool {
    is_one_of(bare(said), &["nothing", "none", "never", "nobody"])
}

/// Whether the user asks back.
pub(super) fn is_question(said: &str) -> bool {
    const WHOLE: [&str; 14] = [
        "what",
        "huh",
        "pardon",
        "why",
        "sorry",
        "come again",
        "excuse me",
        "how",
        "who",
        "eh",
        "hä",
        "was",
        "wie",
        "quoi",
    ];
    said.trim_end().ends_with('?') || WHOLE.contains(&bare(said).to_lowercase().as_str())
}

/// Words that answer nothing but a question of yes or no.
fn is_nothing(said: &str) -> bool {
    let said = bare(said);
    let is_thanks =
        is_one_of(said, &["thanks", "thank you", "danke", "merci", "gracias", "cool", "great", "nice", "lol", "haha"]);
    is_thanks || (words(said).len() <= 3 && answer(said).is_some())
}
