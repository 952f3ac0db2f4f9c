//! Small questions asked of English text, and pronouns turned round: a line speaks *of* the user, what is said
//! speaks *to* them.

use std::borrow::Cow;

use crate::lang::expr::scan_reference;
use crate::value::Reference;

/// A piece of a text; all pieces together are the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece<'t> {
    /// Letters and digits, with apostrophes and hyphens inside.
    Word(&'t str),
    /// `$name.path`.
    Mention(Reference, &'t str),
    /// A text in double quotes, these included.
    Quoted(&'t str),
    /// Spaces and marks.
    Other(&'t str),
}

impl<'t> Piece<'t> {
    /// As it was written.
    pub(super) fn source(&self) -> &'t str {
        match self {
            Piece::Word(text) | Piece::Mention(_, text) | Piece::Quoted(text) | Piece::Other(text) => text,
        }
    }
}

/// Cuts a text into its pieces.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() {
            let length = word_length(rest);
            pieces.push(Piece::Word(&rest[..length]));
            length
        } else if rest.starts_with("$$") {
            add_other(&mut pieces, text, rest, 2);
            2
        } else if let Some((reference, length)) = scan_reference(rest) {
            pieces.push(Piece::Mention(reference, &rest[..length]));
            length
        } else if let Some(length) = quoted_length(rest) {
            pieces.push(Piece::Quoted(&rest[..length]));
            length
        } else {
            let length = first.len_utf8();
            add_other(&mut pieces, text, rest, length);
            length
        };
        rest = &rest[length..];
    }
    pieces
}

/// Adds the first bytes of `rest`, which stands in `text`, to the marks before it.
fn add_other<'t>(pieces: &mut Vec<Piece<'t>>, text: &'t str, rest: &'t str, length: usize) {
    match pieces.last_mut() {
        Some(Piece::Other(last)) => {
            let start = text.len() - rest.len() - last.len();
            *last = &text[start..start + last.len() + length];
        }
        _ => pieces.push(Piece::Other(&rest[..length])),
    }
}

/// The length of the word at the beginning; an apostrophe or a hyphen belongs to it if it goes on after.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let joins =
            matches!(character, '\'' | '’' | '-') && characters.peek().is_some_and(|next| next.is_alphanumeric());
        if !(character.is_alphanumeric() || character == '_' || joins) {
            break;
        }
        length += character.len_utf8();
    }
    length
}

/// The length of a text in double quotes at the beginning.
fn quoted_length(text: &str) -> Option<usize> {
    let close = match text.chars().next()? {
        '"' => '"',
        '“' => '”',
        '«' => '»',
        _ => return None,
    };
    let open = text.chars().next()?.len_utf8();
    text[open..].find(close).map(|at| open + at + close.len_utf8())
}

/// What stands between double quotes, if the text is that and nothing else.
pub(super) fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim().trim_end_matches(['.', '!', '?']).trim_end();
    let length = quoted_length(text).filter(|length| *length == text.len())?;
    let open = text.chars().next()?.len_utf8();
    let close = text.chars().next_back()?.len_utf8();
    Some(&text[open..length - close])
}

/// What follows `phrase` (words of small letters, one space between them), if the text begins so; case and kind of
/// white space do not matter.
pub(super) fn strip<'t>(text: &'t str, phrase: &str) -> Option<&'t str> {
    let mut rest = text;
    for word in phrase.split(' ') {
        rest = rest.trim_start();
        let mark = || rest.chars().next().filter(|first| matches!(first, '\'' | '’')).map_or(0, char::len_utf8);
        let length = Some(word_length(rest)).filter(|length| *length > 0).unwrap_or_else(mark);
        if length == 0 || !same(&rest[..length], word) {
            return None;
        }
        rest = &rest[length..];
    }
    Some(rest.trim_start())
}

/// What follows the first of `phrases` that the text begins with.
pub(super) fn strip_any<'t>(text: &'t str, phrases: &[&str]) -> Option<&'t str> {
    phrases.iter().find_map(|phrase| strip(text, phrase))
}

/// Whether two words are the same but for case and kind of apostrophe.
pub(super) fn same(word: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace('’', "'").to_lowercase();
    word.eq_ignore_ascii_case(other) || plain(word) == other
}

/// Whether a word is one of `list` (small letters).
pub(super) fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|other| same(word, other))
}

/// Where `phrase` begins and ends in the text, outside of quotes.
pub(super) fn find(text: &str, phrase: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for piece in pieces(text) {
        if let Piece::Word(_) = piece
            && let Some(rest) = strip(&text[at..], phrase)
        {
            let end = text.len() - rest.len();
            let end = at + text[at..end].trim_end().len();
            return Some((at, end));
        }
        at += piece.source().len();
    }
    None
}

