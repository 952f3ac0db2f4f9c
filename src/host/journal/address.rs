//! Where sessions are kept, and where one of them is: whatever its journal is of.

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

/// Where sessions are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Each in a file of its own: `ID.jsonl`.
    Folder(PathBuf),
    /// All in one store.
    Store(PathBuf),
    /// The only one, in this file.
    File(PathBuf),
}

impl Place {
    /// What `path` is by how it ends: a store (`.sqlite`, `.db`), a journal (`.jsonl`), else a folder.
    pub fn at(path: &Path) -> Place {
        let path = path.to_owned();
        if store::is_store(&path) {
            Place::Store(path)
        } else if is_file_journal(&path) {
            Place::File(path)
        } else {
            Place::Folder(path)
        }
    }

    /// The folder or file.
    pub fn path(&self) -> &Path {
        match self {
            Place::Folder(path) | Place::Store(path) | Place::File(path) => path,
        }
    }

    /// Where the journal of a session is that begins here.
    ///
    /// # Errors
    /// Its id cannot be part of a file's name.
    pub fn address(&self, session: &str) -> Result<Address, JournalError> {
        match self {
            Place::File(path) => Ok(Address::File(path.clone())),
            Place::Folder(_) | Place::Store(_) if !store::is_session_id(session) => {
                Err(JournalError::SessionId(session.to_owned()))
            }
            Place::Folder(path) => Ok(Address::File(path.join(format!("{session}.jsonl")))),
            Place::Store(path) => Ok(Address::Store { path: path.clone(), session: session.into() }),
        }
    }

    /// Where another session is kept that comes of one that is kept here: a file for one session has no room for it.
    #[must_use]
    pub fn beside(&self, session: &str) -> Place {
        match self {
            Place::File(path) => Place::File(path.with_file_name(format!("{session}.jsonl"))),
            Place::Folder(_) | Place::Store(_) => self.clone(),
        }
    }

    /// The journal of a session that is kept here. In a folder its file may have any name.
    ///
    /// # Errors
    /// There is none, or it cannot be told.
    pub fn find(&self, session: &str) -> Result<Address, JournalError> {
        let address = self.address(session)?;
        let none = || JournalError::NoSession { path: self.path().to_owned(), session: session.into() };
        if address.is_there()? {
            if let Place::File(path) = self {
                address.check(&file::read_first(path)?, session)?;
            }
            return Ok(address);
        }
        let Place::Folder(folder) = self else { return Err(none()) };
        let is_of = |path: &PathBuf| {
            let records = file::read_first(path).unwrap_or_default();
            matches!(records.first().map(|record| &record.body), Some(RecordBody::Begun(begun)) if *begun.session == *session)
        };
        files(folder)?.into_iter().find(is_of).map(Address::File).ok_or_else(none)
    }

    /// All journals that are kept here, whether they can be read or not; of a store none if it is not there.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, JournalError> {
        match self {
            Place::Folder(path) => files(path),
            Place::File(path) => Ok(path.exists().then(|| path.clone()).into_iter().collect()),
            Place::Store(_) => Ok(Vec::new()),
        }
    }
}

/// Whether the path is one of a journal in a file of its own, by how it ends.
pub fn is_file_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// The journals of a folder; one that is not there has none.
fn files(folder: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let advice = "name a readable folder, or a `.jsonl`, `.sqlite` or `.db` file, with --journal";
    let error = |cause| JournalError::Io { path: folder.to_owned(), action: "find", cause, advice };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(error(cause)),
    };
    let mut found = Vec::new();
    for entry in entries {
        found.push(entry.map_err(error)?.path());
    }
    found.retain(|path| is_file_journal(path));
    found.sort();
    Ok(found)
}

impl Address {
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
