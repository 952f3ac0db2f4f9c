//! What a line that asks wants to know: in which words it says so, and what kind of answer fits.

use crate::lang::program::{Target, Type};

use super::english::{
    Piece, find, find_any, is_one_of, name_words, one_line, pieces, same, strip, strip_any, strip_user, unquoted,
    without_end, words,
};
use super::kinds::{Kind, kind, kind_of_type};

/// How a line says what is wanted. The texts are the line's, variables included, not turned round yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phrase {
    /// The very words of the question.
    Exact(String),
    /// `what they like`, `whether it is late`.
    Clause(String),
    /// `confirm the order`.
    To(String),
    /// `the number of their order`.
    Noun(String),
    /// Of `about their day`: what follows.
    About(String),
    /// Something that no template words.
    Open(String),
    /// The line only waits.
    Unsaid,
}

/// What is wanted for one variable, or by a line without one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) phrase: Phrase,
    pub(super) kind: Kind,
    /// It has been asked before.
    pub(super) once_more: bool,
    /// Only to be asked if it is not clear already.
    pub(super) if_unclear: bool,
    /// The words that the line adds: why, or in which form.
    pub(super) words: String,
}

/// Verbs that ask.
const ASKS: [&str; 9] = ["ask", "prompt", "request", "get", "collect", "obtain", "receive", "gather", "yld for user"];

/// Words that begin a question inside a sentence.
pub(super) const QUESTION_WORDS: [&str; 13] = [
    "until when",
    "since when",
    "by when",
    "what",
    "which",
    "who",
    "whom",
    "whose",
    "when",
    "where",
    "why",
    "how",
    "how many",
];

/// Words after a variable that say why or when, not what.
const REASONS: [&str; 13] =
    ["so", "because", "since", "and", "but", "before", "after", "then", "please", "if", "unless", "only", "in case"];

/// Words after a variable that say in which form.
const FORMS: [&str; 14] = [
    "as",
    "with",
    "in",
    "like",
    "such as",
    "for example",
    "for instance",
    "e.g",
    "between",
    "from",
    "including",
    "without",
    "or",
    "at",
];

/// Reads the line's words for one of its variables; `n_targets` is how many it has.
pub(super) fn read(line: &str, target: Option<&Target>, n_targets: usize, ty: Type) -> Wanted {
    let text = without_types(&one_line(line));
    let text = strip_assignment(&text);
    let mut wanted = Wanted {
        phrase: Phrase::Unsaid,
        kind: Kind::Anything,
        once_more: false,
        if_unclear: is_conditional(text),
        words: text.to_owned(),
    };
    if let Some(rest) = strip(text, "wait for").or_else(|| strip(text, "wait")) {
        wanted.kind = if target.is_some() { kind_of_type(ty).unwrap_or(Kind::Anything) } else { Kind::Anything };
        wanted.words = rest.to_owned();
        return wanted;
    }
    let text = strip_any(text, &["please", "now", "then", "first"]).unwrap_or(text);
    let rest = strip_any(text, &ASKS).unwrap_or(text);
    let rest = strip_user(rest).or_else(|| behind_addressee(rest, target)).unwrap_or(rest);
    let rest =
        strip_any(rest, &["kindly", "politely", "again", "once more", "then", "also", "now", "please"]).unwrap_or(rest);
    let rest = without_storage(rest, target);
    let rest = without_source(rest);
    (wanted.phrase, wanted.once_more) = phrase(rest.trim(), target, n_targets);
    if let Some(clause) = unclear_clause(text) {
        wanted.phrase = Phrase::Clause(with_name(clause, target));
    }
    wanted.once_more |= find_any(text, &["once more", "again", "one more time"]).is_some();
    wanted.kind = kind(&wanted, target, ty);
    wanted
}

/// `$x = ask …`, `Set $x to ask …`: from the verb on.
fn strip_assignment(text: &str) -> &str {
    let rest = strip_any(text, &["set", "let"]).unwrap_or(text);
    let Some(Piece::Mention(_, source)) = pieces(rest).into_iter().next() else { return text };
    let rest = rest[source.len()..].trim_start();
    rest.strip_prefix('=').or_else(|| strip_any(rest, &["to", "be", "as"])).map_or(text, str::trim_start)
}

