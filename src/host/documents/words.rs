//! The words of questions and texts: which of them count, and the parts of identifiers.

use std::sync::LazyLock;

/// A language in each line: its code, then its words that say nothing by themselves.
const STOP_WORDS: &str = include_str!("stop_words.txt");

static LANGUAGES: LazyLock<Vec<Vec<&'static str>>> =
    LazyLock::new(|| STOP_WORDS.lines().map(|line| line.split(' ').skip(1).collect()).collect());

/// The words of a text in lower case, as the index has them.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The name of a thing as it is compared: `South  Korea's` is `south korea`.
pub(super) fn key(name: &str) -> String {
    let name = name.replace('’', "'").replace("'s ", " ");
    words(name.strip_suffix("'s").unwrap_or(&name)).collect::<Vec<_>>().join(" ")
}

/// What a question asks for: its words without those that say nothing in its language, and the parts of its identifiers.
/// All its words if nothing else is left. None stands there twice.
pub(super) fn wanted(question: &str) -> Vec<String> {
    let all: Vec<String> = words(question).collect();
    let stops = |language: &Vec<&str>| all.iter().filter(|word| language.contains(&word.as_str())).count();
    // Of several that know equally many words the first.
    let language = LANGUAGES.iter().rev().max_by_key(|language| stops(language));
    let says = |word: &&String| language.is_none_or(|language| !language.contains(&word.as_str()));
    let mut wanted: Vec<String> = all.iter().filter(says).cloned().collect();
    if wanted.is_empty() {
        wanted = all;
    }
    wanted.extend(identifier_parts(question));
    let mut seen = std::collections::BTreeSet::new();
    wanted.retain(|word| seen.insert(word.clone()));
    wanted
}

/// The parts of the identifiers of a text that are written as one word: `DiffExecutor` has `diff` and `executor`.
pub(super) fn identifier_parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let before = parts.len();
        let mut start = 0;
        let letters: Vec<(usize, char)> = word.char_indices().collect();
        for (index, (at, c)) in letters.iter().enumerate().skip(1) {
            let is_after_lower = !letters[index - 1].1.is_uppercase();
            let is_before_lower = letters.get(index + 1).is_some_and(|(_, next)| next.is_lowercase());
            if c.is_uppercase() && (is_after_lower || is_before_lower) {
                parts.push(word[start..*at].to_lowercase());
                start = *at;
            }
        }
        if parts.len() > before {
            parts.push(word[start..].to_lowercase());
        }
    }
    parts
}

/// Whether two words are forms of one: `neighbouring` and `neighbour`, `borders` and `border`.
pub(super) fn share_a_stem(one: &str, other: &str) -> bool {
    let n_common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let shorter = one.chars().count().min(other.chars().count());
    one == other || n_common >= 4 && n_common + 2 >= shorter
}
