//! What kind of answer fits what is wanted, by its type, its name and the words around it.

use crate::lang::program::{Target, Type, TypeKind};

use super::english::{find, find_any, is_one_of, name_words, same, strip_any, without_end, words};
use super::wanted::{DETERMINERS, Phrase, Wanted};

/// What kind of answer fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Place,
    Text,
    Number,
    WholeNumber,
    /// Something with digits in it: a number of an order, a code.
    Digits,
    Email,
    Phone,
    /// A day; whether the whole date is needed.
    Date {
        full: bool,
    },
    YesOrNo,
    /// One of these.
    Choice(Vec<String>),
    List,
    /// Whatever is said.
    Anything,
}

/// What kind of answer a type asks for, if it says enough.
pub(super) fn kind_of_type(ty: Type) -> Option<Kind> {
    match ty.kind {
        TypeKind::Int => Some(Kind::WholeNumber),
        TypeKind::Float => Some(Kind::Number),
        TypeKind::Bool => Some(Kind::YesOrNo),
        TypeKind::List => Some(Kind::List),
        TypeKind::Date => Some(Kind::Date { full: true }),
        TypeKind::Email => Some(Kind::Email),
        TypeKind::Any | TypeKind::Str | TypeKind::Dict | TypeKind::Time => None,
    }
}

pub(super) fn kind(wanted: &Wanted, target: Option<&Target>, ty: Type) -> Kind {
    if let Some(kind) = kind_of_type(ty) {
        return kind;
    }
    if target.is_none() {
        return Kind::Anything;
    }
    let name = target.map(|target| name_words(&target.name)).unwrap_or_default();
    let is_text = ty.kind == TypeKind::Str;
    let of_name = kind_of_name(&name, is_text);
    let of_phrase = match &wanted.phrase {
        Phrase::Noun(noun) => kind_of_noun(noun, is_text),
        Phrase::Clause(clause) => kind_of_clause(clause, is_text),
        Phrase::Exact(question) => options(question),
        // `to choose A or B`.
        Phrase::To(action) => {
            options(action).filter(|_| strip_any(action, &["choose", "pick", "select", "decide"]).is_some())
        }
        Phrase::About(_) | Phrase::Open(_) | Phrase::Unsaid => None,
    };
    let is_described = matches!(wanted.phrase, Phrase::Clause(_) | Phrase::Exact(_))
        || matches!(&wanted.phrase, Phrase::Noun(noun) if !noun.to_lowercase().contains(&name.to_lowercase()));
    let kind =
        of_phrase.or(of_name.filter(|kind| !is_described || matches!(kind, Kind::Email | Kind::Phone | Kind::Name)));
    match kind {
        Some(Kind::Date { .. }) => Kind::Date { full: wants_full_date(&wanted.words) },
        Some(kind) => kind,
        None => Kind::Text,
    }
}

/// Whether the line shows how a date is to be written, with its year.
fn wants_full_date(text: &str) -> bool {
    let is_example = |word: &&str| {
        word.len() == 10
            && word.bytes().enumerate().all(
                |(at, byte)| {
                    if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() }
                },
            )
    };
    words(text).iter().any(|word| is_example(word) || same(word, "yyyy-mm-dd") || same(word, "iso"))
}

/// What the name of a thing says of its kind, by its last word.
pub(super) fn kind_of_name(name: &str, is_text: bool) -> Option<Kind> {
    let last = words(name).last().map(|word| word.to_lowercase())?;
    let whole = name.to_lowercase();
    if whole.contains("email") || whole.contains("e-mail") || whole == "mail address" || whole == "mail" {
        return Some(Kind::Email);
    }
    if whole.contains("phone") || whole.contains("mobile") || last == "telephone" {
        return Some(Kind::Phone);
    }
    match last.as_str() {
        "name" | "surname" | "nickname" | "firstname" | "lastname" if !whole.contains("user") => Some(Kind::Name),
        "town" | "city" | "country" | "place" | "location" | "destination" | "village" | "state" => Some(Kind::Place),
        "date" | "day" | "birthday" | "weekday" | "until" | "since" => Some(Kind::Date { full: false }),
        "id" | "code" | "number" | "reference" | "no" | "pin" | "iban" | "zip" => Some(Kind::Digits),
        "age" | "amount" | "quantity" | "price" | "budget" | "temperature" | "count" | "weight" | "height"
        | "degrees" | "size" | "sum" | "total" | "distance" | "rating" | "score" | "years"
            if !is_text =>
        {
            Some(Kind::Number)
        }
        _ => None,
    }
}