/// The text without the types that stand beside variables.
pub(super) fn without_types(text: &str) -> String {
    const TYPES: [&str; 18] = [
        "str", "string", "text", "int", "integer", "float", "number", "bool", "boolean", "list", "array", "tuple",
        "set", "dict", "object", "map", "any", "none",
    ];
    const TYPES_APART: [&str; 7] = ["str", "int", "float", "bool", "dict", "integer", "boolean"];
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let Some(Piece::Mention(_, source)) = pieces(rest).into_iter().next() else {
            let piece = pieces(rest).first().map_or(rest.len(), |piece| piece.source().len());
            result.push_str(&rest[..piece]);
            rest = &rest[piece..];
            continue;
        };
        result.push_str(source);
        rest = &rest[source.len()..];
        let Some(written) = rest.strip_prefix(':') else { continue };
        let apart = written.strip_prefix(' ');
        let (written, types) = match apart {
            Some(written) => (written, &TYPES_APART[..]),
            None => (written, &TYPES[..]),
        };
        if let Some(Piece::Word(word)) = pieces(written).into_iter().next()
            && is_one_of(word, types)
        {
            rest = &written[word.len()..];
            if let Some(none) = rest.trim_start().strip_prefix('|').and_then(|none| strip(none, "none")) {
                rest = none;
            }
        }
    }
    result
}

/// Without `as $x`, `and store it in $x` at the end.
fn without_storage<'t>(text: &'t str, target: Option<&Target>) -> &'t str {
    const STORES: [&str; 7] = ["and store", "and save", "and keep", "and remember", "store", "save", "keep"];
    let Some(target) = target else { return text };
    let mut at = 0;
    for piece in pieces(text) {
        if let Piece::Mention(reference, source) = &piece
            && reference.name == target.name
            && without_end(&text[at + source.len()..]).is_empty()
        {
            let before = text[..at].trim_end();
            if let Some((start, _)) = find_any(before, &STORES) {
                return without_end(&before[..start]);
            }
            for word in ["as", "in", "into"] {
                let Some(start) = before.len().checked_sub(word.len()).filter(|start| before.is_char_boundary(*start))
                else {
                    continue;
                };
                let is_alone = start == 0 || before[..start].ends_with(char::is_whitespace);
                // `for $x in $y` is no place to keep it.
                if is_alone && same(&before[start..], word) && !without_end(&before[..start]).is_empty() {
                    return without_end(&before[..start]);
                }
            }
        }
        at += piece.source().len();
    }
    text
}

/// Without `from the user` at the end.
fn without_source(text: &str) -> &str {
    let found = find(text, "from")
        .filter(|(_, end)| strip_user(text[*end..].trim_start()).is_some_and(|rest| without_end(rest).is_empty()));
    found.map_or(text, |(start, _)| text[..start].trim_end())
}

/// Whether the line says that something is asked only where it is not clear.
fn is_conditional(text: &str) -> bool {
    const UNCLEAR: [&str; 9] = [
        "if it is not",
        "if it isn't",
        "if not",
        "unless",
        "if it is unclear",
        "if they have not",
        "if they haven't",
        "if you do not know",
        "if that is not",
    ];
    find_any(text, &UNCLEAR).is_some()
}

/// Of `if it is not clear until when the house is empty` what is not clear.
fn unclear_clause(text: &str) -> Option<&str> {
    let (_, end) = find_any(text, &["not clear", "isn't clear", "unclear", "not known", "do not know", "don't know"])?;
    let clause = without_end(text[end..].trim_start());
    strip_any(clause, &QUESTION_WORDS).map(|_| clause)
}

