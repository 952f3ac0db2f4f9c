//! User files (`*.user.md`): somebody who talks with a program, and what is expected of it (spec `evaluate.md`, section 4).
//! Pure; the format is `docs/users.md`.

mod form;
mod read;

use crate::diagnostic::Diagnostic;
use crate::span::FileId;

pub use crate::files::user_file::form::{
    Answer, DatabaseCheck, DatabaseKind, Limit, Lookup, Person, STOP, TURNS, UserFile,
};

impl UserFile {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse(file: FileId, text: &str) -> Result<UserFile, Vec<Diagnostic>> {
        read::read(file, text)
    }
}
