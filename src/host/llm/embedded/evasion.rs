//! Words that are no answer: greetings, refusals, questions back.

use crate::patterns::answer;

use super::english::{bare, find_any, is_one_of, words};
use super::phrases::Trouble;

/// Why an answer that does not fit does not.
pub(super) fn why_not(said: &str) -> Option<Trouble> {
    const GREETINGS: &str = "hi|hello|hey|hello there|good morning|good evening|good afternoon";
    const REFUSED: &str = "no|nope|never|skip|pass|bye|goodbye|stop|no way";
    const REFUSALS: &str = "don't know|do not know|dunno|no idea|not sure|rather not|none of your business|prefer not|\
        won't tell|won't say|don't want to|do not want to|don't have|do not have|can't say|\
        can't remember|i forgot|i said no";
    const QUESTIONS: &str = "what|why|how|who|huh|pardon|sorry|excuse me";
    let whole = bare(said);
    if said.trim_end().ends_with('?') || is_one_of(whole, QUESTIONS) {
        return Some(Trouble::Question);
    }
    if is_one_of(whole, GREETINGS) {
        return Some(Trouble::Greeting);
    }
    if is_one_of(whole, REFUSED) || (words(said).len() <= 14 && find_any(said, REFUSALS).is_some()) {
        return Some(Trouble::Refusal);
    }
    let is_polite = is_one_of(whole, "thanks|thank you|cool|great|nice");
    (is_polite || (words(said).len() <= 3 && answer(said).is_some())).then_some(Trouble::Nothing)
}

/// Whether somebody takes their leave, or says that they need nothing more.
pub(super) fn is_leaving(said: &str) -> bool {
    const LEAVING: &str = "bye|goodbye|good bye|see you|farewell|good night|that's all|that is all|that's it|i'm done|\
        i am done|nothing else|nothing more|no more questions|stop|quit|exit";
    let is_denied = find_any(said, "not|don't|never").is_some();
    words(said).len() <= 12 && !is_denied && find_any(said, LEAVING).is_some()
}
