//! The live sessions of a process, and the ids of new ones.

use std::sync::Arc;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use jiff::tz::TimeZone;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::host::clock::Clock;
use crate::host::session::{Session, SessionError, SessionHandle};

/// The live sessions of a process: id to handle. A session leaves when its task ends, before anybody hears of that. As
/// long as it is here it does not end for want of handles.
#[derive(Debug)]
pub struct Sessions {
    /// Without a handle: a place that is kept for a session which does not run yet.
    live: DashMap<Arc<str>, Option<SessionHandle>>,
    /// As many permits as there are free places.
    free: Arc<Semaphore>,
    limit: usize,
}

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
        Arc::new(Sessions { live: DashMap::new(), free, limit })
    }

    /// Keeps a place for the session with this id: before [`Session::start`] writes its first record, so that nothing is
    /// written of a session for which there is no room.
    ///
    /// # Errors
    /// Too many are open, or one with this id is.
    pub fn reserve(self: &Arc<Self>, id: &Arc<str>) -> Result<Reserved, SessionError> {
        let permit = self.free.clone().try_acquire_owned();
        let permit = permit.map_err(|_| SessionError::TooMany { limit: self.limit })?;
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
        // The place goes with the task, also when that panics or is dropped with its runtime.
        tokio::spawn(session.run_in(self));
        Ok(handle)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.sessions.live.remove(&self.id);
    }
}

/// A new session's id: the time in UTC and four random letters or digits, `20261121-224805-k3f9`. Ids sort by time.
pub fn new_id(clock: &dyn Clock) -> Arc<str> {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let time = jiff::Timestamp::from_millisecond(clock.now().0).unwrap_or_default();
    let mut id = time.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S-").to_string();
    id.extend((0..4).map(|_| char::from(LETTERS[fastrand::usize(..LETTERS.len())])));
    id.into()
}
