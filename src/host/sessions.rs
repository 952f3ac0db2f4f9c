//! The live sessions of a process, and the ids of new ones.

use std::sync::Arc;

use dashmap::DashMap;
use jiff::tz::TimeZone;

use crate::host::clock::Clock;
use crate::host::session::{Session, SessionError, SessionHandle};

/// The live sessions of a process: id to handle. A session leaves when its task ends.
#[derive(Debug)]
pub struct Sessions {
    live: DashMap<Arc<str>, SessionHandle>,
    limit: usize,
}

impl Sessions {
    /// No sessions yet, and never more than `limit`.
    pub fn new(limit: usize) -> Arc<Sessions> {
        Arc::new(Sessions { live: DashMap::new(), limit })
    }

    /// Runs a session and keeps its handle until it ends.
    ///
    /// # Errors
    /// Too many are open, or one with this id is.
    pub fn spawn(self: &Arc<Self>, session: Session) -> Result<SessionHandle, SessionError> {
        if self.live.len() >= self.limit {
            return Err(SessionError::TooMany { limit: self.limit });
        }
        let handle = session.handle();
        let id = handle.id().clone();
        match self.live.entry(id.clone()) {
            dashmap::Entry::Occupied(_) => return Err(SessionError::Open(id)),
            dashmap::Entry::Vacant(place) => {
                place.insert(handle.clone());
            }
        }
        // Removes also when the task panics or is dropped with its runtime.
        let leave = Leave { sessions: self.clone(), id };
        tokio::spawn(async move {
            let _leave = leave;
            session.run().await;
        });
        Ok(handle)
    }

    /// The live session with this id.
    pub fn get(&self, id: &str) -> Option<SessionHandle> {
        self.live.get(id).map(|entry| entry.value().clone())
    }

    /// The ids of all live sessions, in time order.
    pub fn ids(&self) -> Vec<Arc<str>> {
        let mut ids: Vec<Arc<str>> = self.live.iter().map(|entry| entry.key().clone()).collect();
        ids.sort_unstable();
        ids
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }
}

struct Leave {
    sessions: Arc<Sessions>,
    id: Arc<str>,
}

impl Drop for Leave {
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
