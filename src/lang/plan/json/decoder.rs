//! What is known while a JSON plan is read.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::Spelling;
use crate::plan::json::Dialect;
use crate::plan::node::NodeId;
use crate::span::Span;

/// What is known while a plan is read.
pub(crate) struct Decoder<'t> {
    /// The whole text of its file.
    pub(crate) text: &'t str,
    pub(crate) dialect: Dialect,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) doubts: Vec<Doubtful>,
    pub(crate) spelling: Spelling,
    /// Main instructions by number, each number once.
    pub(crate) targets: Vec<(i64, NodeId)>,
}

impl<'t> Decoder<'t> {
    pub(crate) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    pub(crate) fn warning(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(code, span, message));
    }
}

/// A piece of text that would be a reference if it were written otherwise.
pub(crate) struct Doubtful {
    /// The variable it would read. Without one of this name in the plan, it is text and nothing else.
    pub(crate) name: String,
    pub(crate) warning: Diagnostic,
}
