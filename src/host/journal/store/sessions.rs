//! The sessions of a store: which there are, how they stand, and that they are deleted.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::host::journal::JournalError;
use crate::host::journal::file::{holder_text, io_error};
use crate::host::journal::lock::process_in;
use crate::host::journal::store::lock::Lock;
use crate::host::journal::store::schema::{self, fault};
use crate::host::journal::store::{Found, Listed, Standing, lock_path};
use crate::vm::protocol::Timestamp;

/// What finds out how sessions stand: another version may find otherwise.
const BY: &str = env!("CARGO_PKG_VERSION");

/// All sessions of a store, by the time they began.
///
/// # Errors
/// It cannot be opened, is none, or cannot be read.
pub fn list(path: &Path) -> Result<Vec<Listed>, JournalError> {
    let connection = schema::open(path, false)?;
    all(&connection).map_err(|cause| fault(path, "read", cause))
}

fn all(connection: &Connection) -> rusqlite::Result<Vec<Listed>> {
    // The last row of a session is found by its key: nothing here grows with the length of sessions.
    let select = "
        SELECT session.id, program, format, begun, last.seq, last.time, standing.state, standing.detail
        FROM session
        LEFT JOIN (
            SELECT number,
                coalesce((SELECT max(seq) FROM tail WHERE session = number),
                    (SELECT max(seq) FROM record WHERE session = number)) AS seq,
                coalesce((SELECT time FROM tail WHERE session = number ORDER BY seq DESC LIMIT 1),
                    (SELECT time FROM record WHERE session = number ORDER BY seq DESC LIMIT 1)) AS time
            FROM session
        ) AS last ON last.number = session.number
        LEFT JOIN standing ON standing.session = session.number AND standing.seq = last.seq
            AND standing.time = last.time AND standing.by = ?
        ORDER BY begun, session.id";
    let mut statement = connection.prepare(select)?;
    let rows = statement.query_map([BY], |row| {
        let state: Option<String> = row.get(6)?;
        let detail: Option<String> = row.get(7)?;
        Ok(Listed {
            id: row.get::<_, String>(0)?.into(),
            program: row.get::<_, String>(1)?.into(),
            format: row.get(2)?,
            began: Timestamp(row.get(3)?),
            n_records: u64::try_from(row.get::<_, Option<i64>>(4)?.unwrap_or(0)).unwrap_or(0),
            last: Timestamp(row.get::<_, Option<i64>>(5)?.unwrap_or(0)),
            standing: state.map(|state| Standing { state, detail: detail.unwrap_or_default() }),
        })
    })?;
    rows.collect()
}

/// Keeps a store open until what this gives is dropped: whoever opens it in the meantime is not the last to close it, and
/// need not clean up after itself.
///
/// # Errors
/// It cannot be opened, or is none.
pub fn hold(path: &Path) -> Result<impl Sized + use<>, JournalError> {
    schema::open(path, false)
}

/// Whether a store has a session. A file that is not there, or empty, has none.
///
/// # Errors
/// It cannot be opened, is none, or cannot be read.
pub fn contains(path: &Path, session: &str) -> Result<bool, JournalError> {
    if !path.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        return Ok(false);
    }
    let connection = schema::open(path, false)?;
    let found = connection.query_row("SELECT 1 FROM session WHERE id = ?", [session], |_| Ok(())).optional();
    Ok(found.map_err(|cause| fault(path, "read", cause))?.is_some())
}

/// Keeps how sessions stand, so that nobody has to replay them for that again before they have further records.
///
/// # Errors
/// It cannot be written.
pub fn remember(path: &Path, found: &[Found]) -> Result<(), JournalError> {
    let mut connection = schema::open(path, false)?;
    let write = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Found { id, n_records, last, standing: Standing { state, detail } } in found {
            let insert = "
                INSERT OR REPLACE INTO standing (session, seq, time, by, state, detail)
                SELECT number, ?, ?, ?, ?, ? FROM session WHERE id = ?";
            let seq = i64::try_from(*n_records).unwrap_or(i64::MAX);
            transaction.execute(insert, params![seq, last.0, BY, state, detail, &**id])?;
        }
        transaction.commit()
    };
    write(&mut connection).map_err(|cause| fault(path, "write", cause))
}

/// Deletes a session and gives its room back.
///
/// # Errors
/// There is no such session, a process has it open, or the store cannot be written.
pub fn delete(path: &Path, session: &str) -> Result<(), JournalError> {
    let lock_path = lock_path(path, session)?;
    let mut connection = schema::open(path, false)?;
    let Some(_lock) = Lock::take(&lock_path).map_err(|cause| io_error(&lock_path, "lock", cause))? else {
        let holder = holder_text(&process_in(&lock_path));
        return Err(JournalError::Locked { path: path.to_owned(), holder });
    };
    match remove(&mut connection, session).map_err(|cause| fault(path, "delete", cause))? {
        true => Ok(()),
        false => Err(JournalError::NoSession { path: path.to_owned(), session: session.into() }),
    }
}

fn remove(connection: &mut Connection, session: &str) -> rusqlite::Result<bool> {
    // What was secret is not left in pages that nobody uses.
    connection.pragma_update(None, "secure_delete", "ON")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let number = transaction.query_row("SELECT number FROM session WHERE id = ?", [session], |row| row.get(0));
    let Some(number) = number.optional()? else { return Ok(false) };
    let number: i64 = number;
    for (table, key) in [
        ("record", "session"),
        ("tail", "session"),
        ("secret", "session"),
        ("standing", "session"),
        ("session", "number"),
    ] {
        transaction.execute(&format!("DELETE FROM {table} WHERE {key} = ?"), [number])?;
    }
    transaction.commit()?;
    // Each row that it gives is a page that it has given back. What another process is reading stays for now.
    for pragma in ["PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"] {
        let mut statement = connection.prepare(pragma)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(true)
}
