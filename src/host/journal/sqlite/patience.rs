//! Waiting for other processes that write the same store.

use std::path::Path;
use std::time::Duration;

use rusqlite::ErrorCode;

/// How long SQLite itself waits for another process that writes, before it is asked again.
pub(super) const BUSY: Duration = Duration::from_secs(2);

/// How often a store is tried that other processes keep busy: for some minutes, as SQLite itself waits each time. Each of
/// them writes for less than a disk needs to sync, but there may be many.
const ATTEMPTS: u32 = 150;

/// The longest pause between two attempts.
const PAUSE_MS: u64 = 20;

/// Tries again while other processes keep the store busy.
pub(crate) fn patiently<T>(path: &Path, mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    for attempt in 1..ATTEMPTS {
        match work() {
            Err(cause) if is_busy(&cause) => {
                if attempt == 1 {
                    tracing::warn!(path = %path.display(), "other processes keep the store busy; waits for them");
                }
                std::thread::park_timeout(Duration::from_millis(fastrand::u64(1..=PAUSE_MS)));
            }
            done => return done,
        }
    }
    work()
}

fn is_busy(cause: &rusqlite::Error) -> bool {
    matches!(cause.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
