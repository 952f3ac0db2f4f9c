//! Journals in memory, one or a store of them: for tests and for sessions that need not outlive their process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dashmap::DashMap;
use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture, Either};
use futures_util::stream::{self, StreamExt};

use crate::journal::record::Record;
use crate::journal::store::{Listed, Store, check_session_id};
use crate::journal::tail::joined;
use crate::journal::{Durability, Flush, Journal, JournalError, RecordStream};

/// A journal in memory. Clones share their records, so a test can look at them, or resume what another session
/// wrote.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    records: Arc<Mutex<Vec<Record>>>,
    /// What is not flushed.
    pending: Vec<Record>,
    /// Held as long as a store has it open.
    _lease: Option<Arc<()>>,
}

/// Journals in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    sessions: DashMap<Arc<str>, Kept>,
}

/// A session of a store.
#[derive(Debug, Default)]
struct Kept {
    journal: MemoryJournal,
    lease: Weak<()>,
}

impl MemoryStore {
    /// No sessions yet.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn leased(&self, session: &str) -> Result<MemoryJournal, JournalError> {
        check_session_id(session)?;
        let mut kept = self.sessions.entry(session.into()).or_default();
        if kept.lease.strong_count() > 0 {
            return Err(JournalError::held(self.location(), std::process::id().to_string()));
        }
        let lease = Arc::new(());
        kept.lease = Arc::downgrade(&lease);
        Ok(MemoryJournal { _lease: Some(lease), ..kept.journal.clone() })
    }

    /// What a session holds; none: it is not there.
    fn written(&self, session: &str) -> Option<Vec<Record>> {
        self.sessions.get(session).map(|kept| kept.journal.written()).filter(|records| !records.is_empty())
    }
}

impl Store for MemoryStore {
    fn location(&self) -> String {
        "memory".to_owned()
    }

    fn open(&self, session: &str) -> BoxFuture<'static, Result<Box<dyn Journal>, JournalError>> {
        future::ready(self.leased(session).map(|journal| Box::new(journal) as Box<dyn Journal>)).boxed()
    }

    fn read(&self, session: &str, from: u64) -> RecordStream {
        match self.written(session) {
            Some(records) => {
                stream::iter(records.into_iter().skip_while(move |record| record.seq < from).map(Ok)).boxed()
            }
            None => stream::iter([Err(JournalError::no_session(self.location(), session))]).boxed(),
        }
    }

    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, JournalError>> {
        future::ready(Ok(self.written(session).is_some())).boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Listed>, JournalError>> {
        let mut ids: Vec<Arc<str>> = self.sessions.iter().map(|kept| kept.key().clone()).collect();
        ids.sort_unstable();
        let is_there = |id: &Arc<str>| self.written(id).is_some();
        future::ready(Ok(ids.into_iter().filter(is_there).map(Listed::unknown).collect())).boxed()
    }

    fn holder(&self, session: &str) -> BoxFuture<'static, Option<String>> {
        let is_held = self.sessions.get(session).is_some_and(|kept| kept.lease.strong_count() > 0);
        future::ready(is_held.then(|| std::process::id().to_string())).boxed()
    }

    fn delete(&self, session: &str) -> BoxFuture<'static, Result<(), JournalError>> {
        let deleted = match (self.written(session), self.leased(session)) {
            (_, Err(error)) => Err(error),
            (found, Ok(_)) => {
                self.sessions.remove(session);
                found.map(|_| ()).ok_or_else(|| JournalError::no_session(self.location(), session))
            }
        };
        future::ready(deleted).boxed()
    }
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> MemoryJournal {
        MemoryJournal::default()
    }

    /// A journal that holds `records`: a prefix of another one, say.
    pub fn from_records(records: Vec<Record>) -> MemoryJournal {
        MemoryJournal { records: Arc::new(Mutex::new(records)), ..MemoryJournal::default() }
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

    fn next_seq(&self) -> u64 {
        self.lock().len() as u64 + self.pending.len() as u64 + 1
    }

    fn append(&mut self, record: Record) {
        self.pending.push(record);
    }

    fn flush(&mut self, _: Durability) -> Flush {
        let pending = std::mem::take(&mut self.pending);
        self.lock().extend(pending);
        Either::Left(future::ready(Ok(())))
    }

    fn read(&mut self, from: u64) -> RecordStream {
        let after = from.saturating_sub(1);
        let records: Vec<_> = self.lock().iter().filter(|record| record.seq > after).cloned().map(Ok).collect();
        stream::iter(records).boxed()
    }
}
