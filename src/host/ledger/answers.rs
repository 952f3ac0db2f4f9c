//! What was answered to which history: for clients that keep a conversation themselves and send all of it with each
//! message (spec `serving.md`, section 8). A row goes with its session.

use std::sync::Arc;

use playhouse_vm::protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::events::Mark;
use crate::ledger::millis::as_millis;
use crate::ledger::rows::Served;

/// The most sessions that are looked at for one history, the newest first.
pub(crate) const CANDIDATES: usize = 64;

/// Which row an answer is in: a text of the ledger's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowId(pub(crate) Arc<str>);

/// An answer to a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The history's SHA-256.
    pub key: [u8; 32],
    /// Who has answered.
    pub session: Arc<str>,
    /// What lies after this belongs to the answer.
    pub began: Mark,
    /// Where the session stood when it was given the last message.
    pub asked: Mark,
    /// Where it stood at the answer's end, and what was said; none: it has not come to its end yet.
    pub ended: Option<(Mark, String)>,
    /// Since when.
    #[serde(with = "as_millis")]
    pub created: Timestamp,
}

/// An answer as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptAnswer {
    /// Which row it is.
    pub row: RowId,
    /// The answer.
    pub answer: Answer,
    /// The session.
    pub served: Served,
    /// The session has answered nothing since.
    pub is_last: bool,
}
