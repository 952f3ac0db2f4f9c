//! The files that are given with a session that goes on, and whether their text is the session's.

use std::path::PathBuf;

use crate::host::program::{ProgramText, load_files};
use crate::lang::program::Signature;
use crate::serve::cli::console::{Console, Failure};

/// The files that are given with a session that goes on.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    /// None: the session goes on with the text it has.
    pub(crate) files: &'a [PathBuf],
    /// The session is to go on with their text.
    pub(crate) migrate: bool,
}

impl Given<'_> {
    /// Whether the files are not what the session has, by their texts: they may have moved.
    pub(crate) fn has_changed(self, text: &ProgramText, signatures: &[Signature]) -> Result<bool, Failure> {
        if self.files.is_empty() {
            return Ok(false);
        }
        let (now, _) = load_files(self.files, signatures).map_err(|error| Failure::wrong(error.to_string()))?;
        let is_same = now.files.len() == text.files.len()
            && now.files.iter().zip(&text.files).all(|(now, before)| now.text == before.text);
        Ok(!is_same)
    }

    /// Tells what becomes of a changed text; `remarks` are told when the session begins.
    pub(crate) fn tell(self, console: &Console, session: &str, has_changed: bool, remarks: &mut Vec<String>) {
        match (has_changed, self.migrate) {
            (true, true) | (false, false) => {}
            (true, false) => console.warning(&format!(
                "the program's text has changed since session {session} began; the session goes on with the old text \
                 (--migrate: with the new one, from the last line that still exists; without --session a new session \
                 begins)"
            )),
            (false, true) => remarks.push("the program has not changed".to_owned()),
        }
    }
}
