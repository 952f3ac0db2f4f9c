//! The store itself: which sessions there are, how they stand, and that they are deleted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use playhouse_vm::protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::journal::blocking::blocking;
use crate::journal::lease::Lease;
use crate::journal::sqlite::patience::patiently;
use crate::journal::sqlite::schema::{self, fault, lease_path};
use crate::journal::sqlite::{journal, read};
use crate::journal::store::{Found, Known, Listed, Standing, Store, check_session_id};
use crate::journal::{Journal, JournalError, RecordStream};

/// What finds out how sessions stand: another version may find otherwise.
const BY: &str = env!("CARGO_PKG_VERSION");

/// A store in a SQLite file.
struct Sqlite {
    path: PathBuf,
    /// Kept open by a list: whoever looks at one session after the other then is not the last to close the file, and need
    /// not clean up after itself.
    held: Arc<Mutex<Option<Connection>>>,
}

/// The store at a path.
pub(in crate::journal) fn at(path: &Path) -> Arc<dyn Store> {
    Arc::new(Sqlite { path: path.to_owned(), held: Arc::default() })
}

impl Sqlite {
    /// Does something with the file on a thread for that.
    fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, JournalError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, JournalError>> {
        let path = self.path.clone();
        blocking(self.location(), move || work(&path)).boxed()
    }
}

impl Store for Sqlite {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn open(&self, session: &str) -> BoxFuture<'static, Result<Box<dyn Journal>, JournalError>> {
        // Before anything is made.
        if let Err(error) = check_session_id(session) {
            return future::ready(Err(error)).boxed();
        }
        let session: Arc<str> = session.into();
        self.with(move |path| journal::open(path, &session))
    }

    fn read(&self, session: &str, from: u64) -> RecordStream {
        read::stream_of(self.path.clone(), session.into(), from, false)
    }

    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, JournalError>> {
        let session: Arc<str> = session.into();
        self.with(move |path| {
            if !is_there(path) {
                return Ok(false);
            }
            let connection = schema::open(path, false)?;
            let found = connection.query_row("SELECT 1 FROM session WHERE id = ?", [&*session], |_| Ok(())).optional();
            Ok(found.map_err(|cause| fault(path, "read", cause))?.is_some())
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Listed>, JournalError>> {
        let held = self.held.clone();
        self.with(move |path| {
            if !path.exists() {
                return Ok(Vec::new());
            }
            let connection = schema::open(path, false)?;
            let listed = all(&connection).map_err(|cause| fault(path, "read", cause))?;
            *held.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
            Ok(listed)
        })
    }

    fn holder(&self, session: &str) -> BoxFuture<'static, Option<String>> {
        let holder = lease_path(&self.path, session).ok().and_then(|path| Lease::holder(&path, &path));
        future::ready(holder).boxed()
    }

    fn delete(&self, session: &str) -> BoxFuture<'static, Result<(), JournalError>> {
        let session: Arc<str> = session.into();
        self.with(move |path| {
            let mut connection = schema::open(path, false)?;
            let _lease = Lease::beside(&lease_path(path, &session)?, path)?;
            let removed = patiently(path, || remove(&mut connection, &session));
            match removed.map_err(|cause| fault(path, "delete", cause))? {
                true => Ok(()),
                false => Err(JournalError::no_session(path.display().to_string(), &session)),
            }
        })
    }

    fn remember(&self, found: Vec<Found>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.with(move |path| {
            let mut connection = schema::open(path, false)?;
            keep(&mut connection, &found).map_err(|cause| fault(path, "write", cause))
        })
    }
}

fn is_there(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

fn keep(connection: &mut Connection, found: &[Found]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for Found { id, n_records, last, standing: Standing { state, detail } } in found {
        let insert = "
            INSERT OR REPLACE INTO standing (session, seq, time, by, state, detail)
            SELECT number, ?, ?, ?, ?, ? FROM session WHERE id = ?";
        let seq = i64::try_from(*n_records).unwrap_or(i64::MAX);
        transaction.execute(insert, params![seq, last.0, BY, state, detail, &**id])?;
    }
    transaction.commit()
}

/// All sessions, by the time they began.
fn all(connection: &Connection) -> rusqlite::Result<Vec<Listed>> {
    // The last row of a session is found by its key: nothing here grows with the length of sessions.
    let select = "
        SELECT session.id, program, begun, last.seq, last.time, standing.state, standing.detail
        FROM session
        LEFT JOIN (
            SELECT number,
                (SELECT max(seq) FROM record WHERE session = number) AS seq,
                (SELECT time FROM record WHERE session = number ORDER BY seq DESC LIMIT 1) AS time
            FROM session
        ) AS last ON last.number = session.number
        LEFT JOIN standing ON standing.session = session.number AND standing.seq = last.seq
            AND standing.time = last.time AND standing.by = ?
        ORDER BY begun, session.id";
    let mut statement = connection.prepare(select)?;
    let rows = statement.query_map([BY], |row| {
        let state: Option<String> = row.get(5)?;
        let detail: Option<String> = row.get(6)?;
        let known = Known {
            program: row.get::<_, String>(1)?.into(),
            began: Timestamp(row.get(2)?),
            n_records: u64::try_from(row.get::<_, Option<i64>>(3)?.unwrap_or(0)).unwrap_or(0),
            last: Timestamp(row.get::<_, Option<i64>>(4)?.unwrap_or(0)),
            standing: state.map(|state| Standing { state, detail: detail.unwrap_or_default() }),
        };
        Ok(Listed { id: row.get::<_, String>(0)?.into(), known: Some(known) })
    })?;
    rows.collect()
}

fn remove(connection: &mut Connection, session: &str) -> rusqlite::Result<bool> {
    // What was secret is not left in pages that nobody uses.
    connection.pragma_update(None, "secure_delete", "ON")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // What a server knows of it; it may never have come to a first record.
    transaction.execute("DELETE FROM answers WHERE session = ?", [session])?;
    let n_served = transaction.execute("DELETE FROM served WHERE session = ?", [session])?;
    let number = transaction.query_row("SELECT number FROM session WHERE id = ?", [session], |row| row.get(0));
    let number: Option<i64> = number.optional()?;
    for (table, key) in [("record", "session"), ("secret", "session"), ("standing", "session"), ("session", "number")] {
        transaction.execute(&format!("DELETE FROM {table} WHERE {key} = ?"), [number])?;
    }
    transaction.commit()?;
    if number.is_none() {
        return Ok(n_served > 0);
    }
    // Each row that it gives is a page that it has given back. What another process is reading stays for now.
    for pragma in ["PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"] {
        let mut statement = connection.prepare(pragma)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(true)
}
