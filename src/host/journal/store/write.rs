//! The journal of one session in a store.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::host::journal::file::{holder_text, io_error};
use crate::host::journal::lock::process_in;
use crate::host::journal::record::{ChunkText, Record, RecordBody};
use crate::host::journal::store::lock::Lock;
use crate::host::journal::store::schema::{self, MAX_LOG_PAGES, fault};
use crate::host::journal::store::{check_session_id, lock_path, read};
use crate::host::journal::sync::Unsynced;
use crate::host::journal::{Journal, JournalError, SyncFuture, secrets};
use crate::vm::protocol::Timestamp;

/// Pages of the write-ahead log at which synchronising moves them into the file: there waiting for the disk is meant.
const LOG_PAGES: i32 = 1_000;

/// The journal of one session in a store. The session is locked as long as this lives.
struct StoreJournal {
    path: PathBuf,
    session: Arc<str>,
    /// Synchronising takes it to another thread for a while.
    connection: Arc<Mutex<Connection>>,
    /// The session's number in the tables, once it has begun.
    number: Option<i64>,
    next_seq: u64,
    tail: Option<Tail>,
    unsynced: Unsynced,
    /// What opening has found, until somebody wants it.
    found: Option<Vec<Record>>,
    /// The variables that are declared secret.
    secret_names: Vec<Arc<str>>,
    /// Given up after the connection.
    _lock: Lock,
}

/// The chunks of the reply in progress.
struct Tail {
    /// The first one's number.
    seq: u64,
    turn: u64,
    /// The last one's time.
    time: i64,
    /// The bytes of all.
    bytes: Vec<u8>,
    n_chunks: u64,
}

/// What is written at once.
struct Change<'c> {
    transaction: Transaction<'c>,
    number: i64,
}

/// Opens a session of a store. The store is made if it is not there, with its folders; a session that is not there has
/// no records yet ([`Journal::records`]).
///
/// # Errors
/// The store cannot be opened or is none, another process has the session, or its records cannot be read.
pub fn open(path: &Path, session: &str) -> Result<Box<dyn Journal>, JournalError> {
    // Before anything is made.
    check_session_id(session)?;
    let mut connection = schema::open(path, true)?;
    let lock_path = lock_path(path, session)?;
    let lock = match Lock::take(&lock_path).map_err(|cause| io_error(&lock_path, "lock", cause))? {
        Some(lock) => lock,
        None => {
            let holder = holder_text(&process_in(&lock_path));
            return Err(JournalError::Locked { path: path.to_owned(), holder });
        }
    };
    let found = read::find(&mut connection, path, session)?;
    if let Some(seq) = found.missing {
        return Err(JournalError::SecretsMissing { path: path.to_owned(), seq });
    }
    let tail = Tail::of(&found.records[found.records.len() - found.n_tail..]);
    Ok(Box::new(StoreJournal {
        path: path.to_owned(),
        session: session.into(),
        connection: Arc::new(Mutex::new(connection)),
        number: found.number,
        next_seq: found.records.len() as u64 + 1,
        tail,
        unsynced: Unsynced::default(),
        secret_names: secrets::names_of(&found.records),
        found: Some(found.records),
        _lock: lock,
    }))
}

impl Journal for StoreJournal {
    fn place(&self) -> PathBuf {
        self.path.clone()
    }

    fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        if let Some(records) = self.found.take() {
            return Ok(records);
        }
        let found = read::find(&mut lock(&self.connection), &self.path, &self.session)?;
        match found.missing {
            Some(seq) => Err(JournalError::SecretsMissing { path: self.path.clone(), seq }),
            None => Ok(found.records),
        }
    }

    fn append(&mut self, time: Timestamp, body: RecordBody) -> Result<u64, JournalError> {
        self.found = None;
        self.unsynced.note();
        let fault = |cause| fault(&self.path, "write", cause);
        let connection = &mut *lock(&self.connection);
        if let RecordBody::Chunk { turn, text } = &body {
            if let (Some(number), Some(tail)) = (self.number, self.tail.as_mut().filter(|tail| tail.turn == *turn)) {
                let seq = self.next_seq;
                put(connection, "tail", number, seq, time, &body).map_err(fault)?;
                tail.push(time.0, &text.0);
                self.next_seq = seq + 1;
                return Ok(seq);
            }
            let change = Change::begin(connection, self.number, &self.session, time, &body).map_err(fault)?;
            let seq = change.settle(self.tail.as_ref(), true, self.next_seq).map_err(fault)?;
            put(&change.transaction, "tail", change.number, seq, time, &body).map_err(fault)?;
            self.number = Some(change.commit().map_err(fault)?);
            self.tail = Some(Tail { seq, turn: *turn, time: time.0, bytes: text.0.to_vec(), n_chunks: 1 });
            self.next_seq = seq + 1;
            return Ok(seq);
        }
        secrets::declare(&mut self.secret_names, &body);
        let change = Change::begin(connection, self.number, &self.session, time, &body).map_err(fault)?;
        let seq = change.settle(self.tail.as_ref(), body.joins_chunks(), self.next_seq).map_err(fault)?;
        let mut record = Record { seq, time: time.0, body };
        if secrets::holds_secret(&record.body, &self.secret_names) {
            change.keep_secret(&record).map_err(fault)?;
            record = record.shown(&self.secret_names);
        }
        put(&change.transaction, "record", change.number, seq, time, &record.body).map_err(fault)?;
        self.number = Some(change.commit().map_err(fault)?);
        self.tail = None;
        self.next_seq = seq + 1;
        Ok(seq)
    }

    fn sync(&mut self) -> SyncFuture {
        let Some(number) = self.number else { return Box::pin(std::future::ready(Ok(()))) };
        let (connection, path) = (self.connection.clone(), self.path.clone());
        self.unsynced.sync(move || sync(&lock(&connection), number).map_err(|cause| fault(&path, "sync", cause)))
    }
}

