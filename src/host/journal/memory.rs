//! A journal in memory: for tests and for sessions that need not outlive their process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::host::journal::record::{ChunkText, Record, RecordBody};
use crate::host::journal::{Journal, JournalError, SyncFuture};
use crate::vm::protocol::Timestamp;

/// A journal in memory. Clones share their records, so a test can look at them, or resume what another session
/// wrote.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    records: Arc<Mutex<Vec<Record>>>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> MemoryJournal {
        MemoryJournal::default()
    }

    /// A journal that holds `records`: a prefix of another one, say.
    pub fn from_records(records: Vec<Record>) -> MemoryJournal {
        MemoryJournal { records: Arc::new(Mutex::new(records)) }
    }

    /// What it holds now.
    pub fn snapshot(&self) -> Vec<Record> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn place(&self) -> PathBuf {
        "memory".into()
    }

    fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        Ok(self.snapshot())
    }

    fn append(&mut self, time: Timestamp, body: RecordBody) -> Result<u64, JournalError> {
        let mut records = self.lock();
        let ends_tail = !matches!((&body, records.last().map(|record| &record.body)),
            (RecordBody::Chunk { turn, .. }, Some(RecordBody::Chunk { turn: pending, .. })) if turn == pending);
        if ends_tail && body.joins_chunks() {
            merge_tail(&mut records);
        }
        let seq = records.len() as u64 + 1;
        records.push(Record { seq, time: time.0, body });
        Ok(seq)
    }

    fn sync(&mut self) -> SyncFuture {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Joins the chunks at the end into one record.
fn merge_tail(records: &mut Vec<Record>) {
    let Some(RecordBody::Chunk { turn, .. }) = records.last().map(|record| &record.body) else { return };
    let turn = *turn;
    let is_of_tail = |record: &&Record| matches!(record.body, RecordBody::Chunk { turn: of, .. } if of == turn);
    let n_chunks = records.iter().rev().take_while(is_of_tail).count();
    if n_chunks < 2 {
        return;
    }
    let tail = records.split_off(records.len() - n_chunks);
    // A reply of many chunks must not cost an idle session their room for good.
    records.shrink_to(records.len() + 8);
    let mut bytes = Vec::new();
    for record in &tail {
        if let RecordBody::Chunk { text, .. } = &record.body {
            bytes.extend_from_slice(&text.0);
        }
    }
    let time = tail.last().map_or(0, |record| record.time);
    let seq = records.len() as u64 + 1;
    records.push(Record { seq, time, body: RecordBody::Chunk { turn, text: ChunkText(bytes.into()) } });
}
