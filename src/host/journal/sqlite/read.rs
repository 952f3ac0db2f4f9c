//! The records of a session in a store.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::journal::blocking::blocking;
use crate::journal::error::check_format;
use crate::journal::record::{ChunkText, Record, RecordBody};
use crate::journal::sqlite::schema::{self, fault};
use crate::journal::tail::next_piece;
use crate::journal::{JournalError, JournalErrorKind, RecordStream, secrets};

/// What a store holds of a session.
pub(super) struct Found {
    /// Whether the session is there.
    is_there: bool,
    /// Its last owner.
    pub(super) epoch: u64,
    /// Its records, numbered 1, 2, 3, …
    pub(super) records: Vec<Record>,
    /// The first record whose secret is missing.
    pub(super) missing: Option<u64>,
}

/// The records of a session that may be open in another process, from a thread for that. `whole`: it is an error if a
/// secret is missing, else it stays masked.
pub(super) fn stream_of(path: PathBuf, session: Arc<str>, from: u64, whole: bool) -> RecordStream {
    let read = move || {
        let mut connection = schema::open(&path, false)?;
        let found = find(&mut connection, &path, &session)?;
        let location = || path.display().to_string();
        match found.missing {
            _ if !found.is_there && !whole => Err(JournalError::no_session(location(), &session)),
            Some(seq) if whole => Err(JournalError::new(location(), JournalErrorKind::SecretsMissing { seq })),
            _ => Ok(stream::iter(found.records.into_iter().skip_while(move |record| record.seq < from).map(Ok))),
        }
    };
    blocking(String::new(), read).into_stream().try_flatten().boxed()
}

/// All of a session, as it is at one moment.
pub(super) fn find(connection: &mut Connection, path: &Path, session: &str) -> Result<Found, JournalError> {
    let fault = |cause| fault(path, "read", cause);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(fault)?;
    let row = transaction
        .query_row("SELECT number, format, epoch FROM session WHERE id = ?", [session], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?, row.get::<_, i64>(2)?))
        })
        .optional();
    let Some((number, format, epoch)) = row.map_err(fault)? else {
        return Ok(Found { is_there: false, epoch: 0, records: Vec::new(), missing: None });
    };
    check_format(path, format)?;
    let damaged = |(seq, cause): (u64, String)| {
        let advice = "restore the file from a copy, or look at the other sessions in it";
        let kind = JournalErrorKind::Corrupt { what: format!("record {seq} of session {session}"), cause, advice };
        JournalError::new(path.display().to_string(), kind)
    };
    let mut records: Vec<Record> = Vec::new();
    let select = "SELECT seq, time, body FROM record WHERE session = ? ORDER BY seq";
    let mut statement = transaction.prepare(select).map_err(fault)?;
    let mut rows = statement.query([number]).map_err(fault)?;
    while let Some(row) = rows.next().map_err(fault)? {
        let seq = seq_of(row.get(0).map_err(fault)?);
        let text = row.get_ref(2).map_err(fault)?.as_str().map_err(|cause| damaged((seq, cause.to_string())))?;
        let expected = records.len() as u64 + 1;
        if seq != expected {
            return Err(damaged((expected, format!("record {seq} is in its place"))));
        }
        let body = parse(text, records.last()).map_err(|cause| damaged((seq, cause)))?;
        records.push(Record { seq, time: row.get(1).map_err(fault)?, body });
    }
    let mut missing = None;
    if secrets::are_masked(&records) {
        let mut kept = HashMap::new();
        let select = "SELECT seq, body FROM secret WHERE session = ?";
        let mut statement = transaction.prepare(select).map_err(fault)?;
        let mut rows = statement.query([number]).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            let seq = seq_of(row.get(0).map_err(fault)?);
            let text: String = row.get(1).map_err(fault)?;
            let time = records.get(index_of(seq)).map_or(0, |record| record.time);
            let body = parse(&text, None).map_err(|cause| damaged((seq, cause)))?;
            kept.insert(seq, Record { seq, time, body });
        }
        missing = secrets::restore_from(&kept, &mut records);
    }
    Ok(Found { is_there: true, epoch: seq_of(epoch), records, missing })
}

/// A record's body, or a further piece of the reply that the record before is a piece of.
fn parse(text: &str, before: Option<&Record>) -> Result<RecordBody, String> {
    let problem = |error: serde_json::Error| error.to_string();
    if !text.starts_with('[') {
        return serde_json::from_str(text).map_err(problem);
    }
    let [piece]: [ChunkText; 1] = serde_json::from_str(text).map_err(problem)?;
    next_piece(before, piece)
}

fn seq_of(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

fn index_of(seq: u64) -> usize {
    usize::try_from(seq).unwrap_or(usize::MAX).wrapping_sub(1)
}
