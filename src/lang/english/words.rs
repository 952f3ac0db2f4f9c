//! Words and names in a text, wherever it stands.

use crate::expr::{continues_name, scan_name};

/// The words of a text, without what stands between them.
pub(crate) fn bare_words(text: &str) -> Vec<&str> {
    text.split(|c: char| !continues_name(c)).filter(|word| !word.is_empty()).collect()
}

/// Whether the words of `phrase` (small letters) stand in `words`, one after the other.
pub(crate) fn phrase_in(words: &[&str], phrase: &str) -> bool {
    let (first, more) = phrase.split_once(' ').unwrap_or((phrase, ""));
    let mut starts = (1..=words.len()).filter(|&at| words[at - 1].eq_ignore_ascii_case(first));
    starts.any(|at| {
        let mut rest = words[at..].iter();
        more.split_terminator(' ').all(|wanted| rest.next().is_some_and(|word| word.eq_ignore_ascii_case(wanted)))
    })
}

/// The words of a name or of plain text, in small letters, without articles: `GetTheOrderStatus` and
/// `get order status` are the same. `None` if something else than words stands in it, or too many words.
pub(crate) fn plain_words(text: &str) -> Option<Vec<String>> {
    plain_text(text).map(|words| words.split(' ').map(str::to_owned).collect())
}

/// The [`plain_words`] with a space between them.
pub(crate) fn plain_text(text: &str) -> Option<String> {
    const MAX_WORDS: usize = 24;
    // A hyphen joins words, whichever it is: `check-in` is `check in`.
    let is_between = |c: char| c.is_whitespace() || matches!(c, '-' | '‑');
    if !text.chars().all(|c| continues_name(c) || is_between(c)) {
        return None;
    }
    let (mut words, mut n_words) = (String::with_capacity(text.len()), 0);
    for part in text.split(is_between).filter(|part| !part.is_empty()) {
        for_each_word(part, |word| {
            n_words += 1;
            if !matches!(word, "the" | "a" | "an") {
                words.push_str(if words.is_empty() { "" } else { " " });
                words.push_str(word);
            }
        });
        if n_words > MAX_WORDS {
            return None;
        }
    }
    (!words.is_empty()).then_some(words)
}

/// What one of `names` may be called, by its name and by the last word of it: `entry`, of `open_entries`.
pub(crate) fn singulars(names: &str) -> Vec<String> {
    const ENDINGS: [(&str, &str); 5] = [("ies", "y"), ("ves", "f"), ("ves", "fe"), ("es", ""), ("s", "")];
    let last = names.rsplit_once('_').map(|(_, last)| last);
    let all = std::iter::once(names).chain(last);
    let one = |name: &str, (many, one): &(&str, &str)| name.strip_suffix(many).map(|stem| format!("{stem}{one}"));
    let found = all.flat_map(|name| ENDINGS.iter().filter_map(move |ending| one(name, ending)));
    found.filter(|name| !name.is_empty()).collect()
}

/// Adds the words of an identifier: `HTTPServer2` is `http`, `server2`.
pub(crate) fn split_camel_case(identifier: &str, words: &mut Vec<String>) {
    for_each_word(identifier, |word| words.push(word.to_owned()));
}

fn for_each_word(identifier: &str, mut add: impl FnMut(&str)) {
    for part in identifier.split('_').filter(|part| !part.is_empty()) {
        // Most words of a text are one word of small letters, or begin with a large one.
        if part.is_ascii() && !part[1..].bytes().any(|byte| byte.is_ascii_uppercase()) {
            match part.as_bytes()[0].is_ascii_uppercase() {
                true => add(&part.to_ascii_lowercase()),
                false => add(part),
            }
            continue;
        }
        let characters: Vec<char> = part.chars().collect();
        let mut word = String::new();
        for (index, &character) in characters.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| characters[before]);
            let after_small = before.is_some_and(|before| !before.is_uppercase());
            let before_small = characters.get(index + 1).is_some_and(|next| next.is_lowercase());
            if character.is_uppercase() && !word.is_empty() && (after_small || before_small) {
                add(&word);
                word.clear();
            }
            word.extend(character.to_lowercase());
        }
        add(&word);
    }
}

/// A text with a large letter first.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

/// Whether a word can hardly be an ordinary one: `check_in`, `Orders.Get`, `GetOrder`.
pub(crate) fn looks_like_name(word: &str) -> bool {
    word.contains(['_', '.']) || word.chars().skip(1).any(char::is_uppercase)
}

/// The length of `Name` or `Agent.Name` at the beginning.
pub(crate) fn scan_path(text: &str) -> usize {
    let mut length = scan_name(text);
    while length > 0 && text[length..].starts_with('.') {
        let part = scan_name(&text[length + 1..]);
        if part == 0 {
            break;
        }
        length += 1 + part;
    }
    length
}

/// Where the bracket closes that was opened in front of `text`; quoted text does not count.
pub(crate) fn closing_bracket(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                characters.next();
            }
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')') if depth == 0 => return Some(at),
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}
