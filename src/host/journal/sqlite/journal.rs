//! The journal of one session in a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture, Either};
use futures_util::stream::{self, StreamExt};
use serde::Serialize;

use crate::journal::blocking::blocking;
use crate::journal::lease::Lease;
use crate::journal::record::{Record, RecordBody};
use crate::journal::sqlite::schema::lease_path;
use crate::journal::sqlite::writer::{Beginning, Row, Wanted, Writer};
use crate::journal::sqlite::{read, schema};
use crate::journal::tail::Run;
use crate::journal::{Durability, Flush, Journal, JournalError, JournalErrorKind, RecordStream, secrets};

/// The journal of one session. It is leased as long as this lives.
struct SqliteJournal {
    path: PathBuf,
    session: Arc<str>,
    writer: Arc<Writer>,
    epoch: u64,
    next_seq: u64,
    /// What is not flushed.
    rows: Vec<Row>,
    beginning: Option<Beginning>,
    /// The pieces of the reply that is being written.
    run: Run,
    /// What opening has found, until somebody wants it.
    found: Option<Vec<Record>>,
    /// The variables that are declared secret.
    secret_names: Vec<Arc<str>>,
    /// Given up last.
    _lease: Lease,
}

/// Opens a session of a store. The store is made if it is not there, with its folders; a session that is not there has
/// no records yet.
///
/// # Errors
/// The store cannot be opened or is none, another process has the session, or its records cannot be read.
pub(super) fn open(path: &Path, session: &str) -> Result<Box<dyn Journal>, JournalError> {
    let mut connection = schema::open(path, true)?;
    let lease = Lease::beside(&lease_path(path, session)?, path)?;
    let found = read::find(&mut connection, path, session)?;
    if let Some(seq) = found.missing {
        return Err(JournalError::new(path.display().to_string(), JournalErrorKind::SecretsMissing { seq }));
    }
    Ok(Box::new(SqliteJournal {
        writer: Writer::of(path, connection)?,
        path: path.to_owned(),
        session: session.into(),
        epoch: found.epoch + 1,
        next_seq: found.records.len() as u64 + 1,
        rows: Vec::new(),
        beginning: None,
        run: Run::after(&found.records),
        secret_names: secrets::names_of(&found.records),
        found: Some(found.records),
        _lease: lease,
    }))
}

impl Journal for SqliteJournal {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn append(&mut self, record: Record) {
        self.found = None;
        self.next_seq = record.seq + 1;
        secrets::declare(&mut self.secret_names, &record.body);
        if let RecordBody::Begun(begun) = &record.body {
            let program = begun.roots.first().map_or_else(|| "".into(), Arc::clone);
            self.beginning = Some(Beginning { format: begun.format, program });
        }
        let masked = record.body.masked(&self.secret_names);
        let secret = masked.as_ref().map(|_| json(&record.body));
        let shown = match self.run.further(&record) {
            Some((_, text)) => json(&[text]),
            None => json(masked.as_ref().unwrap_or(&record.body)),
        };
        self.rows.push(Row { seq: record.seq, time: record.time, body: shown, secret });
    }

    fn flush(&mut self, durability: Durability) -> Flush {
        if self.rows.is_empty() && (durability == Durability::Killed || self.next_seq == 1) {
            return Either::Left(future::ready(Ok(())));
        }
        let wanted = Wanted {
            session: self.session.clone(),
            epoch: self.epoch,
            beginning: self.beginning.take(),
            rows: std::mem::take(&mut self.rows),
            durability,
        };
        Either::Right(self.writer.write(wanted).boxed())
    }

    fn read(&mut self, from: u64) -> RecordStream {
        if let Some(records) = self.found.take() {
            return stream::iter(records.into_iter().skip_while(move |record| record.seq < from).map(Ok)).boxed();
        }
        read::stream_of(self.path.clone(), self.session.clone(), from, true)
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        // The last one to go moves what was written ahead into the file, which may wait for the disk.
        blocking(String::new(), move || {
            drop(self);
            Ok(())
        })
        .map(|_| ())
        .boxed()
    }
}

fn json(body: &impl Serialize) -> String {
    // Writing JSON of our own types into memory cannot fail: all keys are text and no number is infinite.
    serde_json::to_string(body).unwrap_or_default()
}
