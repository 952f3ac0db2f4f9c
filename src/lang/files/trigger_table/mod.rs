//! Trigger tables (`*.triggers.md`): labelled cases of what fires. Pure; the format is `docs/testing.md`, "Trigger
//! tables".

mod cell;
mod read;
mod resolve;
mod rows;
mod table;
mod write;

use crate::diagnostic::Diagnostic;
use crate::span::FileId;

pub use crate::files::trigger_table::resolve::{ResolvedTable, label};
pub use crate::files::trigger_table::table::{TriggerCase, TriggerTable, TriggerUpdate};

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
