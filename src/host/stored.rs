//! Stored sessions, wherever they are kept, for `sessions list` and `sessions show`.
//!
//! A journal holds events, not states: how a session stands is found by replaying it. A store keeps what was found.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use playhouse_vm::protocol::{Outcome, Timestamp};

use crate::journal::JournalError;
use crate::journal::address::{Address, Place};
use crate::journal::record::{Begun, Record};
use crate::journal::store::{Found, Known, Listed, Standing};
use crate::replay::error::SessionError;
use crate::replay::{Replayed, Stop, begun_of, on_replay_thread, replay};

/// One line of `sessions list`.
#[derive(Debug)]
pub struct Stored {
    /// Its journal.
    pub address: Address,
    /// The session's id; of a journal that cannot be read, its file's name.
    pub id: Arc<str>,
    /// The program's first file.
    pub program: Arc<str>,
    /// When it began.
    pub started: Timestamp,
    /// The time of its last event.
    pub last: Timestamp,
    /// How it stands.
    pub state: StoredState,
}

/// How a stored session stands.
#[derive(Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum StoredState {
    /// A process has it open; its id, where known.
    Open(String),
    /// The program ended.
    Finished,
    /// The session failed.
    Failed(Arc<str>),
    /// It waits for the user (or for an approval).
    Waiting,
    /// Its process stopped in the middle of something; it can be resumed.
    Interrupted,
    /// It cannot be read or replayed, and why.
    Unreadable(SessionError),
}

impl StoredState {
    /// One word for people and for `--format json`.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    fn of(stop: &Stop) -> StoredState {
        match stop {
            Stop::Finished(Outcome::Done { .. }) => StoredState::Finished,
            Stop::Finished(Outcome::Failed(fault)) => StoredState::Failed(fault.message.clone()),
            Stop::Blocked(wait) if wait.is_for_person() => StoredState::Waiting,
            Stop::Blocked(_) => StoredState::Interrupted,
        }
    }

    /// What a store keeps of it: none of what is true for a moment, or until a cause is mended.
    fn to_standing(&self) -> Option<Standing> {
        let detail = match self {
            StoredState::Failed(message) => message.to_string(),
            StoredState::Finished | StoredState::Waiting | StoredState::Interrupted => String::new(),
            StoredState::Open(_) | StoredState::Unreadable(_) => return None,
        };
        Some(Standing { state: self.name().to_owned(), detail })
    }

    fn from_standing(standing: &Standing) -> Option<StoredState> {
        match standing.state.as_str() {
            "finished" => Some(StoredState::Finished),
            "failed" => Some(StoredState::Failed(standing.detail.as_str().into())),
            "waiting" => Some(StoredState::Waiting),
            "interrupted" => Some(StoredState::Interrupted),
            _ => None,
        }
    }
}

/// A stored session, read and replayed.
pub struct Opened {
    /// The journal's first record.
    pub begun: Begun,
    /// All records; secrets are in them: show [`Record::shown`] only.
    pub records: Vec<Record>,
    /// The machine at the end of them.
    pub replayed: Replayed,
}

/// All sessions of a place, by the time they began. A place that is not there has none. Only those are replayed of which
/// the store does not know how they stand since their last record; what is found then it may keep.
///
/// # Errors
/// It cannot be read, or is no store. A journal that cannot be read is listed with its fault.
pub async fn list(place: &Place) -> Result<Vec<Stored>, JournalError> {
    let store = place.store();
    let mut new = Vec::new();
    let mut sessions = Vec::new();
    for Listed { id, known } in store.list().await? {
        let address = Address::new(store.clone(), &id);
        let state = match address.holder().await {
            Some(process) => Some(StoredState::Open(process)),
            None => known.as_ref().and_then(|known| StoredState::from_standing(known.standing.as_ref()?)),
        };
        sessions.push(match (state, known) {
            (Some(state), Some(Known { program, began, last, .. })) => {
                Stored { address, id, program, started: began, last, state }
            }
            (_, known) => {
                let stored = describe(&address).await;
                if let (Some(standing), Some(Known { n_records, last, .. })) = (stored.state.to_standing(), known) {
                    new.push(Found { id, n_records, last, standing });
                }
                stored
            }
        });
    }
    // A store that cannot be written can be listed all the same.
    if !new.is_empty()
        && let Err(error) = store.remember(new).await
    {
        tracing::debug!(%error, "how sessions stand is not kept");
    }
    sessions.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    Ok(sessions)
}

/// All sessions of a place, each looked at by `look`, in the order of their ids, as [`look_at`] does.
///
/// # Errors
/// The place cannot be read, or is no store.
pub async fn look_at_all<T: Send + 'static>(
    place: &Place,
    look: impl Fn(Vec<Record>) -> Result<T, SessionError> + Send + Sync + 'static,
) -> Result<Vec<(Arc<str>, Result<T, SessionError>)>, JournalError> {
    let store = place.store();
    let mut ids: Vec<Arc<str>> = store.list().await?.into_iter().map(|listed| listed.id).collect();
    ids.sort_unstable();
    Ok(look_at(ids.iter().map(|id| Address::new(store.clone(), id)).collect(), look).await)
}

/// Sessions, each looked at by `look`: as many at a time as there are processors, on threads for that. What became of one
/// is told beside its id, in the order that was given.
pub async fn look_at<T: Send + 'static>(
    addresses: Vec<Address>,
    look: impl Fn(Vec<Record>) -> Result<T, SessionError> + Send + Sync + 'static,
) -> Vec<(Arc<str>, Result<T, SessionError>)> {
    let look = Arc::new(look);
    let n_at_once = std::thread::available_parallelism().map_or(2, usize::from);
    let looks = addresses.into_iter().map(|address| {
        let look = look.clone();
        async move {
            let looked = async {
                let records = address.read().await?;
                on_replay_thread(move || look(records)).await
            };
            let looked = looked.await;
            (address.session().clone(), looked)
        }
    });
    stream::iter(looks).buffered(n_at_once).collect().await
}

/// Reads and replays one session; it may be open in another process.
///
/// # Errors
/// It cannot be read, or the machine does not follow it.
pub async fn open(address: &Address) -> Result<Opened, SessionError> {
    let records = address.read().await?;
    on_replay_thread(move || {
        let replayed = replay(&records, None)?;
        let begun = begun_of(&records)?.clone();
        Ok(Opened { begun, records, replayed })
    })
    .await
}

/// How one stored session stands.
pub async fn describe(address: &Address) -> Stored {
    match open(address).await {
        Ok(opened) => opened.describe(address).await,
        Err(error) => Stored {
            id: address.session().clone(),
            address: address.clone(),
            program: "".into(),
            started: Timestamp::default(),
            last: Timestamp::default(),
            state: StoredState::Unreadable(error),
        },
    }
}

impl Opened {
    /// How the session stands; `address` is where it was opened.
    pub async fn describe(&self, address: &Address) -> Stored {
        let state = match address.holder().await {
            Some(process) => StoredState::Open(process),
            None => StoredState::of(&self.replayed.stop),
        };
        Stored {
            address: address.clone(),
            id: self.begun.session.clone(),
            program: self.begun.roots.first().cloned().unwrap_or_default(),
            started: self.replayed.began,
            last: self.replayed.time,
            state,
        }
    }
}
