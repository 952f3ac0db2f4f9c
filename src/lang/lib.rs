//! Text to program. Pure and total: any text gives a program and diagnostics.
//!
//! [`load`] does it all: `load` (imports) → `parse` (trees) → `lower` (program) → `checks` (diagnostics).

pub use crate::analysis::explain;
use crate::diagnostic::Diagnostic;
pub use crate::diagnostic::spelling;
pub use crate::english::grammar::time::{time, time_text};
pub use crate::english::grammar::{Wording, wordings};
pub use crate::english::outline;
pub use crate::english::skill_calls::called_skills;
pub use crate::english::triggers::examples as trigger_examples;
use crate::lower::alone::Alone;
use crate::lower::kept::Kept;
pub use crate::lower::kept::Readings;
pub use crate::lower::load::Imported;
pub use crate::lower::{Fields, LoadOptions};
use crate::program::{FrontMatter, Program};
pub use crate::source::{ImportRequest, SourceText};
use crate::span::Sources;

// What the language and all above it speak about; the rest of the crate is built on it.
pub mod diagnostic;
pub mod span;
pub mod value;

mod graph;
mod signature;

pub mod expr;
pub mod source;

pub mod program;

mod english;

pub mod plan;
pub use plan::dataflow;

mod lower;

pub mod analysis;
pub mod evaluation;
pub mod files;
pub use files::{format, kind};

/// What loading gives.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The program; to be run only if no diagnostic is an error.
    pub program: Program,
    /// What was found, by place.
    pub diagnostics: Vec<Diagnostic>,
}

/// What the front matter of the files that [`load`] would read sets, and the files. Their lines are not read, which is
/// most of the work; what is wrong with the files [`load`] tells.
pub fn load_settings(
    roots: Vec<SourceText>,
    read: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
) -> (FrontMatter, Sources) {
    let files = lower::load::load_files(roots, read, &mut Kept::default());
    (lower::read_settings(&files, &mut Vec::new()), files.sources)
}

/// What a text imports, wherever it says so.
pub fn imports(text: &str) -> Vec<Imported> {
    lower::load::imports(text)
}

/// Loads a program from its given files. `read` fetches what they import; its error says why it can't.
pub fn load(
    roots: Vec<SourceText>,
    read: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
    options: &LoadOptions<'_>,
) -> Loaded {
    load_kept(Kept::default(), roots, read, options).0
}

/// As [`load`], of texts that are edited: what it gives besides makes it faster the next time. Of what is `before`, with
/// what was given for it, is used again what was read of the same text.
pub fn load_again(
    before: Option<(Program, Readings)>,
    roots: Vec<SourceText>,
    read: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
    options: &LoadOptions<'_>,
) -> (Loaded, Readings) {
    let kept = before.map(|(program, readings)| Kept::of(program, readings));
    load_kept(kept.unwrap_or_default(), roots, read, options)
}

fn load_kept(
    mut kept: Kept,
    roots: Vec<SourceText>,
    read: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
    options: &LoadOptions<'_>,
) -> (Loaded, Readings) {
    let files = lower::load::load_files(roots, read, &mut kept);
    let mut lowered = lower::lower(files, options, kept);
    let mut diagnostics = std::mem::take(&mut lowered.diagnostics);
    let (program, readings) = (&lowered.program, &lowered.readings);
    // Those that nobody has written come last.
    let made: Vec<Alone> = program.playbooks[readings.alone().count()..].iter().map(Alone::of).collect();
    let alone: Vec<&Alone> = readings.alone().chain(&made).collect();
    diagnostics.extend(analysis::checks::check(program, &alone, readings.later(), options));
    diagnostics.sort_by(|a, b| (a.span, a.severity, a.code).cmp(&(b.span, b.severity, b.code)));
    (Loaded { program: lowered.program, diagnostics }, lowered.readings)
}
