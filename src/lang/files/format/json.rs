//! JSON token by token: what stands between the tokens is settled, the tokens stay as they are.

use crate::files::format::proof::Untouched;
use crate::files::format::writer::{has_carriage_returns, with_line_breaks};
use crate::span::LineIndex;

/// The whole text, which must be one list or object and nothing else. Whether it is JSON in all its details, the reader
/// of plans says, which takes a line break in a text.
pub(super) fn write(text: &str) -> Result<String, Untouched> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut printer = Printer { written: text[..start].to_owned(), depth: 0, is_after_value: false };
    let mut rest = text[start..].trim_start();
    while !rest.is_empty() {
        let (token, after) = rest.split_at(token_length(rest));
        let after = after.trim_start();
        let is_empty = matches!(token, "{" | "[") && after.starts_with(['}', ']']);
        if !printer.put(token, is_empty) {
            let line = LineIndex::new(text).line_column(text.len() - rest.len()).0;
            return Err(Untouched { line, why: "this is not JSON".to_owned() });
        }
        rest = after;
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
    is_after_value: bool,
}

impl Printer {
    /// Writes a token; false: it cannot stand there. `is_empty`: the next token closes what this one opens.
    fn put(&mut self, token: &str, is_empty: bool) -> bool {
        let is_separator = matches!(token, "," | ":");
        let closes = matches!(token, "}" | "]");
        let opens = matches!(token, "{" | "[");
        if is_separator != self.is_after_value && !closes || self.depth == 0 && !opens {
            return false;
        }
        if closes {
            self.depth -= 1;
            if !self.written.ends_with(['{', '[']) {
                self.line();
            }
        }
        self.written.push_str(token);
        self.depth += usize::from(opens);
        if (opens && !is_empty) || token == "," {
            self.line();
        } else if token == ":" {
            self.written.push(' ');
        }
        self.is_after_value = !opens && !is_separator;
        true
    }

    fn line(&mut self) {
        self.written.push('\n');
        self.written.push_str(&"  ".repeat(self.depth));
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
