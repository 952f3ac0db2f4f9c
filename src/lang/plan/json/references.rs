//! References to variables inside text, and what looks like one and is none (spec `plans.md`, 1.2 and 2.1).

use std::ops::Range;

use crate::plan::json::Dialect;
use crate::plan::json::tree::Json;
use crate::source::json::read_escape;
use crate::span::Span;

/// What stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A reference.
    Variable { range: Range<usize>, name: &'a str },
    /// Text that was perhaps meant to be one.
    Doubtful { range: Range<usize>, name: &'a str, doubt: Doubt },
}

/// Why a piece of text is no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// `${a.b}`: members are not read.
    Members,
    /// `${ a }`.
    Spaces,
    /// It is one in the other dialect.
    OtherDialect,
}

/// A reference in braces, as far as it is one.
struct Braces<'a> {
    name: &'a str,
    has_spaces: bool,
    /// Where it ends; none: something else follows the name.
    end: Option<usize>,
    /// Whether a path follows the name.
    has_path: bool,
}

/// Whether `name` can be read in text of a dialect.
pub(crate) fn is_name(name: &str, dialect: Dialect) -> bool {
    !name.is_empty() && name_length(name, dialect) == name.len()
}

/// How many bytes at the beginning of `text` are a name. In dialect B the names of any script are: nothing is said
/// about them.
fn name_length(text: &str, dialect: Dialect) -> usize {
    let is_letter = |character: char| match dialect {
        Dialect::Jmp => character.is_ascii_alphabetic(),
        Dialect::Branch => character.is_alphabetic(),
    };
    let is_digit = |character: char| match dialect {
        Dialect::Jmp => character.is_ascii_digit(),
        Dialect::Branch => character.is_numeric(),
    };
    let ends = |(at, character): (usize, char)| {
        (character != '_' && !is_letter(character) && (at == 0 || !is_digit(character))).then_some(at)
    };
    text.char_indices().find_map(ends).unwrap_or(text.len())
}

/// Everything in `text` that is a reference or looks like one, in order.
pub(crate) fn scan(text: &str, dialect: Dialect) -> impl Iterator<Item = Found<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + text.get(from..)?.find(['$', '{'])?;
            let rest = &text[at..];
            let (is_own, open, close) = if rest.starts_with("${") {
                (dialect == Dialect::Jmp, "${", "}")
            } else if rest.starts_with("{{") {
                (dialect == Dialect::Branch, "{{", "}}")
            } else {
                from = at + 1;
                continue;
            };
            let braces = braces(text, at + open.len(), close, dialect);
            let name = braces.name;
            let name_end = text.len().min(at + open.len() + name.len());
            // The next reference can begin inside what is none.
            from = braces.end.unwrap_or(at + 1);
            let doubtful = |range, doubt| Some(Found::Doubtful { range, name, doubt });
            match braces.end {
                _ if name.is_empty() => {}
                Some(end) if !is_own => return doubtful(at..end, Doubt::OtherDialect),
                Some(end) if braces.has_spaces && dialect == Dialect::Jmp => return doubtful(at..end, Doubt::Spaces),
                Some(end) => return Some(Found::Variable { range: at..end, name }),
                None if is_own && braces.has_path => return doubtful(at..name_end, Doubt::Members),
                None => {}
            }
        }
    })
}

fn braces<'a>(text: &'a str, from: usize, close: &str, dialect: Dialect) -> Braces<'a> {
    let inside = text.get(from..).unwrap_or("");
    let trimmed = inside.trim_start();
    let name = &trimmed[..name_length(trimmed, dialect)];
    let behind = &trimmed[name.len()..];
    let rest = behind.trim_start();
    let end = rest.starts_with(close).then(|| text.len() - rest.len() + close.len());
    Braces {
        name,
        has_spaces: trimmed.len() < inside.len() || rest.len() < behind.len(),
        end,
        has_path: behind.starts_with(['.', '[']),
    }
}

/// The variable of `{"var": "name"}`: an object with that one key, and text as its value.
pub(crate) fn variable_object(value: Json<'_>) -> Option<&str> {
    value.only_member().filter(|member| member.key == "var")?.value.text()
}

/// The place of a range of the decoded text in the string as it is written at `span` of `text`.
pub(crate) fn place_in_string(text: &str, span: Span, range: &Range<usize>) -> Span {
    let start = span.start as usize + 1;
    let raw = text.get(start..span.end as usize).unwrap_or("");
    // Without escapes both are the same.
    if !raw.contains('\\') {
        return Span::new(span.file, start + range.start, start + range.end);
    }
    let raw_start = raw_offset(raw, range.start, 0, 0);
    let raw_end = raw_offset(raw, range.end, raw_start.0, raw_start.1);
    Span::new(span.file, start + raw_start.0, start + raw_end.0)
}

/// Where the decoded text has its byte `wanted`: offsets in the raw and in the decoded text, counted on from the
/// given ones.
fn raw_offset(raw: &str, wanted: usize, mut at: usize, mut decoded: usize) -> (usize, usize) {
    while decoded < wanted {
        let Some(character) = raw.get(at..).and_then(|rest| rest.chars().next()) else { break };
        let (length, becomes) = match character {
            '\\' => read_escape(&raw[at..]).map_or((2, 1), |(character, length)| (length, character.len_utf8())),
            _ => (character.len_utf8(), character.len_utf8()),
        };
        at += length;
        decoded += becomes;
    }
    (at.min(raw.len()), decoded)
}
