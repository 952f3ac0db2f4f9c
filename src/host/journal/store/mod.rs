//! Stores: one SQLite file (`.sqlite`, `.db`) that holds the journals of many sessions, mode 0600.
//!
//! Several processes may have a store open, each with other sessions: a session has a lock beside the store. SQLite
//! writes ahead (WAL): when an append returns, its transaction is in the system's hands and outlives the process;
//! [`Journal::sync`](crate::host::journal::Journal::sync) lets it outlive a power cut. Whatever belongs together (the
//! chunks of a tail, the record that takes their place, the one after it, what is secret of it) is one transaction,
//! so no state between is ever seen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::journal::file::io_error;
use crate::host::journal::{self, JournalError};
use crate::vm::protocol::Timestamp;

#[cfg(feature = "sqlite")]
mod lock;

#[cfg(feature = "sqlite")]
mod schema;

#[cfg(feature = "sqlite")]
mod write;

#[cfg(feature = "sqlite")]
mod read;

#[cfg(feature = "sqlite")]
mod sessions;

#[cfg(not(feature = "sqlite"))]
mod absent;

#[cfg(feature = "sqlite")]
pub use self::{
    read::read,
    sessions::{contains, delete, hold, list, remember},
    write::open,
};

#[cfg(not(feature = "sqlite"))]
pub use self::absent::{contains, delete, hold, list, open, read, remember};

/// A session of a store, as far as that can be told without replaying it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: Arc<str>,
    /// The program's first file.
    pub program: Arc<str>,
    /// The format of its records.
    pub format: u32,
    /// When it began.
    pub began: Timestamp,
    /// The time of its last record.
    pub last: Timestamp,
    /// How many records it has.
    pub n_records: u64,
    /// How it stands, if that has been found out since its last record ([`remember`]).
    pub standing: Option<Standing>,
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// One word.
    pub state: String,
    /// Why it failed.
    pub detail: String,
}

/// How a session was found to stand after its last record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: Arc<str>,
    /// How many records it had then.
    pub n_records: u64,
    /// The time of the last one.
    pub last: Timestamp,
    /// How it stood.
    pub standing: Standing,
}

/// Whether the path is one of a store, by how it ends.
pub fn is_store(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sqlite" || extension == "db")
}

/// Whether a process has a session open, and its id where known.
pub fn holder(path: &Path, session: &str) -> Option<String> {
    let path = lock_path(path, session).ok()?;
    journal::lock::holder(&path, &path)
}

/// Whether a text can be a session's id: part of a file's name, without any surprise.
pub fn is_session_id(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && !text.starts_with('.') && text.chars().all(is_plain)
}

/// Beside the store itself, whatever links lead to it; it must be there.
fn lock_path(path: &Path, session: &str) -> Result<PathBuf, JournalError> {
    check_session_id(session)?;
    let path = path.canonicalize().map_err(|cause| io_error(path, "find", cause))?;
    Ok(beside(&path, &format!("{session}.lock")))
}

fn check_session_id(session: &str) -> Result<(), JournalError> {
    if is_session_id(session) { Ok(()) } else { Err(JournalError::SessionId(session.to_owned())) }
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}
