//! Conditions in words, as far as patterns can tell. None: nobody here can judge it.

use crate::host::classify::patterns::{Thing, gives};
use crate::host::classify::rules::judge_words;
use crate::value::Value;
use crate::vm::protocol::{USER_MESSAGE, Update};

use super::answer::{MAX_READ, yes_or_no};
use super::dates::one_number;
use super::english::{
    Piece, bare, find_any, is_one_of, mentions, pieces, strip, strip_any, strip_user, unquoted, without_end, words,
};
use super::evasion::is_question;
use super::reckon::worth;
use super::scope::Scope;
use super::wording::Values;

/// Who else than `the user` acts.
const SUBJECTS: [&str; 6] = ["they", "he or she", "he", "she", "somebody", "someone"];

/// Whether a condition holds; `said`: the user's last words.
pub(super) fn judge(condition: &str, scope: &Scope, said: Option<&str>) -> Option<bool> {
    let condition = without_end(condition);
    let said = said.map(|said| &said[..said.floor_char_boundary(MAX_READ)]);
    if let Some(truth) = one(condition, scope, said) {
        return Some(truth);
    }
    for (word, decides) in [(" or ", true), (" and ", false)] {
        if let Some((left, right)) = condition.split_once(word) {
            // `the user says goodbye or has no more questions`.
            let begins_itself =
                right.contains('$') || strip_user(right).is_some() || strip_any(right, &SUBJECTS).is_some();
            let right = if begins_itself { right.to_owned() } else { format!("they {right}") };
            let (left, right) = (judge(left, scope, said), judge(&right, scope, said));
            if left == Some(decides) || right == Some(decides) {
                return Some(decides);
            }
            if let (Some(_), Some(_)) = (left, right) {
                return Some(!decides);
            }
        }
    }
    None
}

fn one(condition: &str, scope: &Scope, said: Option<&str>) -> Option<bool> {
    if let Some(Value::Bool(truth)) = scope.eval_text(condition).filter(|_| condition.contains('$')) {
        return Some(truth);
    }
    of_values(condition, scope).or_else(|| said.and_then(|said| of_words(condition, said)))
}

/// Comparisons as people write them, and whether the first is the larger one.
const COMPARISONS: [(&str, &str); 24] = [
    ("bigger than", ">"),
    ("larger than", ">"),
    ("greater than", ">"),
    ("more than", ">"),
    ("higher than", ">"),
    ("older than", ">"),
    ("longer than", ">"),
    ("above", ">"),
    ("over", ">"),
    ("exceeds", ">"),
    ("smaller than", "<"),
    ("less than", "<"),
    ("fewer than", "<"),
    ("lower than", "<"),
    ("younger than", "<"),
    ("shorter than", "<"),
    ("below", "<"),
    ("under", "<"),
    ("at least", ">="),
    ("not less than", ">="),
    ("at most", "<="),
    ("up to", "<="),
    ("equal to", "=="),
    ("the same as", "=="),
];

