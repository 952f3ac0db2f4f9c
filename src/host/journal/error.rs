//! What can be wrong with a journal, whatever keeps it. Which options there are for another place is for doors to say.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::journal::record::{FORMAT, OLDEST_FORMAT};

/// Why a journal or a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}{kind}", place(location))]
pub struct JournalError {
    /// Where: a file, a line of it, an address. Empty: nowhere yet.
    pub location: String,
    /// What.
    pub kind: JournalErrorKind,
    /// What the system, the database or the server said.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalErrorKind {
    /// Another owner has taken the session over: what is not flushed yet never happened.
    #[error("another process has taken over the session, so nothing more is written here; continue it there")]
    Fenced,
    /// Somebody else owns the session.
    #[error("the session is open in another process{}; wait for that process or end it, then try again", process(.0))]
    Held(String),
    /// A record cannot be read.
    #[error("{what} is damaged: {cause}; {advice}")]
    Corrupt {
        /// What is damaged.
        what: String,
        /// In which way.
        cause: String,
        /// What can be done.
        advice: &'static str,
    },
    /// There is no room.
    #[error("cannot {action} the journal: {cause}; {advice}")]
    Full {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        cause: String,
        /// What can be done.
        advice: &'static str,
    },
    /// It cannot be reached, read or written now.
    #[error("cannot {action} the journal: {cause}; {advice}")]
    Unavailable {
        /// What was tried: `open`, `write`, …
        action: &'static str,
        /// What the system said.
        cause: String,
        /// What can be done.
        advice: &'static str,
    },
    /// It was written by another version of the program, for which its records mean something else.
    #[error("the journal has format {found}, {}", advice_for_format(*.found, *.known))]
    Format {
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// Its secrets have been taken away.
    #[error(
        "the secret values of the journal are missing (record {seq} has one), so the session cannot continue; put the \
         file back, or begin a new session"
    )]
    SecretsMissing {
        /// The first record that needs them.
        seq: u64,
    },
    /// What is there is no store of sessions.
    #[error("this is {0}, not a store of sessions; name another place")]
    Foreign(&'static str),
    /// This program has nothing that could open it.
    #[error(
        "this build of playhouse has no {0}; name a `.jsonl` file, or use a build with the feature `sqlite`, which \
         the default build has"
    )]
    Unsupported(&'static str),
    /// The id of a session cannot be part of a name.
    #[error("`{0}` cannot be a session's id; use letters, digits, `-`, `_` and `.`, but no `.` at the beginning")]
    SessionId(Arc<str>),
    /// The session is not there.
    #[error("there is no session {0}")]
    NoSession(Arc<str>),
    /// The journal is another session's.
    #[error("this is the journal of session {found}, not of {wanted}; change the session's id or the place")]
    OtherSession {
        /// Whose it is.
        found: Arc<str>,
        /// Who was asked for.
        wanted: Arc<str>,
    },
    /// A new session was to begin where there is one.
    #[error("the journal already holds a session; resume it, or choose another place")]
    Exists,
}

/// ` (process id 4711)`, where it is known.
fn process(id: &str) -> String {
    if id.is_empty() { String::new() } else { format!(" (process id {id})") }
}

fn place(location: &str) -> String {
    if location.is_empty() { String::new() } else { format!("{location}: ") }
}

fn advice_for_format(found: u32, known: u32) -> String {
    if found > known {
        return format!("this version reads up to {known}; use a newer playhouse");
    }
    format!(
        "this version reads {OLDEST_FORMAT} to {known}, and the session would not run as before; finish it with the \
         playhouse that wrote it, or begin a new session"
    )
}

impl JournalError {
    /// An error that nothing below has caused.
    pub fn new(location: impl Into<String>, kind: JournalErrorKind) -> JournalError {
        JournalError { location: location.into(), kind, source: None }
    }

    /// The session is not there.
    pub fn no_session(location: impl Into<String>, session: &str) -> JournalError {
        JournalError::new(location, JournalErrorKind::NoSession(session.into()))
    }

    /// Somebody holds it: the process with this id, if it is known.
    pub fn held(location: impl Into<String>, process: String) -> JournalError {
        JournalError::new(location, JournalErrorKind::Held(process))
    }

    /// It cannot be reached, read or written now.
    pub(crate) fn unavailable(
        location: impl Into<String>,
        action: &'static str,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
        advice: &'static str,
    ) -> JournalError {
        let cause = cause.into();
        let kind = JournalErrorKind::Unavailable { action, cause: cause.to_string(), advice };
        JournalError { location: location.into(), kind, source: Some(cause) }
    }

    /// What the system says of a file.
    pub(crate) fn io(path: &Path, action: &'static str, cause: io::Error) -> JournalError {
        use io::ErrorKind::{IsADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let kind = cause.kind();
        let location = path.display().to_string();
        if [StorageFull, QuotaExceeded].contains(&kind) {
            return JournalError::no_space(location, action, cause);
        }
        let advice = if [PermissionDenied, ReadOnlyFilesystem].contains(&kind) {
            "make it writable, or choose another place"
        } else if kind == IsADirectory {
            "name a file"
        } else {
            "choose another place, or fix the cause and resume the session"
        };
        JournalError::unavailable(location, action, cause, advice)
    }

    /// The disk has no room.
    pub(crate) fn no_space(
        location: impl Into<String>,
        action: &'static str,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> JournalError {
        let cause = cause.into();
        let advice = "free some space, then resume the session";
        let kind = JournalErrorKind::Full { action, cause: cause.to_string(), advice };
        JournalError { location: location.into(), kind, source: Some(cause) }
    }
}

/// Whether this program reads journals of a format.
pub(crate) fn check_format(location: &Path, found: u32) -> Result<(), JournalError> {
    match found {
        OLDEST_FORMAT..=FORMAT => Ok(()),
        _ => Err(JournalError::new(location.display().to_string(), JournalErrorKind::Format { found, known: FORMAT })),
    }
}
