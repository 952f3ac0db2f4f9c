//! The lines of a file of cases: fences, sections, and the list at the top; and what is found in them.

use std::collections::HashMap;

use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::{in_ticks, meant_or};
use crate::diagnostic::{Diagnostic, Note};
use crate::files::case_file::item::{Wrong, json_or_text};
use crate::files::case_file::mention::{Mention, MentionKind};
use crate::files::case_file::names::Named;
use crate::span::{FileId, Span};
use crate::value::Map;

/// One line of the text.
#[derive(Clone, Copy, Debug)]
pub struct Line<'t> {
    /// From 1.
    pub number: usize,
    /// Where it begins.
    pub offset: usize,
    /// Its text as it is, without the line break.
    pub raw: &'t str,
}

impl<'t> Line<'t> {
    /// The first line of an empty text.
    pub const EMPTY: Line<'static> = Line { number: 1, offset: 0, raw: "" };

    /// Its text without spaces at its end.
    pub fn text(self) -> &'t str {
        self.raw.trim_end()
    }

    /// The place of its text.
    pub fn span(self, file: FileId) -> Span {
        let indent = self.raw.len() - self.raw.trim_start().len();
        Span::new(file, self.offset + indent, self.offset + self.text().len())
    }

    /// The place of a part of its text.
    pub fn span_of(self, file: FileId, part: &str) -> Span {
        let at = (part.as_ptr() as usize).wrapping_sub(self.raw.as_ptr() as usize);
        let is_part = at.checked_add(part.len()).is_some_and(|end| end <= self.raw.len());
        if is_part { Span::new(file, self.offset + at, self.offset + at + part.len()) } else { self.span(file) }
    }

    /// How many backticks it begins with.
    pub fn n_ticks(self) -> usize {
        self.raw.bytes().take_while(|&byte| byte == b'`').count()
    }

    /// Whether it closes a fence of `n` backticks.
    pub fn closes(self, n: usize) -> bool {
        self.n_ticks() >= n && self.text().bytes().all(|byte| byte == b'`')
    }
}

/// A level-2 heading and the lines below it.
pub struct Section<'t> {
    /// The heading.
    pub heading: Line<'t>,
    /// What stands below it.
    pub lines: Vec<Line<'t>>,
}

/// Which lines stand inside fences, the fences themselves among them, while one line after the other is seen.
#[derive(Default)]
pub struct Fence {
    n_ticks: usize,
}

impl Fence {
    /// Whether `line`, which follows the lines seen so far, is a fence or stands inside one.
    pub fn holds(&mut self, line: Line<'_>) -> bool {
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
    pub fn is_open(&self) -> bool {
        self.n_ticks > 0
    }
}

/// The lines of a text.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut offset = 0;
    text.split_inclusive('\n').enumerate().map(move |(index, whole)| {
        let raw = whole.strip_suffix('\n').unwrap_or(whole);
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        let line = Line { number: index + 1, offset, raw };
        offset += whole.len();
        line
    })
}

/// The lines above the first level-2 heading, and the sections. Headings inside fences are text.
pub fn split(text: &str) -> (Vec<Line<'_>>, Vec<Section<'_>>) {
    let mut top = Vec::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut fence = Fence::default();
    for line in lines(text) {
        if !fence.holds(line) && line.raw.starts_with("## ") {
            sections.push(Section { heading: line, lines: Vec::new() });
        } else {
            sections.last_mut().map_or(&mut top, |section| &mut section.lines).push(line);
        }
    }
    (top, sections)
}

/// What is found while a file is read.
pub struct Reader {
    /// Where.
    pub file: FileId,
    /// What, so far.
    pub findings: Vec<Diagnostic>,
    /// The names that mean something elsewhere, so far.
    pub mentions: Vec<Mention>,
}

/// What was read of a file.
#[derive(Clone, Debug)]
pub struct Read<T> {
    /// All that could be read of it.
    pub file: T,
    /// What is wrong with it, in the order of its lines; the first note of each says what to do.
    pub findings: Vec<Diagnostic>,
    /// The names in it that mean something elsewhere.
    pub mentions: Vec<Mention>,
}

impl<T> Read<T> {
    /// The same of another form.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> Read<U> {
        Read { file: form(self.file), findings: self.findings, mentions: self.mentions }
    }

    /// The file, if nothing is wrong with it.
    ///
    /// # Errors
    /// All findings.
    pub fn whole(self) -> Result<T, Vec<Diagnostic>> {
        if self.findings.is_empty() { Ok(self.file) } else { Err(self.findings) }
    }
}

