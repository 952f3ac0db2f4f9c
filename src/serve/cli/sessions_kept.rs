//! What the commands of sessions have in common: where sessions are kept, and how one is shown.

use serde::Serialize;

use crate::host::clock::{Clock, SystemClock, iso_text};
use crate::host::journal::address::Place;
use crate::host::stored::{Stored as StoredSession, StoredState};
use crate::serve::cli::console::Failure;
use crate::serve::cli::run::runtime;
use crate::vm::protocol::Timestamp;

/// Where the sessions are that a command is about.
pub(crate) struct Kept {
    pub(super) place: Place,
    /// Whether that is no more than the default.
    pub(super) is_default: bool,
}

/// Waits for a store, wherever this is called from: on a thread of its own.
pub(crate) fn waited<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, Failure> {
    let wait = || Ok(runtime()?.block_on(future));
    std::thread::scope(|scope| scope.spawn(wait).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What is known of a session in `list --format json` and, with the view after it, in `show`. A public interface:
/// fields are added, never changed or removed.
#[derive(Serialize)]
pub(crate) struct WireSession<'a> {
    pub(super) id: &'a str,
    /// `finished`, `failed`, `waiting`, `interrupted`, `open` (in a process), `unreadable`.
    pub(super) state: &'static str,
    pub(super) program: &'a str,
    pub(super) started: Option<String>,
    pub(super) last_event: Option<String>,
    /// Why it failed or cannot be read; the process that has it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
}

pub(crate) fn to_wire(stored: &StoredSession) -> WireSession<'_> {
    let (is_readable, detail) = match &stored.state {
        StoredState::Unreadable(error) => (false, Some(error.to_string())),
        StoredState::Failed(message) => (true, Some(message.to_string())),
        StoredState::Open(process) => (true, Some(format!("process id {process}"))),
        StoredState::Finished | StoredState::Waiting | StoredState::Interrupted => (true, None),
    };
    WireSession {
        id: &stored.id,
        state: stored.state.name(),
        program: &stored.program,
        started: is_readable.then(|| local(stored.started)),
        last_event: is_readable.then(|| local(stored.last)),
        detail,
    }
}

pub(crate) fn local(time: Timestamp) -> String {
    iso_text(time, &SystemClock.zone())
}

/// One line.
pub(crate) fn json(value: &impl Serialize) -> String {
    // Text, numbers and JSON values: writing them cannot fail.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}
