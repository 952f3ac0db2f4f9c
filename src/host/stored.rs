//! The stored sessions of a folder, for `sessions list` and `sessions show`.
//!
//! A journal holds events, not states: how a session stands is found by replaying it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::journal::file::{holder, read_file};
use crate::host::journal::record::{Begun, Record, RecordBody};
use crate::host::session::SessionError;
use crate::host::session::replay::{Replayed, Stop, replay};
use crate::vm::protocol::{Outcome, Timestamp, Wait};

/// One line of `sessions list`.
#[derive(Debug)]
pub struct Stored {
    /// The journal.
    pub path: PathBuf,
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

/// All sessions of a folder (`*.jsonl`), by the time they began. A folder that is not there has none.
///
/// # Errors
/// The folder cannot be read. A journal that cannot is listed with its fault.
pub fn list(folder: &Path) -> std::io::Result<Vec<Stored>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(describe(&path));
        }
    }
    found.sort_by(|a, b| (a.started, &a.path).cmp(&(b.started, &b.path)));
    Ok(found)
}

/// Reads and replays one session; it may be open in another process.
///
/// # Errors
/// It cannot be read, or the machine does not follow it.
pub fn open(path: &Path) -> Result<Opened, SessionError> {
    let records = read_file(path)?;
    let replayed = replay(&records, None)?;
    match records.first().map(|record| record.body.clone()) {
        Some(RecordBody::Begun(begun)) => Ok(Opened { begun: *begun, records, replayed }),
        _ => Err(SessionError::NoSession("it does not begin with `begun`".to_owned())),
    }
}

/// How one stored session stands.
pub fn describe(path: &Path) -> Stored {
    let opened = open(path);
    let name = path.file_stem().map(|stem| Arc::from(stem.to_string_lossy())).unwrap_or_default();
    let mut stored = Stored {
        path: path.to_owned(),
        id: name,
        program: "".into(),
        started: Timestamp::default(),
        last: Timestamp::default(),
        state: StoredState::Interrupted,
    };
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            stored.state = StoredState::Unreadable(error);
            return stored;
        }
    };
    stored.id = opened.begun.session.clone();
    stored.program = opened.begun.roots.first().cloned().unwrap_or_default();
    stored.started = opened.replayed.began;
    stored.last = opened.replayed.time;
    stored.state = match opened.replayed.stop {
        Stop::Finished(Outcome::Done { .. }) => StoredState::Finished,
        Stop::Finished(Outcome::Failed(fault)) => StoredState::Failed(fault.message),
        Stop::Blocked(Wait::User | Wait::Approval(_)) => StoredState::Waiting,
        Stop::Blocked(Wait::Reply(_) | Wait::Call(_) | Wait::Timer(_) | Wait::Verdict(_) | Wait::Budget) => {
            StoredState::Interrupted
        }
    };
    if let Some(process) = holder(path) {
        stored.state = StoredState::Open(process);
    }
    stored
}
