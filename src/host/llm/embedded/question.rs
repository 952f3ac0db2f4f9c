//! What is wanted, as a question in English. When in doubt the sentence is `Please tell me …`, which is right with
//! every clause.

use super::english::{
    Piece, capitalised, find_any, is_one_of, name_words, pieces, sentence, strip, strip_any, turn_round, without_end,
    words,
};
use super::kinds::Kind;
use super::phrases::NO_QUESTION;
use super::wanted::{ADJECTIVES, Phrase, Wanted};
use super::wording::{Values, plain, with_values};

/// The question; none: nothing is asked, the line only waits, or no template words it.
pub(super) fn question(wanted: &Wanted, values: &dyn Values) -> Option<String> {
    let said = |text: &str| {
        let turned = turn_round(text);
        with_values(&turned, values).unwrap_or_else(|| plain(&turned))
    };
    Some(match &wanted.phrase {
        Phrase::Exact(text) => match text.strip_prefix('“').and_then(|text| text.strip_suffix('”')) {
            Some(quoted) => with_values(quoted, values).unwrap_or_else(|| plain(quoted)),
            None => sentence(&said(text)),
        },
        Phrase::Clause(clause) => of_clause(&said(clause)),
        Phrase::To(action) => format!("Could you please {}?", said(&with_articles(action, values))),
        Phrase::About(what) => format!("Please tell me about {}.", said(what)),
        Phrase::Noun(noun) => of_noun(&said(noun), wanted),
        Phrase::Open(_) => NO_QUESTION.to_owned(),
        Phrase::Unsaid => return None,
    })
}

/// `confirm $total` is `confirm the total $total`: a value alone would say nothing of what it is.
fn with_articles(action: &str, values: &dyn Values) -> String {
    let mut text = String::new();
    let mut before = "";
    for piece in pieces(action) {
        if let Piece::Mention(reference, _) = &piece
            && !is_one_of(before, &["of", "for", "to", "with", "from", "that", "is", "in", "on", "at"])
        {
            let is_begun =
                is_one_of(before, &ARTICLES) || is_one_of(before, &["their"]) || is_one_of(before, &ADJECTIVES);
            let article = if is_begun { "" } else { "the " };
            // Of a value that is not there its name stands in the text.
            let name = if values.told(reference).is_some() {
                format!("{} ", name_words(&reference.name))
            } else {
                String::new()
            };
            text.push_str(&format!("{article}{name}"));
        }
        if let Piece::Word(word) = &piece {
            before = word;
        }
        text.push_str(piece.source());
    }
    text
}

/// Words that begin the subject of a clause.
const SUBJECTS: [&str; 8] = ["you", "it", "he", "she", "we", "I", "they", "there"];

const ARTICLES: [&str; 10] = ["the", "your", "this", "that", "a", "an", "my", "our", "these", "any"];

const AUXILIARIES: [&str; 19] = [
    "is", "are", "am", "was", "were", "can", "could", "will", "would", "may", "might", "must", "shall", "should",
    "has", "have", "had", "do", "does",
];

/// Of these a main verb may be made as well: `they have` asks with `do`.
const MAIN_VERBS: [&str; 5] = ["has", "have", "had", "do", "does"];

/// `what you like` is `What do you like?`.
fn of_clause(clause: &str) -> String {
    let clause = without_end(clause);
    if let Some(rest) = strip_any(clause, &["whether", "if"]) {
        let rest = strip(rest, "or not").unwrap_or(rest);
        return inverted("", rest).unwrap_or_else(|| format!("Please tell me whether {rest}."));
    }
    let tokens: Vec<&str> = clause.split(' ').collect();
    // `what to do` has no subject.
    if tokens.get(1).is_some_and(|word| *word == "to") || strip_any(clause, &["how to"]).is_some() {
        return format!("Please tell me {clause}.");
    }
    let subject = (1..tokens.len()).find(|&at| {
        let word = tokens[at].trim_end_matches(',');
        SUBJECTS.contains(&word) || is_one_of(word, &ARTICLES)
    });
    let verb = (1..tokens.len()).find(|&at| is_one_of(tokens[at], &AUXILIARIES));
    // `who sent it`, `which day suits you`: the question word acts itself.
    let acts = strip(clause, "who").is_some() && subject.is_none_or(|subject| subject > 1);
    let is_verb = |at: usize| tokens.get(at).is_some_and(|word| word.ends_with('s') && !word.ends_with("ss"));
    let thing_acts = strip_any(clause, &["which", "what"]).is_some() && subject == Some(3) && is_verb(2);
    // `what brings you here`.
    const DEEDS: [&str; 12] = [
        "brings",
        "makes",
        "keeps",
        "bothers",
        "worries",
        "interests",
        "helps",
        "hurts",
        "happens",
        "concerns",
        "matters",
        "works",
    ];
    let does = tokens.get(1).is_some_and(|word| is_one_of(word, &DEEDS));
    if acts || thing_acts || does {
        return format!("{}?", capitalised(clause));
    }
    match (subject, verb) {
        // The question word is the subject, or belongs to it: `how many people will come`.
        (Some(subject), Some(verb)) if verb < subject => format!("{}?", capitalised(clause)),
        (None, Some(_)) => format!("{}?", capitalised(clause)),
        (Some(subject), _) if subject <= 4 => {
            let (front, rest) = (tokens[..subject].join(" "), tokens[subject..].join(" "));
            inverted(&front, &rest).unwrap_or_else(|| format!("Please tell me {clause}."))
        }
        // `what happened`, `which day suits you`.
        (None, None) if tokens.len() <= 5 => format!("{}?", capitalised(clause)),
        _ => format!("Please tell me {clause}."),
    }
}

