//! Where sessions are kept, and where one of them is: whatever keeps it. A new back end is a file with a [`Store`], and a
//! line in `BACK_ENDS`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt;

use crate::journal::file::Files;
use crate::journal::record::{Record, RecordBody};
use crate::journal::store::{Store, check_session_id};
use crate::journal::tail::joined;
use crate::journal::{Journal, JournalError, JournalErrorKind, sqlite};

/// What keeps sessions, by how the name of a place ends.
#[derive(Debug)]
struct BackEnd {
    /// The endings; none: it has every place that no other one has.
    endings: &'static [&'static str],
    /// Whether a place is for one session only.
    is_for_one: bool,
    /// The store at a path.
    at: fn(&Path) -> Arc<dyn Store>,
}

/// All of them.
static BACK_ENDS: [BackEnd; 3] = [
    BackEnd { endings: &["sqlite", "db"], is_for_one: false, at: sqlite::at },
    BackEnd { endings: &["jsonl"], is_for_one: true, at: Files::only },
    BackEnd { endings: &[], is_for_one: false, at: Files::folder },
];

impl BackEnd {
    /// What keeps the sessions at a path.
    fn of(path: &Path) -> &'static BackEnd {
        let is_of =
            |back_end: &&BackEnd| path.extension().is_some_and(|own| back_end.endings.iter().any(|of| own == *of));
        let [.., folder] = &BACK_ENDS;
        BACK_ENDS.iter().find(is_of).unwrap_or(folder)
    }
}

/// Where sessions are kept.
#[derive(Clone, Debug)]
pub struct Place {
    path: PathBuf,
    back_end: &'static BackEnd,
}

/// Where a session's journal is, or would be.
#[derive(Clone)]
pub struct Address {
    store: Arc<dyn Store>,
    session: Arc<str>,
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        self.path == other.path
    }
}

impl Eq for Place {}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {}", self.session, self.store.location())
    }
}

/// So much of an id must be given, in bytes.
const SHORTEST: usize = 4;

impl Place {
    /// What `path` is by how it ends: a store (`.sqlite`, `.db`), a journal (`.jsonl`), else a folder.
    pub fn at(path: &Path) -> Place {
        Place { path: path.to_owned(), back_end: BackEnd::of(path) }
    }

    /// The folder or file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there can be one session only.
    pub fn is_for_one(&self) -> bool {
        self.back_end.is_for_one
    }

    /// Whether it is told by its ending what keeps it: every other path is a folder.
    pub fn has_ending(&self) -> bool {
        !self.back_end.endings.is_empty()
    }

    /// The store there.
    pub fn store(&self) -> Arc<dyn Store> {
        (self.back_end.at)(&self.path)
    }

    /// Where the journal of a session is that begins here.
    ///
    /// # Errors
    /// Its id cannot be part of a name.
    pub fn address(&self, session: &str) -> Result<Address, JournalError> {
        if !self.is_for_one() {
            check_session_id(session)?;
        }
        Ok(Address::new(self.store(), session))
    }

    /// Where another session is kept that comes of one that is kept here: a file for one session has no room for it.
    #[must_use]
    pub fn beside(&self, session: &str) -> Place {
        if self.is_for_one() { Place::at(&self.path.with_file_name(format!("{session}.jsonl"))) } else { self.clone() }
    }

    /// The journal of a session that is kept here.
    /// Where nothing has this id, it is the only session whose id begins so: ids are long, and people type them.
    ///
    /// # Errors
    /// There is none, or it cannot be told.
    pub async fn find(&self, session: &str) -> Result<Address, JournalError> {
        let address = self.address(session)?;
        if address.is_there().await? {
            return Ok(address);
        }
        let listed = address.store.list().await?;
        let mut begin_so = listed.iter().filter(|listed| listed.id.starts_with(session));
        match (begin_so.next(), begin_so.next()) {
            (Some(only), None) if session.len() >= SHORTEST => Ok(Address::new(address.store, &only.id)),
            _ => Err(JournalError::no_session(address.store.location(), session)),
        }
    }
}

impl Address {
    /// A session of a store.
    pub fn new(store: Arc<dyn Store>, session: &str) -> Address {
        Address { store, session: session.into() }
    }

    /// Where it is kept, for messages.
    pub fn location(&self) -> String {
        self.store.location_of(&self.session)
    }

    /// The session's id.
    pub fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// Opens the journal to write; it is made if it is not there. Nobody else has it as long as it is open.
    ///
    /// # Errors
    /// It cannot be opened, another process has it, or it cannot be read.
    pub async fn open(&self) -> Result<Box<dyn Journal>, JournalError> {
        self.store.open(&self.session).await
    }

    /// The records as people see them, also of a journal that is open in another process. Secrets that are not there any
    /// more stay masked.
    ///
    /// # Errors
    /// It is not there or cannot be read.
    pub async fn read(&self) -> Result<Vec<Record>, JournalError> {
        Ok(joined(self.read_pieces().await?, false))
    }

    /// The records as they were written: each piece of a reply that was kept by itself has its own time.
    ///
    /// # Errors
    /// As for [`Address::read`].
    pub async fn read_pieces(&self) -> Result<Vec<Record>, JournalError> {
        self.store.read(&self.session, 1).try_collect().await
    }

    /// Whether there is a journal.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn is_there(&self) -> Result<bool, JournalError> {
        self.store.find(&self.session).await
    }

    /// Whether a process has it open, and its id where known.
    pub async fn holder(&self) -> Option<String> {
        self.store.holder(&self.session).await
    }

    /// Removes it with all that belongs to it.
    ///
    /// # Errors
    /// It is not there, a process has it open, or it cannot be removed.
    pub async fn delete(&self) -> Result<(), JournalError> {
        self.store.delete(&self.session).await
    }

    /// Sees to it that `records` are of this session: a file can hold any.
    ///
    /// # Errors
    /// They are another one's.
    pub fn check(&self, records: &[Record]) -> Result<(), JournalError> {
        match records.first().map(|record| &record.body) {
            Some(RecordBody::Begun(begun)) if begun.session != self.session => {
                let kind =
                    JournalErrorKind::OtherSession { found: begun.session.clone(), wanted: self.session.clone() };
                Err(JournalError::new(self.location(), kind))
            }
            _ => Ok(()),
        }
    }
}
