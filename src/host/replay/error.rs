//! Why a session cannot begin, go on or be read.

use std::sync::Arc;

use crate::journal::JournalError;

/// Why a session cannot begin or go on: our own infrastructure failed, never the program, a tool or a model.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal to resume is empty, or does not begin with a beginning.
    #[error("the journal holds no session: {0}; start a new session instead")]
    NoSession(String),
    /// The text that the session was to go on with has an error.
    #[error("the changed program cannot be used: {0}; the session is as it was; correct the text and try again")]
    Change(String),
    /// The program's text in the journal is no longer understood.
    #[error("the program kept in the journal cannot be loaded: {0}; use the playhouse version that began the session")]
    Program(String),
    /// What the machine does differs from what the journal says it did.
    #[error(
        "internal error: replay does not follow the journal at record {seq}: {found}; use the playhouse version \
         that wrote it, and please report this"
    )]
    Replay {
        /// The record.
        seq: u64,
        /// What the machine says instead.
        found: String,
    },
    /// The session has no such point, or cannot be forked there.
    #[error("{0}")]
    NoPoint(String),
    /// Too many sessions are open.
    #[error("{limit} sessions are open already; end one, or raise max_sessions in playhouse.toml")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// A session with this id is open in this process.
    #[error("session {0} is open already in this process; use it, or give the new one another id")]
    Open(Arc<str>),
    /// The process takes no more sessions.
    #[error("this process is about to end and opens no more sessions; try again when it has been started again")]
    Draining,
    /// The task ended without a word.
    #[error(
        "internal error: the session's task ended unexpectedly; resume the session with --session, and please report this"
    )]
    Vanished,
}
