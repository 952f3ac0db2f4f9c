//! List items: bullets, indentation, numbers.

use std::ops::Range;

use crate::files::format::writer::{Gap, Writer};
use crate::source::ast::{ItemTree, Section};
use crate::source::line_start;
use crate::span::Span;

/// What stands in a section: an item's first line with all that follows it, more of an item after what is nested in it,
/// or something else.
struct Token<'t> {
    range: Range<usize>,
    item: Option<&'t ItemTree>,
    /// The item's words that stand in the range.
    words: Option<Span>,
    begins: bool,
}

/// Writes the items of a section: bullets `-`, two spaces a level, no empty lines between items of one paragraph.
pub(super) fn write_items(writer: &mut Writer<'_>, section: &Section) {
    let mut tokens: Vec<Token<'_>> = section.items.iter().flat_map(|item| tokens_of(item, writer.text)).collect();
    let other = |span: &Span| Token { range: span.range(), item: None, words: None, begins: false };
    tokens.extend(section.other.iter().map(other));
    tokens.sort_by_key(|token| token.range.start);
    let is_one_paragraph =
        |token: &Token<'_>| token.begins && token.item.is_some_and(|item| item.plain && !item.text.is_empty());
    let mut before: Option<&Token<'_>> = None;
    for token in &tokens {
        let gap = match before {
            None => Gap::Blank,
            Some(before) if is_one_paragraph(before) && is_one_paragraph(token) => Gap::Line,
            Some(_) => Gap::Kept,
        };
        put(writer, token, gap);
        before = Some(token);
    }
}

fn tokens_of<'t>(item: &'t ItemTree, text: &str) -> Vec<Token<'t>> {
    let mark = item.prefix.map_or(item.bullet, |prefix| item.bullet.to(prefix));
    let mut words = item.text.as_slice();
    // What is nested can stand before all words: `- - a`.
    let is_next =
        |first: &Span| text.get(mark.end as usize..first.start as usize).is_some_and(|gap| gap.trim().is_empty());
    let first = words.first().copied().filter(is_next);
    if first.is_some() {
        words = &words[1..];
    }
    let whole = first.map_or(mark, |first| mark.to(first));
    let begins = Token { range: whole.range(), item: Some(item), words: first, begins: true };
    let more = |span: &Span| Token { range: span.range(), item: Some(item), words: Some(*span), begins: false };
    std::iter::once(begins).chain(words.iter().map(more)).collect()
}

fn put(writer: &mut Writer<'_>, token: &Token<'_>, gap: Gap) {
    let text = writer.text;
    let Range { start, end } = token.range;
    let line_start = line_start(text, start);
    let is_alone = text[line_start..start].trim().is_empty();
    let Some(item) = token.item.filter(|_| is_alone || token.begins) else {
        let from = if is_alone { line_start } else { start };
        return writer.put(from..end, &text[from..end], gap);
    };
    let column = 2 * (item.level + 1);
    let mut piece = String::new();
    if is_alone {
        piece.push_str(&" ".repeat(if token.begins { column - 2 } else { column }));
    }
    if token.begins {
        piece.push('-');
        // An older tool's numbers are nothing but numbers; with this one the session begins.
        let prefix = item.prefix.map(|prefix| &text[prefix.range()]).filter(|prefix| prefix.ends_with("BGN"));
        if let Some(prefix) = prefix {
            piece.push(' ');
            piece.push_str(prefix);
        }
    }
    if let Some(words) = token.words {
        piece.push_str(if token.begins { " " } else { "" });
        piece.push_str(&indented(text, words, column));
    }
    let gap = if is_alone { gap } else { Gap::Kept };
    writer.put(if is_alone { line_start } else { start }..end, &piece, gap);
}

/// Words of an item whose further lines begin at another column. More indentation than the words have is theirs.
fn indented(text: &str, words: Span, column: usize) -> String {
    let old_column = words.start as usize - line_start(text, words.start as usize);
    let mut lines = text[words.range()].split('\n');
    let mut indented = lines.next().unwrap_or("").to_owned();
    for line in lines {
        let rest = &line[line.bytes().take(old_column).take_while(|byte| matches!(byte, b' ' | b'\t')).count()..];
        indented.push('\n');
        if !rest.is_empty() {
            indented.push_str(&" ".repeat(column));
            indented.push_str(rest);
        }
    }
    indented
}

/// The numbers of lists that do not count, and what they are to be: the first number of a list is the author's.
pub(super) fn numbers<'t>(text: &str, items: impl Iterator<Item = &'t ItemTree>) -> Vec<(Range<usize>, String)> {
    let (mut numbers, mut open, mut end): (_, Vec<(usize, u64)>, _) = (Vec::new(), Vec::new(), 0);
    let mut items = items.peekable();
    while let Some(item) = items.next() {
        // After other text a list is another one.
        if text.get(end..item.bullet.start as usize).is_some_and(|between| !between.trim().is_empty()) {
            open.clear();
        }
        end = item.text.last().map_or(item.bullet.end, |last| last.end) as usize;
        open.retain(|(level, _)| *level < item.level || (*level == item.level && item.ordered));
        let place = item.bullet.start as usize..item.bullet.end as usize - 1;
        let Some(written) = text.get(place.clone()).and_then(|digits| digits.parse().ok()).filter(|_| item.ordered)
        else {
            continue;
        };
        let Some((_, last)) = open.last_mut().filter(|(level, _)| *level == item.level) else {
            open.push((item.level, written));
            continue;
        };
        *last += 1;
        // What belongs to the item stands as far to the right as its words; then a number of another length stays.
        let is_line = !item.text.iter().any(|words| text[words.range()].contains('\n'))
            && item.plain
            && items.peek().is_none_or(|next| next.level <= item.level);
        let number = last.to_string();
        if written != *last && (is_line || number.len() == place.len()) {
            numbers.push((place, number));
        }
    }
    numbers
}