/// A commit that waits for the disk takes everything before it along.
fn sync(connection: &Connection, number: i64) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    let synced = connection.execute("UPDATE session SET syncs = syncs + 1 WHERE number = ?", [number]);
    connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_PAGES)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    synced.map(|_| ())
}

impl<'c> Change<'c> {
    /// Begins a transaction; with the first record of a session, `body`, its row.
    fn begin(
        connection: &'c mut Connection,
        number: Option<i64>,
        session: &str,
        time: Timestamp,
        body: &RecordBody,
    ) -> rusqlite::Result<Change<'c>> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let number = match number {
            Some(number) => number,
            None => {
                let (format, program) = if let RecordBody::Begun(begun) = body {
                    (begun.format, begun.roots.first().map_or("", |root| &**root))
                } else {
                    (0, "")
                };
                let insert = "INSERT INTO session (id, format, begun, program) VALUES (?, ?, ?, ?)";
                transaction.execute(insert, params![session, format, time.0, program])?;
                transaction.last_insert_rowid()
            }
        };
        Ok(Change { transaction, number })
    }

    /// Turns the tail into records: one, or if `joins` is false all as they are. Gives the number that comes next.
    fn settle(&self, tail: Option<&Tail>, joins: bool, next_seq: u64) -> rusqlite::Result<u64> {
        let Some(tail) = tail else { return Ok(next_seq) };
        let (transaction, number) = (&self.transaction, self.number);
        let next_seq = if joins && tail.n_chunks > 1 {
            let body = RecordBody::Chunk { turn: tail.turn, text: ChunkText(tail.bytes.as_slice().into()) };
            put(transaction, "record", number, tail.seq, Timestamp(tail.time), &body)?;
            tail.seq + 1
        } else {
            let copy = "INSERT INTO record SELECT session, seq, time, body FROM tail WHERE session = ?";
            transaction.execute(copy, [number])?;
            next_seq
        };
        transaction.execute("DELETE FROM tail WHERE session = ?", [number])?;
        Ok(next_seq)
    }

    /// Keeps a whole body, whose place in the records a masked one takes.
    fn keep_secret(&self, record: &Record) -> rusqlite::Result<()> {
        let insert = "INSERT INTO secret (session, seq, body) VALUES (?, ?, ?)";
        self.transaction.execute(insert, params![self.number, column(record.seq), json(&record.body)])?;
        Ok(())
    }

    fn commit(self) -> rusqlite::Result<i64> {
        self.transaction.commit()?;
        Ok(self.number)
    }
}

impl Tail {
    /// The chunks that a process before this one has left.
    fn of(records: &[Record]) -> Option<Tail> {
        let mut found: Option<Tail> = None;
        for record in records {
            if let RecordBody::Chunk { turn, text } = &record.body {
                match &mut found {
                    Some(tail) => tail.push(record.time, &text.0),
                    None => {
                        let (seq, turn, time, bytes) = (record.seq, *turn, record.time, text.0.to_vec());
                        found = Some(Tail { seq, turn, time, bytes, n_chunks: 1 });
                    }
                }
            }
        }
        found
    }

    fn push(&mut self, time: i64, bytes: &[u8]) {
        self.time = time;
        self.bytes.extend_from_slice(bytes);
        self.n_chunks += 1;
    }
}

fn put(
    connection: &Connection,
    table: &str,
    number: i64,
    seq: u64,
    time: Timestamp,
    body: &RecordBody,
) -> rusqlite::Result<()> {
    let insert = format!("INSERT INTO {table} (session, seq, time, body) VALUES (?, ?, ?, ?)");
    connection.execute(&insert, params![number, column(seq), time.0, json(body)])?;
    Ok(())
}

/// SQLite counts to 2⁶³; no journal comes near.
fn column(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn json(body: &RecordBody) -> String {
    // Writing JSON of our own types into memory cannot fail: all keys are text and no number is infinite.
    serde_json::to_string(body).unwrap_or_default()
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}
