//! Facts: what a line says to tell, from its own words and from values. Nothing else is ever told.

use crate::value::{PathStep, Reference, Value};

use super::english::{
    Piece, capitalised, find, find_any, is_one_of, mentions, name_words, pieces, sentence, strip, strip_any,
    strip_user, turn_round, unquoted, without_end, words,
};
use super::say::Judge;
use super::wording::{Values, spoken, with_values};

/// Verbs that tell.
const TELLS: [&str; 35] = [
    "tell",
    "inform",
    "let",
    "say",
    "report",
    "announce",
    "explain",
    "state",
    "confirm",
    "repeat",
    "mention",
    "add",
    "note",
    "point out",
    "read out",
    "read",
    "show",
    "give",
    "present",
    "name",
    "answer",
    "reply",
    "respond",
    "notify",
    "send",
    "list",
    "display",
    "print",
    "share",
    "output",
    "assure",
    "make clear",
    "read back",
    "hand over",
    "reassure",
];

/// The sentence; none: it cannot be told with certainty.
pub(super) fn fact(direction: &str, values: &dyn Values, judge: Judge<'_>) -> Option<String> {
    let rest = strip_any(direction, &TELLS)?;
    let rest = strip_user(rest).or_else(|| strip_any(rest, &["to", "with"]).and_then(strip_user)).unwrap_or(rest);
    let rest = strip_any(rest, &["know", "back", "once more", "again", "with", "clearly", "briefly", "politely"])
        .unwrap_or(rest);
    let rest = rest.trim_start_matches([':', ',', ' ']);
    let rest = without_end(without_listener(rest));
    // `Tell $name that …`, `Let $name know that …`.
    let rest = match pieces(rest).first() {
        Some(Piece::Mention(_, source)) => {
            let behind = rest[source.len()..].trim_start();
            let behind = strip(behind, "know").unwrap_or(behind);
            if strip(behind, "that").is_some() { behind } else { rest }
        }
        _ => rest,
    };
    if let Some(quoted) = unquoted(rest) {
        return with_values(quoted, values);
    }
    let mut told = Vec::new();
    for clause in clauses(rest) {
        let (clause, condition) = conditional(clause);
        let holds = condition.map(judge);
        // What stands under a condition that nobody can judge is told only if it is a value that is there.
        let text = match holds {
            Some(Some(false)) => None,
            Some(None) => field_told(clause, values),
            Some(Some(true)) | None => told_clause(clause, values),
        };
        told.extend(text.map(|text| sentence(&text)));
    }
    (!told.is_empty()).then(|| told.join(" "))
}

/// Without `to the user` at the end.
fn without_listener(text: &str) -> &str {
    match find(text, "to").and_then(|(start, end)| strip_user(text[end..].trim_start()).map(|rest| (start, rest))) {
        Some((start, rest)) if without_end(rest).is_empty() => &text[..start],
        _ => text,
    }
}

/// The parts of what is told: after `and` a noun, a question word or another `that` begins one.
fn clauses(text: &str) -> Vec<&str> {
    const STARTS: [&str; 12] =
        ["that", "when", "where", "how", "what", "which", "who", "whether", "the", "their", "its", "a"];
    let is_sentence = strip(text, "that").is_some();
    let mut clauses = Vec::new();
    let (mut from, mut at) = (0, 0);
    for piece in pieces(text) {
        let start = at;
        at += piece.source().len();
        if let Piece::Word("and") = piece {
            let rest = text[at..].trim_start();
            let begins = if is_sentence { strip(rest, "that").is_some() } else { strip_any(rest, &STARTS).is_some() };
            if begins && !text[from..start].trim().is_empty() {
                clauses.push(text[from..start].trim().trim_end_matches(','));
                from = at;
            }
        }
    }
    clauses.push(text[from..].trim());
    clauses
}

/// A clause and the condition after it: `when it is expected if $order says so`.
fn conditional(clause: &str) -> (&str, Option<&str>) {
    match find(clause, "if").filter(|(start, _)| *start > 0) {
        Some((start, end)) => (clause[..start].trim().trim_end_matches(','), Some(clause[end..].trim())),
        None => (clause, None),
    }
}

fn told_clause(clause: &str, values: &dyn Values) -> Option<String> {
    let clause = without_end(clause);
    if let Some(said) = strip(clause, "that") {
        return with_values(&turn_round(&named_values(said)), values);
    }
    if let Some(text) = field_told(clause, values) {
        return Some(text);
    }
    if let Some(rest) = strip_any(clause, &["about", "of"]) {
        return mentions(rest).first().and_then(|_| noun_told(rest, values));
    }
    if is_sentence(clause) {
        return with_values(&turn_round(&named_values(clause)), values);
    }
    let is_question = strip_any(clause, &["what", "how", "when", "where", "who", "which", "why", "whose"]).is_some();
    if is_question { question_told(clause, values) } else { noun_told(clause, values) }
}

