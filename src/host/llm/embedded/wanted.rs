//! What a line that asks wants to know: how it is asked, and what kind of answer fits. The line's own words are said;
//! they are made no sentence of.

use playhouse_lang::program::{Target, Type, TypeKind};

use super::dates::date;
use super::english::{
    Piece, find_any, is_one_of, name_words, one_line, pieces, placed, sentence, strip, strip_any, strip_user,
    turn_round, unquoted, without_end, words,
};
use super::wording::{Values, plain, with_values};

/// What kind of answer fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
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

/// What is wanted for one variable, or by a line without one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// The question; empty: the line only waits.
    pub(super) question: String,
    pub(super) kind: Kind,
    /// Only to be asked if it is not clear already.
    pub(super) if_unclear: bool,
}

/// Verbs that ask.
const ASKS: &str = "ask|prompt|request|get|collect|obtain|receive|gather|find out|yld for user";

/// Words that begin a question inside a sentence.
const QUESTION_WORDS: &str = "until when|since when|what|which|who|whom|whose|when|where|why|how|whether";

/// Words after a variable that say why or when, not what.
const REASONS: &str = "so|because|since|and|but|before|after|then|please|if|unless|only|in case|as";

/// Words after a variable that say in which form.
const FORMS: &str = "with|in|like|such as|between|including|without";

/// Words that a variable's own word may follow.
const BEFORE_NAMES: &str =
    "user's|the|their|a|an|his|her|its|your|another|first|last|full|new|favourite|favorite|preferred";

/// What a line begins with that asks for something without a variable.
const ASKED: &str =
    "to|about|the|their|a|an|another|what|which|who|whom|whose|when|where|why|how|whether|if|until when";

/// Reads the line's words for one of its variables; `n_targets` is how many it has. None: what is to be asked is left
/// to a model.
pub(super) fn read(
    line: &str,
    target: Option<&Target>,
    n_targets: usize,
    ty: Type,
    values: &dyn Values,
) -> Option<Wanted> {
    let text = without_types(&one_line(line));
    let text = strip_assignment(&text);
    let name = target.map(|target| name_words(&target.name)).unwrap_or_default();
    let if_unclear = find_any(text, "if it is not|if it isn't|if not|unless|if it is unclear").is_some();
    if strip(text, "wait").is_some() {
        let kind = kind_of_type(ty).filter(|_| target.is_some()).unwrap_or(Kind::Anything);
        return Some(Wanted { question: String::new(), kind, if_unclear });
    }
    let text = strip_any(text, "please|now|then|first").unwrap_or(text);
    // `Greet them and ask how many they want`: what is asked.
    let asked = find_any(text, "and ask|then ask|and find out").filter(|_| strip_any(text, ASKS).is_none());
    let text = asked.and_then(|(start, _)| strip_any(&text[start..], "and|then")).unwrap_or(text);
    let rest = strip_any(text, ASKS).unwrap_or(text);
    let rest = strip_user(rest).unwrap_or(rest);
    let rest = strip_any(rest, "for|again|once more").unwrap_or(rest).trim_start_matches([':', ',', ' ']);
    let what = match target {
        Some(_) if n_targets > 1 => with_article(&name),
        Some(target) => described(without_storage(rest, target), target),
        None => rest.trim().to_owned(),
    };
    let is_worded = unquoted(&what).is_some() || what.ends_with('?') || strip_any(&what, ASKED).is_some();
    // Which question, is left to a model.
    let is_open = strip_any(&what, "a question|another question|one more question|some questions|a riddle").is_some();
    if target.is_none() && (is_open || !is_worded) {
        return None;
    }
    let kind = match (kind_of_type(ty), target) {
        (Some(kind), _) => kind,
        (None, None) => Kind::Anything,
        (None, Some(_)) => kind_of(&what, &name, line, ty.kind == TypeKind::Str),
    };
    Some(Wanted { question: question(&what, values), kind, if_unclear })
}

/// The question for something, in the line's own words.
pub(super) fn question(what: &str, values: &dyn Values) -> String {
    let said = |text: &str| with_values(text, values).unwrap_or_else(|| plain(text));
    if let Some(quoted) = unquoted(what) {
        return said(quoted);
    }
    let turned = turn_round(without_end(what));
    if what.trim_end().ends_with('?') {
        return sentence(&said(&turned));
    }
    match strip(&turned, "to") {
        Some(action) => sentence(&format!("please {}", said(action))),
        None => sentence(&format!("please tell me {}", said(&turned))),
    }
}

/// `$x = ask …`, `Set $x to ask …`: from the verb on.
fn strip_assignment(text: &str) -> &str {
    let rest = strip_any(text, "set|let").unwrap_or(text);
    let Some(Piece::Mention(_, source)) = pieces(rest).into_iter().next() else { return text };
    let rest = rest[source.len()..].trim_start();
    rest.strip_prefix('=').or_else(|| strip_any(rest, "to|be|as")).map_or(text, str::trim_start)
}

/// The text without the types that stand beside variables.
pub(super) fn without_types(text: &str) -> String {
    let pieces = pieces(text);
    let mut result = String::with_capacity(text.len());
    let mut rest = &pieces[..];
    while let [piece, others @ ..] = rest {
        result.push_str(piece.source());
        rest = match (piece, others) {
            (Piece::Mention(..), [Piece::Other(":"), Piece::Word(word), others @ ..])
                if word.parse::<TypeKind>().is_ok() =>
            {
                let is_optional = others.iter().take(4).map(Piece::source).eq([" ", "|", " ", "None"]);
                if is_optional { &others[4..] } else { others }
            }
            _ => others,
        };
    }
    result
}

