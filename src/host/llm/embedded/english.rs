//! Small questions asked of English text, and pronouns turned round: a line speaks *of* the user, what is said
//! speaks *to* them.

use playhouse_lang::expr::scan_reference;
use playhouse_lang::value::Reference;

/// A piece of a text; all pieces together are the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece<'t> {
    /// Letters and digits, with apostrophes and hyphens inside.
    Word(&'t str),
    /// `$name.path`.
    Mention(Reference, &'t str),
    /// A text in double quotes, these included.
    Quoted(&'t str),
    /// A blank or a mark.
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
        let piece = if first.is_alphanumeric() {
            Piece::Word(&rest[..word_length(rest)])
        } else if rest.starts_with("$$") {
            Piece::Other(&rest[..2])
        } else if let Some((reference, length)) = scan_reference(rest) {
            Piece::Mention(reference, &rest[..length])
        } else if let Some(length) = quoted_length(rest) {
            Piece::Quoted(&rest[..length])
        } else {
            Piece::Other(&rest[..first.len_utf8()])
        };
        rest = &rest[piece.source().len()..];
        pieces.push(piece);
    }
    pieces
}

/// The same, each with where it begins and ends.
pub(super) fn placed(text: &str) -> impl Iterator<Item = (usize, usize, Piece<'_>)> {
    let mut end = 0;
    pieces(text).into_iter().map(move |piece| {
        let start = end;
        end += piece.source().len();
        (start, end, piece)
    })
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

/// What follows the first of `phrases` (`one|another`) that the text begins with.
pub(super) fn strip_any<'t>(text: &'t str, phrases: &str) -> Option<&'t str> {
    phrases.split('|').find_map(|phrase| strip(text, phrase))
}

/// Whether two words are the same but for case and kind of apostrophe.
pub(super) fn same(word: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace('’', "'").to_lowercase();
    word.eq_ignore_ascii_case(other) || plain(word) == other
}

/// Whether a text is one of `list` (`one|another`, small letters).
pub(super) fn is_one_of(word: &str, list: &str) -> bool {
    list.split('|').any(|other| same(word, other))
}

/// Where `phrase` begins and ends in the text, outside of quotes.
pub(super) fn find(text: &str, phrase: &str) -> Option<(usize, usize)> {
    let mut words = placed(text).filter(|(.., piece)| matches!(piece, Piece::Word(_)));
    words.find_map(|(start, ..)| Some((start, behind(text, start, phrase)?)))
}

/// Where `phrase` ends, which begins at `start`.
fn behind(text: &str, start: usize, phrase: &str) -> Option<usize> {
    let rest = strip(&text[start..], phrase)?;
    Some(start + text[start..text.len() - rest.len()].trim_end().len())
}

/// The first of `phrases` (`one|another`) in the text.
pub(super) fn find_any(text: &str, phrases: &str) -> Option<(usize, usize)> {
    phrases.split('|').filter_map(|phrase| find(text, phrase)).min()
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

/// A sentence: a large letter first, a mark at the end.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches([',', ';', ':']).trim_end();
    let ends = text.trim_end_matches(['”', '"']).ends_with(['.', '!', '?', '…']);
    let first = text.chars().next();
    let rest = first.map_or("", |first| &text[first.len_utf8()..]);
    let large: String = first.iter().flat_map(|first| first.to_uppercase()).collect();
    format!("{large}{rest}{}", if ends || text.is_empty() { "" } else { "." })
}

/// Without the marks and the politeness around an answer.
pub(super) fn bare(text: &str) -> &str {
    const POLITE: &str = "please|thank you|thanks|i think|i guess|i believe|i suppose";
    let marks = |c: char| c.is_whitespace() || ".,!;:\"“”„«»".contains(c);
    let mut bare = text.trim_matches(marks);
    let polite_end = |text: &str| {
        let mut places = POLITE.split('|').filter_map(|phrase| find(text, phrase));
        places.find(|(start, end)| *start > 0 && *end == text.len())
    };
    while let Some((start, _)) = polite_end(bare) {
        bare = bare[..start].trim_matches(marks);
    }
    if bare.is_empty() { text.trim() } else { bare }
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
    let known = |word: String| if is_one_of(&word, "id|iban|pin|url") { word.to_uppercase() } else { word };
    words.into_iter().map(known).collect::<Vec<_>>().join(" ")
}

/// Words of a line as they are said to the user; `you` is the model there.
const TURNS: [(&str, &str); 16] = [
    ("the user's", "your"),
    ("their", "your"),
    ("theirs", "yours"),
    ("them", "you"),
    ("they're", "you're"),
    ("they", "you"),
    ("themselves", "yourself"),
    ("you are", "I am"),
    ("you will", "I will"),
    ("you have", "I have"),
    ("you can", "I can"),
    ("you can't", "I can't"),
    ("you may", "I may"),
    ("tell you", "tell me"),
    ("your", "my"),
    ("yourself", "myself"),
];

/// A line's words as they are said to the user, word by word: no sentence is made of them. What stands in quotes stays.
pub(super) fn turn_round(text: &str) -> String {
    let mut turned = String::with_capacity(text.len());
    let mut turned_to = 0;
    for (start, _, piece) in placed(text) {
        if start < turned_to {
            continue;
        }
        let mut turns = TURNS.iter().filter(|_| matches!(piece, Piece::Word(_)));
        match turns.find_map(|(phrase, new)| Some((new, behind(text, start, phrase)?))) {
            Some((new, end)) => {
                turned.push_str(new);
                turned_to = end;
            }
            None => turned.push_str(piece.source()),
        }
    }
    turned
}

/// What follows the one who is told or asked (`the user`, `them`, `$name`), if the text begins with it.
pub(super) fn strip_user(text: &str) -> Option<&str> {
    let rest = strip_any(text, "the|this|our").unwrap_or(text);
    strip_any(text, "them|him or her|everyone").or_else(|| strip_any(rest, "user|customer|caller|client|guest|visitor"))
}
