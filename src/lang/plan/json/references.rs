//! References to variables inside text, and what looks like one and is none (spec `plans.md`, 1.2 and 2.1).

use std::ops::Range;

use crate::plan::dataflow::yaml::Written;
use crate::plan::json::Dialect;
use crate::plan::json::tree::Json;
use crate::source::yaml::Style;
use crate::span::Span;

/// A piece of a text that is a reference or looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) name: &'a str,
    /// Why it is none, though perhaps meant to be one.
    pub(crate) doubt: Option<Doubt>,
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
            let inside = &text[at + open.len()..];
            let trimmed = inside.trim_start();
            let name = &trimmed[..name_length(trimmed, dialect)];
            let behind = &trimmed[name.len()..];
            let rest = behind.trim_start();
            let has_spaces = trimmed.len() < inside.len() || rest.len() < behind.len();
            let end = rest.starts_with(close).then(|| text.len() - rest.len() + close.len());
            // The next reference can begin inside what is none.
            from = end.unwrap_or(at + 1);
            let (end, doubt) = match end {
                _ if name.is_empty() => continue,
                Some(end) if !is_own => (end, Some(Doubt::OtherDialect)),
                Some(end) if has_spaces && dialect == Dialect::Jmp => (end, Some(Doubt::Spaces)),
                Some(end) => (end, None),
                None if is_own && behind.starts_with(['.', '[']) => {
                    (text.len().min(at + open.len() + name.len()), Some(Doubt::Members))
                }
                None => continue,
            };
            return Some(Found { range: at..end, name, doubt });
        }
    })
}

/// The variable of `{"var": "name"}`: an object with that one key, and text as its value.
pub(crate) fn variable_object(value: Json<'_>) -> Option<&str> {
    value.only_member().filter(|member| member.key == "var")?.value.text()
}

/// The place of a range of the text `decoded` in the string as it is written at `span` of `text`.
pub(crate) fn place_in_string(text: &str, decoded: &str, span: Span, range: &Range<usize>) -> Span {
    let mut written = Written { text: text.get(..span.end as usize).unwrap_or(""), at: span.start as usize + 1 };
    let (mut from, mut to) = (written.at, written.at);
    for (at, character) in decoded.char_indices().take_while(|(at, _)| *at < range.end) {
        let (start, end) = written.find(character, Style::DoubleQuoted);
        from = if at <= range.start { start } else { from };
        to = end;
    }
    Span::new(span.file, from, to)
}
