//! Where a file's front matter stands, and what only looks like it.

use std::ops::Range;

use crate::source::keys::{self, FRONT_MATTER};
use crate::source::line_length;

/// The key of front matter that this one was probably meant to be; none: it is one, or nothing like any.
pub(crate) fn meant_key(key: &str) -> Option<&'static str> {
    match key {
        // The lists stand under `tools:`.
        "allow" | "deny" => Some("tools"),
        key => keys::meant(FRONT_MATTER, key),
    }
}

/// What stands at the beginning of a file.
pub(crate) enum Found {
    /// The YAML between `---` lines, and where the text after it begins.
    Yaml(Range<usize>, usize),
    /// A line that was probably meant to open front matter, and what to do.
    Lost(Range<usize>, &'static str),
    /// Neither.
    Nothing,
}

/// Looks for front matter, which begins at `from` if there is any.
pub(crate) fn find(text: &str, from: usize) -> Found {
    let first = from + line_length(&text[from..]);
    if text[from..first].trim_end() == "---" {
        let mut at = first;
        while at < text.len() {
            let end = at + line_length(&text[at..]);
            if matches!(text[at..end].trim_end(), "---" | "...") {
                return Found::Yaml(first..at, end);
            }
            at = end;
        }
    }
    find_lost(text, from).map_or(Found::Nothing, |(mark, advice)| Found::Lost(mark, advice))
}

/// A mark above the first heading with keys below it. After other text they must be keys that mean something: there a
/// line of dashes may well be a rule.
fn find_lost(text: &str, from: usize) -> Option<(Range<usize>, &'static str)> {
    let (mut at, mut is_first) = (from, true);
    while at < text.len() {
        let end = at + line_length(&text[at..]);
        let line = text[at..end].trim();
        if line.starts_with('#') || line.starts_with("```") {
            return None;
        }
        if is_mark(line) {
            let mut below = text[end..].lines().map(str::trim);
            // YAML has comments; after an empty line they are headings.
            let key = below.by_ref().find(|line| !line.starts_with('#'));
            let key =
                key.and_then(|line| if line.is_empty() { below.find(|line| !line.is_empty()) } else { Some(line) });
            let key = key.and_then(key_of);
            if key.is_some_and(|key| is_first || keys::find(FRONT_MATTER, key).is_some() || meant_key(key).is_some()) {
                let mark = text[at..end].trim_end();
                let advice = match mark {
                    "---" if at == from => "it is not closed; write `---` on a line of its own below it",
                    "---" => "it must begin on the first line; remove what is above it",
                    _ => "write `---` on lines of their own above and below it, and `key: value` between them",
                };
                return Some((at..at + mark.len(), advice));
            }
        }
        is_first &= line.is_empty();
        at = end;
    }
    None
}

/// `---` as people, their editors and other programs write it: more dashes or fewer, longer ones, `---yaml`, `+++`.
fn is_mark(line: &str) -> bool {
    let line = line.strip_suffix("yaml").map_or(line, str::trim_end);
    let is_dash = |mark: char| matches!(mark, '-' | '–' | '—');
    let n_marks = line.chars().count();
    n_marks > 1 && line.chars().all(is_dash) || line == "—" || n_marks > 2 && line.chars().all(|mark| mark == '+')
}

/// The key of a line `key: value` or `key = value`.
pub(crate) fn key_of(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['"', '\'']);
    let length = line.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(line.len());
    let (key, rest) = line.split_at(length);
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    let is_key = !key.is_empty() && rest.starts_with([':', '=']);
    is_key.then_some(key)
}