/// What stands above the first section.
pub struct Head<'t> {
    /// The first heading's text.
    pub title: String,
    /// The text below it; empty if none.
    pub description: String,
    /// The first line that is not empty.
    pub first: Line<'t>,
    /// All `- key: value`, each key once, no value empty.
    pub items: Vec<TopItem<'t>>,
    /// Headings that don't belong there.
    pub headings: Vec<Line<'t>>,
}

/// The same of a file about a program.
pub struct Top<'t> {
    /// The first heading's text.
    pub title: String,
    /// The text below it; empty if none.
    pub description: String,
    /// `program`.
    pub program: String,
    /// Where it is named.
    pub program_span: Span,
    /// `tools`.
    pub tools: Option<String>,
    /// `setting NAME`.
    pub settings: Map,
    /// All other `- key: value`, each key once, no value empty.
    pub items: Vec<TopItem<'t>>,
}

/// One item of the list at the top.
pub struct TopItem<'t> {
    /// Its line.
    pub line: Line<'t>,
    /// What stands before the colon.
    pub key: &'t str,
    /// What stands after it.
    pub value: &'t str,
}

impl Reader {
    /// Nothing has been found in this file yet.
    pub fn new(file: FileId) -> Reader {
        Reader { file, findings: Vec::new(), mentions: Vec::new() }
    }

    /// A finding about a line; `next` says what to do.
    pub fn report(&mut self, line: Line<'_>, code: &'static str, message: impl Into<String>, next: impl Into<String>) {
        self.findings.push(Diagnostic::error(code, line.span(self.file), message).with_note(next));
    }

    /// What came of reading a piece of a line.
    pub fn accept<T>(&mut self, line: Line<'_>, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|Wrong { code, message, next }| self.report(line, code, message, next)).ok()
    }

    /// Adds another place to the last finding.
    pub fn also(&mut self, span: Span, message: &str) {
        if let Some(finding) = self.findings.last_mut() {
            finding.notes.push(Note { span: Some(span), message: message.to_owned() });
        }
    }

    /// Keeps a name, which is `part` of a line.
    pub fn mention(&mut self, line: Line<'_>, part: &str, kind: MentionKind) {
        self.mentions.push(Mention { span: line.span_of(self.file, part), kind });
    }

