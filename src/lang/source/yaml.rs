//! YAML as it was written: a tree with places, scalars as text. The only file that knows the YAML parser of
//! documents.
//!
//! Nothing is expanded and nothing gets a type unless somebody asks ([`Scalar::core_value`]): aliases, anchors, tags
//! and further documents are errors.

use std::collections::HashSet;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle};

use crate::diagnostic::Diagnostic;
use crate::expr::read_number;
use crate::span::{FileId, Span};
use crate::value::Value;

/// A node of the tree.
#[derive(Debug)]
pub struct Node {
    /// Its place in the file.
    pub span: Span,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug)]
pub enum NodeKind {
    /// Text.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in order; a key can be any node, and stand twice.
    Mapping(Vec<(Node, Node)>),
    /// An alias, which is an error.
    Unread,
}

/// Text.
#[derive(Debug)]
pub struct Scalar {
    /// Without quotes, escapes and folded lines.
    pub text: String,
    /// How it is written.
    pub style: Style,
    /// Its place in the parsed text, quotes included.
    pub range: Range<usize>,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'…'`.
    SingleQuoted,
    /// `"…"`.
    DoubleQuoted,
    /// `|` or `>`.
    Block,
}

impl Node {
    /// The scalar, if it is one.
    pub fn scalar(&self) -> Option<&Scalar> {
        if let NodeKind::Scalar(scalar) = &self.kind { Some(scalar) } else { None }
    }

    /// Whether nothing is written there, or `null`, or `~`.
    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(|scalar| matches!(scalar.core_value(), Value::Null))
    }
}

impl Scalar {
    /// Its value by the core schema of YAML 1.2: without quotes `null`, `true`, `12` and `1.5` are no texts. What
    /// has no value of ours (`.inf`) stays text.
    pub fn core_value(&self) -> Value {
        let text = self.text.as_str();
        if self.style != Style::Plain {
            return Value::str(text);
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Value::Null,
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => number(text).unwrap_or_else(|| Value::str(text)),
        }
    }
}

/// A number of the core schema; one that is too large for an integer is a float.
fn number(text: &str) -> Option<Value> {
    let prefixed = |prefix: &str, radix: u32| {
        let digits = text.strip_prefix(prefix)?;
        let are_digits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        are_digits.then(|| i64::from_str_radix(digits, radix).map_or_else(|_| Value::str(text), Value::Int))
    };
    if let Some(value) = prefixed("0o", 8).or_else(|| prefixed("0x", 16)) {
        return Some(value);
    }
    // What else Rust reads as a number, such as `inf`, has letters.
    if !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return None;
    }
    read_number(text)
}

/// Reads the one document of `text`. Lists and mappings may stand `max_nesting` levels inside each other; `original`
/// tells where in the file a place of `text` is. Without a tree there is an error or the text is empty.
pub fn parse(
    text: &str,
    file: FileId,
    max_nesting: usize,
    original: &dyn Fn(usize) -> usize,
) -> (Option<Node>, Vec<Diagnostic>) {
    let mut options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        disallow_directives: true,
        flow_nesting_limit: max_nesting,
        block_nesting_limit: max_nesting,
    };
    options.set_emit_comments(false);
    let mut builder = Builder { text, file, original, errors: Vec::new(), open: Vec::new(), root: None };
    let mut n_documents = 0;
    // Of many references to one anchor the first says it all.
    let mut reported = HashSet::new();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, place) = match event {
            Ok(event) => event,
            Err(error) => {
                builder.fail(&error, max_nesting);
                return (None, builder.errors);
            }
        };
        let range = place.byte_range().unwrap_or_default();
        if let Some(tag) = place.tag_span() {
            let message = "YAML tags are not supported; write the plain value";
            builder.refuse(tag.byte_range().unwrap_or_default(), "yaml-tag", message.to_owned());
        }
        // The enumeration is open, so `match` would need an arm for what nobody knows.
        if let Event::DocumentStart(..) = event {
            n_documents += 1;
            if n_documents > 1 {
                let message = "a second YAML document begins here; write only one";
                builder.refuse(range, "several-documents", message.to_owned());
                break;
            }
        } else if let Event::Anchor(_, name) = event {
            let message = format!(
                "YAML anchors (`&{name}`) are not supported; write the value out, or put literal text in quotes"
            );
            builder.refuse(range, "yaml-anchor", message);
        } else if matches!(event, Event::Alias(_) | Event::UnresolvedAlias(_)) {
            let span = builder.span(range.clone());
            let name = text.get(range.clone()).unwrap_or("*");
            let name = name.trim_start_matches('*');
            if reported.insert(name) {
                let message = format!(
                    "YAML aliases (`*{name}`) are not supported; write the value out, or put literal text in quotes"
                );
                builder.refuse(range, "yaml-alias", message);
            }
            builder.add(Node { span, kind: NodeKind::Unread });
        } else if let Event::Scalar(text, style, ..) = event {
            let span = builder.span(range.clone());
            let text = if range.is_empty() && style == ScalarStyle::Plain { String::new() } else { text.into_owned() };
            let scalar = Scalar { text, style: style_of(style), range };
            builder.add(Node { span, kind: NodeKind::Scalar(scalar) });
        } else if let Event::SequenceStart(..) = event {
            builder.open.push(Open { start: range.start, block: false, is_list: true, nodes: Vec::new() });
        } else if let Event::MappingStart(style, ..) = event {
            let block = style == StructureStyle::Block;
            builder.open.push(Open { start: range.start, block, is_list: false, nodes: Vec::new() });
        } else if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            builder.close(range.end);
        }
    }
    (builder.root, builder.errors)
}

/// A collection whose end has not been read.
struct Open {
    start: usize,
    /// Whether it has no closing bracket.
    block: bool,
    is_list: bool,
    /// What stands in it; of a mapping keys and values in turn.
    nodes: Vec<Node>,
}

struct Builder<'a> {
    text: &'a str,
    file: FileId,
    original: &'a dyn Fn(usize) -> usize,
    errors: Vec<Diagnostic>,
    open: Vec<Open>,
    root: Option<Node>,
}

impl Builder<'_> {
    /// The place in the file of a range of the text. Trailing white space is no part of it.
    fn span(&self, range: Range<usize>) -> Span {
        let text = self.text.get(range.clone()).unwrap_or("");
        let end = range.start + text.trim_end().len();
        Span::new(self.file, (self.original)(range.start), (self.original)(end))
    }

    fn refuse(&mut self, range: Range<usize>, code: &'static str, message: String) {
        self.errors.push(Diagnostic::error(code, self.span(range), message));
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(open) => open.nodes.push(node),
            None => _ = self.root.get_or_insert(node),
        }
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let start = self.span(open.start..open.start);
        let last = open.nodes.last().map(|node| node.span);
        // The end of what has no closing bracket is told only at the next token.
        let is_closed = !open.block && self.text[..end].ends_with(['}', ']']);
        let span = if is_closed { self.span(open.start..end) } else { last.map_or(start, |last| start.to(last)) };
        let mut nodes = open.nodes.into_iter();
        let kind = if open.is_list {
            NodeKind::List(nodes.collect())
        } else {
            NodeKind::Mapping(std::iter::from_fn(|| Some((nodes.next()?, nodes.next()?))).collect())
        };
        self.add(Node { span, kind });
    }

    /// Says what keeps the text from being YAML.
    fn fail(&mut self, error: &ScanError, max_nesting: usize) {
        let text = self.text;
        let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let length = text[at..].chars().next().filter(|c| !c.is_control()).map_or(0, char::len_utf8);
        let span = self.span(at..at + length);
        self.errors.push(if *error.kind() == ErrorKind::RecursionLimitExceeded {
            let message = format!("lists and maps are nested deeper than {max_nesting} levels");
            Diagnostic::error("nested-too-deep", span, message)
        } else {
            let found = Diagnostic::error("bad-yaml", span, format!("this is not valid YAML: {}", error.kind()));
            match advice(error.kind()) {
                Some(advice) => found.with_note(advice),
                None => found,
            }
        });
    }
}

/// What is probably to be done about a text that is no YAML.
fn advice(kind: &ErrorKind) -> Option<&'static str> {
    let is_tab =
        matches!(kind, ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation);
    if is_tab {
        Some("indent with spaces")
    } else if matches!(kind, ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator) {
        Some("a bracket is not closed, or a comma or quotes are missing inside `{ }` or `[ ]`")
    } else if matches!(kind, ErrorKind::UnexpectedCharacter { .. }) {
        Some("text that begins with this character needs quotes")
    } else if *kind == ErrorKind::MappingValueNotAllowed {
        Some("text that contains `: ` needs quotes")
    } else if matches!(kind, ErrorKind::InvalidQuotedScalarIndent | ErrorKind::UnclosedQuotedScalar) {
        Some("a quote before this is not closed")
    } else if *kind == ErrorKind::DirectiveDisallowed {
        Some("there are no `%` directives here; text that begins with `%` needs quotes")
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
