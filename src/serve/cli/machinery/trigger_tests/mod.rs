//! Trigger tables (`*.triggers.md`): labelled cases of what fires, and how well a classifier does on them. The
//! format is `docs/testing.md`, "Trigger tables".
//!
//! [`TriggerTable::parse`] reads the text, [`TriggerTable::resolve`] finds the triggers that it names in a
//! program, somebody judges each [`TriggerCase`], [`TriggerScores::count`] compares, and [`TriggerScores::report`]
//! says it: all pure. [`run_table`] does one after the other for a file.

mod cell;
mod judge;
mod read;
mod report;
mod resolve;
mod rows;
mod run;
mod score;
mod table;
mod write;

pub use crate::serve::cli::machinery::trigger_tests::judge::judge;
pub use crate::serve::cli::machinery::trigger_tests::resolve::ResolvedTable;
pub(crate) use crate::serve::cli::machinery::trigger_tests::run::{ReadTable, judge_table};
pub use crate::serve::cli::machinery::trigger_tests::run::{TableOptions, run_table};
pub use crate::serve::cli::machinery::trigger_tests::score::{CaseScore, CaseVerdict, TriggerScore, TriggerScores};
pub use crate::serve::cli::machinery::trigger_tests::table::{Judged, TriggerCase, TriggerTable, TriggerUpdate};

use crate::diagnostic::Diagnostic;
use crate::span::FileId;

impl TriggerTable {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse(file: FileId, text: &str) -> Result<TriggerTable, Vec<Diagnostic>> {
        read::read(file, text)
    }

    /// A file's text with its tables aligned.
    pub fn align(text: &str) -> String {
        write::write(text)
    }
}
