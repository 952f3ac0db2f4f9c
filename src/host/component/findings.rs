//! What is found while a `config.yaml` is read, and names that are nearly right.

use playhouse_lang::diagnostic::{Diagnostic, Severity};
use playhouse_lang::source::yaml::{Node, NodeKind};
use playhouse_lang::span::{FileId, Span};
use playhouse_lang::value::Value;

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

    /// An error, and what to do about it.
    pub(super) fn error_with(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        note: impl Into<String>,
    ) {
        self.add(Diagnostic::error(code, span, message).with_note(note));
    }

    /// Something odd, and what to do about it.
    pub(super) fn warning_with(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        note: impl Into<String>,
    ) {
        self.add(Diagnostic::warning(code, span, message).with_note(note));
    }

    /// A second thing of a name that is there once only; `first` is told of the place before.
    pub(super) fn again(&mut self, code: &'static str, (span, before): (Span, Span), message: String, first: &str) {
        self.add(Diagnostic::error(code, span, message).with_place(before, first));
    }

    /// A node that is not what it `must` be; what YAML cannot read has been told of.
    pub(super) fn wrong_kind(&mut self, node: &Node, must: impl std::fmt::Display) {
        if !matches!(node.kind, NodeKind::Unread) {
            self.error("config-wrong-kind", head(node), format!("{must}, not {}", kind(node)));
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        self.list.iter().any(|found| found.severity == Severity::Error)
    }

    /// What the reader of YAML found, with the codes of components.
    pub(super) fn add_yaml_error(&mut self, found: Diagnostic) {
        self.add(match found.code {
            "yaml-tag" => Diagnostic { code: "config-yaml-tag", ..found },
            "several-documents" => Diagnostic { code: "config-several-documents", ..found },
            "yaml-anchor" | "yaml-alias" => {
                Diagnostic { code: "config-yaml-anchor", ..found }.with_note("a type gets a name by `_type_ref`")
            }
            "nested-too-deep" => Diagnostic { code: "config-nested-too-deep", ..found }
                .with_note("give an inner type a name (`_type_ref`) and define it elsewhere in the file"),
            _ => Diagnostic { code: "config-bad-yaml", ..found },
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
            Value::Bool(_) => "a boolean",
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