/// The first of `phrases` in the text.
pub(super) fn find_any(text: &str, phrases: &[&str]) -> Option<(usize, usize)> {
    phrases.iter().filter_map(|phrase| find(text, phrase)).min()
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<&str> {
    let words = pieces(text).into_iter();
    words.filter_map(|piece| if let Piece::Word(word) = piece { Some(word) } else { None }).collect()
}

/// The references of a text.
pub(super) fn mentions(text: &str) -> Vec<Reference> {
    let mentions = pieces(text).into_iter();
    mentions.filter_map(|piece| if let Piece::Mention(reference, _) = piece { Some(reference) } else { None }).collect()
}

/// A line's words on one line, without what ends it.
pub(super) fn one_line(text: &str) -> String {
    let mut inside_fence = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        inside_fence ^= is_fence;
        !is_fence && !inside_fence
    });
    lines.map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Without the marks that end a sentence or lead on.
pub(super) fn without_end(text: &str) -> &str {
    text.trim().trim_end_matches(|c: char| matches!(c, '.' | ',' | ';' | ':' | '!') || c.is_whitespace())
}

/// With a large first letter.
pub(super) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// A sentence: a large letter first, a mark at the end.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches([',', ';', ':']).trim_end();
    let ends = text.ends_with(['.', '!', '?', '…'])
        || [".”", "!”", "?”", ".\"", "!\"", "?\""].iter().any(|end| text.ends_with(end));
    let end = if ends || text.is_empty() { "" } else { "." };
    format!("{}{end}", capitalised(text))
}

/// Without the marks and the politeness around an answer.
pub(super) fn bare(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let marks =
            |c: char| matches!(c, '.' | ',' | '!' | ';' | ':' | '"' | '“' | '”' | '„' | '«' | '»') || c.is_whitespace();
        let trimmed = text.trim_matches(marks);
        // A bracket that was opened stays.
        let politeness = [
            "please",
            "thank you",
            "thanks",
            "i think",
            "i guess",
            "i believe",
            "i suppose",
            "danke",
            "bitte",
            "merci",
            "gracias",
        ];
        let cut = politeness.iter().find_map(|phrase| {
            let start = trimmed
                .len()
                .checked_sub(phrase.len())
                .filter(|start| *start > 0 && trimmed.is_char_boundary(*start))?;
            let is_alone = trimmed[..start].ends_with([' ', ',']) && trimmed[start..].eq_ignore_ascii_case(phrase);
            is_alone.then(|| trimmed[..start].trim_end())
        });
        match cut {
            Some(rest) if !rest.is_empty() => text = rest,
            _ => return if trimmed.is_empty() { text } else { trimmed },
        }
    }
}

/// The words of a variable's name: `order_id` is `order ID`.
pub(super) fn name_words(name: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        words.push(String::new());
        let mut was_small = false;
        for character in part.chars() {
            if character.is_uppercase() && was_small {
                words.push(String::new());
            }
            was_small = character.is_lowercase();
            if let Some(word) = words.last_mut() {
                word.extend(character.to_lowercase());
            }
        }
    }
    let known = |word: String| match word.as_str() {
        "id" => "ID".to_owned(),
        "iban" | "pin" | "url" | "vat" => word.to_uppercase(),
        "zip" => "ZIP code".to_owned(),
        _ => word,
    };
    words.into_iter().map(known).collect::<Vec<_>>().join(" ")
}

/// What people who talk to a program are called in playbooks.
const USERS: [&str; 8] = ["user", "customer", "caller", "client", "guest", "visitor", "patient", "student"];

/// Verbs after which `you` is the one who acts.
const ACTS: [&str; 30] = [
    "will",
    "can",
    "could",
    "would",
    "should",
    "may",
    "might",
    "must",
    "shall",
    "cannot",
    "can't",
    "won't",
    "are",
    "were",
    "have",
    "had",
    "do",
    "did",
    "don't",
    "need",
    "want",
    "know",
    "think",
    "found",
    "find",
    "remember",
    "understood",
    "understand",
    "heard",
    "like",
];

/// Words after which `you` is not the one who acts.
const ACTED_ON: [&str; 26] = [
    "to", "for", "with", "from", "of", "about", "at", "by", "than", "on", "behind", "reach", "call", "contact", "tell",
    "give", "ask", "show", "help", "write", "send", "email", "thank", "let", "trust", "see",
];

