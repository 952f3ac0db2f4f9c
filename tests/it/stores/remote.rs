//! A log on a server far away, as a back end could speak to one: answers take time and get lost, what was sent may come
//! twice, and whoever has paused for too long is fenced. A test double: it keeps its records in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture, Either};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use playhouse::host::journal::record::Record;
use playhouse::host::journal::store::{Listed, Store};
use playhouse::host::journal::{Durability, Flush, Journal, JournalError, JournalErrorKind, RecordStream};

/// From the request to the answer.
const DELAY: Duration = Duration::from_millis(30);

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

/// How long the owner of a session may be silent before somebody else may have it.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// So many records are in one answer.
const PAGE: usize = 3;

/// The server.
#[derive(Default)]
struct Server {
    sessions: BTreeMap<String, Kept>,
    n_requests: u64,
    /// How often an append came that was there already.
    n_repeated: u64,
}

#[derive(Default)]
struct Kept {
    records: Vec<Record>,
    epoch: u64,
    /// When the last owner was heard of; none: there is no owner.
    owner: Option<tokio::time::Instant>,
}

/// A store whose server is disturbed as often as it says.
#[derive(Clone)]
pub(super) struct Remote {
    server: Arc<Mutex<Server>>,
    /// Every so many requests the request is lost, the answer is, or it comes twice; 0: never.
    disturbed: u64,
}

/// What a server says of an append.
enum Answer {
    Taken,
    Fenced,
}

impl Remote {
    pub(super) fn new(disturbed: u64) -> Remote {
        Remote { server: Arc::default(), disturbed }
    }

    /// How many appends came twice and were taken once.
    pub(super) fn n_repeated(&self) -> u64 {
        self.server.lock().unwrap().n_repeated
    }

    /// Sends a request until an answer comes. It may come to the server more than once.
    async fn ask<T>(&self, request: impl Fn(&mut Server) -> T) -> T {
        loop {
            let n = {
                let server = &mut *self.server.lock().unwrap();
                server.n_requests += 1;
                (server.n_requests * 2).checked_div(self.disturbed).map_or(3, |n| n % 4)
            };
            tokio::time::sleep(DELAY).await;
            let answer = match n {
                // It never arrives.
                0 => None,
                // The answer gets lost.
                1 => {
                    request(&mut self.server.lock().unwrap());
                    None
                }
                // It comes twice.
                2 => {
                    request(&mut self.server.lock().unwrap());
                    Some(request(&mut self.server.lock().unwrap()))
                }
                _ => Some(request(&mut self.server.lock().unwrap())),
            };
            match answer {
                Some(answer) => return answer,
                None => tokio::time::sleep(PATIENCE).await,
            }
        }
    }

    fn error(&self, kind: JournalErrorKind) -> JournalError {
        JournalError::new(self.location(), kind)
    }
}

impl Server {
    /// Takes records at their place, once; a place that others have filled, or an older epoch, is refused.
    fn append(&mut self, session: &str, epoch: u64, records: &[Record]) -> Answer {
        let Some(kept) = self.sessions.get_mut(session) else { return Answer::Fenced };
        if kept.epoch != epoch {
            return Answer::Fenced;
        }
        kept.owner = Some(tokio::time::Instant::now());
        let from = records.first().map_or(0, |first| first.seq as usize - 1);
        match kept.records.get(from..from + records.len()) {
            Some(there) if there == records => {
                self.n_repeated += u64::from(!records.is_empty());
                Answer::Taken
            }
            None if from == kept.records.len() => {
                kept.records.extend_from_slice(records);
                Answer::Taken
            }
            _ => Answer::Fenced,
        }
    }
}

impl Store for Remote {
    fn location(&self) -> String {
        "far://away".to_owned()
    }

