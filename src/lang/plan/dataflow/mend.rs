//! What models write and YAML refuses: a fence around the plan, and `${…}` with `: ` or ` #` in it where YAML sees a
//! mapping or a comment (spec `plans.md`, 3.1). Such values are put in quotes, and nothing else is changed.

use std::ops::Range;

use crate::plan::dataflow::template::closing_brace;

/// A value that is longer up to its `}` is left as it is.
const MAX_EXPRESSION: usize = 1 << 16;

/// A text in which some characters were put. Every one of them is a single byte.
#[derive(Debug, Default)]
pub(super) struct Mended {
    /// The text as YAML can read it.
    pub(super) text: String,
    /// Where the text begins in its file.
    base: usize,
    /// The places in `text` of what was put there, ascending.
    put: Vec<usize>,
    /// The places in the file of each ` #` that is read as text, because the value has a `${` in it.
    pub(super) hashes: Vec<usize>,
}

impl Mended {
    /// The place in the file of a place in `text`.
    pub(super) fn original(&self, at: usize) -> usize {
        self.base + at - self.put.partition_point(|put| *put < at)
    }
}

/// The plan inside `text`: what stands in the first fence that can hold YAML, or all of it. Whether there is
/// another fence of that kind comes with it.
pub(super) fn unfenced(text: &str) -> (Range<usize>, Option<Range<usize>>) {
    let mut found: Option<Range<usize>> = None;
    let mut open: Option<(&str, bool, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim_end();
        let marks = ["```", "~~~"].into_iter().find(|marks| line.starts_with(marks));
        match (open, marks) {
            (None, Some(marks)) => {
                let language = line.trim_start_matches(&marks[..1]).trim();
                let is_yaml = ["", "yaml", "yml"].iter().any(|name| language.eq_ignore_ascii_case(name));
                if is_yaml && found.is_some() {
                    return (found.unwrap_or_default(), Some(here));
                }
                open = Some((marks, is_yaml, start));
            }
            (Some((opened, is_yaml, from)), Some(marks)) if opened == marks => {
                found = found.or(is_yaml.then_some(from..here.start));
                open = None;
            }
            (Some(_) | None, _) => {}
        }
    }
    if let Some((_, true, from)) = open {
        found = found.or(Some(from..text.len()));
    }
    (found.unwrap_or(0..text.len()), None)
}

/// Puts in quotes what has to be in quotes. `base` is where `text` begins in its file.
pub(super) fn mend(text: &str, base: usize) -> Mended {
    let mut scan = Scan { text, position: 0, awaiting: None, block: None, edits: Vec::new(), hashes: Vec::new() };
    while scan.position < text.len() {
        scan.line();
    }
    let mut mended = Mended { base, hashes: scan.hashes.iter().map(|at| base + at).collect(), ..Mended::default() };
    let mut copied = 0;
    for (at, piece) in &scan.edits {
        mended.text.push_str(&text[copied..*at]);
        copied = *at;
        mended.put.extend(mended.text.len()..mended.text.len() + piece.len());
        mended.text.push_str(piece);
    }
    mended.text.push_str(&text[copied..]);
    mended
}

/// Goes over block structure line by line, as far as is needed to know where values begin.
struct Scan<'a> {
    text: &'a str,
    /// The beginning of the next line.
    position: usize,
    /// The column of a key whose value is still to come.
    awaiting: Option<usize>,
    /// The column of the key or dash whose block scalar we are in.
    block: Option<usize>,
    /// What to put where, ascending.
    edits: Vec<(usize, String)>,
    hashes: Vec<usize>,
}