/// `where` and `you live` is `Where do you live?`; none if the subject's end cannot be seen.
fn inverted(front: &str, rest: &str) -> Option<String> {
    let (rest, more) = match rest.find([',', ';', ':', '.']) {
        Some(at) => (rest[..at].trim_end(), without_end(rest[at + 1..].trim())),
        None => (rest, ""),
    };
    let tokens: Vec<&str> = rest.split(' ').filter(|word| !word.is_empty()).collect();
    let first = tokens.first()?;
    let front = if front.is_empty() { String::new() } else { format!("{front} ") };
    let ask = |auxiliary: &str, subject: &str, tail: &[&str]| {
        let tail = tail.join(" ");
        let question = format!("{front}{auxiliary} {subject} {tail}");
        let question = format!("{}?", capitalised(question.trim()));
        if more.is_empty() { question } else { format!("{question} {}", sentence(more)) }
    };
    let is_pronoun = SUBJECTS.contains(first);
    let end = if is_pronoun {
        Some(1)
    } else {
        tokens.iter().position(|word| is_one_of(word, &AUXILIARIES)).filter(|at| *at > 0)
    };
    let end = end.or_else(|| tokens[0].strip_prefix("{$").map(|_| 1))?;
    let subject = tokens[..end].join(" ");
    let tail = &tokens[end..];
    let verb = tail.first()?;
    let adverb =
        is_one_of(verb, &["already", "still", "also", "really", "usually", "ever", "just", "currently", "often"]);
    let (verb, before_verb) = if adverb { (tail.get(1)?, 1) } else { (verb, 0) };
    let is_auxiliary = is_one_of(verb, &AUXILIARIES);
    let behind = tail.get(before_verb + 1).copied().unwrap_or("");
    // `they have paid` has an auxiliary, `they have a dog` has none.
    let is_main = is_one_of(verb, &MAIN_VERBS)
        && !(is_participle(behind) || is_one_of(behind, &["not", "already", "ever", "just"]));
    if is_auxiliary && !is_main {
        let mut tail: Vec<&str> = tail.to_vec();
        tail.remove(before_verb);
        return Some(ask(verb, &subject, &tail));
    }
    if subject == "there" || (!is_pronoun && !is_auxiliary) {
        return None;
    }
    let (auxiliary, base) = base_form(verb, subject == "you" || subject == "we" || subject == "I" || subject == "they");
    let base = base?;
    let mut tail: Vec<&str> = tail.to_vec();
    tail[before_verb] = &base;
    Some(ask(auxiliary, &subject, &tail))
}

/// Whether a word looks like one that stands after `have`.
fn is_participle(word: &str) -> bool {
    const IRREGULAR: [&str; 20] = [
        "been", "done", "gone", "seen", "had", "made", "paid", "got", "bought", "sent", "lost", "found", "read",
        "chosen", "eaten", "taken", "heard", "said", "told", "come",
    ];
    (word.len() > 3 && word.ends_with("ed")) || is_one_of(word, &IRREGULAR)
}

/// Past forms that do not end in `ed`.
const PAST: [(&str, &str); 19] = [
    ("bought", "buy"),
    ("saw", "see"),
    ("went", "go"),
    ("had", "have"),
    ("paid", "pay"),
    ("found", "find"),
    ("got", "get"),
    ("chose", "choose"),
    ("lost", "lose"),
    ("sent", "send"),
    ("came", "come"),
    ("did", "do"),
    ("said", "say"),
    ("heard", "hear"),
    ("felt", "feel"),
    ("thought", "think"),
    ("ate", "eat"),
    ("took", "take"),
    ("wrote", "write"),
];

/// The auxiliary that asks with this verb, and the verb's base; none if it cannot be told.
fn base_form(verb: &str, is_plural: bool) -> (&'static str, Option<String>) {
    let lower = verb.to_lowercase();
    if let Some((_, base)) = PAST.iter().find(|(past, _)| *past == lower) {
        return ("did", Some((*base).to_owned()));
    }
    if lower.len() > 4 && lower.ends_with("ed") && !lower.ends_with("eed") {
        let stem = &lower[..lower.len() - 2];
        let base = match stem {
            _ if stem.ends_with('i') => format!("{}y", &stem[..stem.len() - 1]),
            _ if stem.ends_with(['v', 'c', 'z', 'u'])
                || stem.ends_with("us")
                || stem.ends_with("os")
                || stem.ends_with("is")
                || stem.ends_with("eat")
                || stem.ends_with("har")
                || stem.ends_with("ik")
                || stem.ends_with("ng") =>
            {
                format!("{stem}e")
            }
            _ => stem.to_owned(),
        };
        return ("did", Some(base));
    }
    if is_plural {
        return ("do", Some(lower));
    }
    let base = match lower.as_str() {
        "has" => "have".to_owned(),
        "does" => "do".to_owned(),
        word if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        word if ["ches", "shes", "sses", "xes", "oes"].iter().any(|end| word.ends_with(end)) => {
            word[..word.len() - 2].to_owned()
        }
        word if word.ends_with('s') => word[..word.len() - 1].to_owned(),
        _ => return ("does", None),
    };
    ("does", Some(base))
}