/// What keeps an answer, before the variable that does.
const STORES: &str =
    "and store|and save|and keep|and remember|and note|and write|and record|and put|and call|store|save|keep";

/// Without `as $x`, `→ $x`, `and store it in $x` at the end.
fn without_storage<'t>(text: &'t str, target: &Target) -> &'t str {
    let text = without_end(text);
    let Some(before) = text.strip_suffix(&format!("${}", target.name)) else { return text };
    let before = before.trim_end();
    if let Some(before) = ["→", "->", "=>", "⇒"].iter().find_map(|arrow| before.strip_suffix(arrow)) {
        return without_end(before);
    }
    let stored = find_any(before, STORES);
    let begin = stored.map(|(start, _)| start).or_else(|| {
        let start =
            before.len() - ["as", "in", "into"].iter().find(|word| before.ends_with(&format!(" {word}")))?.len();
        Some(start)
    });
    begin.map_or(text, |start| without_end(&before[..start]))
}

/// What stands for the variable: its description, else its own words in the place of `$name`; no reason after it.
fn described(text: &str, target: &Target) -> String {
    let is_it = |piece: &Piece<'_>| matches!(piece, Piece::Mention(reference, _) if reference.name == target.name);
    let place = placed(text).find(|(.., piece)| is_it(piece));
    let name = name_words(&target.name);
    let Some((start, end, _)) = place else { return text.to_owned() };
    let before = text[..start].trim_end_matches([',', ':', '(', '–', '—', '-', ' ']);
    let after = text[end..].trim_start_matches([',', ':', '(', '–', '—', '-', ' ']).trim();
    let after = if after.contains('(') { after } else { after.trim_end_matches(')') };
    let is_marked = text[end..].trim_start().starts_with([',', ':', '(', '–', '—', '-']);
    let head = match words(before).last() {
        None => with_article(&name),
        // `the number of their room (room $room)`: it has been said what it is.
        Some(last) if words(before).len() > 1 && !is_one_of(last, BEFORE_NAMES) && !is_owner(last) => before.to_owned(),
        Some(_) => format!("{before} {name}"),
    };
    if after.is_empty() || strip_any(after, REASONS).is_some() {
        return head;
    }
    match is_marked {
        true if strip_any(after, FORMS).is_some() => format!("{head}, {after}"),
        true if before.is_empty() => after.to_owned(),
        _ => format!("{head}{}", &text[end..]),
    }
}

/// `the patient's`.
fn is_owner(word: &str) -> bool {
    word.ends_with("'s") || word.ends_with("’s")
}

/// `the town`, but `their name`: that is whose it is.
fn with_article(name: &str) -> String {
    format!("{} {name}", if name.ends_with("name") { "their" } else { "the" })
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

/// What kind of answer fits `what`, else the variable's name; `line` may show how a date is to be written.
fn kind_of(what: &str, name: &str, line: &str, is_text: bool) -> Kind {
    let is_clause = what.ends_with('?') || strip_any(what, QUESTION_WORDS).is_some();
    let kind = match is_clause {
        true if strip(what, "whether").is_some() && !is_text => Some(Kind::YesOrNo),
        true if strip_any(what, "how many|how much|how old").is_some() && !is_text => Some(Kind::Number),
        true => kind_of_name(name, is_text).filter(|kind| matches!(kind, Kind::Email | Kind::Phone | Kind::Name)),
        false => kind_of_name(head(what), is_text).or_else(|| kind_of_name(name, is_text)),
    };
    match kind {
        // The line shows how a date is to be written, with its year.
        Some(Kind::Date { .. }) => Kind::Date { full: date(line, true).is_some() },
        Some(kind) => kind,
        None => Kind::Text,
    }
}

/// A name without what follows it: of `the place they live in`, `the place`.
fn head(noun: &str) -> &str {
    const ENDS: &str = "of|in|for|on|at|to|with|that|which|they|you|as";
    let first = words(noun).first().map_or(0, |word| word.len());
    let end = find_any(noun.get(first..).unwrap_or(""), ENDS).map_or(noun.len(), |(start, _)| first + start);
    without_end(noun[..end].split([',', '(']).next().unwrap_or(""))
}

/// What the name of a thing says of its kind, by its last word.
pub(super) fn kind_of_name(name: &str, is_text: bool) -> Option<Kind> {
    let has = |words: &str| find_any(name, words).is_some();
    if has("email|e-mail|mail address") {
        return Some(Kind::Email);
    }
    if has("phone|telephone|mobile") {
        return Some(Kind::Phone);
    }
    match words(name).last()?.to_lowercase().as_str() {
        "name" | "surname" | "nickname" => Some(Kind::Name),
        "date" | "day" | "birthday" | "until" => Some(Kind::Date { full: false }),
        "id" | "code" | "number" | "reference" => Some(Kind::Digits),
        "age" | "amount" | "quantity" | "price" | "budget" | "count" | "total" | "temperature" | "rating"
            if !is_text =>
        {
            Some(Kind::Number)
        }
        _ => None,
    }
}
