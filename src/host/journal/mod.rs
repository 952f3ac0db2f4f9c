//! Journals: the list of a session's events, from which everything else can be rebuilt (spec `architecture.md`,
//! "Journal").
//!
//! A record is written before the machine sees its event. Chunks of the reply in progress stand in a *tail*; the
//! next other record replaces them by one. [`Journal::sync`] is called before a tool starts that is not
//! read-only, and when the machine waits for the user.

pub mod record;

pub(crate) mod secrets;

mod read;

mod lock;

mod private;

mod sync;

pub mod memory;

pub mod file;

pub mod store;

pub mod address;

pub mod copy;

pub mod wire;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use crate::host::journal::record::{FORMAT, Record, RecordBody};
use crate::vm::protocol::Timestamp;

/// A synchronisation in progress.
pub type SyncFuture = Pin<Box<dyn Future<Output = Result<(), JournalError>> + Send>>;

/// Where a session's records are kept. One session owns it; implementations see to it that no second process
/// writes the same one.
pub trait Journal: Send {
    /// Where it is kept, for messages.
    fn place(&self) -> PathBuf;

    /// Everything written so far, in order: `seq` is 1, 2, 3, …
    ///
    /// # Errors
    /// It cannot be read, or what is read is no journal.
    fn records(&mut self) -> Result<Vec<Record>, JournalError>;

    /// Writes a record and gives its `seq`. When this returns, a killed process does not lose it.
    ///
    /// # Errors
    /// It cannot be written; then nothing of it is there when the journal is read again.
    fn append(&mut self, time: Timestamp, body: RecordBody) -> Result<u64, JournalError>;

    /// Makes everything written so far outlive a power cut. The work is done when the future is awaited, and
    /// never on an async thread.
    fn sync(&mut self) -> SyncFuture;
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The operating system refuses.
    #[error("{path}: cannot {action} the journal: {cause}; {advice}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `write`, …
        action: &'static str,
        /// What the system said.
        cause: std::io::Error,
        /// What can be done.
        advice: &'static str,
    },
    /// Another process writes it.
    #[error("{path}: the session is open in another process{holder}; wait for that process or end it, then try again")]
    Locked {
        /// The file.
        path: PathBuf,
        /// ` (process id 4711)`, if known.
        holder: String,
    },
    /// A line in the middle cannot be read.
    #[error(
        "{path}:{line}: the journal is damaged: {cause}; restore the file from a copy, or remove this and all \
         following lines to go on from the state before them"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// It was written by a newer program.
    #[error("{path}: the journal has format {found}, this program reads up to {known}; use a newer playhouse")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// It was written by an earlier program, for which its lines meant something else.
    #[error(
        "{path}: the journal has format {found}, this program reads {FORMAT}: the session would not go on as it went; \
         finish it with the playhouse that wrote it, or begin a new session"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Its secrets have been taken away.
    #[error(
        "{path}: the secret values of the journal are missing (record {seq} has one), so the session cannot go on; \
         put the file back, or begin a new session"
    )]
    SecretsMissing {
        /// The file that should hold them.
        path: PathBuf,
        /// The first record that needs it.
        seq: u64,
    },
    /// A record in a store cannot be read.
    #[error(
        "{path}: record {seq} of session {session} is damaged: {cause}; restore the file from a copy, or look at the \
         other sessions in it"
    )]
    Damaged {
        /// The store.
        path: PathBuf,
        /// The session.
        session: Arc<str>,
        /// The record's number, or the one that should be there.
        seq: u64,
        /// What is wrong with it.
        cause: String,
    },
    /// A file that was to be a store is something else.
    #[error("{path}: this is {what}, not a store of sessions; name another file with --journal")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A store, and a program that cannot read any.
    #[error(
        "{path}: this build of playhouse has no SQLite; name a `.jsonl` file with --journal, or use a build with the \
         feature `sqlite`, which the default build has"
    )]
    NoSqlite {
        /// The store.
        path: PathBuf,
    },
    /// The id of a session cannot be the name of its lock.
    #[error("`{0}` cannot be a session's id; use letters, digits, `-`, `_` and `.`, not first a `.`")]
    SessionId(String),
    /// A session that is not there.
    #[error("{path}: there is no session {session}; `playhouse sessions list --journal {path}` shows those there are")]
    NoSession {
        /// Where it was looked for.
        path: PathBuf,
        /// Its id.
        session: Arc<str>,
    },
    /// The journal of another session than the one that was asked for.
    #[error("{path}: this is the journal of session {found}, not of {wanted}; change the session's id or --journal")]
    OtherSession {
        /// The file.
        path: PathBuf,
        /// Whose journal it is.
        found: Arc<str>,
        /// Who was asked for.
        wanted: Arc<str>,
    },
    /// A new session was to be begun in a journal that is not empty.
    #[error("{path}: the journal already holds a session; resume it with --session, or choose another --journal")]
    Exists {
        /// The file.
        path: PathBuf,
    },
}

/// Whether this program reads journals of a format.
fn check_format(path: &Path, found: u32) -> Result<(), JournalError> {
    match found {
        FORMAT => Ok(()),
        0..FORMAT => Err(JournalError::Older { path: path.to_owned(), found }),
        _ => Err(JournalError::Newer { path: path.to_owned(), found, known: FORMAT }),
    }
}