/// Whether a clause is a whole sentence without `that` before it: `their order has been shipped`.
fn is_sentence(clause: &str) -> bool {
    const VERBS: [&str; 20] = [
        "is", "are", "was", "were", "has", "have", "had", "will", "can", "cannot", "can't", "won't", "isn't", "aren't",
        "should", "must", "may", "you're", "you'll", "they're",
    ];
    const STARTS: [&str; 15] = [
        "you",
        "you're",
        "you'll",
        "they",
        "they're",
        "their",
        "the",
        "it",
        "we",
        "our",
        "your",
        "there",
        "this",
        "all",
        "everything",
    ];
    const LINKS: [&str; 8] = ["that", "which", "who", "where", "when", "why", "how", "what"];
    let verb = find_any(clause, &VERBS);
    let is_linked = |end: usize| find_any(&clause[..end], &LINKS).is_some();
    strip_any(clause, &STARTS).is_some() && verb.is_some_and(|(start, end)| end < clause.len() && !is_linked(start))
}

/// `the $amount` is `the amount $amount`: a bare value would say nothing of what it is.
fn named_values(text: &str) -> String {
    let mut named = String::new();
    let mut before = "";
    for piece in pieces(text) {
        match &piece {
            Piece::Mention(reference, source) => {
                if is_one_of(before, &["the", "their", "your", "a", "an", "its", "our", "my"]) {
                    named.push_str(&format!("{} ", name_words(last_name(reference))));
                }
                named.push_str(source);
                before = "";
            }
            Piece::Word(word) => {
                named.push_str(word);
                before = word;
            }
            Piece::Quoted(text) | Piece::Other(text) => named.push_str(text),
        }
    }
    named
}

fn last_name(reference: &Reference) -> &str {
    reference
        .path
        .iter()
        .rev()
        .find_map(|step| if let PathStep::Member(name) = step { Some(&**name) } else { None })
        .unwrap_or(&reference.name)
}

/// `what you will remember: $a and $b`, `how many places are left: $places`.
fn question_told(clause: &str, values: &dyn Values) -> Option<String> {
    let pieces = pieces(clause);
    let n_before = pieces.iter().position(|piece| matches!(piece, Piece::Mention(..)))?;
    let start: usize = pieces[..n_before].iter().map(|piece| piece.source().len()).sum();
    let head = clause[..start].trim().trim_end_matches(['(', ':', ',', '–', '—', '-']).trim();
    let marks = clause[head.len()..start].trim();
    if marks.is_empty() {
        // The value belongs to the question: nobody knows the answer.
        return None;
    }
    let list = with_values(clause[start..].trim_end_matches([')', ' ']), values)?;
    let head = turn_round(head);
    let head = strip(&head, "what").filter(|rest| strip_any(rest, &["I", "you"]).is_some()).unwrap_or(&head).to_owned();
    Some(format!("{}: {list}", capitalised(&head)))
}

/// `the number $booking`, `the result, $x`, `$x`, `the result` of a variable with that name.
fn noun_told(noun: &str, values: &dyn Values) -> Option<String> {
    let noun = without_end(noun);
    let pieces = pieces(noun);
    let n_mentions = pieces.iter().filter(|piece| matches!(piece, Piece::Mention(..))).count();
    match (pieces.as_slice(), n_mentions) {
        ([Piece::Mention(reference, _)], _) => Some(spoken(reference, values.told(reference)?)),
        ([.., Piece::Mention(reference, source)], 1)
        | ([.., Piece::Mention(reference, source), Piece::Other(")")], 1) => {
            let start = noun.rfind(source)?;
            let value = spoken(reference, values.told(reference)?);
            let head = noun[..start].trim();
            let bare = head.trim_end_matches(['(', ':', ',', '–', '—', '-']).trim();
            let last = words(bare).last().copied().unwrap_or("");
            if is_one_of(last, &["is", "are", "was"]) {
                return Some(format!("{} {value}", turn_round(bare)));
            }
            // `the price of $item`: only what belongs to the value itself could say it.
            if is_one_of(last, &["of", "for", "in", "about", "from", "to", "with", "by", "on", "at"]) {
                return of_member(bare, reference, values);
            }
            let named = if is_one_of(last, &["the", "their", "a", "an", "its", "your"]) {
                format!("{bare} {}", name_words(last_name(reference)))
            } else if bare.is_empty() {
                return Some(value);
            } else {
                bare.to_owned()
            };
            let is_map = matches!(values.told(reference), Some(Value::Map(_)));
            let verb = if is_map { "–" } else { is_or_are(&named) };
            Some(format!("{} {verb} {value}", turn_round(&named)))
        }
        (_, 0) => named_like(noun, values),
        _ => {
            // Several values: `$a and $b`, `the name $a, the town $b`.
            let is_list = pieces.iter().all(|piece| match piece {
                Piece::Mention(..) => true,
                Piece::Word(word) => is_one_of(word, &["and", "the", "their", "or"]),
                Piece::Other(_) => true,
                Piece::Quoted(_) => false,
            });
            if is_list {
                return with_values(&turn_round(&named_values(noun)), values);
            }
            let head = noun.split(['$', ':']).next().unwrap_or("");
            noun.contains(':')
                .then(|| with_values(&turn_round(noun), values))
                .flatten()
                .filter(|_| !head.trim().is_empty())
        }
    }
}