/// Of `$name for their age`, where `$name` is who is asked.
fn behind_addressee<'t>(text: &'t str, target: Option<&Target>) -> Option<&'t str> {
    let pieces = pieces(text);
    let Some(Piece::Mention(reference, source)) = pieces.first() else { return None };
    let rest = text[source.len()..].trim_start();
    let is_other = target.is_none_or(|target| target.name != reference.name);
    (is_other && strip_any(rest, &["for", "to", "about", "whether", "if", "what", "how", "which", "when"]).is_some())
        .then_some(rest)
}

fn phrase(rest: &str, target: Option<&Target>, n_targets: usize) -> (Phrase, bool) {
    if let Some(exact) = unquoted(rest.trim_start_matches([':', ',']).trim()) {
        return (Phrase::Exact(format!("“{exact}”")), false);
    }
    if let Some(rest) = rest.strip_prefix([':', ',']) {
        return (described(rest.trim(), target), false);
    }
    if let Some(noun) = strip(rest, "for") {
        return noun_phrase(noun, target, n_targets);
    }
    if let Some(what) = strip_any(rest, &["about", "on"]) {
        return (Phrase::About(with_name(without_end(what), target)), false);
    }
    if let Some(action) = strip(rest, "to") {
        return (Phrase::To(with_article(without_end(action), target)), false);
    }
    let is_noun =
        strip_any(rest, &["their", "the", "a", "an", "another", "his or her", "$"]).is_some() || rest.starts_with('$');
    let is_open = strip_any(
        rest,
        &[
            "a question",
            "one more question",
            "another question",
            "questions",
            "some questions",
            "a few questions",
            "a riddle",
        ],
    )
    .is_some();
    if is_open {
        return (Phrase::Open(rest.to_owned()), false);
    }
    if is_noun {
        return noun_phrase(rest, target, n_targets);
    }
    (described(rest, target), false)
}

/// What a text that stands by itself says.
fn described(text: &str, target: Option<&Target>) -> Phrase {
    let text = text.trim();
    let ended = without_end(text);
    if let Some(exact) = unquoted(text) {
        return Phrase::Exact(format!("“{exact}”"));
    }
    if text.ends_with('?') {
        return Phrase::Exact(with_name(text, target));
    }
    if strip_any(ended, &["whether", "if"]).is_some() || strip_any(ended, &QUESTION_WORDS).is_some() {
        return Phrase::Clause(with_name(ended, target));
    }
    if strip_any(ended, &["the", "their", "a", "an", "his or her", "its", "any", "one", "your"]).is_some() {
        return Phrase::Noun(with_name(ended, target));
    }
    Phrase::Open(with_name(ended, target))
}

/// Of the variable that is asked for the words of its name.
fn with_name(text: &str, target: Option<&Target>) -> String {
    let Some(target) = target else { return text.to_owned() };
    let mut result = String::new();
    for piece in pieces(text) {
        match &piece {
            Piece::Mention(reference, _) if reference.name == target.name => result.push_str(&name_words(&target.name)),
            Piece::Word(_) | Piece::Mention(..) | Piece::Quoted(_) | Piece::Other(_) => result.push_str(piece.source()),
        }
    }
    result
}

/// The same of an action: `confirm $total` is `confirm the total`.
fn with_article(action: &str, target: Option<&Target>) -> String {
    let Some(target) = target else { return action.to_owned() };
    let mention = format!("${}", target.name);
    let Some(at) = action.find(&mention) else { return action.to_owned() };
    let before = words(&action[..at]).last().copied().unwrap_or("");
    let is_begun = is_one_of(before, &DETERMINERS) || is_one_of(before, &ADJECTIVES);
    let action = if is_begun { action.to_owned() } else { format!("{}the {}", &action[..at], &action[at..]) };
    with_name(&action, Some(target))
}

/// Adjectives that a variable's own word may follow.
pub(super) const ADJECTIVES: [&str; 30] = [
    "favourite",
    "favorite",
    "preferred",
    "full",
    "first",
    "last",
    "new",
    "old",
    "next",
    "own",
    "home",
    "current",
    "exact",
    "desired",
    "main",
    "other",
    "another",
    "best",
    "correct",
    "right",
    "valid",
    "different",
    "better",
    "current",
    "present",
    "final",
    "total",
    "most",
    "wanted",
    "correct",
];

