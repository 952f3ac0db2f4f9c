//! Names in what people write of themselves.

use super::english::{bare, find_any, is_one_of, strip_any, words};

/// What stands before a name.
const LEADS: &str = "my name is|my name's|the name is|name is|you can call me|please call me|just call me|call me|\
    i am called|i go by|this is";

/// What stands before a name as often as before something else: "I'm fine".
const WEAK_LEADS: &str = "i am|i'm|im|it is|it's";

/// Words that are no name of anybody.
const NO_NAMES: &str = "a|an|the|not|no|yes|ok|okay|sure|fine|good|well|bad|sorry|here|there|just|so|very|too|in|from|\
    at|on|of|to|for|with|what|who|why|how|when|where|that|this|it|your|my|you|i|we|and|but|help";

/// What ends a name in a sentence.
const ENDS: &str = "and|but|from|because|by|please|thanks|so";

/// A name that a text gives: after words that lead to one, or because it is nothing else.
pub(super) fn name(text: &str) -> Option<String> {
    let text = leading(text);
    if let Some(rest) = strip_any(text, LEADS) {
        return whole(cut(rest));
    }
    if let Some(rest) = strip_any(text, WEAK_LEADS) {
        return whole(cut(rest)).filter(|name| name.starts_with(char::is_uppercase) || words(name).len() == 1);
    }
    // In the middle of what is said: `that is a long story, but my name is Ada`.
    let led = find_any(text, "my name is|the name is|i am called");
    led.map_or_else(|| whole(text), |(_, end)| whole(cut(&text[end..])))
}

/// The name at the beginning of what follows a lead.
fn cut(rest: &str) -> &str {
    let rest = rest.trim_start_matches([':', ',', ' ']);
    let clause = rest.split([',', ';', '!', '?', '\n', '(']).next().unwrap_or("");
    let end = find_any(clause, ENDS).map_or(clause.len(), |(start, _)| start);
    // `Dr. Ada Berg`, `J. R.`: a short first part is no sentence.
    let end = clause[..end].find(". ").filter(|at| *at > 3).unwrap_or(end);
    clause[..end].trim_end()
}

/// A text that is a name and nothing else.
fn whole(text: &str) -> Option<String> {
    let text = bare(text);
    let all = words(text);
    let is_plain = |c: char| c.is_alphabetic() || c.is_whitespace() || matches!(c, '-' | '\'' | '’' | '.');
    let most = if all.iter().all(|word| word.starts_with(char::is_uppercase)) { 4 } else { 2 };
    let is_name = (1..=most).contains(&all.len())
        && text.chars().all(is_plain)
        && !all.iter().any(|word| is_one_of(word, NO_NAMES));
    is_name.then(|| text.to_owned())
}

/// Without what people say before they answer.
pub(super) fn leading(text: &str) -> &str {
    const FILLERS: &str = "well|oh|um|hm|so|ok|okay|sure|yes|hi there|hi|hello|hey|good morning|i think|i guess";
    let mut rest = text.trim();
    while let Some(next) = strip_any(rest, FILLERS) {
        let next = next.trim_start_matches([',', '.', '!', '-', '–', '…', ' ', ':']);
        if next.is_empty() {
            break;
        }
        rest = next;
    }
    rest
}