fn is_or_are(noun: &str) -> &'static str {
    let noun = noun.split(" of ").next().unwrap_or(noun);
    let last = words(noun).last().map(|word| word.to_lowercase()).unwrap_or_default();
    if last.ends_with('s') && !last.ends_with("ss") && !last.ends_with("us") && !last.ends_with("is") {
        "are"
    } else {
        "is"
    }
}

/// `the price of $item`, where the item has a price.
fn of_member(head: &str, reference: &Reference, values: &dyn Values) -> Option<String> {
    let all = words(head);
    let member = all.iter().rev().nth(1)?;
    let mut path = reference.path.clone();
    path.push(PathStep::Member(member.to_lowercase().into()));
    let inner = Reference { name: reference.name.clone(), path };
    let value = spoken(&inner, values.told(&inner)?);
    Some(format!("The {member} is {value}"))
}

/// A noun that is called like a variable: `the opening hours` for `$opening_hours`.
fn named_like(noun: &str, values: &dyn Values) -> Option<String> {
    let bare = strip_any(noun, &["the", "their", "all the", "all", "a", "an", "its", "your"]).unwrap_or(noun);
    let bare = without_end(bare).to_lowercase();
    let same_name = |name: &str| name_words(name).to_lowercase() == bare;
    let name = values.names().into_iter().find(|name| same_name(name))?;
    let reference = Reference { name, path: Vec::new() };
    let value = values.told(&reference)?;
    let said = spoken(&reference, value);
    let verb = if matches!(value, Value::Map(_)) { "–" } else { is_or_are(&bare) };
    Some(format!("{} {verb} {said}", turn_round(noun)))
}

/// `the state of the order`, `when it is expected`: a member of a variable that is called so.
fn field_told(clause: &str, values: &dyn Values) -> Option<String> {
    let clause = without_end(clause);
    let members = |reference: &Reference, field: &str| {
        let Some(Value::Map(members)) = values.value(&reference.name) else { return None };
        let key = members.keys().find(|key| name_words(key).eq_ignore_ascii_case(field))?;
        let inner = Reference { name: reference.name.clone(), path: vec![PathStep::Member(key.clone())] };
        values.told(&inner).map(|value| spoken(&inner, value))
    };
    let bare = strip_any(clause, &["the", "its", "their"]).unwrap_or(clause);
    if let Some((start, end)) = find(bare, "of") {
        let field = bare[..start].trim();
        let owner = strip_any(bare[end..].trim(), &["the", "their", "this", "that"]).unwrap_or(bare[end..].trim());
        let owner = owner.trim_start_matches('$');
        let name = values.names().into_iter().find(|name| name_words(name).eq_ignore_ascii_case(&name_words(owner)))?;
        let value = members(&Reference { name, path: Vec::new() }, field)?;
        return Some(format!("The {field} of the {} {} {value}", name_words(owner), is_or_are(field)));
    }
    // `when it is expected`, `how it was sent`.
    let rest = strip_any(clause, &["when", "where", "how", "what", "who", "by when"])?;
    let (pronoun, rest) =
        ["it", "they", "he", "she"].iter().find_map(|pronoun| strip(rest, pronoun).map(|rest| (*pronoun, rest)))?;
    let (verb, field) =
        ["is", "are", "was", "were", "will be"].iter().find_map(|verb| strip(rest, verb).map(|rest| (*verb, rest)))?;
    let maps = values.names().into_iter().filter(|name| matches!(values.value(name), Some(Value::Map(_))));
    let told =
        maps.map(|name| Reference { name, path: Vec::new() }).find_map(|reference| members(&reference, field))?;
    Some(format!("{} {verb} {field}: {told}", capitalised(pronoun)))
}
