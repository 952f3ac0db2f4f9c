//! Stored sessions, wherever they are kept, for `sessions list` and `sessions show`.
//!
//! A journal holds events, not states: how a session stands is found by replaying it. A store keeps what was found.

use std::sync::Arc;

use crate::host::journal::JournalError;
use crate::host::journal::address::{Address, Place};
use crate::host::journal::record::{Begun, Record, RecordBody};
use crate::host::journal::store::{self, Found, Listed, Standing};
use crate::host::replay::error::SessionError;
use crate::host::replay::{Replayed, Stop, replay};
use crate::vm::protocol::{Outcome, Timestamp, Wait};

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
#[derive(Debug)]
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
        match self {
            StoredState::Open(_) => "open",
            StoredState::Finished => "finished",
            StoredState::Failed(_) => "failed",
            StoredState::Waiting => "waiting",
            StoredState::Interrupted => "interrupted",
            StoredState::Unreadable(_) => "unreadable",
        }
    }

    fn of(stop: &Stop) -> StoredState {
        match stop {
            Stop::Finished(Outcome::Done { .. }) => StoredState::Finished,
            Stop::Finished(Outcome::Failed(fault)) => StoredState::Failed(fault.message.clone()),
            Stop::Blocked(Wait::User | Wait::Approval(_)) => StoredState::Waiting,
            Stop::Blocked(Wait::Reply(_) | Wait::Call(_) | Wait::Timer(_) | Wait::Verdict(_) | Wait::Budget) => {
                StoredState::Interrupted
            }
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

/// All sessions of a place, by the time they began. A place that is not there has none.
///
/// # Errors
/// It cannot be read, or is no store. A journal that cannot be read is listed with its fault.
pub fn list(place: &Place) -> Result<Vec<Stored>, JournalError> {
    if let Place::Store(path) = place {
        return if path.exists() { list_store(place) } else { Ok(Vec::new()) };
    }
    let mut found: Vec<Stored> = place.files()?.into_iter().map(|path| describe(&Address::File(path))).collect();
    found.sort_by(|a, b| (a.started, a.address.path()).cmp(&(b.started, b.address.path())));
    Ok(found)
}

/// The sessions of a store. Only those are replayed of which nobody has found out since their last record how they
/// stand; what is found then is kept.
fn list_store(place: &Place) -> Result<Vec<Stored>, JournalError> {
    let _held = store::hold(place.path())?;
    let mut new = Vec::new();
    let mut sessions = Vec::new();
    for listed in store::list(place.path())? {
        let address = Address::Store { path: place.path().to_owned(), session: listed.id.clone() };
        let known = match address.holder() {
            Some(process) => Some(StoredState::Open(process)),
            None => listed.standing.as_ref().and_then(StoredState::from_standing),
        };
        let stored = match known {
            Some(state) => {
                let Listed { id, program, began, last, .. } = listed;
                Stored { address, id, program, started: began, last, state }
            }
            None => {
                let (stored, n_records) = look_at(&address);
                if let Some(standing) = stored.state.to_standing() {
                    new.push(Found { id: stored.id.clone(), n_records, last: stored.last, standing });
                }
                stored
            }
        };
        sessions.push(stored);
    }
    // A store that cannot be written can be listed all the same.
    if !new.is_empty()
        && let Err(error) = store::remember(place.path(), &new)
    {
        tracing::debug!(%error, "how sessions stand is not kept");
    }
    Ok(sessions)
}

/// Reads and replays one session; it may be open in another process.
///
/// # Errors
/// It cannot be read, or the machine does not follow it.
pub fn open(address: &Address) -> Result<Opened, SessionError> {
    let records = address.read()?;
    let replayed = replay(&records, None)?;
    match records.first().map(|record| record.body.clone()) {
        Some(RecordBody::Begun(begun)) => Ok(Opened { begun: *begun, records, replayed }),
        _ => Err(SessionError::NoSession("it does not begin with `begun`".to_owned())),
    }
}

/// How one stored session stands.
pub fn describe(address: &Address) -> Stored {
    look_at(address).0
}

/// The same, and how many records it has.
fn look_at(address: &Address) -> (Stored, u64) {
    let id = match address {
        Address::File(path) => path.file_stem().map(|stem| Arc::from(stem.to_string_lossy())).unwrap_or_default(),
        Address::Store { session, .. } => session.clone(),
    };
    match open(address) {
        Ok(opened) => (opened.describe(address), opened.records.len() as u64),
        Err(error) => {
            let (address, program, state) = (address.clone(), "".into(), StoredState::Unreadable(error));
            let (started, last) = (Timestamp::default(), Timestamp::default());
            (Stored { address, id, program, started, last, state }, 0)
        }
    }
}

impl Opened {
    /// How the session stands; `address` is where it was opened.
    pub fn describe(&self, address: &Address) -> Stored {
        let state = match address.holder() {
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