pub(super) const DETERMINERS: [&str; 16] = [
    "the",
    "their",
    "a",
    "an",
    "his",
    "her",
    "his or her",
    "its",
    "any",
    "one",
    "another",
    "some",
    "your",
    "this",
    "that",
    "my",
];

/// `their $name`, `$order_id, the number of their order`.
fn noun_phrase(noun: &str, target: Option<&Target>, n_targets: usize) -> (Phrase, bool) {
    let noun = without_end(noun);
    let Some(target) = target else { return (cut_reason(noun), false) };
    let mut at = 0;
    let place = pieces(noun).into_iter().find_map(|piece| {
        let start = at;
        at += piece.source().len();
        match &piece {
            Piece::Mention(reference, source) if reference.name == target.name => Some((start, start + source.len())),
            Piece::Word(_) | Piece::Mention(..) | Piece::Quoted(_) | Piece::Other(_) => None,
        }
    });
    let name = name_words(&target.name);
    let Some((start, end)) = place else {
        return (if n_targets > 1 { Phrase::Noun(name) } else { cut_reason(noun) }, false);
    };
    let owner = strip_any(noun, &["their", "the user's"]).map_or("", |_| "their ");
    if n_targets > 1 {
        // Each is asked for by itself.
        return (Phrase::Noun(format!("{owner}{name}")), false);
    }
    let before = noun[..start].trim().trim_end_matches(['(', ',', ':', '–', '—']).trim_end();
    let after = noun[end..].trim();
    let after =
        if noun[..start].trim_end().ends_with('(') { after.trim_start_matches(')').trim_start() } else { after };
    let said_last = words(before).last().copied().unwrap_or("");
    let is_named = !before.is_empty()
        && !is_one_of(said_last, &DETERMINERS)
        && !is_one_of(said_last, &ADJECTIVES)
        && !said_last.ends_with("'s");
    let head = if is_named { before.to_owned() } else { format!("{before} {name}").trim().to_owned() };
    if strip_any(after, &["once more", "again", "one more time"]).is_some() {
        return (Phrase::Noun(head), true);
    }
    let marked = after.strip_prefix([',', ':', '(', '–', '—', '-']).map(|rest| without_end(rest.trim()));
    let marked = marked.map(|rest| if after.starts_with('(') { rest.trim_end_matches(')') } else { rest });
    match marked {
        Some("") => (Phrase::Noun(head), false),
        Some(rest) if strip_any(rest, &REASONS).is_some() => (Phrase::Noun(head), false),
        Some(rest) if strip_any(rest, &FORMS).is_some() => (Phrase::Noun(format!("{head}, {rest}")), false),
        Some(rest) => {
            // The description ends in a question of its own: that is the question.
            let whole = noun[end..].trim().trim_start_matches([',', ':', '(', '–', '—', '-']).trim();
            (described(if noun.ends_with('?') { whole } else { rest }, Some(target)).or_noun(), false)
        }
        None if after.is_empty() || strip_any(after, &["to", "so", "because", "if", "unless", "using"]).is_some() => {
            (Phrase::Noun(head), false)
        }
        None => (Phrase::Noun(with_name(&format!("{head} {after}"), Some(target))), false),
    }
}

impl Phrase {
    /// What has no form of its own is a name for the thing.
    fn or_noun(self) -> Phrase {
        match self {
            Phrase::Open(text) => Phrase::Noun(text),
            Phrase::Exact(_)
            | Phrase::Clause(_)
            | Phrase::To(_)
            | Phrase::Noun(_)
            | Phrase::About(_)
            | Phrase::Unsaid => self,
        }
    }
}

/// A name for something, without the reason that is given after a comma.
fn cut_reason(noun: &str) -> Phrase {
    let cut = noun
        .char_indices()
        .find(|(at, character)| *character == ',' && strip_any(noun[at + 1..].trim_start(), &REASONS).is_some());
    Phrase::Noun(cut.map_or(noun, |(at, _)| &noun[..at]).to_owned())
}
