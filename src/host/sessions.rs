//! The live sessions of a process, and the ids of new ones.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use jiff::tz::TimeZone;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::{Instant, timeout_at};

use crate::clock::Clock;
use crate::session::{Session, SessionError, SessionHandle};
use crate::tasks;

/// The live sessions of a process: id to handle. A session leaves when its task ends, before anybody hears of that. As
/// long as it is here it does not end for want of handles.
#[derive(Debug)]
pub struct Sessions {
    /// Without a handle: a place that is kept for a session which does not run yet.
    live: DashMap<Arc<str>, Option<SessionHandle>>,
    /// As many permits as there are free places; closed when no more sessions are wanted.
    free: Arc<Semaphore>,
    limit: usize,
    /// A session has begun to run or has left.
    changed: Notify,
}

/// So long a session that is wanted waits for the place of one that can be let go.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two looks for sessions that have become idle, while all are to be let go.
const LOOK: Duration = Duration::from_millis(50);

/// A place among the live sessions. It is free again when this is dropped.
#[derive(Debug)]
pub struct Reserved {
    sessions: Arc<Sessions>,
    id: Arc<str>,
    _permit: OwnedSemaphorePermit,
}

impl Sessions {
    /// No sessions yet, and never more than `limit`.
    pub fn new(limit: usize) -> Arc<Sessions> {
        let free = Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
        Arc::new(Sessions { live: DashMap::new(), free, limit, changed: Notify::new() })
    }

    /// Keeps a place for the session with this id: before [`Session::start`] writes its first record, so that nothing is
    /// written of a session for which there is no room.
    ///
    /// # Errors
    /// Too many are open, one with this id is, or no more are wanted.
    pub fn reserve(self: &Arc<Self>, id: &Arc<str>) -> Result<Reserved, SessionError> {
        let permit = self.free.clone().try_acquire_owned();
        let permit = permit.map_err(|refused| match refused {
            TryAcquireError::NoPermits => SessionError::TooMany { limit: self.limit },
            TryAcquireError::Closed => SessionError::Draining,
        })?;
        match self.live.entry(id.clone()) {
            Entry::Occupied(_) => Err(SessionError::Open(id.clone())),
            Entry::Vacant(place) => {
                place.insert(None);
                Ok(Reserved { sessions: self.clone(), id: id.clone(), _permit: permit })
            }
        }
    }

    /// Runs a session that has begun already, and keeps its handle until it ends.
    ///
    /// # Errors
    /// Too many are open, or one with this id is.
    pub fn spawn(self: &Arc<Self>, session: Session) -> Result<SessionHandle, SessionError> {
        self.reserve(session.handle().id())?.spawn(session)
    }

    /// The live session with this id; `open` opens it if there is none, once for all who want it at the same time. Where
    /// there is no room one that nobody needs is let go.
    ///
    /// # Errors
    /// `open` fails, there is no room, or no more sessions are wanted.
    pub async fn open_or_resume<E: From<SessionError>>(
        self: &Arc<Self>,
        id: &Arc<str>,
        open: impl AsyncFnOnce() -> Result<Session, E>,
    ) -> Result<SessionHandle, E> {
        let deadline = Instant::now() + PATIENCE;
        let place = loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Some(handle) = self.get(id).filter(|handle| !handle.has_ended()) {
                return Ok(handle);
            }
            match self.reserve(id) {
                Ok(place) => break place,
                // Somebody else opens it, or it has not left yet.
                Err(SessionError::Open(_)) => changed.await,
                Err(error @ SessionError::TooMany { .. }) => {
                    self.rest(Duration::ZERO);
                    if timeout_at(deadline, changed).await.is_err() {
                        return Err(error.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        };
        Ok(place.spawn(open().await?)?)
    }

    /// Lets those go that have waited for a person for so long, and that nobody listens to.
    pub fn rest(&self, idle: Duration) {
        for session in &self.live {
            session.value().iter().for_each(|handle| handle.rest(idle));
        }
    }

    /// Takes no more sessions, lets those go that wait, gives the others so long to come to a wait, then stops them.
    /// Returns when none is left; all can be resumed.
    pub async fn drain(&self, grace: Duration) {
        self.free.close();
        let deadline = Instant::now() + grace;
        while !self.is_empty() && Instant::now() < deadline {
            self.rest(Duration::ZERO);
            let _ = timeout_at(deadline.min(Instant::now() + LOOK), self.changed.notified()).await;
        }
        let handles: Vec<SessionHandle> = self.live.iter().filter_map(|session| session.value().clone()).collect();
        for handle in &handles {
            handle.stop().await;
        }
        for handle in &handles {
            // How it ended is the business of whoever has asked for it.
            let _ = handle.outcome().await;
        }
    }

    /// The live session with this id.
    pub fn get(&self, id: &str) -> Option<SessionHandle> {
        self.live.get(id).and_then(|entry| entry.value().clone())
    }

    /// The ids of all live sessions, in time order.
    pub fn ids(&self) -> Vec<Arc<str>> {
        let running = self.live.iter().filter(|entry| entry.value().is_some());
        let mut ids: Vec<Arc<str>> = running.map(|entry| entry.key().clone()).collect();
        ids.sort_unstable();
        ids
    }

    /// How many do something ([`SessionHandle::is_busy`]).
    pub fn n_busy(&self) -> usize {
        self.live.iter().filter(|entry| entry.value().as_ref().is_none_or(SessionHandle::is_busy)).count()
    }

    /// How many places are taken.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }
}

impl Reserved {
    /// Runs the session in this place, and keeps its handle until it ends.
    ///
    /// # Errors
    /// It has another id, for which there is no place.
    pub fn spawn(self, session: Session) -> Result<SessionHandle, SessionError> {
        let handle = session.handle();
        if *handle.id() != self.id {
            let sessions = self.sessions.clone();
            drop(self);
            return sessions.spawn(session);
        }
        self.sessions.live.insert(self.id.clone(), Some(handle.clone()));
        self.sessions.changed.notify_waiters();
        // The place goes with the task, also when that panics or is dropped with its runtime.
        tasks::spawn(session.run_in(self));
        Ok(handle)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.sessions.live.remove(&self.id);
        self.sessions.changed.notify_waiters();
    }
}

/// A new session's id: the time in UTC and 80 random bits, `20261121-224805-k3f9a2mwtx7cqz4b`. Ids sort by time, to the
/// second; nobody guesses one, so it can stand in an address.
pub fn new_id(clock: &dyn Clock) -> Arc<str> {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let time = jiff::Timestamp::from_millisecond(clock.now().0).unwrap_or_default();
    let mut id = time.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S-").to_string();
    let mut random = [0; 16];
    if getrandom::fill(&mut random).is_err() {
        // A system without random numbers: ids differ, but they can be guessed.
        fastrand::fill(&mut random);
    }
    // Of each byte five bits.
    id.extend(random.map(|byte| char::from(LETTERS[usize::from(byte % 32)])));
    id.into()
}
