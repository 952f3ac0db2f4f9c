//! What a ledger keeps of sessions and tokens.

use std::sync::Arc;

use playhouse_vm::protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ledger::millis::{as_millis, as_millis_if_any};

/// A session that is served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// Its id.
    pub session: Arc<str>,
    /// The program's name at this server.
    pub program: Arc<str>,
    /// Which text of it the session has.
    pub version: Arc<str>,
    /// Whose it is: a token's name.
    pub owner: Arc<str>,
    /// What its owner has said of it: JSON, of which the ledger knows nothing.
    pub labels: String,
    /// When it began.
    #[serde(with = "as_millis")]
    pub created: Timestamp,
    /// Which point of which session it was forked from: `SESSION@POINT`.
    pub forked: Option<String>,
    /// How it stood when the last process let it go: JSON, of which the ledger knows nothing. None: a process has it, or
    /// had it when it died.
    pub standing: Option<String>,
    /// The time of the last record of its journal, where the ledger lies beside it. Later than in `standing`: a process that
    /// serves nobody, such as `playhouse sessions resume`, has gone on with it since.
    #[serde(skip)]
    pub last_record: Option<Timestamp>,
    /// When it must be opened again, whoever wants it.
    #[serde(with = "as_millis_if_any")]
    pub wake: Option<Timestamp>,
    /// Which server visits it at this moment, where the ledger is one for many and knows it.
    #[serde(skip)]
    pub held_by: Option<Arc<str>>,
}

/// Which sessions are wanted; the newest come first.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this program.
    pub program: Option<Arc<str>>,
    /// Of this owner.
    pub owner: Option<Arc<str>>,
    /// Older than this one.
    pub before: Option<Arc<str>>,
    /// At most so many.
    pub limit: usize,
}

/// A token. The token itself is kept by nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRow {
    /// Its SHA-256.
    pub hash: [u8; 32],
    /// Whose it is.
    pub name: Arc<str>,
    /// What it may do.
    pub role: String,
    /// The only program that it is for.
    pub program: Option<Arc<str>>,
    /// When it was made.
    #[serde(with = "as_millis")]
    pub created: Timestamp,
    /// When it ends.
    #[serde(with = "as_millis_if_any")]
    pub expires: Option<Timestamp>,
    /// Whether it is a service's, which says for which of its users it asks.
    pub forwards: bool,
}
