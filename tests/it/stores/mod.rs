//! What every back end of journals keeps to.

#[cfg(feature = "sqlite")]
mod busy;
mod contract;
mod remote;

use std::path::Path;
use std::sync::Arc;

use futures_util::TryStreamExt;
use playhouse::host::journal::address::Place;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::journal::store::Store;
use playhouse::host::journal::tail::{TailBuffer, joined};
use playhouse::host::journal::{Durability, Journal, JournalError};
use playhouse::vm::protocol::Timestamp;

/// Waits for something, where nothing else is to be done.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A journal whose records are flushed one by one.
pub(crate) struct Log(TailBuffer);

impl Log {
    pub(crate) fn new(journal: impl Journal + 'static) -> Log {
        Log(TailBuffer::new(Box::new(journal)))
    }

    pub(crate) fn open(store: &Arc<dyn Store>, session: &str) -> Result<Log, JournalError> {
        Ok(Log(TailBuffer::new(now(store.open(session))?)))
    }

    pub(crate) fn append(&mut self, time: Timestamp, body: RecordBody) -> Result<(), JournalError> {
        self.0.append(time, body, false);
        now(self.0.flush(Durability::Killed))
    }

    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        now(self.0.flush(Durability::PowerCut))
    }

    /// As people see them.
    pub(crate) fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        now(self.0.records(false))
    }

    /// The bodies, the first at 100 ms.
    pub(crate) fn write(&mut self, bodies: Vec<RecordBody>) {
        for (body, time) in bodies.into_iter().zip(100..) {
            self.append(Timestamp(time), body).unwrap();
        }
    }
}

/// The records that a store shows to everybody, as they were written.
pub(crate) fn written(store: &Arc<dyn Store>, session: &str) -> Result<Vec<Record>, JournalError> {
    now(store.read(session, 1).try_collect())
}

/// The same, as people see them.
pub(crate) fn read(store: &Arc<dyn Store>, session: &str) -> Result<Vec<Record>, JournalError> {
    Ok(joined(written(store, session)?, false))
}

/// The store at a path.
pub(crate) fn store_at(path: &Path) -> Arc<dyn Store> {
    Place::at(path).store()
}
