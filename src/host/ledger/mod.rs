//! What a server keeps beside the journals of its store: which sessions it serves and for whom, how they stood when no
//! process had them any more, and the tokens of those who may talk with them (spec `serving.md`, sections 2, 7 and 11).

pub mod answers;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use crate::host::journal::JournalError;
use crate::host::journal::blocking::blocking;
use crate::host::journal::sqlite::patience::patiently;
use crate::host::journal::sqlite::schema::{self, fault};
use crate::vm::protocol::Timestamp;

/// The tables of a store. Cheap to clone; the clones share a connection.
#[derive(Clone)]
pub struct Ledger {
    path: PathBuf,
    connection: Arc<Mutex<Connection>>,
}

/// A session that is served.
#[derive(Clone, Debug, PartialEq)]
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
    pub created: Timestamp,
    /// Which point of which session it was forked from: `SESSION@POINT`.
    pub forked: Option<String>,
    /// How it stood when the last process let it go: JSON, of which the ledger knows nothing. None: a process has it, or
    /// had it when it died.
    pub standing: Option<String>,
    /// When it must be opened again, whoever wants it.
    pub wake: Option<Timestamp>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub created: Timestamp,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// Whether it is a service's, which says for which of its users it asks.
    pub forwards: bool,
}

const COLUMNS: &str = "session, program, version, owner, labels, created, forked, standing, wake";

const TOKENS: &str = "SELECT hash, name, role, program, created, expires, forwards FROM token";

impl Ledger {
    /// Opens the store, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be opened, or is something else.
    pub async fn open(path: &Path) -> Result<Ledger, JournalError> {
        let path = path.to_owned();
        let connection = {
            let path = path.clone();
            blocking(path.display().to_string(), move || schema::open(&path, true)).await?
        };
        Ok(Ledger { path, connection: Arc::new(Mutex::new(connection)) })
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes a session that is about to begin; false: one with this id is there. It goes with the session
    /// ([`crate::host::journal::store::Store::delete`]).
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn begin(&self, served: Served) -> Result<bool, JournalError> {
        self.write(move |connection| {
            let insert = "INSERT OR IGNORE INTO served (session, program, version, owner, labels, created, forked) \
                          VALUES (?, ?, ?, ?, ?, ?, ?)";
            let Served { session, program, version, owner, labels, created, forked, .. } = &served;
            let values = params![&**session, &**program, &**version, &**owner, labels, created.0, forked];
            Ok(connection.execute(insert, values)? > 0)
        })
        .await
    }

    /// A process takes the session up: the number by which it may say how it stands when it lets it go. None: it is not
    /// served.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn take_up(&self, session: Arc<str>) -> Result<Option<i64>, JournalError> {
        self.write(move |connection| {
            let update = "UPDATE served SET opened = opened + 1, standing = NULL, wake = NULL WHERE session = ? \
                          RETURNING opened";
            connection.query_row(update, [&*session], |row| row.get::<_, i64>(0)).optional()
        })
        .await
    }

