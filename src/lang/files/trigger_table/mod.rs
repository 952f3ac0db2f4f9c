//! Trigger tables (`*.triggers.md`, and tables of prompts, `*.jsonl`): labelled cases of what fires. Pure; the format is
//! `docs/testing.md`, "Trigger tables".

mod cell;
mod prompts;
mod read;
mod resolve;
mod rows;
mod table;
mod write;

use crate::diagnostic::Diagnostic;
use crate::files::case_file::lines::Read;
use crate::span::FileId;

pub use crate::files::trigger_table::prompts::PROMPTS;
pub use crate::files::trigger_table::resolve::{ResolvedTable, find_trigger, label};
pub use crate::files::trigger_table::table::{FiredName, TriggerCase, TriggerTable, TriggerUpdate};

impl TriggerTable {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse(file: FileId, text: &str) -> Result<TriggerTable, Vec<Diagnostic>> {
        TriggerTable::read(file, text).whole()
    }

    /// The same, with what could be read of a text with which something is wrong.
    pub fn read(file: FileId, text: &str) -> Read<TriggerTable> {
        read::read(file, text)
    }

    /// A file's text with its tables aligned.
    pub fn align(text: &str) -> String {
        write::write(text)
    }
}
