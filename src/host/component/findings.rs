//! What is found while a `config.yaml` is read, and names that are nearly right.

use crate::diagnostic::{Diagnostic, Severity};
use crate::lang::source::yaml::{FaultKind, Node, NodeKind};
use crate::span::{FileId, Span};
use crate::value::Value;

/// So many findings are kept.
const MAX_FINDINGS: usize = 100;

/// How deep lists and mappings may stand inside each other: about fifty objects.
pub(super) const MAX_NESTING: usize = 100;

/// All findings about one file.
pub(super) struct Findings {
    pub(super) file: FileId,
    list: Vec<Diagnostic>,
}

impl Findings {
    pub(super) fn new(file: FileId) -> Findings {
        Findings { file, list: Vec::new() }
    }

    pub(super) fn add(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    pub(super) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.add(Diagnostic::error(code, span, message));
    }

    pub(super) fn has_errors(&self) -> bool {
        self.list.iter().any(|found| found.severity == Severity::Error)
    }

    /// What the parser of YAML found, in words about components.
    pub(super) fn add_fault(&mut self, span: Span, fault: FaultKind) {
        let error = |code, message: String| Diagnostic::error(code, span, message);
        self.add(match fault {
            FaultKind::Tag => error("config-yaml-tag", "tags of YAML are not read; write the plain value".to_owned()),
            FaultKind::SeveralDocuments => {
                let message = "a file holds one component; here a second YAML document begins";
                error("config-several-documents", message.to_owned())
            }
            FaultKind::Anchor(name) => error("config-yaml-anchor", format!("anchors of YAML (`&{name}`) are not read"))
                .with_note("write the value wherever it is needed; a type gets a name by `_type_ref`"),
            FaultKind::Alias(name) => {
                error("config-yaml-anchor", format!("references of YAML (`*{name}`) are not read"))
                    .with_note("write the value; put a text that begins with `*` in quotes")
            }
            FaultKind::NestedTooDeep => {
                let message = format!("lists and mappings are nested deeper than {MAX_NESTING} levels");
                error("config-nested-too-deep", message)
                    .with_note("give an inner type a name (`_type_ref`) and define it elsewhere in the file")
            }
            FaultKind::Syntax { message, hint, .. } => {
                let found = error("config-bad-yaml", format!("this is not valid YAML: {message}"));
                match hint {
                    Some(hint) => found.with_note(hint.text()),
                    None => found,
                }
            }
        });
    }

    /// All of them by place; of very many the errors first.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let Findings { file, mut list } = self;
        let n_found = list.len();
        if n_found > MAX_FINDINGS {
            list.sort_by_key(|found| found.severity);
            list.truncate(MAX_FINDINGS);
        }
        list.sort_by(|a, b| (a.span, a.severity, a.code).cmp(&(b.span, b.severity, b.code)));
        if n_found > MAX_FINDINGS {
            let message = format!("{} more findings are not shown", n_found - MAX_FINDINGS);
            list.push(Diagnostic::note("config-more-findings", Span::new(file, 0, 0), message));
        }
        list
    }
}

/// What a node is, for messages.
pub(super) fn kind(node: &Node) -> &'static str {
    match &node.kind {
        NodeKind::List(_) => "a list",
        NodeKind::Mapping(_) => "a mapping",
        NodeKind::Unread => "a reference of YAML",
        NodeKind::Scalar(scalar) => match scalar.core_value() {
            Value::Null => "nothing",
            Value::Bool(_) => "a truth value",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Str(_) | Value::List(_) | Value::Map(_) => "text",
        },
    }
}

/// A place to point at for a node: its first line would be too much for a whole mapping.
pub(super) fn head(node: &Node) -> Span {
    match &node.kind {
        NodeKind::Mapping(pairs) => pairs.first().map_or(node.span, |(key, _)| key.span),
        NodeKind::List(items) => items.first().map_or(node.span, head),
        NodeKind::Scalar(_) | NodeKind::Unread => node.span,
    }
}
