//! The records of a session in a store.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::host::journal::record::{Record, RecordBody};
use crate::host::journal::store::schema::{self, fault};
use crate::host::journal::{JournalError, check_format, secrets};

/// What a store holds of a session.
pub(super) struct Found {
    /// Its number in the tables; none: it has not begun.
    pub(super) number: Option<i64>,
    /// Its records, numbered 1, 2, 3, …
    pub(super) records: Vec<Record>,
    /// How many of them, at the end, are chunks of a reply in progress.
    pub(super) n_tail: usize,
    /// The first record whose secret is missing.
    pub(super) missing: Option<u64>,
}

/// Reads a session that may be open in another process. Secrets that are not there any more stay masked.
///
/// # Errors
/// The store cannot be opened, has no such session, or it cannot be read.
pub fn read(path: &Path, session: &str) -> Result<Vec<Record>, JournalError> {
    let mut connection = schema::open(path, false)?;
    let found = find(&mut connection, path, session)?;
    match found.number {
        Some(_) => Ok(found.records),
        None => Err(JournalError::NoSession { path: path.to_owned(), session: session.into() }),
    }
}

/// All of a session, as it is at one moment.
pub(super) fn find(connection: &mut Connection, path: &Path, session: &str) -> Result<Found, JournalError> {
    let fault = |cause| fault(path, "read", cause);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(fault)?;
    let row = transaction
        .query_row("SELECT number, format FROM session WHERE id = ?", [session], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?))
        })
        .optional();
    let Some((number, format)) = row.map_err(fault)? else {
        return Ok(Found { number: None, records: Vec::new(), n_tail: 0, missing: None });
    };
    check_format(path, format)?;
    let damaged = |(seq, cause)| JournalError::Damaged { path: path.to_owned(), session: session.into(), seq, cause };
    let mut records = Vec::new();
    let mut put = |record: Record| {
        let expected = records.len() as u64 + 1;
        if record.seq != expected {
            return Err(damaged((expected, format!("record {} is in its place", record.seq))));
        }
        records.push(record);
        Ok(())
    };
    bodies(&transaction, "record", number, path, &damaged, &mut put)?;
    let mut n_tail = 0;
    bodies(&transaction, "tail", number, path, &damaged, &mut |record| {
        n_tail += 1;
        put(record)
    })?;
    let mut missing = None;
    if secrets::are_masked(&records) {
        let mut kept = HashMap::new();
        let select = "SELECT seq, body FROM secret WHERE session = ?";
        let mut statement = transaction.prepare(select).map_err(fault)?;
        let mut rows = statement.query([number]).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            let seq = seq_of(row.get(0).map_err(fault)?);
            let text: String = row.get(1).map_err(fault)?;
            let time = records.get(index_of(seq)).map_or(0, |record: &Record| record.time);
            let body = parse(&text).map_err(|cause| damaged((seq, cause)))?;
            kept.insert(seq, Record { seq, time, body });
        }
        missing = secrets::restore_from(&kept, &mut records);
    }
    Ok(Found { number: Some(number), records, n_tail, missing })
}

/// Hands on the rows of one table, in order.
fn bodies(
    transaction: &Transaction<'_>,
    table: &str,
    number: i64,
    path: &Path,
    damaged: &dyn Fn((u64, String)) -> JournalError,
    put: &mut dyn FnMut(Record) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let fault = |cause| fault(path, "read", cause);
    let select = format!("SELECT seq, time, body FROM {table} WHERE session = ? ORDER BY seq");
    let mut statement = transaction.prepare(&select).map_err(fault)?;
    let mut rows = statement.query(params![number]).map_err(fault)?;
    while let Some(row) = rows.next().map_err(fault)? {
        let seq = seq_of(row.get(0).map_err(fault)?);
        let time = row.get(1).map_err(fault)?;
        let body = row.get_ref(2).map_err(fault)?.as_str().map_err(|cause| damaged((seq, cause.to_string())))?;
        put(Record { seq, time, body: parse(body).map_err(|cause| damaged((seq, cause)))? })?;
    }
    Ok(())
}

fn parse(text: &str) -> Result<RecordBody, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn seq_of(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

fn index_of(seq: u64) -> usize {
    usize::try_from(seq).unwrap_or(usize::MAX).wrapping_sub(1)
}
