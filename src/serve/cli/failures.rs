//! Journals and sessions that cannot be used, as failures of a command.

use crate::host::journal::{JournalError, JournalErrorKind};
use crate::host::session::SessionError;
use crate::serve::cli::console::Failure;

/// A journal that is there already is a matter of the command; everything else is not. Which options name another place
/// is said here: the rest is true for every door.
pub(crate) fn journal_failure(error: JournalError) -> Failure {
    let text = error.to_string();
    match &error.kind {
        JournalErrorKind::Exists => Failure::wrong(format!("{text} (--session ID, --journal PATH)")),
        JournalErrorKind::Foreign(_) | JournalErrorKind::Unsupported(_) => {
            Failure::wrong(format!("{text} (--journal PATH)"))
        }
        JournalErrorKind::NoSession(_) => Failure::wrong(format!(
            "{text}; `playhouse sessions list --journal {}` shows those there are",
            error.location
        )),
        JournalErrorKind::SessionId(_) | JournalErrorKind::OtherSession { .. } => Failure::wrong(text),
        JournalErrorKind::Full { .. } => Failure::failed(format!("{text} (--session ID)")),
        JournalErrorKind::Unavailable { .. } => Failure::failed(format!("{text} (--journal PATH)")),
        JournalErrorKind::Fenced
        | JournalErrorKind::Held(_)
        | JournalErrorKind::Corrupt { .. }
        | JournalErrorKind::Format { .. }
        | JournalErrorKind::SecretsMissing { .. } => Failure::failed(text),
    }
}

/// A session that cannot begin or go on.
pub(crate) fn session_failure(error: SessionError) -> Failure {
    match error {
        SessionError::Journal(error) => journal_failure(error),
        SessionError::NoPoint(_) | SessionError::Change(_) => Failure::wrong(error.to_string()),
        SessionError::NoSession(_)
        | SessionError::Program(_)
        | SessionError::Replay { .. }
        | SessionError::TooMany { .. }
        | SessionError::Open(_)
        | SessionError::Draining
        | SessionError::Vanished => Failure::failed(error.to_string()),
    }
}
