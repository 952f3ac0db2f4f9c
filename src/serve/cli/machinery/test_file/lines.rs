//! The lines of a test file: fences, sections, and the list at the top. Trigger tables have the same frame.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};

/// One line of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'t> {
    /// From 1.
    pub(crate) number: usize,
    /// Where it begins.
    pub(crate) offset: usize,
    /// Its text as it is, without the line break.
    pub(crate) raw: &'t str,
}

impl<'t> Line<'t> {
    /// The first line of an empty text.
    pub(crate) const EMPTY: Line<'static> = Line { number: 1, offset: 0, raw: "" };

    /// Its text without spaces at its end.
    pub(crate) fn text(self) -> &'t str {
        self.raw.trim_end()
    }

    /// The place of its text.
    pub(crate) fn span(self, file: FileId) -> Span {
        let indent = self.raw.len() - self.raw.trim_start().len();
        Span::new(file, self.offset + indent, self.offset + self.text().len())
    }

    /// How many backticks it begins with.
    pub(crate) fn n_ticks(self) -> usize {
        self.raw.bytes().take_while(|&byte| byte == b'`').count()
    }

    /// Whether it closes a fence of `n` backticks.
    pub(crate) fn closes(self, n: usize) -> bool {
        self.n_ticks() >= n && self.text().bytes().all(|byte| byte == b'`')
    }
}

/// A level-2 heading and the lines below it.
pub(crate) struct Section<'t> {
    /// The heading.
    pub(crate) heading: Line<'t>,
    /// What stands below it.
    pub(crate) lines: Vec<Line<'t>>,
}

/// Which lines stand inside fences, the fences themselves among them, while one line after the other is seen.
#[derive(Default)]
pub(crate) struct Fence {
    n_ticks: usize,
}

impl Fence {
    /// Whether `line`, which follows the lines seen so far, is a fence or stands inside one.
    pub(crate) fn holds(&mut self, line: Line<'_>) -> bool {
        if self.n_ticks == 0 {
            self.n_ticks = if line.n_ticks() >= 3 { line.n_ticks() } else { 0 };
            return self.n_ticks > 0;
        }
        if line.closes(self.n_ticks) {
            self.n_ticks = 0;
        }
        true
    }

    /// Whether a fence is not closed yet.
    pub(crate) fn is_open(&self) -> bool {
        self.n_ticks > 0
    }
}

/// The lines above the first level-2 heading, and the sections. Headings inside fences are text.
pub(crate) fn split(text: &str) -> (Vec<Line<'_>>, Vec<Section<'_>>) {
    let mut top = Vec::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut fence = Fence::default();
    let mut offset = 0;
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        let raw = whole.strip_suffix('\n').unwrap_or(whole);
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        let line = Line { number: index + 1, offset, raw };
        offset += whole.len();
        if !fence.holds(line) && line.raw.starts_with("## ") {
            sections.push(Section { heading: line, lines: Vec::new() });
        } else {
            sections.last_mut().map_or(&mut top, |section| &mut section.lines).push(line);
        }
    }
    (top, sections)
}

/// A finding about a line; `next` says what to do.
pub(crate) fn finding(
    file: FileId,
    line: Line<'_>,
    code: &'static str,
    message: impl Into<String>,
    next: impl Into<String>,
) -> Diagnostic {
    Diagnostic::error(code, line.span(file), message).with_note(next)
}

/// What stands above the first section: title, description, list.
pub(crate) struct Top<'t> {
    /// The first line that is not empty.
    pub(crate) first: Line<'t>,
    /// The first heading's text.
    pub(crate) title: String,
    /// The text below it; empty if none.
    pub(crate) description: String,
    /// `- key: value`, each key once, no value empty.
    pub(crate) items: Vec<TopItem<'t>>,
    /// Headings that don't belong there.
    pub(crate) headings: Vec<Line<'t>>,
}

/// One item of the list at the top.
pub(crate) struct TopItem<'t> {
    /// Its line.
    pub(crate) line: Line<'t>,
    /// What stands before the colon.
    pub(crate) key: &'t str,
    /// What stands after it.
    pub(crate) value: &'t str,
}

impl<'t> Top<'t> {
    /// Reads the `lines` above the first section. `keys` are the keys there are, in words.
    pub(crate) fn read(file: FileId, lines: &[Line<'t>], keys: &str, findings: &mut Vec<Diagnostic>) -> Top<'t> {
        let mut lines = lines.iter().copied().skip_while(|line| line.text().is_empty()).peekable();
        let first = lines.peek().copied().unwrap_or(Line::EMPTY);
        let mut top =
            Top { first, title: String::new(), description: String::new(), items: Vec::new(), headings: Vec::new() };
        match first.text().strip_prefix("# ") {
            Some(title) => {
                title.trim().clone_into(&mut top.title);
                lines.next();
            }
            None => findings.push(finding(
                file,
                first,
                "no-title",
                "the file has no title",
                "begin it with `# ` and a title",
            )),
        }
        let mut places: HashMap<&str, Span> = HashMap::new();
        let mut description: Vec<&str> = Vec::new();
        for line in lines {
            let text = line.text();
            if let Some(item) = text.strip_prefix("- ") {
                match top_item(file, line, item, keys, &mut places) {
                    Ok(item) => top.items.push(item),
                    Err(found) => findings.push(*found),
                }
            } else if text.starts_with('#') {
                top.headings.push(line);
            } else if places.is_empty() {
                description.push(text);
            } else if !text.is_empty() {
                let message = "this line does not belong in the list at the top";
                findings.push(finding(file, line, "unexpected-text", message, "put descriptions above the list"));
            }
        }
        description.join("\n").trim_matches('\n').clone_into(&mut top.description);
        top
    }
}

fn top_item<'t>(
    file: FileId,
    line: Line<'t>,
    item: &'t str,
    keys: &str,
    places: &mut HashMap<&'t str, Span>,
) -> Result<TopItem<'t>, Box<Diagnostic>> {
    let Some((key, value)) = item.split_once(':') else {
        let next = format!("write `- key: value`; keys are {keys}");
        return Err(finding(file, line, "unknown-key", format!("`{item}` has no value"), next).into());
    };
    let (key, value) = (key.trim(), value.trim());
    if value.is_empty() {
        let next = "write one behind the colon, or leave the line out";
        return Err(finding(file, line, "empty-value", format!("`{key}` has no value"), next).into());
    }
    if let Some(&first) = places.get(key) {
        let message = format!("`{key}` is given twice");
        let found = finding(file, line, "duplicate-key", message, "leave one of them out");
        return Err(found.with_place(first, "given here first").into());
    }
    places.insert(key, line.span(file));
    Ok(TopItem { line, key, value })
}