/// The same of a name with what belongs to it: `the number of their order`.
fn kind_of_noun(noun: &str, is_text: bool) -> Option<Kind> {
    // `their name or nickname` is one thing; `red, green or blue` are three.
    if strip_any(noun, &DETERMINERS).is_none()
        && let Some(choice) = options(noun)
    {
        return Some(choice);
    }
    let has = |phrases: &[&str]| find_any(noun, phrases).is_some();
    if has(&["e-mail", "email", "mail address"]) {
        return Some(Kind::Email);
    }
    if has(&["phone", "telephone", "mobile", "phone number"]) {
        return Some(Kind::Phone);
    }
    if has(&["date", "birthday"]) || has(&["the day of", "the day for"]) {
        return Some(Kind::Date { full: false });
    }
    let head = noun_head(noun);
    let counts = strip_any(noun, &["the number of", "number of", "a number of", "the amount of", "how many"]);
    if let Some(of) = counts {
        // `the number of people` is a number, `the number of their order` names one.
        let counted = words(of).first().is_some_and(|word| {
            !is_one_of(word, &DETERMINERS) && word.len() > 2 && (word.ends_with('s') || same(word, "people"))
        });
        return Some(if counted && !is_text { Kind::WholeNumber } else { Kind::Digits });
    }
    if strip_any(noun, &["a number", "any number", "a whole number"]).is_some() && !is_text {
        return Some(Kind::Number);
    }
    kind_of_name(head, is_text)
}

/// A name without what follows it: of `the place they live in`, `the place`.
fn noun_head(noun: &str) -> &str {
    const ENDS: [&str; 21] = [
        "of", "in", "for", "on", "at", "to", "with", "that", "which", "where", "they", "you", "from", "as", "who",
        "when", "by", "about", "because", "whose", "the user",
    ];
    let first = words(noun).first().map_or(0, |word| word.len());
    let end = find_any(noun.get(first..).unwrap_or(""), &ENDS).map_or(noun.len(), |(start, _)| first + start);
    without_end(noun[..end].split([',', '(']).next().unwrap_or(""))
}

fn kind_of_clause(clause: &str, is_text: bool) -> Option<Kind> {
    if let Some(choice) = options(clause) {
        return Some(choice);
    }
    if strip_any(clause, &["whether", "if"]).is_some() {
        return Some(if is_text { Kind::Text } else { Kind::YesOrNo });
    }
    if let Some(rest) = strip_any(clause, &["how many", "how much", "how old", "how long", "how far", "how tall"]) {
        let _ = rest;
        return Some(if is_text { Kind::Text } else { Kind::Number });
    }
    if strip_any(clause, &["until when", "since when", "by when"]).is_some() {
        return Some(Kind::Date { full: false });
    }
    if strip_any(clause, &["when", "what day", "which day", "on which day", "what date", "which date"]).is_some() {
        return Some(Kind::Text);
    }
    let where_ = strip_any(
        clause,
        &[
            "where they live",
            "where they are from",
            "where they come from",
            "which city",
            "which town",
            "which country",
            "what city",
        ],
    );
    if where_.is_some() {
        return Some(Kind::Place);
    }
    let name = strip_any(
        clause,
        &[
            "what their name is",
            "what they are called",
            "what their names are",
            "who they are",
            "what to call them",
            "how to address them",
            "what you should call them",
        ],
    );
    name.map(|_| Kind::Name)
}

/// The things that one is to be chosen of: `tea or coffee`, `red, green or blue`.
fn options(text: &str) -> Option<Kind> {
    let text = text.trim_end_matches(['?', '.']);
    let (start, end) = find(text, "or")?;
    let after = text[end..].trim();
    let before = text[..start].trim().trim_end_matches(',');
    let clean = |option: &str| {
        let option = option.trim();
        let option = strip_any(option, &["a", "an", "the", "either", "between"]).unwrap_or(option);
        without_end(option).to_owned()
    };
    let last = clean(after);
    let n_words = words(&last).len();
    if n_words == 0 || n_words > 3 || is_one_of(&last, &["not", "no", "so", "more", "less", "nothing"]) {
        return None;
    }
    let mut parts: Vec<&str> = before.split(',').collect();
    let first = parts.remove(0);
    // Of the first only its last words belong to it: `they prefer tea`.
    let first_words = words(first);
    let n_first = n_words.min(first_words.len()).max(1);
    let first = first_words[first_words.len().saturating_sub(n_first)..].join(" ");
    let mut options = vec![clean(&first)];
    options.extend(parts.iter().map(|part| clean(part)));
    options.push(last);
    let is_plain = options.iter().all(|option| !option.is_empty() && words(option).len() <= 3 && !option.contains('$'));
    is_plain.then_some(Kind::Choice(options))
}
