//! Sessions in the engine: a store, and the journal of one of them.

use std::sync::Arc;

use futures_util::future::{self, BoxFuture, Either};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use futures_util::{FutureExt, TryFutureExt};
use std::path::Path;
use tokio::runtime::Handle;

use crate::engine::colleagues::News;
use crate::engine::ingress::Wait;
use crate::engine::log_state::LogState;
use crate::engine::node::{Engine, Owned};
use crate::engine::wire::{Appended, Appending, BLOCK, Closing, Opened, Opening};
use crate::journal::error::check_format;
use crate::journal::record::{Record, RecordBody};
use crate::journal::store::{Listed, Store, check_session_id};
use crate::journal::{Durability, Flush, Journal, JournalError, JournalErrorKind, RecordStream};
use crate::tasks;

/// Sessions in the engine.
pub(super) struct LogStore {
    pub(super) engine: Arc<Engine>,
}

/// The journal of one of them.
struct LogJournal {
    engine: Arc<Engine>,
    session: Arc<str>,
    epoch: u64,
    next_seq: u64,
    /// What is not flushed.
    pending: Vec<Record>,
    /// What opening has found, until somebody wants it.
    found: Option<Vec<Record>>,
    /// Whether the session is let go with this: a visit says itself how it lets it go.
    lets_go: bool,
}

impl Store for LogStore {
    fn location(&self) -> String {
        self.engine.ingress.location()
    }

    fn open(&self, session: &str) -> BoxFuture<'static, Result<Box<dyn Journal>, JournalError>> {
        let (engine, session): (_, Arc<str>) = (self.engine.clone(), session.into());
        async move {
            check_session_id(&session)?;
            let visit = engine.visiting.get(&session).map(|visiting| visiting.delivery.clone());
            let lets_go = visit.is_none();
            let opening = Opening { node: engine.node.clone(), visit };
            let opened = engine.ingress.call(("Log", &session, "open"), Some(&opening), None, Wait::Briefly);
            let (epoch, first, blocks) = match opened.await? {
                Opened::Yours { epoch, first, blocks } => (epoch, first, blocks),
                Opened::Held(node) => return Err(JournalError::held(engine.ingress.location(), node.to_string())),
            };
            let found = engine.records_of(&blocks, 1)?;
            engine.owned.insert(session.clone(), Owned { epoch, first });
            let next_seq = found.len() as u64 + 1;
            let journal =
                LogJournal { engine, session, epoch, next_seq, pending: Vec::new(), found: Some(found), lets_go };
            Ok(Box::new(journal) as Box<dyn Journal>)
        }
        .boxed()
    }

    fn read(&self, session: &str, from: u64) -> RecordStream {
        stream_of(self.engine.clone(), session.into(), from)
    }

    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, JournalError>> {
        self.engine.state_of(session).map_ok(|state| state.n_records() > 0).boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Listed>, JournalError>> {
        let listed = |ids: Vec<Arc<str>>| ids.into_iter().map(Listed::unknown).collect();
        self.engine.stored_sessions().map_ok(listed).boxed()
    }

    fn holder(&self, session: &str) -> BoxFuture<'static, Option<String>> {
        let (engine, session): (_, Arc<str>) = (self.engine.clone(), session.into());
        async move { engine.state_of(&session).await.ok()?.owner().map(ToString::to_string) }.boxed()
    }

    fn delete(&self, session: &str) -> BoxFuture<'static, Result<(), JournalError>> {
        let (engine, session): (_, Arc<str>) = (self.engine.clone(), session.into());
        async move {
            let state: LogState = engine.state_of(&session).await?;
            // Of a visit that is under way nothing more is taken; who holds it otherwise is asked to end.
            if let (Some(owner), None) = (state.owner(), &state.served) {
                return Err(JournalError::held(engine.ingress.location(), owner.to_string()));
            }
            match engine.delete(&session, state.served, false).await? {
                true => Ok(()),
                false => Err(JournalError::no_session(engine.ingress.location(), &session)),
            }
        }
        .boxed()
    }
}

impl Journal for LogJournal {
    fn location(&self) -> String {
        self.engine.ingress.location()
    }

    fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn append(&mut self, record: Record) {
        self.found = None;
        self.next_seq = record.seq + 1;
        self.pending.push(record);
    }

    fn flush(&mut self, _: Durability) -> Flush {
        if self.pending.is_empty() {
            return Either::Left(future::ready(Ok(())));
        }
        let records: Arc<[Record]> = std::mem::take(&mut self.pending).into();
        Either::Right(self.engine.clone().add(self.session.clone(), self.epoch, records).boxed())
    }

    fn read(&mut self, from: u64) -> RecordStream {
        match self.found.take() {
            Some(records) => stream::iter(records.into_iter().filter(move |r| r.seq >= from).map(Ok)).boxed(),
            None if self.next_seq == 1 => stream::empty().boxed(),
            None => stream_of(self.engine.clone(), self.session.clone(), from),
        }
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        self.let_go()
    }
}

