//! Stores: the sessions of a place, whatever keeps them.

use std::sync::Arc;

use futures_util::future::{self, BoxFuture, FutureExt};
use playhouse_vm::protocol::Timestamp;

use crate::journal::{Journal, JournalError, JournalErrorKind, RecordStream};

/// The sessions of one place.
pub trait Store: Send + Sync {
    /// Where it is, for messages.
    fn location(&self) -> String;

    /// Where one of its sessions is kept, for messages: what names a place that has this session, too.
    fn location_of(&self, session: &str) -> String {
        let _ = session;
        self.location()
    }

    /// Takes the lease of a session, which nobody else may have then, and gives its journal: one that is not there yet
    /// is empty, and made with its place by the first flush or now.
    ///
    /// # Errors
    /// Somebody else has it ([`JournalErrorKind::Held`]), or it cannot be read.
    fn open(&self, session: &str) -> BoxFuture<'static, Result<Box<dyn Journal>, JournalError>>;

    /// The records of a session from this number on, also of one that somebody owns. Secrets that are not there any more
    /// stay masked. An error where there is no such session.
    fn read(&self, session: &str, from: u64) -> RecordStream;

    /// Whether there is such a session.
    ///
    /// # Errors
    /// That cannot be told.
    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, JournalError>>;

    /// All its sessions; none, if there is no such place.
    ///
    /// # Errors
    /// It cannot be read, or is something else.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Listed>, JournalError>>;

    /// Whether somebody owns a session: a process id, where known.
    fn holder(&self, session: &str) -> BoxFuture<'static, Option<String>>;

    /// Removes a session with all that belongs to it.
    ///
    /// # Errors
    /// It is not there, somebody owns it, or it cannot be removed.
    fn delete(&self, session: &str) -> BoxFuture<'static, Result<(), JournalError>>;

    /// Keeps how sessions stand, if the store can, so that nobody has to replay them before they have further records.
    ///
    /// # Errors
    /// It cannot be written.
    fn remember(&self, found: Vec<Found>) -> BoxFuture<'static, Result<(), JournalError>> {
        drop(found);
        future::ready(Ok(())).boxed()
    }
}

/// A session of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: Arc<str>,
    /// What the store can tell of it without reading its records.
    pub known: Option<Known>,
}

/// A session, as far as that can be told without replaying it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The program's first file.
    pub program: Arc<str>,
    /// When it began.
    pub began: Timestamp,
    /// The time of its last record.
    pub last: Timestamp,
    /// How many records it has.
    pub n_records: u64,
    /// How it stands, if that has been found out since its last record ([`Store::remember`]).
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

impl Listed {
    /// One of which no more is known.
    pub fn unknown(id: Arc<str>) -> Listed {
        Listed { id, known: None }
    }
}

/// Whether a text can be a session's id: part of a file's name, without any surprise.
pub fn is_session_id(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && !text.starts_with('.') && text.chars().all(is_plain)
}

/// # Errors
/// The text cannot be a session's id.
pub(crate) fn check_session_id(session: &str) -> Result<(), JournalError> {
    if is_session_id(session) {
        return Ok(());
    }
    Err(JournalError::new("", JournalErrorKind::SessionId(session.into())))
}