impl Scan<'_> {
    /// The end of the line that holds `at`, without its break.
    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |n| at + n);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }

    /// Where the line after the one that holds `at` begins.
    fn next_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |n| at + n + 1)
    }

    fn line(&mut self) {
        let start = self.position;
        let end = self.line_end(start);
        self.position = self.next_line(start);
        let indent = spaces(&self.text[start..end]);
        let mut at = start + indent;
        let line = &self.text[at..end];
        if line.trim().is_empty() {
            return;
        }
        if let Some(column) = self.block {
            if indent > column {
                return;
            }
            self.block = None;
        }
        if line.starts_with('#') || (indent == 0 && (line.starts_with("---") || line.starts_with("..."))) {
            return;
        }
        let awaited = self.awaiting.take().filter(|column| indent > *column);
        let mut column = awaited.unwrap_or(indent);
        let mut is_value = awaited.is_some();
        while at < end && is_indicator(&self.text[at..end], '-') {
            column = at - start;
            is_value = true;
            at += 1;
            at += spaces(&self.text[at..end]);
        }
        if let Some(length) = key_length(&self.text[at..end]) {
            column = at - start;
            is_value = true;
            at += length;
            at += spaces(&self.text[at..end]);
            if at == end || self.text[at..end].starts_with('#') {
                self.awaiting = Some(column);
                return;
            }
        }
        match self.text[at..end].chars().next() {
            Some(quote @ ('"' | '\'')) => self.skip_quoted(at, quote),
            Some('{' | '[') => self.skip_flow(at),
            Some('|' | '>') => self.block = is_value.then_some(column),
            Some('&' | '*' | '!' | '?' | '%' | '@' | '`') | None => {}
            Some(_) if is_value => self.plain(at, column),
            Some(_) => {}
        }
    }

    /// Goes after a quoted scalar, which may go over several lines.
    fn skip_quoted(&mut self, at: usize, quote: char) {
        let end = at + 1 + quoted_length(&self.text[at + 1..], quote);
        self.position = self.position.max(self.next_line(end));
    }

    /// Goes after a flow collection, which may go over several lines.
    fn skip_flow(&mut self, at: usize) {
        let mut depth = 0_usize;
        let mut end = at;
        let mut before = ' ';
        while let Some(character) = self.text[end..].chars().next() {
            end += character.len_utf8();
            match character {
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                // Inside a plain scalar a quote is a letter.
                '"' | '\'' if matches!(before, ' ' | '\t' | '\n' | '{' | '[' | ',' | ':') => {
                    end += quoted_length(&self.text[end..], character);
                }
                '#' if before.is_whitespace() => end = self.line_end(end),
                _ => {}
            }
            before = character;
            if depth == 0 {
                break;
            }
        }
        self.position = self.position.max(self.next_line(end));
    }

    /// Looks at a plain scalar, and puts it in quotes if YAML would misread it.
    fn plain(&mut self, start: usize, column: usize) {
        let mut needs_quotes = false;
        let mut has_expression = false;
        let mut hashes = Vec::new();
        let mut at = start;
        let mut line_end = self.line_end(start);
        let end = loop {
            if at >= line_end {
                // The scalar goes on if the next line is deeper and no key.
                let next = self.next_line(line_end);
                let next_end = self.line_end(next);
                let line = &self.text[next..next_end];
                let indent = spaces(line);
                let rest = &line[indent..];
                let goes_on =
                    indent > column && !rest.is_empty() && !rest.starts_with('#') && key_length(rest).is_none();
                if next <= line_end || !goes_on {
                    break line_end;
                }
                (at, line_end) = (next + indent, next_end);
                continue;
            }
            let rest = &self.text[at..line_end];
            if rest.starts_with("${") {
                has_expression = true;
                let goes_on = |line: &str| {
                    spaces(line) > column || line.trim_end().chars().all(|c| matches!(c, '}' | ']' | ')' | ' '))
                };
                let limit = (at + MAX_EXPRESSION..self.text.len()).find(|end| self.text.is_char_boundary(*end));
                match closing_brace(&self.text[..limit.unwrap_or(self.text.len())], at + 2, &goes_on) {
                    Some(close) => {
                        let inside = &self.text[at..close];
                        needs_quotes |= inside.contains(": ") || inside.contains(" #") || inside.contains('\n');
                        at = close + 1;
                        line_end = self.line_end(at);
                    }
                    None => {
                        // Said of the expression, not of the YAML around it.
                        needs_quotes = true;
                        at = line_end;
                    }
                }
                continue;
            }
            if let Some(behind) = rest.strip_prefix(" #") {
                let is_comment = behind.chars().next().is_none_or(char::is_whitespace);
                if is_comment || !(has_expression || rest.contains("${")) {
                    break at;
                }
                hashes.push(at + 1);
                needs_quotes = true;
            }
            needs_quotes |= rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t");
            at += rest.chars().next().map_or(1, char::len_utf8);
        };
        let end = start + self.text[start..end].trim_end().len();
        self.position = self.position.max(self.next_line(end));
        if needs_quotes && has_expression {
            self.hashes.extend(hashes);
            self.quote(start..end, column);
        }
    }

    /// Puts single quotes around a value, and its further lines deep enough to be part of it.
    fn quote(&mut self, value: Range<usize>, column: usize) {
        self.edits.push((value.start, "'".to_owned()));
        let mut line_begins = false;
        for (offset, character) in self.text[value.clone()].char_indices() {
            let at = value.start + offset;
            if line_begins {
                line_begins = false;
                let indent = spaces(&self.text[at..value.end]);
                if indent <= column {
                    self.edits.push((at, " ".repeat(column + 1 - indent)));
                }
            }
            match character {
                '\'' => self.edits.push((at, "'".to_owned())),
                '\n' => line_begins = true,
                _ => {}
            }
        }
        self.edits.push((value.end, "'".to_owned()));
    }
}

/// How many spaces `text` begins with.
fn spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// Whether `text` begins with an indicator: the character alone, or with white space after it.
fn is_indicator(text: &str, indicator: char) -> bool {
    text.strip_prefix(indicator).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The length of the key at the beginning of a line, its colon included.
fn key_length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let from = if matches!(first, '"' | '\'') {
        1 + quoted_length(&text[1..], first)
    } else if matches!(first, '{' | '[' | '|' | '>' | '&' | '*' | '!' | '?' | '#') {
        return None;
    } else {
        0
    };
    let rest = text.get(from..)?;
    for (offset, character) in rest.char_indices() {
        let behind = &rest[offset..];
        if character == ':' && is_indicator(behind, ':') {
            return Some(from + offset + 1);
        }
        if behind.starts_with(" #") || behind.starts_with("${") || (from > 0 && character != ' ') {
            return None;
        }
    }
    None
}

/// The length of the rest of a quoted scalar, its closing quote included; all of `text` if it is not closed.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote == '"' {
            characters.next();
        } else if character == quote {
            // In single quotes two of them are one.
            if quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') {
                characters.next();
            } else {
                return at + 1;
            }
        }
    }
    text.len()
}
