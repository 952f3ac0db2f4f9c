//! What is sent to the engine's objects, and what they answer. Records travel as JSON lines: the objects keep them and
//! never look into them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::residents::dispatch::{Receipted, Visit};

/// A node wants a session's journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// The node's address.
    pub node: Arc<str>,
    /// Which visit it is for: another attempt of the same one has the same text. None: it is for no visit.
    pub visit: Option<Arc<str>>,
}

/// A session's journal, for its new owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opened {
    /// It is the node's.
    Yours {
        /// Which owner it is: a later one has a higher number.
        epoch: u64,
        /// The number of the first record that this visit could have added.
        first: u64,
        /// All records, in order, as JSON lines.
        blocks: Vec<String>,
    },
    /// This node has it.
    Held(Arc<str>),
}

/// Records for a session's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Appending {
    /// Which owner adds them.
    pub epoch: u64,
    /// The number of the first.
    pub from: u64,
    /// How many there are.
    pub n: u64,
    /// JSON lines, in blocks of at most 256 KiB, if a single line has no more; before each, the number of its first
    /// record.
    pub blocks: Vec<(u64, String)>,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Appended {
    /// They are there. These nodes want to hear of it; so many bytes are there now.
    Done {
        /// Addresses.
        watchers: Vec<Arc<str>>,
        /// Of all records.
        bytes: u64,
        /// So many are taken at most.
        room: u64,
        /// Whether a server has it, and some directory with it.
        is_served: bool,
    },
    /// Another owner has the journal.
    Fenced,
    /// The next number is this one.
    Gap(u64),
    /// There is no room.
    Full {
        /// So many are there.
        bytes: u64,
        /// So many are taken at most.
        room: u64,
    },
}

/// The owner lets a session go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Closing {
    /// Which owner.
    pub epoch: u64,
    /// How the session stands, as JSON, and when it must be visited again; none: it is only let go.
    pub standing: Option<(String, Option<i64>)>,
}

/// A node wants to hear of what is added, or does not any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watching {
    /// Its address.
    pub node: Arc<str>,
    /// Since when, and until when, in milliseconds since the Unix epoch; 0: no more.
    pub now: i64,
    /// The end.
    pub until: i64,
}

/// What comes in for a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Delivery {
    /// However often it comes, it is one.
    pub(super) id: Arc<str>,
    /// What is to be done.
    pub(super) visit: Visit,
    /// The node that waits for a receipt.
    pub(super) reply_to: Option<Arc<str>>,
}

/// What came of a visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Visited {
    /// For whoever handed it in.
    pub(super) receipt: Receipted,
    /// When the next one is due, in milliseconds since the Unix epoch.
    pub(super) due: Option<i64>,
}

/// A row of a directory: a name and JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DirectoryRow {
    pub(super) name: String,
    pub(super) value: String,
    /// Only where there is none of this name.
    pub(super) is_new: bool,
}

/// All rows of a directory.
pub(super) type Rows = BTreeMap<String, String>;

/// The most bytes that a key of a session's log has, except for a single record that is longer.
pub const BLOCK: usize = 256 << 10;

/// How many bytes of records a session may have: the engine's limit for what an object keeps is 32 MB.
pub const ROOM: u64 = 30 << 20;
