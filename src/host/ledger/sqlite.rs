//! The ledger of a server on one machine: tables of its store in SQLite.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use playhouse_vm::protocol::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, TransactionBehavior, params};

use crate::events::Mark;
use crate::journal::JournalError;
use crate::journal::blocking::blocking;
use crate::journal::sqlite::patience::patiently;
use crate::journal::sqlite::schema::{self, fault};
use crate::ledger::answers::{Answer, CANDIDATES, KeptAnswer, RowId};
use crate::ledger::{Filter, Kept, Ledger, Served, TokenRow};

/// The tables of a store. Cheap to clone; the clones share a connection.
#[derive(Clone)]
pub struct SqliteLedger {
    path: PathBuf,
    connection: Arc<Mutex<Connection>>,
}

const COLUMNS: &str = "session, program, version, owner, labels, created, forked, standing, wake";

const LAST_RECORD: &str = "(SELECT time FROM record WHERE session = (SELECT number FROM session WHERE id = served.session) \
                           ORDER BY seq DESC LIMIT 1)";

const TOKENS: &str = "SELECT hash, name, role, program, created, expires, forwards FROM token";

impl SqliteLedger {
    /// Opens the store, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be opened, or is something else.
    pub async fn open(path: &Path) -> Result<SqliteLedger, JournalError> {
        let path = path.to_owned();
        let connection = {
            let path = path.clone();
            blocking(path.display().to_string(), move || schema::open(&path, true)).await?
        };
        Ok(SqliteLedger { path, connection: Arc::new(Mutex::new(connection)) })
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All that a session has answered, in order.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn answers_of(&self, session: Arc<str>) -> Result<Vec<Answer>, JournalError> {
        self.with(move |connection| {
            let select = select("answers.session = ? ORDER BY answers.number");
            connection.prepare(&select)?.query_map([&*session], |row| kept(row).map(|kept| kept.answer))?.collect()
        })
        .await
    }

    fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Kept<'static, T> {
        let SqliteLedger { path, connection } = self.clone();
        blocking(path.display().to_string(), move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut connection).map_err(|cause| fault(&path, "read", cause))
        })
        .boxed()
    }

    fn write<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Kept<'static, T> {
        let SqliteLedger { path, connection } = self.clone();
        blocking(path.display().to_string(), move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            patiently(&path, || work(&mut connection)).map_err(|cause| fault(&path, "write", cause))
        })
        .boxed()
    }
}

