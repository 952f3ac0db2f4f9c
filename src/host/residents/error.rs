//! Why a server can do nothing about a session.

use std::sync::Arc;

use crate::journal::JournalError;
use crate::launch::LaunchError;
use crate::session::{SendError, SessionError};

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum ResidentError {
    /// No program has this name.
    #[error("there is no program `{name}` here; the programs are {}", known.join(", "))]
    NoProgram {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// No session has this id.
    #[error("there is no session {0} here; ids are given when a session begins, and it may have been deleted since")]
    NoSession(Arc<str>),
    /// No more may do something at the same time.
    #[error("{0} sessions are busy, which is the limit (`max_busy` under [serve]); try again in a moment")]
    TooBusy(usize),
    /// The id is another session's.
    #[error("the id {0} is taken by another session; choose another one, or let the server choose")]
    Taken(Arc<str>),
    /// What it runs with.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The store.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its task has failed.
    #[error(transparent)]
    Ended(#[from] Arc<SessionError>),
    /// What it was given.
    #[error(transparent)]
    Send(#[from] SendError),
    /// What another server says, which was to do it.
    #[error("{0}")]
    Elsewhere(String),
}
