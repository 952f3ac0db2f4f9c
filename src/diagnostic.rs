//! Diagnostics as data: what is wrong, where, and what to do about it.
//!
//! Everything that finds a fault in a text makes a [`Diagnostic`]; the wording for people is made here and
//! nowhere else (spec `language.md`, "Diagnostics").

use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
