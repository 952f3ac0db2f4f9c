//! Where one session's journal is, whatever kind it is of.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::journal::file::{self, FileJournal};
use crate::host::journal::record::{Record, RecordBody};
use crate::host::journal::{Journal, JournalError, store};

/// Where a session's journal is, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// In a file of its own (`.jsonl`), which says itself whose journal it is.
    File(PathBuf),
    /// In a store (`.sqlite`, `.db`) among others.
    Store {
        /// The store.
        path: PathBuf,
        /// The session's id.
        session: Arc<str>,
    },
}

impl Address {
    /// Where the journal of `session` is if it is kept at `path`: there, or among others there.
    pub fn at(path: &Path, session: &str) -> Address {
        match store::is_store(path) {
            true => Address::Store { path: path.to_owned(), session: session.into() },
            false => Address::File(path.to_owned()),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Address::File(path) | Address::Store { path, session: _ } => path,
        }
    }

    /// Opens the journal to write; it is made if it is not there. Locked as long as it is open.
    ///
    /// # Errors
    /// It cannot be opened, another process has it, or it cannot be read.
    pub fn open(&self) -> Result<Box<dyn Journal>, JournalError> {
        match self {
            Address::File(path) => Ok(Box::new(FileJournal::open(path)?)),
            Address::Store { path, session } => store::open(path, session),
        }
    }

    /// The records, also of a journal that is open in another process. Secrets that are not there any more stay masked.
    ///
    /// # Errors
    /// It is not there or cannot be read.
    pub fn read(&self) -> Result<Vec<Record>, JournalError> {
        match self {
            Address::File(path) => file::read_file(path),
            Address::Store { path, session } => store::read(path, session),
        }
    }

    /// Whether there is a journal.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn is_there(&self) -> Result<bool, JournalError> {
        match self {
            Address::File(path) => Ok(path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)),
            Address::Store { path, session } => store::contains(path, session),
        }
    }

    /// Whether a process has it open, and its id where known.
    pub fn holder(&self) -> Option<String> {
        match self {
            Address::File(path) => file::holder(path),
            Address::Store { path, session } => store::holder(path, session),
        }
    }

    /// Removes it with all that belongs to it.
    ///
    /// # Errors
    /// It is not there, a process has it open, or it cannot be removed.
    pub fn delete(&self) -> Result<(), JournalError> {
        match self {
            Address::File(path) => file::delete(path),
            Address::Store { path, session } => store::delete(path, session),
        }
    }

    /// Sees to it that `records` are of this session: a file can hold any.
    ///
    /// # Errors
    /// They are another one's.
    pub fn check(&self, records: &[Record], session: &str) -> Result<(), JournalError> {
        match records.first().map(|record| &record.body) {
            Some(RecordBody::Begun(begun)) if *begun.session != *session => Err(JournalError::OtherSession {
                path: self.path().to_owned(),
                found: begun.session.clone(),
                wanted: session.into(),
            }),
            _ => Ok(()),
        }
    }
}
