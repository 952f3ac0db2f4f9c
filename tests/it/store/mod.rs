//! Stores: one SQLite file with many sessions, which loses nothing and gives away nothing.

mod binary;
mod files;
mod kill;
mod random;
mod sessions;

use std::path::{Path, PathBuf};

use playhouse::host::journal::JournalError;
use playhouse::host::journal::record::{ChunkText, OutcomeWire, Record, RecordBody};
use playhouse::host::journal::store::{Found, Listed};
use playhouse::value::Value;
use playhouse::vm::protocol::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::journal::begun;
use crate::stores::{Log, now};

const SECRET: &str = "hush-4711";

/// A folder with the path of a store in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("deep/our.sqlite")
    }

    fn open(&self, session: &str) -> Log {
        sqlite::open(&self.path(), session).unwrap()
    }

    fn read(&self, session: &str) -> Vec<Record> {
        sqlite::read(&self.path(), session).unwrap()
    }

    /// The tables, as another program sees them.
    fn sql(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().parent().unwrap()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn chunk(turn: u64, text: &str) -> RecordBody {
    RecordBody::Chunk { turn, text: ChunkText(text.as_bytes().into()) }
}

fn message(text: &str) -> RecordBody {
    RecordBody::Message { text: text.into(), id: None, by: None }
}

fn secret_result(call: u64) -> RecordBody {
    let outcome = OutcomeWire::Value { value: Value::str(SECRET), secret: true };
    RecordBody::CallEnded { call, outcome, usage: None }
}

/// A debugger's edit after `after` moves.
fn edited(after: Option<u32>) -> RecordBody {
    RecordBody::Edited { frame: None, name: "key".into(), value: Value::str(SECRET), after, by: None }
}

/// A beginning, replies, secrets, an edit in the middle of a reply.
fn bodies() -> Vec<RecordBody> {
    vec![
        begun(SECRET),
        chunk(1, "{\"at\":"),
        chunk(1, "\"01\",\n"),
        chunk(1, "\"say\":\"hi\"}"),
        message("well"),
        chunk(1, "a"),
        chunk(1, "b"),
        edited(Some(1)),
        chunk(1, "c"),
        chunk(1, "d"),
        chunk(2, "e"),
        RecordBody::CallStarted { call: 1, attempt: 1 },
        secret_result(1),
        edited(None),
        RecordBody::Reopened,
    ]
}

fn write(journal: &mut Log, bodies: Vec<RecordBody>) {
    journal.write(bodies);
}

/// What a store can do, here and now.
mod sqlite {
    use super::*;
    use crate::stores::{self, store_at};

    pub(super) fn open(path: &Path, session: &str) -> Result<Log, JournalError> {
        Log::open(&store_at(path), session)
    }

    pub(super) fn read(path: &Path, session: &str) -> Result<Vec<Record>, JournalError> {
        stores::read(&store_at(path), session)
    }

    pub(super) fn contains(path: &Path, session: &str) -> Result<bool, JournalError> {
        now(store_at(path).find(session))
    }

    pub(super) fn list(path: &Path) -> Result<Vec<Listed>, JournalError> {
        now(store_at(path).list())
    }

    pub(super) fn remember(path: &Path, found: &[Found]) -> Result<(), JournalError> {
        now(store_at(path).remember(found.to_vec()))
    }

    pub(super) fn holder(path: &Path, session: &str) -> Option<String> {
        now(store_at(path).holder(session))
    }

    pub(super) fn delete(path: &Path, session: &str) -> Result<(), JournalError> {
        now(store_at(path).delete(session))
    }
}

fn shown(path: &Path, text: &str) -> String {
    text.replace(&path.display().to_string(), "our.sqlite")
}