impl Ledger for SqliteLedger {
    fn begin(&self, served: Served) -> Kept<'_, bool> {
        self.write(move |connection| {
            let insert = "INSERT OR IGNORE INTO served (session, program, version, owner, labels, created, forked) \
                          VALUES (?, ?, ?, ?, ?, ?, ?)";
            let Served { session, program, version, owner, labels, created, forked, .. } = &served;
            let values = params![&**session, &**program, &**version, &**owner, labels, created.0, forked];
            Ok(connection.execute(insert, values)? > 0)
        })
    }

    fn take_up(&self, session: Arc<str>) -> Kept<'_, Option<i64>> {
        self.write(move |connection| {
            let update = "UPDATE served SET opened = opened + 1, standing = NULL, wake = NULL WHERE session = ? \
                          RETURNING opened";
            connection.query_row(update, [&*session], |row| row.get::<_, i64>(0)).optional()
        })
    }

    fn let_go(&self, (session, opened): (Arc<str>, i64), standing: String, wake: Option<Timestamp>) -> Kept<'_, ()> {
        self.write(move |connection| {
            let update = "UPDATE served SET standing = ?, wake = ? WHERE session = ? AND opened = ?";
            connection.execute(update, params![standing, wake.map(|wake| wake.0), &*session, opened]).map(|_| ())
        })
    }

    fn let_sleep(&self, session: Arc<str>) -> Kept<'_, ()> {
        self.write(move |connection| {
            let update = "UPDATE served SET wake = NULL WHERE session = ?";
            connection.execute(update, [&*session]).map(|_| ())
        })
    }

    fn change_program(&self, session: Arc<str>, program: Arc<str>, version: Arc<str>) -> Kept<'_, ()> {
        self.write(move |connection| {
            let update = "UPDATE served SET program = ?, version = ? WHERE session = ?";
            connection.execute(update, [&*program, &*version, &*session]).map(|_| ())
        })
    }

    fn forget(&self, session: Arc<str>) -> Kept<'_, ()> {
        self.write(move |connection| {
            connection.execute("DELETE FROM served WHERE session = ?", [&*session]).map(|_| ())
        })
    }

    fn find(&self, session: Arc<str>) -> Kept<'_, Option<Served>> {
        self.with(move |connection| {
            let select = format!("SELECT {COLUMNS}, {LAST_RECORD} FROM served WHERE session = ?");
            connection.query_row(&select, [&*session], served).optional()
        })
    }

    fn list(&self, filter: Filter) -> Kept<'_, Vec<Served>> {
        self.with(move |connection| {
            let select = format!(
                "SELECT {COLUMNS}, {LAST_RECORD} FROM served WHERE (?1 IS NULL OR program = ?1) AND (?2 IS NULL OR owner = ?2) \
                 AND (?3 IS NULL OR number < (SELECT number FROM served WHERE session = ?3)) \
                 ORDER BY number DESC LIMIT ?4"
            );
            let Filter { program, owner, before, limit } = &filter;
            let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
            let values = params![program.as_deref(), owner.as_deref(), before.as_deref(), limit];
            connection.prepare(&select)?.query_map(values, served)?.collect()
        })
    }

    fn wanted_back(&self, now: Timestamp, also_held: bool) -> Kept<'_, Vec<Arc<str>>> {
        self.with(move |connection| {
            let select = "SELECT session FROM served WHERE wake <= ?1 OR (?2 AND standing IS NULL) ORDER BY number";
            let session = |row: &Row<'_>| row.get::<_, String>(0).map(Arc::from);
            connection.prepare(select)?.query_map(params![now.0, also_held], session)?.collect()
        })
    }

    fn add_token(&self, token: TokenRow) -> Kept<'_, bool> {
        self.write(move |connection| {
            let insert = "INSERT OR IGNORE INTO token (hash, name, role, program, created, expires, forwards) \
                          VALUES (?, ?, ?, ?, ?, ?, ?)";
            let TokenRow { hash, name, role, program, created, expires, forwards } = &token;
            let expires = expires.map(|expires| expires.0);
            connection.execute("DELETE FROM token WHERE expires <= ?", [created.0])?;
            let values = params![hash, &**name, role, program.as_deref(), created.0, expires, forwards];
            Ok(connection.execute(insert, values)? > 0)
        })
    }

    fn tokens(&self) -> Kept<'_, Vec<TokenRow>> {
        self.with(|connection| connection.prepare(&format!("{TOKENS} ORDER BY name"))?.query_map([], token)?.collect())
    }

    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenRow>> {
        self.with(move |connection| connection.query_row(&format!("{TOKENS} WHERE hash = ?"), [hash], token).optional())
    }

    fn revoke(&self, name: Arc<str>) -> Kept<'_, bool> {
        self.write(move |connection| Ok(connection.execute("DELETE FROM token WHERE name = ?", [&*name])? > 0))
    }

    fn is_writable(&self) -> Kept<'_, ()> {
        self.write(|connection| connection.transaction_with_behavior(TransactionBehavior::Immediate)?.rollback())
    }

    fn add_answer(&self, answer: Answer) -> Kept<'_, RowId> {
        self.write(move |connection| {
            let insert = "INSERT INTO answers (key, session, began, asked, mark, reply, created) \
                          VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING number";
            let Answer { key, session, began, asked, ended, created } = &answer;
            let (mark, reply) = ended.as_ref().map(|(mark, reply)| (mark.to_string(), reply)).unzip();
            let values = params![key, &**session, began.to_string(), asked.to_string(), mark, reply, created.0];
            connection.query_row(insert, values, |row| Ok(RowId(row.get::<_, i64>(0)?.to_string().into())))
        })
    }

    fn end_answer(&self, row: RowId, mark: Mark, reply: String) -> Kept<'_, ()> {
        self.write(move |connection| {
            let update = "UPDATE answers SET mark = ?, reply = ? WHERE number = ?";
            connection.execute(update, params![mark.to_string(), reply, &*row.0]).map(|_| ())
        })
    }

    fn answers(&self, key: [u8; 32]) -> Kept<'_, Vec<KeptAnswer>> {
        self.with(move |connection| {
            let select = select(&format!("key = ? ORDER BY answers.number DESC LIMIT {CANDIDATES}"));
            connection.prepare(&select)?.query_map(params![key], kept)?.collect()
        })
    }

    fn answer(&self, session: Arc<str>, began: Option<Mark>) -> Kept<'_, Option<KeptAnswer>> {
        self.with(move |connection| {
            let select =
                select("answers.session = ?1 AND (?2 IS NULL OR began = ?2) ORDER BY answers.number DESC LIMIT 1");
            let began = began.map(|began| began.to_string());
            connection.query_row(&select, params![&*session, began], kept).optional()
        })
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
        last_record: row.get::<_, Option<i64>>(9)?.map(Timestamp),
        held_by: None,
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

fn select(which: &str) -> String {
    let columns = COLUMNS.split(", ").map(|column| format!("served.{column}")).collect::<Vec<_>>().join(", ");
    format!(
        "SELECT {columns}, {LAST_RECORD}, answers.number, key, began, asked, mark, reply, answers.created, \
         NOT EXISTS (SELECT 1 FROM answers later WHERE later.session = answers.session AND later.number > \
         answers.number) FROM answers JOIN served ON served.session = answers.session WHERE {which}"
    )
}

fn kept(row: &Row<'_>) -> rusqlite::Result<KeptAnswer> {
    let served = served(row)?;
    let mark: Option<String> = row.get("mark")?;
    let reply: Option<String> = row.get("reply")?;
    let ended = mark.zip(reply).map(|(mark, reply)| Ok::<_, Error>((mark_of(&mark)?, reply))).transpose()?;
    let answer = Answer {
        key: row.get("key")?,
        session: served.session.clone(),
        began: mark_of(&row.get::<_, String>("began")?)?,
        asked: mark_of(&row.get::<_, String>("asked")?)?,
        ended,
        created: Timestamp(row.get(16)?),
    };
    Ok(KeptAnswer {
        row: RowId(row.get::<_, i64>("number")?.to_string().into()),
        answer,
        served,
        is_last: row.get(17)?,
    })
}

fn mark_of(text: &str) -> rusqlite::Result<Mark> {
    Mark::from_str(text).map_err(|error| Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}
