//! Journals in memory: for tests and for sessions that need not outlive their process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{self, Either};
use futures_util::stream::{self, StreamExt};

use crate::host::journal::record::Record;
use crate::host::journal::tail::joined;
use crate::host::journal::{Durability, Flush, Journal, RecordStream};

/// A journal in memory. Clones share their records, so a test can look at them, or resume what another session
/// wrote.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    records: Arc<Mutex<Vec<Record>>>,
    /// What is not flushed.
    pending: Vec<Record>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> MemoryJournal {
        MemoryJournal::default()
    }

    /// A journal that holds `records`: a prefix of another one, say.
    pub fn from_records(records: Vec<Record>) -> MemoryJournal {
        MemoryJournal { records: Arc::new(Mutex::new(records)), pending: Vec::new() }
    }

    /// What it holds now, as people see it.
    pub fn snapshot(&self) -> Vec<Record> {
        joined(self.written(), false)
    }

    /// What it holds now, as it was written.
    pub fn written(&self) -> Vec<Record> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn location(&self) -> String {
        "memory".to_owned()
    }

    fn epoch(&self) -> u64 {
        0
    }

    fn next_seq(&self) -> u64 {
        self.lock().len() as u64 + self.pending.len() as u64 + 1
    }

    fn append(&mut self, record: Record) {
        self.pending.push(record);
    }

    fn flush(&mut self, _: Durability) -> Flush {
        let pending = std::mem::take(&mut self.pending);
        let mut records = self.lock();
        // Room for a few: what doubles costs an idle session more than it needs.
        records.reserve_exact(pending.len().max(8));
        records.extend(pending);
        Either::Left(future::ready(Ok(())))
    }

    fn read(&mut self, from: u64) -> RecordStream {
        let after = from.saturating_sub(1);
        let records: Vec<_> = self.lock().iter().filter(|record| record.seq > after).cloned().map(Ok).collect();
        stream::iter(records).boxed()
    }
}
