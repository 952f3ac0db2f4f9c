//! Names of variables and parameters in pieces of a file of cases.

use crate::expr::scan_name;
use crate::files::case_file::item::json_prefix;
use crate::files::case_file::mention::{LineName, MentionKind, Owner};
use crate::value::Map;

/// A piece of a text, and what it is to mean.
pub type Named<'t> = (&'t str, MentionKind);

/// A name or a quoted text.
struct Word<'t> {
    /// As it is written, without quotation marks.
    text: &'t str,
    is_quoted: bool,
    /// In how many brackets it stands.
    depth: usize,
    /// Whether something is given to it: `order: "4"`, `$order = 4`.
    is_key: bool,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let (mut words, mut depth, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let name = scan_name(rest.strip_prefix('$').unwrap_or(rest));
        let (is_quoted, length) = match first {
            '"' => (true, json_prefix(rest).unwrap_or(0)),
            '$' if name > 0 => (false, 1 + name),
            _ => (false, name),
        };
        if length == 0 {
            match first {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += first.len_utf8();
            continue;
        }
        let after = rest[length..].trim_start();
        let is_key = after.starts_with(':') || (after.starts_with('=') && !after.starts_with("=="));
        let text = if is_quoted { &rest[1..length - 1] } else { &rest[..length] };
        words.push(Word { text, is_quoted, depth, is_key });
        at += length;
    }
    words
}

/// A variable, with its `$` or without.
pub fn variable<'t>(written: &'t str, of: &Owner) -> Named<'t> {
    let name = written.strip_prefix('$').unwrap_or(written).to_owned();
    (written, MentionKind::Variable { name, of: of.clone() })
}

/// Every `$name`, wherever it stands; `$$` is a `$`.
pub fn variables<'t>(text: &'t str, of: &Owner) -> Vec<Named<'t>> {
    let name = |(at, _)| {
        let length = scan_name(&text[at + 1..]);
        (length > 0 && !text[..at].ends_with('$')).then(|| variable(&text[at..=at + length], of))
    };
    text.match_indices('$').filter_map(name).collect()
}

/// Where these names are given something, outside of quotation marks, each once.
pub fn given<'t>(text: &'t str, names: &Map, of: &Owner) -> Vec<Named<'t>> {
    let words = words(text);
    let place = |name: &str| {
        let is_meant = |word: &&Word<'_>| !word.is_quoted && word.is_key && word.text.trim_start_matches('$') == name;
        words.iter().find(is_meant).map(|word| variable(word.text, of))
    };
    names.keys().filter_map(|name| place(name)).collect()
}

/// The variables to which a cell gives values: `$name = JSON`, several separated by `;`.
pub fn assigned(cell: &str) -> Vec<Named<'_>> {
    let is_set = |word: &Word<'_>| !word.is_quoted && word.is_key && word.text.starts_with('$');
    words(cell).into_iter().filter(is_set).map(|word| variable(word.text, &Owner::Any)).collect()
}

/// What a trace line of a reply calls and sets. `at` is the program's line that the one before it was about, and then that
/// of this one.
pub fn traced<'t>(line: &'t str, at: &mut Option<LineName>) -> Vec<Named<'t>> {
    let (mut named, mut key, mut callee) = (Vec::new(), "", "");
    for Word { text, depth, is_key, .. } in words(line).into_iter().filter(|word| word.is_quoted) {
        match (depth, is_key, key) {
            (1, true, _) => key = text,
            (1, false, "at") => *at = Some(LineName::Id(text.to_owned())),
            (1, false, "call") => {
                callee = text;
                named.push((text, MentionKind::Callable(text.to_owned())));
            }
            (1, false, "as") | (2, true, "set") => {
                named.push(variable(text, &at.clone().map_or(Owner::Any, Owner::SetBy)))
            }
            (2, true, "args" | "each") => named.push(variable(text, &Owner::Playbook(callee.to_owned()))),
            _ => {}
        }
    }
    named.extend(variables(line, &at.clone().map_or(Owner::Any, Owner::Line)));
    named
}
