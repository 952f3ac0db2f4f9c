//! JSON token by token: what stands between the tokens is settled, the tokens stay as they are. A list or object that the
//! author wrote on one line stays on one if there is room.

use crate::files::format::proof::Untouched;
use crate::files::format::writer::{has_carriage_returns, with_line_breaks};
use crate::span::LineIndex;

/// So many characters a line has, if it need not have more.
const MAX_LINE: usize = 100;

/// The whole text, which must be one list or object and nothing else. Whether it is JSON in all its details, the reader
/// of plans says, which takes a line break in a text.
pub(super) fn write(text: &str) -> Result<String, Untouched> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut printer = Printer { written: text[..start].to_owned(), depth: 0, one_line: None, is_after_value: false };
    let mut rest = text[start..].trim_start();
    while !rest.is_empty() {
        let (token, after) = rest.split_at(token_length(rest));
        let begins = matches!(token, "{" | "[") && printer.one_line.is_none() && printer.depth > 0;
        if begins && fits(rest, MAX_LINE.saturating_sub(printer.column())) {
            printer.one_line = Some(printer.depth);
        }
        if !printer.put(token) {
            let line = LineIndex::new(text).line_column(text.len() - rest.len()).0;
            return Err(Untouched { line, why: "this is not JSON".to_owned() });
        }
        rest = after.trim_start();
    }
    if printer.depth > 0 || !printer.is_after_value {
        return Err(Untouched { line: text.lines().count().max(1), why: "this JSON has no end".to_owned() });
    }
    printer.written.push('\n');
    Ok(with_line_breaks(printer.written, has_carriage_returns(text)))
}

struct Printer {
    written: String,
    depth: usize,
    /// How deep the list or object stands that is being written on one line.
    one_line: Option<usize>,
    is_after_value: bool,
}

impl Printer {
    /// Writes a token; false: it cannot stand there.
    fn put(&mut self, token: &str) -> bool {
        let is_separator = matches!(token, "," | ":");
        let closes = matches!(token, "}" | "]");
        let opens = matches!(token, "{" | "[");
        if is_separator != self.is_after_value && !closes || self.depth == 0 && !opens {
            return false;
        }
        let is_inside = self.one_line.is_some_and(|depth| depth < self.depth);
        if closes {
            self.depth -= 1;
        }
        let is_empty = closes && self.written.ends_with(['{', '[']);
        let begins = self.written.ends_with(['{', '[', ',']) && !closes;
        if !is_inside && (begins || closes && !is_empty) {
            self.written.push('\n');
            self.written.push_str(&"  ".repeat(self.depth));
        } else if self.written.ends_with([',', ':']) {
            self.written.push(' ');
        }
        self.written.push_str(token);
        self.one_line = self.one_line.filter(|&depth| !closes || depth < self.depth);
        self.depth += usize::from(opens);
        self.is_after_value = !opens && !is_separator;
        true
    }

    /// Where the next token would stand in its line.
    fn column(&self) -> usize {
        let line = self.written.rsplit('\n').next().unwrap_or("");
        if line.ends_with(['{', '[', ',']) { 2 * self.depth } else { line.chars().count() + 1 }
    }
}

/// Whether the list or object that a text begins with stands on one line, and has room on one, with a comma after it.
fn fits(text: &str, room: usize) -> bool {
    let (mut rest, mut depth, mut width) = (text, 0, 1);
    loop {
        let token = &rest[..token_length(rest)];
        width += token.chars().count() + usize::from(matches!(token, "," | ":"));
        match token {
            "{" | "[" => depth += 1,
            "}" | "]" => depth -= 1,
            _ => {}
        }
        if depth <= 0 || width > room {
            return width <= room && matches!(token, "}" | "]");
        }
        let after = &rest[token.len()..];
        rest = after.trim_start();
        if rest.is_empty() || after[..after.len() - rest.len()].contains('\n') {
            return false;
        }
    }
}

/// The length of the token that a text begins with: a sign, a text in quotes, or what stands between such.
fn token_length(text: &str) -> usize {
    match text.bytes().next() {
        Some(b'{' | b'}' | b'[' | b']' | b',' | b':') => 1,
        Some(b'"') => end_of_string(text),
        _ => text.find(|c: char| "{}[],:\"".contains(c) || c.is_whitespace()).unwrap_or(text.len()),
    }
}

fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}