/// Things that everybody has one of.
const PERSONAL: [&str; 50] = [
    "name",
    "surname",
    "nickname",
    "email",
    "e-mail",
    "mail",
    "phone",
    "telephone",
    "mobile",
    "address",
    "age",
    "birthday",
    "birth",
    "password",
    "username",
    "account",
    "id",
    "budget",
    "job",
    "company",
    "employer",
    "hobby",
    "hobbies",
    "favourite",
    "favorite",
    "preference",
    "preferences",
    "opinion",
    "feedback",
    "question",
    "questions",
    "problem",
    "request",
    "choice",
    "answer",
    "message",
    "street",
    "zip",
    "weight",
    "height",
    "order",
    "ticket",
    "interests",
    "goal",
    "goals",
    "name",
    "postcode",
    "symptoms",
    "booking",
    "customer",
];

/// Things of which there are several to choose from.
const CHOSEN: [&str; 17] = [
    "city",
    "town",
    "country",
    "village",
    "place",
    "color",
    "colour",
    "language",
    "topic",
    "product",
    "size",
    "flavour",
    "flavor",
    "destination",
    "day",
    "date",
    "option",
];

/// `the number of your order` is `What is the number of your order?`.
fn of_noun(noun: &str, wanted: &Wanted) -> String {
    let noun = without_end(noun);
    let tokens = words(noun);
    let first = tokens.first().copied().unwrap_or("");
    let is_bare = !is_one_of(
        first,
        &[
            "the", "your", "my", "this", "that", "these", "those", "its", "a", "an", "another", "some", "any", "one",
            "his", "her",
        ],
    );
    if wanted.once_more {
        let owner = if is_bare { owner_of(noun) } else { "" };
        return format!("Please tell me {owner}{} once more.", spelled_out(noun));
    }
    if find_any(noun, &["you live in", "you live", "where you live"]).is_some() && tokens.len() <= 7 {
        return "Where do you live?".to_owned();
    }
    if is_one_of(first, &["another", "some", "any", "one"]) {
        return format!("Please give me {noun}.");
    }
    let bare = strip_any(noun, &["the", "a", "an"]).unwrap_or(noun);
    if words(bare).len() == 1 && is_one_of(bare, &CHOSEN) {
        return format!("Which {bare}, please?");
    }
    if is_one_of(first, &["a", "an"]) {
        return format!("Please give me {noun}.");
    }
    if let Kind::Choice(options) = &wanted.kind
        && options.iter().all(|option| find_any(noun, &[&option.to_lowercase()]).is_some())
    {
        return format!("Which one: {noun}?");
    }
    if is_bare && tokens.iter().any(|word| is_one_of(word, &AUXILIARIES)) {
        return format!("Please tell me {noun}.");
    }
    let owner = if is_bare { owner_of(noun) } else { "" };
    let verb = if is_plural(noun) { "are" } else { "is" };
    format!("What {verb} {owner}{}?", spelled_out(noun))
}

/// `phone` is asked for as `phone number`.
fn spelled_out(noun: &str) -> String {
    let (head, form) = noun.split_once(',').map_or((noun, String::new()), |(head, form)| (head, format!(",{form}")));
    match words(head).last().map(|word| word.to_lowercase()).as_deref() {
        Some("phone" | "telephone") => format!("{head} number{form}"),
        Some("email" | "e-mail") => format!("{head} address{form}"),
        _ => noun.to_owned(),
    }
}

/// `your ` or `the `.
fn owner_of(noun: &str) -> &'static str {
    let is_personal = words(noun).iter().any(|word| is_one_of(word, &PERSONAL));
    if is_personal { "your " } else { "the " }
}

/// Whether a name means several things.
fn is_plural(noun: &str) -> bool {
    let end =
        find_any(noun, &["of", "in", "for", "on", "at", "to", "with", "that", "which", "where", "you", "from", "as"]);
    let head = match end {
        Some((start, _)) if start > 0 => &noun[..start],
        _ => noun,
    };
    let head = head.split([',', '(', ':']).next().unwrap_or("").trim();
    if head.contains(" and ") {
        return true;
    }
    let Some(last) = words(head).last().map(|word| word.to_lowercase()) else { return false };
    let ends = |end: &str| last.ends_with(end);
    last == "people"
        || last == "children"
        || (ends("s")
            && !ends("ss")
            && !ends("us")
            && !ends("is")
            && !["news", "gas", "series", "yes"].contains(&last.as_str()))
}
