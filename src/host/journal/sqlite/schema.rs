//! The tables of a store, how they came about, and which files are none.
//!
//! `user_version` is the version of the tables; each step below leads to the next one, in the same transaction as its
//! number. What a step has done in some file is never changed: a new version is a new step.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::journal::lease::Lease;
use crate::journal::private::{make_folder_of, private, sync_folder_of};
use crate::journal::sqlite::patience::{BUSY, patiently};
use crate::journal::store::check_session_id;
use crate::journal::{JournalError, JournalErrorKind};

/// What stands in the header of a store (`play`), so that no other database is taken for one.
pub(super) const APPLICATION_ID: i32 = 0x706c_6179;

/// Pages (of 4 KiB) of the write-ahead log at which an append moves them into the file. It must then wait for the
/// disk, so this is only for sessions that run on without ever waiting for anybody.
pub(super) const MAX_LOG_PAGES: i32 = 16_384;

/// Pages that a connection keeps in memory: an idle session must not cost what it has once read.
const CACHE_PAGES: i32 = 64;

/// The smallest page that a database can have, in bytes.
const MIN_PAGE: u64 = 512;

/// Held while a file is made and until SQLite has it, so that no other thread has locks on it when its handle is closed.
static OPENING: Mutex<()> = Mutex::new(());

/// The steps from one version of the tables to the next; the first begins at an empty database.
const STEPS: [&str; 5] = [
    // Bodies are the JSON of `.jsonl` lines without number and time. `tail` had the chunks of the reply in progress,
    // `secret` has whole the bodies that are masked in `record`.
    "CREATE TABLE session (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        format INTEGER NOT NULL,
        begun INTEGER NOT NULL,
        program TEXT NOT NULL,
        syncs INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE record (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        time INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tail (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        time INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE secret (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;",
    // How a session stood when somebody looked; true as long as its last record has this `seq` and `time` and `by` is the
    // same program.
    "CREATE TABLE standing (
        session INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,
        time INTEGER NOT NULL,
        by TEXT NOT NULL,
        state TEXT NOT NULL,
        detail TEXT NOT NULL
    ) STRICT;",
    // Records are only ever added, and who writes is counted: an earlier owner is fenced.
    "INSERT INTO record SELECT session, seq, time, body FROM tail;
    DROP TABLE tail;
    ALTER TABLE session ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;",
    // What a server keeps of the sessions that it serves, and who may talk with them (`host/ledger/`). `standing` is
    // nothing while a process has the session, `opened` counts those.
    "CREATE TABLE served (
        number INTEGER PRIMARY KEY,
        session TEXT NOT NULL UNIQUE,
        program TEXT NOT NULL,
        version TEXT NOT NULL,
        owner TEXT NOT NULL,
        labels TEXT NOT NULL,
        created INTEGER NOT NULL,
        forked TEXT,
        opened INTEGER NOT NULL DEFAULT 1,
        standing TEXT,
        wake INTEGER
    ) STRICT;
    CREATE TABLE token (
        hash BLOB PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL,
        program TEXT,
        created INTEGER NOT NULL,
        expires INTEGER
    ) STRICT, WITHOUT ROWID;",
    // Which session has answered a history, for clients that send one with each message (`host/ledger/answers.rs`), and
    // tokens whose owner says for whom it asks. `mark` and `reply` are nothing until the answer has come to its end.
    "CREATE TABLE answers (
        number INTEGER PRIMARY KEY,
        key BLOB NOT NULL,
        session TEXT NOT NULL,
        began TEXT NOT NULL,
        asked TEXT NOT NULL,
        mark TEXT,
        reply TEXT,
        created INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX answers_of_key ON answers (key);
    CREATE INDEX answers_of_session ON answers (session);
    ALTER TABLE token ADD COLUMN forwards INTEGER NOT NULL DEFAULT 0;",
];

/// The version that this program makes.
pub(super) const VERSION: u32 = STEPS.len() as u32;

/// Opens a store; a file that is not there is made if `create` says so, with its folders.
///
/// # Errors
/// It cannot be opened, is no store, or one of a newer program.
pub(crate) fn open(path: &Path, create: bool) -> Result<Connection, JournalError> {
    let error = |action, cause| JournalError::io(path, action, cause);
    if create {
        make_folder_of(path).map_err(|cause| error("make the folder of", cause))?;
    }
    let opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if create {
        make_private(path).map_err(|cause| error("open", cause))?;
    }
    // What SQLite says of a folder would help nobody.
    let metadata = path.metadata().map_err(|cause| error("open", cause))?;
    if metadata.is_dir() {
        return Err(error("open", io::ErrorKind::IsADirectory.into()));
    }
    // SQLite would take it for an empty database, and write over it.
    if (1..MIN_PAGE).contains(&metadata.len()) {
        return Err(foreign(path, "no SQLite database"));
    }
    let fault = |cause| fault(path, "open", cause);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(fault)?;
    drop(opening);
    connection.busy_timeout(BUSY).map_err(fault)?;
    if check(&connection, path)? < VERSION {
        // Two processes that make one store at the same time would stand in each other's way.
        let _lock = Lease::wait(&path.with_added_extension("lock")).map_err(|cause| error("lock", cause))?;
        // Somebody may have been faster.
        let version = check(&connection, path)?;
        if version < VERSION {
            patiently(path, || migrate(&mut connection, version))
                .map_err(|cause| self::fault(path, "migrate", cause))?;
        }
    }
    // The tables may be somebody else's work: they call no function with side effects.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(fault)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(fault)?;
    connection.pragma_update(None, "cache_size", CACHE_PAGES).map_err(fault)?;
    connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_PAGES).map_err(fault)?;
    Ok(connection)
}