    fn open(&self, session: &str) -> BoxFuture<'static, Result<Box<dyn Journal>, JournalError>> {
        let (remote, session) = (self.clone(), session.to_owned());
        // Whoever asks twice is one.
        let asked = Arc::new(Mutex::new(None));
        async move {
            let leased = remote.ask(|server| {
                let own = &mut *asked.lock().unwrap();
                let kept = server.sessions.entry(session.clone()).or_default();
                let is_held = kept.owner.is_some_and(|owner| owner.elapsed() < LEASE);
                if own.is_none() && !is_held {
                    kept.epoch += 1;
                    kept.owner = Some(tokio::time::Instant::now());
                    *own = Some((kept.epoch, kept.records.len() as u64 + 1));
                }
                *own
            });
            let Some((epoch, next_seq)) = leased.await else {
                return Err(JournalError::held(remote.location(), "7".to_owned()));
            };
            let journal = RemoteJournal { remote, session, epoch, next_seq, pending: Vec::new() };
            Ok(Box::new(journal) as Box<dyn Journal>)
        }
        .boxed()
    }

    fn read(&self, session: &str, from: u64) -> RecordStream {
        let (remote, session) = (self.clone(), session.to_owned());
        let pages = stream::try_unfold(Some(from), move |from| {
            let (remote, session) = (remote.clone(), session.clone());
            async move {
                let Some(from) = from else { return Ok(None) };
                let page = remote.ask(|server| {
                    let kept = server.sessions.get(&session).filter(|kept| !kept.records.is_empty())?;
                    let page: Vec<Record> = kept.records.iter().skip(from as usize - 1).take(PAGE).cloned().collect();
                    Some(page)
                });
                match page.await {
                    None => Err(remote.error(JournalErrorKind::NoSession(session.as_str().into()))),
                    Some(page) => {
                        let next = (page.len() == PAGE).then_some(from + PAGE as u64);
                        Ok(Some((stream::iter(page.into_iter().map(Ok)), next)))
                    }
                }
            }
        });
        pages.try_flatten().boxed()
    }

    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, JournalError>> {
        let is_there = |server: &mut Server| server.sessions.get(session).is_some_and(|kept| !kept.records.is_empty());
        self.ask(is_there).map(Ok).boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Listed>, JournalError>> {
        let listed = |server: &mut Server| {
            let there = server.sessions.iter().filter(|(_, kept)| !kept.records.is_empty());
            there.map(|(id, _)| Listed::unknown(id.as_str().into())).collect()
        };
        self.ask(listed).map(Ok).boxed()
    }

    fn holder(&self, session: &str) -> BoxFuture<'static, Option<String>> {
        let (remote, session) = (self.clone(), session.to_owned());
        async move {
            let owner = remote.ask(|server| server.sessions.get(&session).and_then(|kept| kept.owner));
            owner.await.filter(|owner| owner.elapsed() < LEASE).map(|_| "7".to_owned())
        }
        .boxed()
    }

    fn delete(&self, session: &str) -> BoxFuture<'static, Result<(), JournalError>> {
        let (remote, session) = (self.clone(), session.to_owned());
        let was_there = Mutex::new(false);
        async move {
            let is_held = remote.ask(|server| {
                let Some(kept) = server.sessions.get(&session) else { return false };
                if kept.owner.is_some_and(|owner| owner.elapsed() < LEASE) {
                    return true;
                }
                *was_there.lock().unwrap() |= !kept.records.is_empty();
                server.sessions.remove(&session);
                false
            });
            match is_held.await {
                true => Err(JournalError::held(remote.location(), "7".to_owned())),
                false if *was_there.lock().unwrap() => Ok(()),
                false => Err(remote.error(JournalErrorKind::NoSession(session.as_str().into()))),
            }
        }
        .boxed()
    }
}

/// A session that is kept far away.
struct RemoteJournal {
    remote: Remote,
    session: String,
    epoch: u64,
    next_seq: u64,
    pending: Vec<Record>,
}

impl Journal for RemoteJournal {
    fn location(&self) -> String {
        self.remote.location()
    }

    fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn append(&mut self, record: Record) {
        self.next_seq = record.seq + 1;
        self.pending.push(record);
    }

    fn flush(&mut self, _: Durability) -> Flush {
        let records = std::mem::take(&mut self.pending);
        if records.is_empty() {
            return Either::Left(future::ready(Ok(())));
        }
        let (remote, session, epoch) = (self.remote.clone(), self.session.clone(), self.epoch);
        let written = async move {
            match remote.ask(|server| server.append(&session, epoch, &records)).await {
                Answer::Taken => Ok(()),
                Answer::Fenced => Err(remote.error(JournalErrorKind::Fenced)),
            }
        };
        Either::Right(written.boxed())
    }

    fn read(&mut self, from: u64) -> RecordStream {
        if self.next_seq == 1 {
            return stream::empty().boxed();
        }
        self.remote.read(&self.session, from)
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        async move {
            let RemoteJournal { remote, session, epoch, .. } = *self;
            let free = |server: &mut Server| {
                if let Some(kept) = server.sessions.get_mut(&session).filter(|kept| kept.epoch == epoch) {
                    kept.owner = None;
                }
            };
            remote.ask(free).await;
        }
        .boxed()
    }
}
