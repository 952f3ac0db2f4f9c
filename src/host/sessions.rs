//! The live sessions of a process, and the ids of new ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::tz::TimeZone;

use crate::host::clock::Clock;
use crate::host::session::{Session, SessionError, SessionHandle};

/// The live sessions of a process: id to handle. A session leaves when its task ends, before anybody hears of that. As
/// long as it is here it does not end for want of handles.
#[derive(Debug)]
pub struct Sessions {
    /// Without a handle: a place that is kept for a session which does not run yet.
    live: Mutex<BTreeMap<Arc<str>, Option<SessionHandle>>>,
    limit: usize,
}

/// A place among the live sessions. It is free again when this is dropped.
#[derive(Debug)]
pub struct Reserved {
    sessions: Arc<Sessions>,
    id: Arc<str>,
}

impl Sessions {
    /// No sessions yet, and never more than `limit`.
    pub fn new(limit: usize) -> Arc<Sessions> {
        Arc::new(Sessions { live: Mutex::default(), limit })
    }

    /// Keeps a place for the session with this id: before [`Session::start`] writes its first record, so that nothing is
    /// written of a session for which there is no room.
    ///
    /// # Errors
    /// Too many are open, or one with this id is.
    pub fn reserve(self: &Arc<Self>, id: &Arc<str>) -> Result<Reserved, SessionError> {
        let mut live = self.live();
        if live.len() >= self.limit {
            return Err(SessionError::TooMany { limit: self.limit });
        }
        if live.contains_key(id) {
            return Err(SessionError::Open(id.clone()));
        }
        live.insert(id.clone(), None);
        Ok(Reserved { sessions: self.clone(), id: id.clone() })
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
        self.live().get(id).cloned().flatten()
    }

    /// The ids of all live sessions, in time order.
    pub fn ids(&self) -> Vec<Arc<str>> {
        self.live().iter().filter(|(_, handle)| handle.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// How many places are taken.
    pub fn len(&self) -> usize {
        self.live().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.live().is_empty()
    }

    /// Never held over an await; a panic while it is held cannot leave it half changed.
    fn live(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Option<SessionHandle>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.sessions.live().insert(self.id.clone(), Some(handle.clone()));
        // The place goes with the task, also when that panics or is dropped with its runtime.
        tokio::spawn(session.run_in(self));
        Ok(handle)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.sessions.live().remove(&self.id);
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
