//! Pieces of messages that several rooms say.

use std::fmt::Display;

/// Text on one line, with single spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a long text.
pub fn cut(text: &str, n_characters: usize) -> String {
    match text.char_indices().nth(n_characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `` `a`, `b`, `c` ``.
pub fn in_ticks(names: impl IntoIterator<Item = impl Display>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What to do about a name that nothing has: write the one that was probably meant, else what is said `otherwise`.
pub fn meant_or(near: Option<impl Display>, otherwise: impl Into<String>) -> String {
    near.map_or_else(|| otherwise.into(), |near| format!("did you mean `{near}`?"))
}