/// Of a condition about variables.
fn of_values(condition: &str, scope: &Scope) -> Option<bool> {
    let condition = strip(condition, "the").filter(|rest| rest.starts_with('$')).unwrap_or(condition);
    let Some(Piece::Mention(reference, source)) = pieces(condition).into_iter().next() else {
        let rest = strip_any(
            condition,
            &["there is no", "there are no", "you have no", "you do not have a", "you don't have a", "you do not know"],
        )?;
        let reference = mentions(rest).into_iter().next().filter(|_| rest.starts_with('$'))?;
        return Some(scope.told(&reference).is_none());
    };
    let rest = condition[source.len()..].trim_start();
    let rest =
        strip_any(rest, &["is", "are", "was", "looks", "seems", "sounds", "appears", "gets", "becomes", "means"])
            .unwrap_or(rest);
    let rest = strip_any(rest, &["to be", "like", "much", "now", "still", "already"]).unwrap_or(rest);
    let (rest, negated) = match strip_any(rest, &["not", "isn't", "no longer"]) {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let value = scope.value(&reference.name).and_then(|value| value.at(&reference.path).ok());
    if is_one_of(rest, &["known", "given", "there", "set", "clear", "available", "provided", "filled in"]) {
        return Some(scope.told(&reference).is_some() != negated);
    }
    if is_one_of(rest, &["missing", "unknown", "unclear"]) {
        return Some(scope.told(&reference).is_none() != negated);
    }
    if is_one_of(rest, &["yes", "positive", "a yes", "true"]) || is_one_of(rest, &["no", "negative", "a no", "false"]) {
        let wanted = is_one_of(rest, &["yes", "positive", "a yes", "true"]);
        let truth = match value? {
            Value::Bool(truth) => *truth,
            Value::Str(text) => yes_or_no(text)?,
            Value::Null | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => return None,
        };
        return Some((truth == wanted) != negated);
    }
    for (phrase, sign) in COMPARISONS {
        if let Some(bound) = strip(rest, phrase) {
            let bound = worth(bound, scope)?.value(scope)?;
            let text = format!("{reference} {sign} {}", bound.to_json());
            let Some(Value::Bool(truth)) = scope.eval_text(&text) else { return None };
            return Some(truth != negated);
        }
    }
    None
}

/// Words with which people take their leave, or say that they need nothing more.
pub(super) const LEAVING: [&str; 42] = [
    "bye",
    "goodbye",
    "good bye",
    "bye bye",
    "see you",
    "see ya",
    "cya",
    "farewell",
    "good night",
    "that's all",
    "that is all",
    "that's it",
    "that is it",
    "that will be all",
    "that would be all",
    "i'm done",
    "i am done",
    "we're done",
    "we are done",
    "done",
    "i'm finished",
    "finished",
    "nothing else",
    "nothing more",
    "no more questions",
    "no further questions",
    "no other questions",
    "stop",
    "quit",
    "exit",
    "end",
    "enough",
    "i have to go",
    "i must go",
    "i'm leaving",
    "tschüss",
    "auf wiedersehen",
    "adiós",
    "adios",
    "au revoir",
    "arrivederci",
    "ha det",
];

/// Whether the user takes their leave or has had enough.
pub(super) fn is_leaving(said: &str) -> bool {
    let n_words = words(said).len();
    let whole = bare(said).to_lowercase();
    LEAVING.contains(&whole.as_str())
        || (n_words <= 10
            && find_any(said, &LEAVING).is_some_and(|(start, end)| {
                let found = said[start..end].to_lowercase();
                !["stop", "quit", "exit", "end", "done", "enough", "finished", "bye"].contains(&found.as_str())
                    || found == "bye"
            }))
}

/// Of a condition about what the user has said.
fn of_words(condition: &str, said: &str) -> Option<bool> {
    let update = Update { name: USER_MESSAGE.into(), old: None, new: Value::str(said) };
    if let Some(truth) = judge_words(&format!("if {condition}"), std::slice::from_ref(&update)) {
        return Some(truth);
    }
    let polarity = yes_or_no(said);
    if is_one_of(condition, &["yes", "so", "the answer is yes", "it is a yes", "the answer is positive"]) {
        return polarity;
    }
    if is_one_of(condition, &["no", "not", "the answer is no", "the answer is negative"]) {
        return polarity.map(|yes| !yes);
    }
    let act = strip_user(condition).or_else(|| strip_any(condition, &SUBJECTS))?;
    let act = strip_any(act, &["has", "have", "just", "then", "already"]).unwrap_or(act);
    of_act(act, said, polarity)
}

/// What the user did: `says goodbye`, `wants a receipt`.
fn of_act(act: &str, said: &str, polarity: Option<bool>) -> Option<bool> {
    const LEAVES: [&str; 35] = [
        "says goodbye",
        "say goodbye",
        "says bye",
        "say bye",
        "said goodbye",
        "says good bye",
        "takes their leave",
        "leaves",
        "leave",
        "is done",
        "are done",
        "is finished",
        "are finished",
        "wants to stop",
        "want to stop",
        "wants to quit",
        "want to quit",
        "wants to leave",
        "want to leave",
        "wants to end",
        "want to end",
        "wants to exit",
        "wants to finish",
        "needs nothing else",
        "needs nothing more",
        "need nothing else",
        "no more questions",
        "no further questions",
        "no other questions",
        "does not need anything else",
        "doesn't need anything else",
        "wants nothing else",
        "is through",
        "hangs up",
        "quits",
    ];
    if let Some(rest) = strip_any(act, &LEAVES) {
        let is_whole = rest.is_empty()
            || strip_any(rest, &["the", "it", "this", "talking", "playing", "with", "now", "to"]).is_some();
        if is_whole {
            return Some(
                is_leaving(said) || (act.contains("else") || act.contains("more questions")) && polarity == Some(false),
            );
        }
    }
    if let Some(rest) = strip_any(act, &["does not", "do not", "doesn't", "don't", "did not", "didn't"]) {
        // `does not want one`, `does not give a number`.
        return of_act(rest, said, polarity).map(|truth| !truth);
    }
    if let Some(thing) =
        strip_any(act, &["says", "say", "said", "mentions", "mention", "writes", "types", "answers", "replies"])
    {
        return says(thing, said, polarity);
    }
    if let Some(thing) = strip_any(
        act,
        &[
            "names",
            "name",
            "gives",
            "give",
            "gave",
            "given",
            "named",
            "provides",
            "provide",
            "tells you",
            "tell you",
            "enters",
        ],
    ) {
        return names_thing(thing, said);
    }
    if strip_any(act, &["thanks", "thank", "is grateful"]).is_some() {
        return Some(
            find_any(said, &["thanks", "thank", "thank you", "thx", "danke", "merci", "gracias", "cheers"]).is_some(),
        );
    }
    if strip_any(act, &["greets", "greet"]).is_some() {
        return Some(
            find_any(said, &["hello", "hi", "hey", "good morning", "good evening", "hallo", "hola", "bonjour"])
                .is_some(),
        );
    }
    if is_one_of(act, &["asks a question", "ask a question", "asks something", "asks back"]) {
        return Some(is_question(said));
    }
    if is_one_of(act, &["asks for help", "ask for help", "needs help", "need help", "wants help", "want help"]) {
        return Some(find_any(said, &["help", "assist", "assistance"]).is_some()).filter(|truth| *truth).or(polarity);
    }
    const WISHES: [&str; 24] = [
        "wants",
        "want",
        "would like",
        "agrees",
        "agree",
        "likes",
        "like",
        "accepts",
        "accept",
        "confirms",
        "confirm",
        "wishes",
        "wish",
        "needs",
        "need",
        "is ready",
        "are ready",
        "is happy",
        "is ok",
        "is fine",
        "is interested",
        "has",
        "have",
        "do",
    ];
    let wish = strip_any(act, &WISHES)?;
    polarity.or_else(|| says_wish(wish, said))
}

/// Whether the user says in the line's own words what they want: `send something back`. Other words may mean the same,
/// so that this is never a no.
fn says_wish(wish: &str, said: &str) -> Option<bool> {
    const SMALL: [&str; 24] = [
        "to",
        "a",
        "an",
        "the",
        "something",
        "anything",
        "it",
        "this",
        "that",
        "their",
        "them",
        "some",
        "one",
        "with",
        "for",
        "of",
        "in",
        "on",
        "talk",
        "any",
        "more",
        "be",
        "have",
        "another",
    ];
    let wanted: Vec<&str> = words(wish).into_iter().filter(|word| !is_one_of(word, &SMALL)).collect();
    let is_denied = find_any(said, &["not", "don't", "no", "never", "won't", "can't", "cannot", "without"]).is_some();
    let is_said = !wanted.is_empty() && wanted.iter().all(|word| find_any(said, &[&word.to_lowercase()]).is_some());
    (is_said && !is_denied && !said.trim_end().ends_with('?')).then_some(true)
}

/// Whether the user says a thing: words in quotes, a yes, a goodbye.
fn says(thing: &str, said: &str, polarity: Option<bool>) -> Option<bool> {
    if let Some(quoted) = unquoted(thing) {
        return Some(find_any(said, &[&quoted.to_lowercase()]).is_some());
    }
    if is_one_of(thing, &["yes", "ok", "okay"]) {
        return Some(polarity == Some(true));
    }
    if is_one_of(thing, &["no", "nope"]) {
        return Some(polarity == Some(false));
    }
    if is_one_of(thing, &["goodbye", "bye", "good bye", "farewell", "stop", "exit", "quit", "done", "enough"]) {
        return Some(is_leaving(said));
    }
    if is_one_of(thing, &["hello", "hi"]) {
        return Some(find_any(said, &["hello", "hi", "hey"]).is_some());
    }
    if is_one_of(thing, &["nothing", "nothing at all"]) {
        return Some(bare(said).is_empty());
    }
    names_thing(thing, said)
}

/// Whether the user names a thing that has a form of its own.
fn names_thing(thing: &str, said: &str) -> Option<bool> {
    let thing = strip_any(thing, &["a", "an", "the", "their", "another", "some", "one", "any", "new"]).unwrap_or(thing);
    let thing = strip_any(thing, &["new", "other", "valid", "second", "different"]).unwrap_or(thing);
    const AMOUNTS: [&str; 16] = [
        "number",
        "temperature",
        "amount",
        "price",
        "age",
        "quantity",
        "count",
        "figure",
        "sum",
        "budget",
        "rating",
        "size",
        "value",
        "number of degrees",
        "percentage",
        "score",
    ];
    if is_one_of(thing, &AMOUNTS) {
        return Some(one_number(said).is_some());
    }
    let has = |kind| Some(gives(said, kind));
    match thing.to_lowercase().as_str() {
        "date" | "day" | "another day" => has(Thing::Date),
        "email" | "e-mail" | "email address" | "e-mail address" | "address" => has(Thing::Email),
        "phone number" | "phone" | "telephone number" => has(Thing::Phone),
        _ => None,
    }
}
