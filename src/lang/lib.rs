//! Text to program. Pure and total: any text gives a program and diagnostics.
//!
//! [`load`] does it all: `load` (imports) → `parse` (trees) → `lower` (program) → `checks` (diagnostics).

use crate::diagnostic::Diagnostic;
use crate::program::{Program, Signature};

// What the language and all above it speak about; the rest of the crate is built on it.
pub mod diagnostic;
pub mod span;
pub mod value;

mod agents;
pub mod ast;
pub mod builtins;
mod callables;
pub mod calls;
mod calls_in_lines;
pub mod changes;
mod checks;
pub mod dataflow;
pub mod explain;
pub mod expr;
mod expr_english;
mod expr_parser;
mod expr_text;
pub mod flow_graph;
pub mod inlining;
mod lexer;
mod lines;
mod load;
mod lower;
mod markdown;
pub mod matching;
pub mod names;
pub mod parse;
pub mod plan;
pub mod program;
mod settings;
mod signature;
mod steps;
pub mod tail_calls;
mod tool_list;
mod trigger_checks;
mod trigger_index;
mod triggers;
mod unused;
mod words;
pub mod yaml;

/// A text to load, with the name it is shown under (normally its path).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Its name. Two texts of one name are one file.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A file that another one imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportRequest<'a> {
    /// The path as written.
    pub path: &'a str,
    /// The name of the importing file; relative paths are relative to it.
    pub from: &'a str,
}

/// What is known about the world a program will run in.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions<'a> {
    /// The tools that can be called.
    pub tools: &'a [Signature],
    /// Whether there are more tools, known only at run time: an unknown callee is then a warning.
    pub open_world: bool,
}

/// What loading gives.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The program; to be run only if no diagnostic is an error.
    pub program: Program,
    /// What was found, by place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads a program from its given files. `read` fetches what they import; its error says why it can't.
pub fn load(
    roots: Vec<SourceText>,
    read: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
    options: &LoadOptions<'_>,
) -> Loaded {
    let files = load::load_files(roots, read);
    let lowered = lower::lower(files, options);
    let mut diagnostics = lowered.diagnostics;
    diagnostics.extend(checks::check(&lowered.program, &lowered.later, options));
    diagnostics.sort_by(|a, b| (a.span, a.severity, a.code).cmp(&(b.span, b.severity, b.code)));
    Loaded { program: lowered.program, diagnostics }
}
