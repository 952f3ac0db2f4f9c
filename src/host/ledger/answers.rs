//! What was answered to which history: for clients that keep a conversation themselves and send all of it with each
//! message (spec `serving.md`, section 8). A row goes with its session.

use std::str::FromStr;
use std::sync::Arc;

use rusqlite::types::Type;
use rusqlite::{Error, OptionalExtension, Row, params};

use crate::host::events::Mark;
use crate::host::journal::JournalError;
use crate::host::ledger::{COLUMNS, Ledger, Served, served};
use crate::vm::protocol::Timestamp;

/// The most sessions that are looked at for one history, the newest first.
const CANDIDATES: u32 = 64;

/// An answer to a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The history's SHA-256.
    pub key: [u8; 32],
    /// Who has answered.
    pub session: Arc<str>,
    /// What lies after this belongs to the answer.
    pub began: Mark,
    /// Where the session stood when it was given the last message.
    pub asked: Mark,
    /// Where it stood at the answer's end, and what was said; none: it has not come to its end yet.
    pub ended: Option<(Mark, String)>,
    /// Since when.
    pub created: Timestamp,
}

/// An answer as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptAnswer {
    /// The row's number.
    pub number: i64,
    /// The answer.
    pub answer: Answer,
    /// The session.
    pub served: Served,
    /// The session has answered nothing since.
    pub is_last: bool,
}

impl Ledger {
    /// Keeps an answer: the row's number.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn add_answer(&self, answer: Answer) -> Result<i64, JournalError> {
        self.write(move |connection| {
            let insert = "INSERT INTO answers (key, session, began, asked, mark, reply, created) \
                          VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING number";
            let Answer { key, session, began, asked, ended, created } = &answer;
            let (mark, reply) = ended.as_ref().map(|(mark, reply)| (mark.to_string(), reply)).unzip();
            let values = params![key, &**session, began.to_string(), asked.to_string(), mark, reply, created.0];
            connection.query_row(insert, values, |row| row.get(0))
        })
        .await
    }

    /// An answer has come to its end.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn end_answer(&self, number: i64, mark: Mark, reply: String) -> Result<(), JournalError> {
        self.write(move |connection| {
            let update = "UPDATE answers SET mark = ?, reply = ? WHERE number = ?";
            connection.execute(update, params![mark.to_string(), reply, number]).map(|_| ())
        })
        .await
    }

    /// All answers to a history, the newest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn answers(&self, key: [u8; 32]) -> Result<Vec<KeptAnswer>, JournalError> {
        self.with(move |connection| {
            let select = select(&format!("key = ? ORDER BY answers.number DESC LIMIT {CANDIDATES}"));
            let mut statement = connection.prepare(&select)?;
            let rows = statement.query_map(params![key], kept)?;
            rows.collect()
        })
        .await
    }

    /// The answer of a session that began at this mark; without one its last answer.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn answer(&self, session: Arc<str>, began: Option<Mark>) -> Result<Option<KeptAnswer>, JournalError> {
        self.with(move |connection| {
            let select =
                select("answers.session = ?1 AND (?2 IS NULL OR began = ?2) ORDER BY answers.number DESC LIMIT 1");
            let began = began.map(|began| began.to_string());
            connection.query_row(&select, params![&*session, began], kept).optional()
        })
        .await
    }
}

fn select(which: &str) -> String {
    let columns = COLUMNS.split(", ").map(|column| format!("served.{column}")).collect::<Vec<_>>().join(", ");
    format!(
        "SELECT {columns}, answers.number, key, began, asked, mark, reply, answers.created, \
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
        created: Timestamp(row.get(15)?),
    };
    Ok(KeptAnswer { number: row.get("number")?, answer, served, is_last: row.get(16)? })
}

fn mark_of(text: &str) -> rusqlite::Result<Mark> {
    Mark::from_str(text).map_err(|error| Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}
