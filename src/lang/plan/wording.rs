//! Names: what a plan is called by; names from plans in messages, escaped and cut, and what they were probably meant
//! to be.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::spelling::Spelling;
use crate::expr::identifier;

/// Longer names are cut where they are shown, and are nobody's misspelling.
pub(crate) const MAX_SHOWN: usize = 60;

/// The name that a plan of this file is called by.
pub fn plan_name(name: &str) -> Arc<str> {
    let stem = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name);
    let lower = stem.to_ascii_lowercase();
    let ending =
        [".jmp.json", ".branch.json", ".json", ".yaml", ".yml"].into_iter().find(|ending| lower.ends_with(ending));
    let identifier = identifier(&stem[..stem.len() - ending.map_or(0, str::len)]);
    if identifier.is_empty() { "Plan".into() } else { identifier.into() }
}

/// `text` as it may stand in a message: on one line, without control characters and strange white space, not long.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (n, character) in text.chars().enumerate() {
        if n >= MAX_SHOWN {
            shown.push('…');
            break;
        }
        if character.is_control() || (character.is_whitespace() && character != ' ') {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The candidate that `name` was probably meant to be, if both are of a length at which that can be told.
pub(crate) fn suggest<'a>(
    spelling: &Spelling,
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let is_shown = |text: &str| text.len() <= MAX_SHOWN;
    spelling.nearest(name, candidates.filter(|candidate| is_shown(candidate) && is_shown(name) && *candidate != name))
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{}`", shown(name))).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
