//! Servers that share their sessions: whichever of them has a visit of a session runs it, and the others hand in what
//! somebody does, and hear of what is written. Who decides that is no matter of this module: see [`Dispatch`].
//!
//! A *visit* is one stretch of a session's life: its journal is opened, something is done to it, it goes on until it waits
//! for a person or a moment, and its journal is closed. Between two visits no server has it, and its memory costs nobody
//! anything.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::journal::record::{Record, RecordBody};
use crate::residents::error::ResidentError;
use crate::session::{Receipt, SendError};

/// What a visit does to its session before it lets it go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visit {
    /// Does what somebody wants, as a journal has it ([`crate::session::Deed::record`]).
    Do(Box<RecordBody>),
    /// Goes on with the text of this program.
    Migrate(Arc<str>),
    /// Nothing: its time has come, or somebody wants it to go on.
    Wake,
}

/// Records that were added to a session, in order and without a gap.
pub type Added = Arc<[Record]>;

/// What came of a deed, for whoever handed it in at another server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipted {
    /// It is in the journal.
    Done(Receipt),
    /// Nothing was done, and why.
    Refused(SendError),
    /// The session cannot go on, and why.
    Failed(String),
}

/// The header with the secret by which servers know each other.
pub const NODE_HEADER: &str = "x-playhouse-node";

/// What servers tell each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// What was added to sessions, in order.
    pub added: Vec<(Arc<str>, Vec<Record>)>,
    /// What came of what was handed in, by its id.
    pub receipts: Vec<(Arc<str>, Receipted)>,
}

impl From<Receipted> for Result<Receipt, ResidentError> {
    fn from(receipted: Receipted) -> Result<Receipt, ResidentError> {
        match receipted {
            Receipted::Done(receipt) => Ok(receipt),
            Receipted::Refused(error) => Err(error.into()),
            Receipted::Failed(why) => Err(ResidentError::Elsewhere(why)),
        }
    }
}

impl From<Result<Receipt, SendError>> for Receipted {
    fn from(done: Result<Receipt, SendError>) -> Receipted {
        done.map_or_else(Receipted::Refused, Receipted::Done)
    }
}

/// Who decides which server has a session, and tells the others what is written.
pub trait Dispatch: Send + Sync {
    /// Has some server visit the session. Answered when what is done is in the journal. `held_by`: the server that had it
    /// a moment ago, which then is asked first, so that a reply in progress is interrupted and not waited for.
    fn hand_in(
        &self,
        session: Arc<str>,
        visit: Visit,
        held_by: Option<Arc<str>>,
    ) -> BoxFuture<'static, Result<Receipt, ResidentError>>;

    /// What is added to a session from now on, by whatever server. `stays`: also by visits that begin later.
    ///
    /// # Errors
    /// That cannot be arranged now.
    fn follow(
        &self,
        session: Arc<str>,
        stays: bool,
    ) -> BoxFuture<'static, Result<broadcast::Receiver<Added>, ResidentError>>;

    /// The number of the first record that this visit of the session could add, whichever attempt of it this is: a server
    /// may have died in the middle of an earlier one. To be asked when its journal is open.
    fn first_record(&self, session: &str) -> u64;

    /// Takes what another server tells.
    fn take(&self, told: Told);

    /// Whether whoever asks is one of the servers.
    fn is_colleague(&self, secret: &str) -> bool;
}
