//! YAML as it was written: a tree with places, scalars as text. The only file that knows the YAML parser.
//!
//! Nothing is expanded and nothing gets a type: aliases, anchors, tags, merge keys and further documents are
//! findings (spec `plans.md`, 3.1).

use std::collections::HashSet;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle};

use crate::dataflow::mend::Mended;
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};

/// How deep lists and mappings may stand inside each other. A plan needs four levels.
const MAX_NESTING: usize = 32;

/// A node of the tree.
#[derive(Debug)]
pub(super) struct Node {
    /// Its place.
    pub(super) span: Span,
    pub(super) kind: NodeKind,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Scalar(Scalar),
    List(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
    /// A finding has been made about it.
    Unread,
}

/// Text.
#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) style: Style,
    /// Its place in the mended text.
    start: usize,
    end: usize,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// `|` or `>`.
    Block,
}

impl Node {
    /// The scalar, if it is one.
    pub(super) fn scalar(&self) -> Option<&Scalar> {
        if let NodeKind::Scalar(scalar) = &self.kind { Some(scalar) } else { None }
    }

    /// Whether nothing is written there, or `null`, or `~`.
    pub(super) fn is_null(&self) -> bool {
        let text = self.scalar().filter(|scalar| scalar.style == Style::Plain);
        text.is_some_and(|scalar| matches!(&*scalar.text, "" | "~" | "null" | "Null" | "NULL"))
    }
}

/// Reads the one document of `mended`; without it there is a finding.
pub(super) fn parse(mended: &Mended, file: FileId, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    let mut options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        disallow_directives: true,
        flow_nesting_limit: MAX_NESTING,
        block_nesting_limit: MAX_NESTING,
    };
    options.set_emit_comments(false);
    let mut builder = Builder { mended, file, diagnostics, open: Vec::new(), root: None };
    let mut n_documents = 0;
    // Of many references to one anchor the first says it all.
    let mut reported = HashSet::new();
    for event in Parser::new_from_str_with_options(&mended.text, options) {
        let (event, place) = match event {
            Ok(event) => event,
            Err(error) => {
                builder.fail(&error);
                return None;
            }
        };
        let range = place.byte_range().unwrap_or_default();
        if let Some(tag) = place.tag_span() {
            let span = builder.span(tag.byte_range().unwrap_or_default());
            builder.refuse("yaml-tag", span, "tags of YAML have no meaning in a plan: every scalar is text");
        }
        // The enumeration is open, so `match` would need an arm for what nobody knows.
        if let Event::DocumentStart(..) = event {
            n_documents += 1;
            if n_documents > 1 {
                let span = builder.span(range);
                builder.refuse("several-documents", span, "a file holds one plan; here a second YAML document begins");
                break;
            }
        } else if let Event::Anchor(_, name) = event {
            let message = format!("anchors of YAML (`&{name}`) have no meaning in a plan");
            let span = builder.span(range);
            let note = "give the value an alias of the plan, and write `${alias}` where it is needed";
            builder.diagnostics.push(Diagnostic::error("yaml-anchor", span, message).with_note(note));
        } else if matches!(event, Event::Alias(_) | Event::UnresolvedAlias(_)) {
            let span = builder.span(range.clone());
            let name = mended.text.get(range).unwrap_or("*");
            let name = name.trim_start_matches('*');
            if reported.insert(name) {
                let message = format!("references of YAML (`*{name}`) have no meaning in a plan");
                let note =
                    format!("write `${{{name}}}` for the value of an alias of the plan; put other text in quotes");
                builder.diagnostics.push(Diagnostic::error("yaml-alias", span, message).with_note(note));
            }
            builder.add(Node { span, kind: NodeKind::Unread });
        } else if let Event::Scalar(text, style, ..) = event {
            let span = builder.span(range.clone());
            let text = if range.is_empty() && style == ScalarStyle::Plain { String::new() } else { text.into_owned() };
            let scalar = Scalar { text, style: style_of(style), start: range.start, end: range.end };
            builder.add(Node { span, kind: NodeKind::Scalar(scalar) });
        } else if let Event::SequenceStart(..) = event {
            builder.open.push(Open {
                start: range.start,
                block: false,
                key: None,
                pairs: Vec::new(),
                items: Some(Vec::new()),
            });
        } else if let Event::MappingStart(style, ..) = event {
            let block = style == StructureStyle::Block;
            builder.open.push(Open { start: range.start, block, key: None, pairs: Vec::new(), items: None });
        } else if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            builder.close(range.end);
        }
    }
    builder.root
}

/// A collection whose end has not been read.
struct Open {
    start: usize,
    /// Whether it has no closing bracket.
    block: bool,
    key: Option<Node>,
    pairs: Vec<(Node, Node)>,
    /// Of a list.
    items: Option<Vec<Node>>,
}

