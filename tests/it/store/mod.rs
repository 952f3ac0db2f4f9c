//! Stores: one SQLite file with many sessions, which loses nothing and gives away nothing.

mod binary;
mod files;
mod kill;
mod random;
mod sessions;

use std::path::{Path, PathBuf};

use playhouse::host::journal::record::{ChunkText, OutcomeWire, Record, RecordBody};
use playhouse::host::journal::{Journal, store};
use playhouse::value::Value;
use playhouse::vm::protocol::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::journal::begun;

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

    fn open(&self, session: &str) -> Box<dyn Journal> {
        store::open(&self.path(), session).unwrap()
    }

    fn read(&self, session: &str) -> Vec<Record> {
        store::read(&self.path(), session).unwrap()
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
    RecordBody::Message { text: text.into() }
}

fn secret_result(call: u64) -> RecordBody {
    let outcome = OutcomeWire::Value { value: Value::str(SECRET), secret: true };
    RecordBody::CallEnded { call, outcome, usage: None }
}

/// A debugger's edit after `after` moves.
fn edited(after: Option<u32>) -> RecordBody {
    RecordBody::Edited { frame: None, name: "key".into(), value: Value::str(SECRET), after }
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

fn write(journal: &mut dyn Journal, bodies: Vec<RecordBody>) -> Vec<u64> {
    bodies.into_iter().zip(100..).map(|(body, time)| journal.append(Timestamp(time), body).unwrap()).collect()
}

fn shown(path: &Path, text: &str) -> String {
    text.replace(&path.display().to_string(), "our.sqlite")
}