/// A line's words as they are said to the user: `their` is `your`, `them` is `you`; the model, `you` in a line, is
/// `I`. What stands in quotes stays.
pub(super) fn turn_round(text: &str) -> String {
    let pieces = pieces(text);
    let mut turned = String::with_capacity(text.len());
    let mut index = 0;
    // What the next verb must agree with.
    let mut agrees: Option<Subject> = None;
    while let Some(piece) = pieces.get(index) {
        let Piece::Word(word) = piece else {
            turned.push_str(piece.source());
            if !piece.source().trim().is_empty() {
                agrees = None;
            }
            index += 1;
            continue;
        };
        let next = pieces.iter().skip(index + 1).find_map(|piece| match piece {
            Piece::Word(word) => Some(*word),
            Piece::Mention(..) | Piece::Quoted(_) | Piece::Other(_) => None,
        });
        let before = pieces[..index].iter().rev().find_map(|piece| match piece {
            Piece::Word(word) => Some(*word),
            Piece::Mention(..) | Piece::Quoted(_) | Piece::Other(_) => None,
        });
        let (new, n_used, subject) = turn_word(word, before, next);
        let new = agrees.take().filter(|_| subject.is_none()).and_then(|subject| subject.verb(word)).unwrap_or(new);
        turned.push_str(&new);
        agrees = subject;
        // `the user` is two words and the space between them.
        index += if n_used == 2 { 3 } else { 1 };
    }
    turned
}

/// The subject of a sentence, where its verb changes with it.
#[derive(Clone, Copy)]
enum Subject {
    /// `the user` has become `you`.
    User,
    /// `you` has become `I`.
    Speaker,
}

impl Subject {
    fn verb(self, verb: &str) -> Option<Cow<'static, str>> {
        let new = match (self, verb.to_lowercase().as_str()) {
            (Subject::User, "is" | "are") => "are",
            (Subject::User, "was") => "were",
            (Subject::User, "has") => "have",
            (Subject::User, "does") => "do",
            (Subject::User, "doesn't") => "don't",
            (Subject::User, "isn't") => "aren't",
            (Subject::Speaker, "are") => "am",
            (Subject::Speaker, "were") => "was",
            (Subject::User, verb) if verb.len() > 3 && verb.ends_with('s') && !verb.ends_with("ss") => {
                let stem = ["ches", "shes", "sses", "xes"].iter().find(|end| verb.ends_with(**end));
                return Some(Cow::Owned(verb[..verb.len() - if stem.is_some() { 2 } else { 1 }].to_owned()));
            }
            _ => return None,
        };
        Some(Cow::Borrowed(new))
    }
}

/// What a word becomes, how many words of the text that takes, and whose the next verb is.
fn turn_word<'t>(word: &'t str, before: Option<&str>, next: Option<&str>) -> (Cow<'t, str>, usize, Option<Subject>) {
    let lower = word.to_lowercase().replace('’', "'");
    let fixed = |text: &'static str| (Cow::Borrowed(text), 1, None);
    match lower.as_str() {
        "the" => {
            let noun = next.unwrap_or("").to_lowercase().replace('’', "'");
            if USERS.contains(&noun.as_str()) {
                return (Cow::Borrowed("you"), 2, Some(Subject::User));
            }
            match noun.strip_suffix("'s").filter(|owner| USERS.contains(owner)) {
                Some(_) => (Cow::Borrowed("your"), 2, None),
                None => (Cow::Borrowed(word), 1, None),
            }
        }
        "user's" => fixed("your"),
        "they" | "them" => fixed("you"),
        "their" => fixed("your"),
        "theirs" => fixed("yours"),
        "themselves" | "themself" => fixed("yourself"),
        "they're" => fixed("you're"),
        "they'll" => fixed("you'll"),
        "they've" => fixed("you've"),
        "they'd" => fixed("you'd"),
        "yourself" => fixed("myself"),
        "yours" => fixed("mine"),
        "your" => fixed("my"),
        "you're" => fixed("I'm"),
        "you'll" => fixed("I'll"),
        "you've" => fixed("I've"),
        "you" => {
            let acts = next.is_some_and(|next| is_one_of(next, &ACTS));
            let acted_on = before.is_some_and(|before| is_one_of(before, &ACTED_ON));
            if acts || (!acted_on && next.is_some()) {
                (Cow::Borrowed("I"), 1, Some(Subject::Speaker))
            } else {
                fixed("me")
            }
        }
        _ => (Cow::Borrowed(word), 1, None),
    }
}

/// What follows the one who is told or asked (`the user`, `them`, `$name`), if the text begins with it.
pub(super) fn strip_user(text: &str) -> Option<&str> {
    if let Some(rest) = strip_any(text, &["them", "him or her", "her or him", "the person", "person", "everyone"]) {
        return Some(rest);
    }
    let rest = strip_any(text, &["the", "this", "our"]).unwrap_or(text);
    strip_any(rest, &USERS)
}