struct Builder<'a> {
    mended: &'a Mended,
    file: FileId,
    diagnostics: &'a mut Vec<Diagnostic>,
    open: Vec<Open>,
    root: Option<Node>,
}

impl Builder<'_> {
    fn span(&self, range: std::ops::Range<usize>) -> Span {
        span(self.mended, self.file, range)
    }

    fn refuse(&mut self, code: &'static str, span: Span, message: &str) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    fn add(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        match (&mut open.items, open.key.take()) {
            (Some(items), _) => items.push(node),
            (None, Some(key)) => open.pairs.push((key, node)),
            (None, None) => open.key = Some(node),
        }
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let start = self.span(open.start..open.start);
        let last = match &open.items {
            Some(items) => items.last().map(|node| node.span),
            None => open.pairs.last().map(|(key, value)| key.span.to(value.span)),
        };
        // The end of what has no closing bracket is told only at the next token.
        let is_closed = !open.block && self.mended.text[..end].ends_with(['}', ']']);
        let span = if is_closed { self.span(open.start..end) } else { last.map_or(start, |last| start.to(last)) };
        let kind = open.items.map_or_else(|| NodeKind::Mapping(open.pairs), NodeKind::List);
        self.add(Node { span, kind });
    }

    /// Says what keeps the text from being YAML.
    fn fail(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(0).min(self.mended.text.len());
        let text = &self.mended.text;
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let length = text[at..].chars().next().filter(|c| !c.is_control()).map_or(0, char::len_utf8);
        let span = self.span(at..at + length);
        let diagnostic = if *error.kind() == ErrorKind::RecursionLimitExceeded {
            let message = format!("lists and mappings are nested deeper than {MAX_NESTING} levels");
            Diagnostic::error("nested-too-deep", span, message)
        } else {
            Diagnostic::error("bad-yaml", span, format!("this is not valid YAML: {}", error.kind()))
        };
        self.diagnostics.push(match hint(error.kind(), text[..at].ends_with('$')) {
            Some(hint) => diagnostic.with_note(hint),
            None => diagnostic,
        });
    }
}

/// What to do about a fault of YAML, which may stand behind a `$`.
fn hint(kind: &ErrorKind, behind_dollar: bool) -> Option<&'static str> {
    let is_tab =
        matches!(kind, ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation);
    let is_flow = matches!(kind, ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator);
    if is_tab {
        Some("indent with spaces")
    } else if is_flow && behind_dollar {
        Some("between `{ }` and `[ ]` a text with `${…}` needs quotes: `{from: \"${outbound.to}\"}`")
    } else if matches!(kind, ErrorKind::UnexpectedCharacter { .. }) {
        Some("a text that begins with this character needs quotes")
    } else if *kind == ErrorKind::MappingValueNotAllowed {
        Some("a text with `: ` in it needs quotes")
    } else if matches!(kind, ErrorKind::InvalidQuotedScalarIndent | ErrorKind::UnclosedQuotedScalar) {
        Some("a quote before this place is not closed")
    } else if *kind == ErrorKind::DirectiveDisallowed {
        Some("a plan has no `%` directives; a text that begins with `%` needs quotes")
    } else {
        None
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    }
}

/// The place in the file of a range of the mended text. Trailing white space is no part of it.
fn span(mended: &Mended, file: FileId, range: std::ops::Range<usize>) -> Span {
    let text = mended.text.get(range.clone()).unwrap_or("");
    Span::new(file, mended.original(range.start), mended.original(range.start + text.trim_end().len()))
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
    /// The lines of a plain scalar that begin with a dash without white space behind it, with their places in the
    /// mended text; none unless the first of them does and nothing stands before it.
    pub(super) fn dashes<'a>(&self, mended: &'a Mended) -> Vec<(usize, &'a str)> {
        let source = mended.text.get(self.start..self.end).unwrap_or("");
        let before = mended.text[..self.start].rsplit('\n').next().unwrap_or("");
        let mut lines = Vec::new();
        if self.style == Style::Plain && before.trim().is_empty() && source.starts_with('-') {
            let mut start = self.start;
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
    pub(super) fn places(&self, mended: &Mended, file: FileId) -> Places {
        let mut source = Source { text: mended.text.get(..self.end).unwrap_or(""), at: self.start };
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
    let code = |from: usize| text.get(from..from + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let length = match text[1..].chars().next() {
        None => 1,
        Some('x') => 4,
        // A pair of two halves is one character.
        Some('u') if code(2).is_some_and(|high| (0xD800..0xDC00).contains(&high)) => 12,
        Some('u') => 6,
        Some('U') => 10,
        Some(other) => 1 + other.len_utf8(),
    };
    (length..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len())
}
