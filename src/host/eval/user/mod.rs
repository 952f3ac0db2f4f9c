//! Users who are played: somebody talks with a program, by written answers or by a model (spec `evaluate.md`, section 4).

mod database;

mod form;

mod play;

mod read;

mod speaker;

use crate::diagnostic::Diagnostic;
use crate::span::FileId;

pub use self::database::DATABASE;
pub use self::form::{Answer, DatabaseCheck, DatabaseKind, Limit, Lookup, STOP, TURNS, UserFile};
pub use self::play::{Company, Ended, Invalid, Rules, UserError, UserRun, play};
pub use self::speaker::{Done, invented};

/// How the names of user files end.
pub const ENDING: &str = ".user.md";

impl UserFile {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse(file: FileId, text: &str) -> Result<UserFile, Vec<Diagnostic>> {
        read::read(file, text)
    }
}