impl LogJournal {
    fn let_go(&mut self) -> BoxFuture<'static, ()> {
        if !std::mem::take(&mut self.lets_go) {
            return future::ready(()).boxed();
        }
        let (engine, session, epoch) = (self.engine.clone(), self.session.clone(), self.epoch);
        async move {
            if let Err(error) = engine.close(&session, Closing { epoch, standing: None }).await {
                tracing::debug!(session = &*session, %error, "the session could not be released");
            }
        }
        .boxed()
    }
}

impl Drop for LogJournal {
    fn drop(&mut self) {
        if self.lets_go && Handle::try_current().is_ok() {
            tasks::spawn(self.let_go());
        }
    }
}

fn stream_of(engine: Arc<Engine>, session: Arc<str>, from: u64) -> RecordStream {
    let records = async move {
        let read = engine.ingress.call(("Log", &session, "read"), Some(&from), None, Wait::Briefly);
        let blocks: Vec<String> = read.await?;
        if blocks.is_empty() {
            return Err(JournalError::no_session(engine.ingress.location(), &session));
        }
        Ok(stream::iter(engine.records_of(&blocks, from)?.into_iter().map(Ok)))
    };
    records.into_stream().try_flatten().boxed()
}

impl Engine {
    /// The records of blocks, from this number on.
    fn records_of(&self, blocks: &[String], from: u64) -> Result<Vec<Record>, JournalError> {
        let mut records: Vec<Record> = Vec::new();
        for line in blocks.iter().flat_map(|block| block.lines()) {
            let record: Record = serde_json::from_str(line).map_err(|error| {
                let what = match records.last() {
                    Some(last) => format!("the record after {}", last.seq),
                    None => "a record".to_owned(),
                };
                let advice = "restore the engine's state, or begin a new session";
                let kind = JournalErrorKind::Corrupt { what, cause: error.to_string(), advice };
                JournalError::new(self.ingress.location(), kind)
            })?;
            if let RecordBody::Begun(begun) = &record.body {
                check_format(Path::new(&self.ingress.location()), begun.format)?;
            }
            // Found in two blocks while they are folded into one.
            if records.last().is_none_or(|last| last.seq < record.seq) {
                records.push(record);
            }
        }
        records.retain(|record| record.seq >= from);
        Ok(records)
    }

    /// Adds records to a session's log, and tells those who want to hear of it.
    async fn add(self: Arc<Self>, session: Arc<str>, epoch: u64, records: Arc<[Record]>) -> Result<(), JournalError> {
        let (mut watchers, is_served) = self.append(&session, epoch, &records).await?;
        let waits = self.visiting.get(&session).and_then(|visiting| visiting.reply_to.clone());
        watchers.extend(waits.filter(|node| !watchers.contains(node)));
        for node in watchers {
            self.tell(&node, News::Added(session.clone(), records.clone()));
        }
        if !is_served && records.first().is_some_and(|record| record.seq == 1) {
            self.note_stored(&session).await?;
        }
        Ok(())
    }

    /// Adds records to a session's log: who wants to hear of it, and whether the session is served.
    pub(super) async fn append(
        &self,
        session: &str,
        epoch: u64,
        records: &[Record],
    ) -> Result<(Vec<Arc<str>>, bool), JournalError> {
        let from = records.first().map_or(0, |record| record.seq);
        let appending = Appending { epoch, from, n: records.len() as u64, blocks: blocks(records) };
        let location = || self.ingress.location();
        match self.ingress.call(("Log", session, "append"), Some(&appending), None, Wait::Briefly).await? {
            Appended::Done { watchers, bytes, room, is_served } => {
                if bytes > room / 5 * 4 {
                    tracing::warn!(session, bytes, room, "the session's journal is nearly full");
                }
                Ok((watchers, is_served))
            }
            Appended::Fenced => Err(JournalError::new(location(), JournalErrorKind::Fenced)),
            // Somebody else has added something since it was opened.
            Appended::Gap(_) => Err(JournalError::new(location(), JournalErrorKind::Fenced)),
            Appended::Full { bytes, room } => Err(self.full(bytes, room)),
        }
    }

    /// A session has so many bytes of records, or would have them, and more than `room` are not taken.
    pub(super) fn full(&self, bytes: u64, room: u64) -> JournalError {
        let cause = format!("the session has {bytes} bytes of records, and the limit is {room}");
        let advice = "begin a new session, or fork this one from an earlier point";
        JournalError::new(self.ingress.location(), JournalErrorKind::Full { action: "write", cause, advice })
    }
}

/// Records as JSON lines, in blocks.
fn blocks(records: &[Record]) -> Vec<(u64, String)> {
    let mut blocks: Vec<(u64, String)> = Vec::new();
    for record in records {
        // Writing JSON of our own types into memory cannot fail: all keys are text and no number is infinite.
        let line = serde_json::to_string(record).unwrap_or_default();
        match blocks.last_mut().filter(|(_, block)| block.len() + line.len() < BLOCK) {
            Some((_, block)) => {
                block.push('\n');
                block.push_str(&line);
            }
            None => blocks.push((record.seq, line)),
        }
    }
    blocks
}