/// The version of its tables, if it is a store or empty.
fn check(connection: &Connection, path: &Path) -> Result<u32, JournalError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let tables = "SELECT count(*) FROM sqlite_master";
    // Whoever makes the tables, or is the last to close the store, keeps all others from reading it.
    let (application, version, tables): (i32, i32, i64) = patiently(path, || {
        let n_tables = connection.query_row(tables, [], |row| row.get(0))?;
        Ok((number("application_id")?, number("user_version")?, n_tables))
    })
    .map_err(|cause| fault(path, "open", cause))?;
    let version = u32::try_from(version).unwrap_or(u32::MAX);
    let is_empty = application == 0 && version == 0 && tables == 0;
    if application != APPLICATION_ID && !is_empty {
        return Err(foreign(path, "another program's database"));
    }
    if version > VERSION {
        let kind = JournalErrorKind::Format { found: version, known: VERSION };
        return Err(JournalError::new(path.display().to_string(), kind));
    }
    Ok(version)
}

/// Makes the tables of the newest version, from those that are there: all steps or none.
fn migrate(connection: &mut Connection, version: u32) -> rusqlite::Result<()> {
    // Neither can be changed in a transaction; the first only while there is no table.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in STEPS.iter().skip(version as usize) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Makes the file if it is not there; SQLite gives the files beside it the same rights. One that is there is not opened:
/// a process that closes any handle of a file loses the locks that SQLite has on it.
fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    match private(options.write(true).create_new(true)).open(path) {
        Ok(_) => {
            sync_folder_of(path);
            Ok(())
        }
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// Beside the store itself, whatever links lead to it; it must be there.
pub(super) fn lease_path(path: &Path, session: &str) -> Result<PathBuf, JournalError> {
    check_session_id(session)?;
    let path = path.canonicalize().map_err(|cause| JournalError::io(path, "find", cause))?;
    Ok(path.with_added_extension(format!("{session}.lock")))
}

fn foreign(path: &Path, what: &'static str) -> JournalError {
    JournalError::new(path.display().to_string(), JournalErrorKind::Foreign(what))
}

/// What SQLite says, in the words of journals.
pub(crate) fn fault(path: &Path, action: &'static str, cause: rusqlite::Error) -> JournalError {
    let location = path.display().to_string();
    let advice = match cause.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => return foreign(path, "no SQLite database"),
        Some(ErrorCode::DiskFull) => return JournalError::no_space(location, action, cause),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "make it and its folder writable, or choose another place"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process keeps the store busy: wait for it or end it, then resume the session"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "see whether the disk is full or broken, then resume the session, or choose another place"
        }
        Some(ErrorCode::DatabaseCorrupt) => "restore the file from a copy, or choose another place",
        _ => "choose another place, or fix the cause and resume the session",
    };
    JournalError::unavailable(location, action, cause, advice)
}