    /// Keeps names that are parts of a line.
    pub fn mention_all<'t>(&mut self, line: Line<'_>, named: impl IntoIterator<Item = Named<'t>>) {
        named.into_iter().for_each(|(part, kind)| self.mention(line, part, kind));
    }

    /// What has been read, and what was found.
    pub fn finish<T>(self, file: T) -> Read<T> {
        let Reader { mut findings, mentions, .. } = self;
        findings.sort_by_key(|finding| finding.span.start);
        Read { file, findings, mentions }
    }

    /// Reads the `lines` above the first section of a file about a program. `keys` are the keys there are, in words,
    /// `sections` the headings of sections, if not any will do.
    pub fn top<'t>(&mut self, lines: &[Line<'t>], keys: &str, sections: &[&str]) -> Top<'t> {
        let Head { title, description, first, items, headings } = self.head(lines, keys);
        headings.into_iter().for_each(|line| self.unknown_heading(line, sections));
        let mut top = Top {
            title,
            description,
            program: String::new(),
            program_span: first.span(self.file),
            tools: None,
            settings: Map::new(),
            items: Vec::new(),
        };
        for item in items {
            self.put(&mut top, item);
        }
        if top.program.is_empty() && !self.findings.iter().any(|finding| finding.code == "empty-value") {
            let next = "add `- program: FILE.md` below the title";
            self.report(first, "no-program", "the file does not name its program", next);
        }
        top
    }

    /// Reads the `lines` above the first section. `keys` are the keys there are, in words.
    pub fn head<'t>(&mut self, lines: &[Line<'t>], keys: &str) -> Head<'t> {
        let mut lines = lines.iter().copied().skip_while(|line| line.text().is_empty()).peekable();
        let first = lines.peek().copied().unwrap_or(Line::EMPTY);
        let (mut title, mut items, mut headings) = (String::new(), Vec::new(), Vec::new());
        match first.text().strip_prefix("# ") {
            Some(text) => {
                text.trim().clone_into(&mut title);
                lines.next();
            }
            None => self.report(first, "no-title", "the file has no title", "begin it with `# ` and a title"),
        }
        let mut places: HashMap<&str, Span> = HashMap::new();
        let mut description: Vec<&str> = Vec::new();
        for line in lines {
            let text = line.text();
            if let Some(item) = text.strip_prefix("- ") {
                items.extend(self.top_item(line, item, keys, &mut places));
            } else if text.starts_with('#') {
                headings.push(line);
            } else if places.is_empty() {
                description.push(text);
            } else if !text.is_empty() {
                let message = "this line does not belong in the list at the top";
                self.report(line, "unexpected-text", message, "put descriptions above the list");
            }
        }
        let description = description.join("\n").trim_matches('\n').to_owned();
        Head { title, description, first, items, headings }
    }

    /// What scores must reach, from 0 to 1.
    pub fn threshold(&mut self, item: &TopItem<'_>) -> Option<f64> {
        let threshold = item.value.parse().ok().filter(|threshold| (0.0..=1.0).contains(threshold));
        if threshold.is_none() {
            let message = format!("`{}` is not a threshold", item.value);
            self.report(item.line, "bad-threshold", message, "write a number from 0 to 1, like `0.8`");
        }
        threshold
    }

    /// Keeps what all files can say; the rest is the matter of the kind of file.
    fn put<'t>(&mut self, top: &mut Top<'t>, item: TopItem<'t>) {
        match item.key.split_once(' ') {
            None if item.key == "program" => {
                item.value.clone_into(&mut top.program);
                top.program_span = item.line.span(self.file);
                self.mention(item.line, item.value, MentionKind::Program(item.value.to_owned()));
            }
            None if item.key == "tools" => {
                top.tools = Some(item.value.to_owned());
                self.mention(item.line, item.value, MentionKind::Tools(item.value.to_owned()));
            }
            Some(("setting", name)) => {
                top.settings.insert(name.trim().into(), json_or_text(item.value));
            }
            None | Some(_) => top.items.push(item),
        }
    }

    /// An item whose key nobody knows; `keys` are those there are, in words, each in backticks.
    pub fn unknown_key(&mut self, item: &TopItem<'_>, keys: &str) {
        let known = keys.split('`').skip(1).step_by(2);
        let near = nearest(item.key, known).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let message = format!("there is no key `{}`", item.key);
        self.report(item.line, "unknown-key", message, format!("{near}keys are {keys}"));
    }

    /// A heading that nobody knows; `known` are those there are, if not any will do.
    pub fn unknown_heading(&mut self, line: Line<'_>, known: &[&str]) {
        let text = line.text();
        if known.is_empty() {
            let message = format!("`{text}` is not a section");
            return self.report(line, "unknown-heading", message, "begin sections with `## `");
        }
        let near = nearest(text.trim_start_matches('#').trim(), known.iter());
        let heading = |known: &&str| format!("## {known}");
        let next = meant_or(near.map(heading), format!("headings are {}", in_ticks(known.iter().map(heading))));
        self.report(line, "unknown-heading", format!("there is no heading `{text}`"), next);
    }

    /// A section in which nothing stands.
    pub fn empty(&mut self, heading: Line<'_>, next: &str) {
        self.report(heading, "empty-section", format!("`{}` is empty", heading.text()), next);
    }

    fn top_item<'t>(
        &mut self,
        line: Line<'t>,
        item: &'t str,
        keys: &str,
        places: &mut HashMap<&'t str, Span>,
    ) -> Option<TopItem<'t>> {
        let Some((key, value)) = item.split_once(':') else {
            let next = format!("write `- key: value`; keys are {keys}");
            self.report(line, "unknown-key", format!("`{item}` has no value"), next);
            return None;
        };
        let (key, value) = (key.trim(), value.trim());
        if value.is_empty() {
            let next = "write one after the colon, or remove the line";
            self.report(line, "empty-value", format!("`{key}` has no value"), next);
            return None;
        }
        if let Some(&first) = places.get(key) {
            self.report(line, "duplicate-key", format!("`{key}` is given twice"), "remove one of them");
            self.also(first, "first given here");
            return None;
        }
        places.insert(key, line.span(self.file));
        Some(TopItem { line, key, value })
    }
}
