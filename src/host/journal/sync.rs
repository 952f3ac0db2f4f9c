//! What has been written and is not known to be on disk yet.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Semaphore;

use crate::host::journal::file::io_error;
use crate::host::journal::{JournalError, SyncFuture};

/// Synchronisations at one time in a process: more do not make a disk faster, but each costs a thread.
static SYNCS: Semaphore = Semaphore::const_new(8);

/// Counts what is written, and how much of that is on disk. What was not synced stays to be synced: whoever asks again
/// after a failure does not hear that all is well.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    n_written: u64,
    n_synced: Arc<AtomicU64>,
}

impl Unsynced {
    /// Something is written.
    pub(super) fn note(&mut self) {
        self.n_written += 1;
    }

    /// Whether anything was ever synced.
    pub(super) fn has_synced(&self) -> bool {
        self.n_synced.load(Ordering::Acquire) > 0
    }

    /// Has all that is written synced by `work`, on a thread for blocking calls. Nothing is done where nothing is new.
    pub(super) fn sync(&self, work: impl FnOnce() -> Result<(), JournalError> + Send + 'static) -> SyncFuture {
        let (n_written, n_synced) = (self.n_written, self.n_synced.clone());
        if n_written == n_synced.load(Ordering::Acquire) {
            return Box::pin(std::future::ready(Ok(())));
        }
        Box::pin(async move {
            // Closed never: the error cannot happen, and without a permit nothing is lost but restraint.
            let _permit = SYNCS.acquire().await;
            let worked = tokio::task::spawn_blocking(work).await;
            worked.unwrap_or_else(|cause| Err(io_error(Path::new("journal"), "sync", io::Error::other(cause))))?;
            n_synced.fetch_max(n_written, Ordering::AcqRel);
            Ok(())
        })
    }
}
