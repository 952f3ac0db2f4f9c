//! YAML of dataflow documents: what it may not hold, in words about plans, and where the text of a scalar stands in
//! the file (spec `plans.md`, 3.1).

use crate::dataflow::mend::Mended;
use crate::diagnostic::Diagnostic;
use crate::source::json::read_escape;
use crate::source::yaml;
use crate::source::yaml::{Fault, FaultKind, Hint, Node, Scalar, Style};
use crate::span::{FileId, Span};

/// How deep lists and mappings may stand inside each other. A plan needs four levels.
const MAX_NESTING: usize = 32;

/// Reads the one document of `mended`; without it there is a finding.
pub(super) fn parse(mended: &Mended, file: FileId, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    let (root, faults) = yaml::parse(&mended.text, file, MAX_NESTING, &|at| mended.original(at));
    diagnostics.extend(faults.into_iter().map(|fault| diagnostic(fault, mended)));
    root
}

fn diagnostic(fault: Fault, mended: &Mended) -> Diagnostic {
    let error = |code, message: String| Diagnostic::error(code, fault.span, message);
    match fault.kind {
        FaultKind::Tag => error("yaml-tag", "tags of YAML have no meaning in a plan: every scalar is text".to_owned()),
        FaultKind::SeveralDocuments => {
            error("several-documents", "a file holds one plan; here a second YAML document begins".to_owned())
        }
        FaultKind::Anchor(name) => {
            let message = format!("anchors of YAML (`&{name}`) have no meaning in a plan");
            let note = "give the value an alias of the plan, and write `${alias}` where it is needed";
            error("yaml-anchor", message).with_note(note)
        }
        FaultKind::Alias(name) => {
            let message = format!("references of YAML (`*{name}`) have no meaning in a plan");
            let note = format!("write `${{{name}}}` for the value of an alias of the plan; put other text in quotes");
            error("yaml-alias", message).with_note(note)
        }
        FaultKind::NestedTooDeep => {
            error("nested-too-deep", format!("lists and mappings are nested deeper than {MAX_NESTING} levels"))
        }
        FaultKind::Syntax { message, hint, at } => {
            let found = error("bad-yaml", format!("this is not valid YAML: {message}"));
            let behind_dollar = mended.text.get(..at).is_some_and(|before| before.ends_with('$'));
            match hint {
                Some(Hint::InBrackets) if behind_dollar => found
                    .with_note("between `{ }` and `[ ]` a text with `${…}` needs quotes: `{from: \"${outbound.to}\"}`"),
                // The parser's words say as much.
                Some(Hint::InBrackets) | None => found,
                Some(Hint::Directive) => {
                    found.with_note("a plan has no `%` directives; a text that begins with `%` needs quotes")
                }
                Some(hint @ (Hint::Tab | Hint::FirstCharacter | Hint::Colon | Hint::OpenQuote)) => {
                    found.with_note(hint.text())
                }
            }
        }
    }
}

/// Where each byte of a scalar's text is in the file.
pub(super) struct Places {
    file: FileId,
    /// Per byte of the text, and for its end: the first byte in the file.
    starts: Vec<usize>,
    /// Per byte of the text: one past the character it belongs to, in the file.
    ends: Vec<usize>,
}

impl Places {
    /// The place in the file of a range of the scalar's text.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let last = self.starts.last().copied().unwrap_or(0);
        let from = self.starts.get(start).copied().unwrap_or(last);
        let to = if end > start { self.ends.get(end - 1).copied().unwrap_or(last) } else { from };
        Span::new(self.file, from, to)
    }
}

impl Scalar {
    /// The lines of a plain scalar that begin with a dash without white space after it, with their places in the
    /// mended text; none unless the first of them does and nothing stands before it.
    pub(in crate::dataflow) fn dashes<'a>(&self, mended: &'a Mended) -> Vec<(usize, &'a str)> {
        let source = mended.text.get(self.range.clone()).unwrap_or("");
        let before = mended.text[..self.range.start].rsplit('\n').next().unwrap_or("");
        let mut lines = Vec::new();
        if self.style == Style::Plain && before.trim().is_empty() && source.starts_with('-') {
            let mut start = self.range.start;
            for line in source.split_inclusive('\n') {
                let text = line.trim_start_matches(' ');
                if text.len() > 1 && text.starts_with('-') && !text[1..].starts_with(['-', ' ', '\n']) {
                    lines.push((start + line.len() - text.len(), text));
                }
                start += line.len();
            }
        }
        lines
    }

    /// Finds its text again in what was written, with quotes, escapes and folded lines.
    pub(in crate::dataflow) fn places(&self, mended: &Mended, file: FileId) -> Places {
        let mut source = Source { text: mended.text.get(..self.range.end).unwrap_or(""), at: self.range.start };
        let quoted = matches!(self.style, Style::SingleQuoted | Style::DoubleQuoted);
        source.at += usize::from(quoted);
        let mut places = Places { file, starts: Vec::with_capacity(self.text.len() + 1), ends: Vec::new() };
        for character in self.text.chars() {
            let (start, end) = source.find(character, self.style);
            for _ in 0..character.len_utf8() {
                places.starts.push(mended.original(start));
                places.ends.push(mended.original(end));
            }
        }
        places.starts.push(mended.original(source.at));
        places
    }
}

/// What is left of a scalar as it was written.
struct Source<'a> {
    text: &'a str,
    at: usize,
}

impl Source<'_> {
    /// The place of the next piece that stands for `wanted`.
    fn find(&mut self, wanted: char, style: Style) -> (usize, usize) {
        loop {
            let start = self.at;
            let rest = self.text.get(start..).unwrap_or("");
            let Some(character) = rest.chars().next() else { return (start, start) };
            let length = match character {
                '\\' if style == Style::DoubleQuoted => escape_length(rest),
                '\'' if style == Style::SingleQuoted => rest.len() - rest.trim_start_matches('\'').len(),
                _ => character.len_utf8(),
            };
            // Of `''''` only two stand for one quote.
            let length = if character == '\'' { length.min(2) } else { length };
            self.at = start + length;
            let is_break = character == '\\' && length > 1 && rest[1..].starts_with(['\n', '\r']);
            let is_escape = character == '\\' && style == Style::DoubleQuoted && !is_break;
            // A folded line break is a space, and what indents the next line is nothing.
            if is_escape || character == wanted || (character.is_whitespace() && wanted.is_whitespace()) {
                return (start, self.at);
            }
        }
    }
}

/// The length of the escape at the beginning of `text`.
fn escape_length(text: &str) -> usize {
    let length = match text[1..].chars().next() {
        None => 1,
        Some('x') => 4,
        // A pair of two halves is one character.
        Some('u') => read_escape(text).map_or(6, |(_, length)| length),
        Some('U') => 10,
        Some(other) => 1 + other.len_utf8(),
    };
    (length..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len())
}
