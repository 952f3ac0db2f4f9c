//! Sessions of a store on one machine come into the engine, as they are; the store keeps them.

use std::sync::Arc;

use futures_util::TryStreamExt;

use crate::engine::ingress::Wait;
use crate::engine::ledger::EngineLedger;
use crate::engine::node::Engine;
use crate::engine::wire::{Closing, Delivery, Opened, Opening};
use crate::journal::record::Record;
use crate::journal::store::Store;
use crate::journal::{JournalError, JournalErrorKind};
use crate::ledger::sqlite::SqliteLedger;
use crate::ledger::{Ledger, Served};
use crate::residents::dispatch::Visit;
use crate::text::unique;

/// So many bytes of records are sent at once, but for a single record that is longer.
const BATCH: usize = 1 << 20;

/// What became of a session that was to be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// It is there now, with so many records.
    Came {
        /// Of them.
        n_records: usize,
        /// Whether the engine visits it at once: its time may have come, or a process had it when it died.
        is_woken: bool,
    },
    /// It was there before; it may have gone on there.
    Known,
}

/// Why a session cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// One of both places says so; a process may have it.
    #[error("session {session}: {error}")]
    Journal {
        /// The session.
        session: Arc<str>,
        /// What is said.
        error: JournalError,
    },
    /// They are two.
    #[error(
        "session {session}: {engine} already has a session with this id, and its records differ from those in {store}; \
         keep one of the two: delete the other, or leave this one out by naming the sessions to import"
    )]
    Differs {
        /// Both.
        session: Arc<str>,
        /// Where the engine is.
        engine: String,
        /// Where the store is.
        store: String,
    },
}

impl ImportError {
    /// Whether no other session of the store can be imported now, either.
    pub fn is_of_all(&self) -> bool {
        matches!(self, ImportError::Journal { error, .. } if matches!(error.kind, JournalErrorKind::Unavailable { .. }))
    }
}

impl Engine {
    /// Imports a session of a store: all its records, its row in the ledger, and its answers. One that was imported in
    /// part is completed.
    ///
    /// # Errors
    /// It is not there, a process has it, the engine has another one with this id, or one of both places cannot be reached.
    pub async fn import(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        ledger: &SqliteLedger,
        session: &Arc<str>,
    ) -> Result<Imported, ImportError> {
        let fault = |error| ImportError::Journal { session: session.clone(), error };
        if !store.find(session).await.map_err(fault)? {
            return Err(fault(JournalError::no_session(store.location(), session)));
        }
        // As long as this is held, no process goes on with it.
        let mut journal = store.open(session).await.map_err(fault)?;
        let records: Vec<Record> = journal.read(1).try_collect().await.map_err(fault)?;
        let state = self.state_of(session).await.map_err(fault)?;
        let known: Vec<Record> = match state.n_records() {
            0 => Vec::new(),
            _ => self.store().read(session, 1).try_collect().await.map_err(fault)?,
        };
        let is_same = records.iter().zip(&known).all(|(own, known)| own == known);
        let imported = match &state.served {
            Some(served) if is_same && known.len() >= records.len() => {
                let has_gone_on = known.len() > records.len();
                let woken = if has_gone_on { Ok(false) } else { self.wake_if_due(served).await };
                woken.map(|_| Imported::Known).map_err(fault)
            }
            // One that is served goes on in one place only.
            None if is_same => self.complete(ledger, session, &records, known.len()).await.map_err(fault),
            _ => Err(ImportError::Differs {
                session: session.clone(),
                engine: self.ingress.location(),
                store: store.location(),
            }),
        };
        journal.close().await;
        imported
    }

    /// Brings what is missing of a session that no server has in the engine.
    async fn complete(
        self: &Arc<Self>,
        ledger: &SqliteLedger,
        session: &Arc<str>,
        records: &[Record],
        n_known: usize,
    ) -> Result<Imported, JournalError> {
        let missing = records.get(n_known..).unwrap_or_default();
        self.add_all(session, records, missing).await?;
        let Some(served) = ledger.find(session.clone()).await? else {
            self.note_stored(session).await?;
            return Ok(match missing {
                [] => Imported::Known,
                _ => Imported::Came { n_records: records.len(), is_woken: false },
            });
        };
        let own = EngineLedger { engine: self.clone() };
        for answer in ledger.answers_of(session.clone()).await? {
            own.add_answer(answer).await?;
        }
        own.take_over(&served).await?;
        let is_woken = self.wake_if_due(&served).await?;
        Ok(Imported::Came { n_records: records.len(), is_woken })
    }

    /// Has the engine visit a session that waits for a moment, or that a process had when it died; false: it waits for
    /// somebody.
    async fn wake_if_due(&self, served: &Served) -> Result<bool, JournalError> {
        let is_due = served.wake.is_some() || served.standing.is_none();
        if is_due {
            let id = unique();
            let delivery = Delivery { id: id.clone(), visit: Visit::Wake, reply_to: None };
            self.ingress.send(("Session", &served.session, "deliver"), &delivery, &id).await?;
        }
        Ok(is_due)
    }

    /// Adds those of a session's records that are missing, if there is room for all of them.
    async fn add_all(&self, session: &str, all: &[Record], missing: &[Record]) -> Result<(), JournalError> {
        let bytes = all.iter().map(|record| length_of(record) as u64).sum();
        if bytes > self.room {
            return Err(self.full(bytes, self.room));
        }
        if missing.is_empty() {
            return Ok(());
        }
        let opening = Opening { node: self.node.clone(), visit: None };
        let open = self.ingress.call(("Log", session, "open"), Some(&opening), None, Wait::Briefly);
        let epoch = match open.await? {
            Opened::Yours { epoch, .. } => epoch,
            Opened::Held(node) => return Err(JournalError::held(self.ingress.location(), node.to_string())),
        };
        let mut rest = missing;
        let mut added = Ok(());
        while !rest.is_empty() && added.is_ok() {
            let (batch, later) = rest.split_at(batch(rest));
            added = self.append(session, epoch, batch).await.map(|_| ());
            rest = later;
        }
        self.close(session, Closing { epoch, standing: None }).await?;
        added
    }
}

/// Of the line that a record is in a log.
fn length_of(record: &Record) -> usize {
    serde_json::to_string(record).map_or(0, |line| line.len() + 1)
}

/// How many of these records are sent at once; at least one.
fn batch(records: &[Record]) -> usize {
    let mut n_bytes = 0;
    let fits = |record: &&Record| {
        n_bytes += length_of(record);
        n_bytes <= BATCH
    };
    records.iter().take_while(fits).count().max(1)
}