    /// The process lets it go. Nothing happens where another one has taken it up since.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn let_go(
        &self,
        (session, opened): (Arc<str>, i64),
        standing: String,
        wake: Option<Timestamp>,
    ) -> Result<(), JournalError> {
        self.write(move |connection| {
            let update = "UPDATE served SET standing = ?, wake = ? WHERE session = ? AND opened = ?";
            connection.execute(update, params![standing, wake.map(|wake| wake.0), &*session, opened]).map(|_| ())
        })
        .await
    }

    /// The session is opened again only when somebody wants it.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn let_sleep(&self, session: Arc<str>) -> Result<(), JournalError> {
        self.write(move |connection| {
            let update = "UPDATE served SET wake = NULL WHERE session = ?";
            connection.execute(update, [&*session]).map(|_| ())
        })
        .await
    }

    /// The session has this text of this program now.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn change_program(
        &self,
        session: Arc<str>,
        program: Arc<str>,
        version: Arc<str>,
    ) -> Result<(), JournalError> {
        self.write(move |connection| {
            let update = "UPDATE served SET program = ?, version = ? WHERE session = ?";
            connection.execute(update, [&*program, &*version, &*session]).map(|_| ())
        })
        .await
    }

    /// Forgets a session.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn forget(&self, session: Arc<str>) -> Result<(), JournalError> {
        self.write(move |connection| {
            connection.execute("DELETE FROM served WHERE session = ?", [&*session]).map(|_| ())
        })
        .await
    }

    /// A session that is served.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn find(&self, session: Arc<str>) -> Result<Option<Served>, JournalError> {
        self.with(move |connection| {
            let select = format!("SELECT {COLUMNS} FROM served WHERE session = ?");
            connection.query_row(&select, [&*session], served).optional()
        })
        .await
    }

    /// The sessions that are wanted.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn list(&self, filter: Filter) -> Result<Vec<Served>, JournalError> {
        self.with(move |connection| {
            let select = format!(
                "SELECT {COLUMNS} FROM served WHERE (?1 IS NULL OR program = ?1) AND (?2 IS NULL OR owner = ?2) \
                 AND (?3 IS NULL OR number < (SELECT number FROM served WHERE session = ?3)) \
                 ORDER BY number DESC LIMIT ?4"
            );
            let Filter { program, owner, before, limit } = &filter;
            let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
            let mut statement = connection.prepare(&select)?;
            let rows =
                statement.query_map(params![program.as_deref(), owner.as_deref(), before.as_deref(), limit], served)?;
            rows.collect()
        })
        .await
    }

    /// The sessions that some process had when it died, or has; and those whose time has come.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn wanted_back(&self, now: Timestamp, also_held: bool) -> Result<Vec<Arc<str>>, JournalError> {
        self.with(move |connection| {
            let select = "SELECT session FROM served WHERE wake <= ?1 OR (?2 AND standing IS NULL) ORDER BY number";
            let mut statement = connection.prepare(select)?;
            let rows = statement.query_map(params![now.0, also_held], |row| row.get::<_, String>(0).map(Arc::from))?;
            rows.collect()
        })
        .await
    }

    /// Keeps a token; false: there is one with this name. Those whose time is over go.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn add_token(&self, token: TokenRow) -> Result<bool, JournalError> {
        self.write(move |connection| {
            let insert = "INSERT OR IGNORE INTO token (hash, name, role, program, created, expires, forwards) \
                          VALUES (?, ?, ?, ?, ?, ?, ?)";
            let TokenRow { hash, name, role, program, created, expires, forwards } = &token;
            let expires = expires.map(|expires| expires.0);
            connection.execute("DELETE FROM token WHERE expires <= ?", [created.0])?;
            let values = params![hash, &**name, role, program.as_deref(), created.0, expires, forwards];
            Ok(connection.execute(insert, values)? > 0)
        })
        .await
    }

    /// All tokens, by name.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn tokens(&self) -> Result<Vec<TokenRow>, JournalError> {
        self.with(|connection| {
            let mut statement = connection.prepare(&format!("{TOKENS} ORDER BY name"))?;
            let rows = statement.query_map([], token)?;
            rows.collect()
        })
        .await
    }

    /// The token with this SHA-256.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn token(&self, hash: [u8; 32]) -> Result<Option<TokenRow>, JournalError> {
        self.with(move |connection| connection.query_row(&format!("{TOKENS} WHERE hash = ?"), [hash], token).optional())
            .await
    }

    /// Takes a token away; false: there is none of this name.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn revoke(&self, name: Arc<str>) -> Result<bool, JournalError> {
        self.write(move |connection| Ok(connection.execute("DELETE FROM token WHERE name = ?", [&*name])? > 0)).await
    }

    /// Whether the store can be written.
    ///
    /// # Errors
    /// It cannot.
    pub async fn is_writable(&self) -> Result<(), JournalError> {
        self.write(|connection| connection.transaction_with_behavior(TransactionBehavior::Immediate)?.rollback()).await
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let Ledger { path, connection } = self.clone();
        blocking(path.display().to_string(), move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut connection).map_err(|cause| fault(&path, "read", cause))
        })
        .await
    }

    async fn write<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let Ledger { path, connection } = self.clone();
        blocking(path.display().to_string(), move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            patiently(&path, || work(&mut connection)).map_err(|cause| fault(&path, "write", cause))
        })
        .await
    }
}

fn served(row: &Row<'_>) -> rusqlite::Result<Served> {
    Ok(Served {
        session: row.get::<_, String>(0)?.into(),
        program: row.get::<_, String>(1)?.into(),
        version: row.get::<_, String>(2)?.into(),
        owner: row.get::<_, String>(3)?.into(),
        labels: row.get(4)?,
        created: Timestamp(row.get(5)?),
        forked: row.get(6)?,
        standing: row.get(7)?,
        wake: row.get::<_, Option<i64>>(8)?.map(Timestamp),
    })
}

fn token(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    Ok(TokenRow {
        hash: row.get(0)?,
        name: row.get::<_, String>(1)?.into(),
        role: row.get(2)?,
        program: row.get::<_, Option<String>>(3)?.map(Arc::from),
        created: Timestamp(row.get(4)?),
        expires: row.get::<_, Option<i64>>(5)?.map(Timestamp),
        forwards: row.get(6)?,
    })
}
