//! Diagnostics as data: what is wrong, where, and what to do about it.
//!
//! Everything that finds a fault in a text makes a [`Diagnostic`]; the wording for people is made here and
//! nowhere else (spec `language.md`, "Diagnostics"). The only file that names `annotate-snippets`.

pub mod spelling;
pub mod wording;

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

use crate::span::{FileId, Sources, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Severity {
    /// The program does not run.
    Error,
    /// The program runs; something is probably not what the author meant.
    Warning,
    /// For information.
    Note,
}

/// A remark about another place that belongs to a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The other place, if there is one.
    pub span: Option<Span>,
    /// What is to be known about it.
    pub message: String,
}

/// A change of the text that would mend the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, as an imperative (`call \`GetOrder\``).
    pub message: String,
    /// The text to replace.
    pub span: Span,
    /// What to put there.
    pub replacement: String,
}

/// One finding about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable name, in kebab case (`unknown-callee`).
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The place.
    pub span: Span,
    /// What is wrong, in lower case without a full stop.
    pub message: String,
    /// Other places and what they have to do with it.
    pub notes: Vec<Note>,
    /// A mend, where one is known.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A finding that keeps the program from running.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(code, Severity::Error, span, message)
    }

    /// A finding that is probably not what the author meant.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(code, Severity::Warning, span, message)
    }

    /// Something good to know.
    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(code, Severity::Note, span, message)
    }

    fn new(code: &'static str, severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { code, severity, span, message: message.into(), notes: Vec::new(), fix: None }
    }

    /// Adds what another place has to do with it.
    #[must_use]
    pub fn with_place(mut self, span: Span, message: impl Into<String>) -> Self {
        self.notes.push(Note { span: Some(span), message: message.into() });
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn with_note(mut self, message: impl Into<String>) -> Self {
        self.notes.push(Note { span: None, message: message.into() });
        self
    }

    /// Adds a mend: `replacement` for the text at `span`.
    #[must_use]
    pub fn with_fix(mut self, message: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix { message: message.into(), span, replacement: replacement.into() });
        self
    }
}

/// All `diagnostics` as text for people, in the given order: severity, code, message, the source with carets,
/// notes and mends. With `color`, terminal escapes are used. Ends with a line break unless empty.
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&renderer.render(&groups(diagnostic, sources)));
        text.push_str("\n\n");
    }
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn groups<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(&*diagnostic.message).id(diagnostic.code));
    if let Some(window) = Window::around(sources, diagnostic.span) {
        let mut snippet = window.snippet(AnnotationKind::Primary, diagnostic.span, None);
        for note in &diagnostic.notes {
            if let Some(span) = note.span
                && let Some(range) = window.range_of(span)
            {
                snippet = snippet.annotation(AnnotationKind::Context.span(range).label(&*note.message));
            }
        }
        group = group.element(snippet);
        for note in &diagnostic.notes {
            match note.span {
                None => group = group.element(Level::NOTE.message(&*note.message)),
                Some(span) if window.range_of(span).is_none() => {
                    if let Some(other) = Window::around(sources, span) {
                        group = group.element(other.snippet(AnnotationKind::Context, span, Some(&note.message)));
                    }
                }
                Some(_) => {}
            }
        }
    }
    let mut groups = vec![group];
    if let Some(fix) = &diagnostic.fix
        && let Some(window) = Window::around(sources, fix.span)
        && let Some(range) = window.range_of(fix.span)
    {
        let snippet = Snippet::source(window.text).path(window.name).line_start(window.line);
        let patch = snippet.patch(Patch::new(range, &*fix.replacement));
        groups.push(Level::HELP.secondary_title(&*fix.message).element(patch));
    }
    groups
}

/// How many lines of a long span are shown.
const MAX_SHOWN_LINES: usize = 6;

/// The lines around a span. Only they are given to the renderer: it reads all it gets, for each diagnostic.
struct Window<'a> {
    file: FileId,
    name: &'a str,
    text: &'a str,
    start: usize,
    line: usize,
}

impl<'a> Window<'a> {
    fn around(sources: &'a Sources, span: Span) -> Option<Window<'a>> {
        let file = sources.get(span.file)?;
        let (line, _) = file.lines.line_column((span.start as usize).min(file.text.len()));
        let start = file.lines.line_start(line)?;
        let mut end = start;
        for (n_lines, shown) in file.text[start..].split_inclusive('\n').enumerate() {
            if n_lines >= MAX_SHOWN_LINES || (n_lines > 0 && end >= span.end as usize) {
                break;
            }
            end += shown.len();
        }
        Some(Window { file: span.file, name: &file.name, text: &file.text[start..end], start, line })
    }

    /// The span inside the window, cut at the window's end; none if it begins elsewhere.
    fn range_of(&self, span: Span) -> Option<Range<usize>> {
        let start = (span.start as usize).checked_sub(self.start).filter(|_| span.file == self.file)?;
        (start <= self.text.len()).then(|| start..(span.end as usize - self.start).min(self.text.len()))
    }

    fn snippet(
        &self,
        kind: AnnotationKind,
        span: Span,
        label: Option<&'a str>,
    ) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let snippet = Snippet::source(self.text).path(self.name).line_start(self.line);
        match self.range_of(span) {
            Some(range) => snippet.annotation(kind.span(range).label(label)),
            None => snippet,
        }
    }
}
