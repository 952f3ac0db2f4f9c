//! What the commands of sessions have in common: where sessions are kept, and how one is shown.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::host::clock::{Clock, SystemClock, iso_text};
use crate::host::journal::address::{Address, Place};
use crate::host::journal::record::Record;
use crate::host::stored::{self, Opened, Stored as StoredSession, StoredState};
use crate::serve::cli::machinery::console::Failure;
use crate::serve::cli::machinery::runtime::Runtime;
use crate::vm::protocol::Timestamp;

/// Where the sessions are that a command is about.
pub(crate) struct Kept {
    pub(super) place: Place,
    /// Whether that is no more than the default.
    pub(super) is_default: bool,
}

/// Waits for a store, wherever this is called from: on a thread of its own.
pub(crate) fn waited<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, Failure> {
    let wait = || Ok(Runtime::for_one()?.block_on(future));
    std::thread::scope(|scope| scope.spawn(wait).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A session that is kept, replayed.
pub(crate) fn opened(address: &Address) -> Result<Opened, Failure> {
    Ok(waited(stored::open(address))??)
}

/// Its records.
pub(crate) fn records(address: &Address) -> Result<Vec<Record>, Failure> {
    Ok(waited(address.read())??)
}

/// What is known of a session in `list --format json` and, with the view after it, in `show`. A public interface: fields
/// are added, never changed or removed.
pub(crate) fn to_json(stored: &StoredSession) -> Json {
    // Why it failed or cannot be read; the process that has it open.
    let detail = match &stored.state {
        StoredState::Unreadable(error) => Some(error.to_string()),
        StoredState::Failed(message) => Some(message.to_string()),
        StoredState::Open(process) => Some(format!("process id {process}")),
        StoredState::Finished | StoredState::Waiting | StoredState::Interrupted => None,
    };
    let mut told = json!({
        "id": stored.id,
        "state": stored.state.name(),
        "program": stored.program,
        "started": time(stored, stored.started),
        "last_event": time(stored, stored.last),
    });
    if let Some(detail) = detail {
        told["detail"] = detail.into();
    }
    told
}

/// One of the times of a session, if it can be read.
pub(crate) fn time(stored: &StoredSession, time: Timestamp) -> Option<String> {
    (!matches!(stored.state, StoredState::Unreadable(_))).then(|| local(time))
}

pub(crate) fn local(time: Timestamp) -> String {
    iso_text(time, &SystemClock.zone())
}

/// That there is such a file.
pub(super) fn exists_already(path: &Path) -> Failure {
    let path = path.display();
    Failure::wrong(format!("{path}: it exists already; name another file with --output, or remove this one"))
}
