//! The cache folder: its lock, its staging folders, its free space.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tokio::time::Instant;

use crate::host::models::errors::PullError;
use crate::host::models::pull::{Means, Phase, Progress, Report};

/// The lock file: it stays, with the process id of who has it or had it last.
const LOCK: &str = "lock";

/// How the names of staging folders begin.
const STAGE: &str = "stage-";

/// The cache folder, locked as long as this lives. The system unlocks it when the process ends, however it does.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    _lock: File,
}

/// A staging folder inside the cache, on its file system; it goes when this does, and only then the lock.
#[derive(Debug)]
pub(super) struct Stage {
    // In this order: the folder is removed first.
    folder: TempDir,
    pub(super) place: Arc<Place>,
}

impl Place {
    /// Makes the folder and locks it; waits for another process that has it.
    pub(super) async fn lock(folder: &Path, means: &Means, report: &Report) -> Result<Place, PullError> {
        let failure = |action, cause| PullError::Cache { path: folder.to_owned(), action, cause };
        fs::create_dir_all(folder).map_err(|cause| failure("make the folder", cause))?;
        let path = folder.join(LOCK);
        let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(&path);
        let mut file = file.map_err(|cause| failure("make a lock file there", cause))?;
        let began = Instant::now();
        let mut has_told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(cause)) => return Err(failure("lock", cause)),
            }
            let waited = began.elapsed();
            if waited >= means.total {
                return Err(PullError::Locked { holder: holder(&path), waited });
            }
            if !has_told {
                has_told = true;
                report(Progress { phase: Phase::Waiting, bytes: 0, of: 0 });
            }
            tokio::time::sleep(means.poll).await;
        }
        // Only to tell others who holds it: nothing depends on it.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Place { folder: folder.to_owned(), _lock: file })
    }

    /// Removes what processes have left that were killed: whoever has the lock has the only staging folder.
    pub(super) fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(STAGE)
                && let Err(cause) = fs::remove_dir_all(entry.path())
            {
                // A child of the killed process may still be writing. The next one removes it.
                tracing::warn!(path = %entry.path().display(), %cause, "a stale staging folder stays");
            }
        }
    }
}

impl Stage {
    /// A new staging folder.
    pub(super) fn new(place: Arc<Place>) -> Result<Stage, PullError> {
        let folder = tempfile::Builder::new().prefix(STAGE).tempdir_in(&place.folder);
        let folder = folder.map_err(|cause| PullError::Cache {
            path: place.folder.clone(),
            action: "make a staging folder there",
            cause,
        })?;
        Ok(Stage { folder, place })
    }

    /// Its path, absolute if the cache's is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn holder(lock: &Path) -> String {
    match fs::read_to_string(lock).map(|text| text.trim().parse::<u32>()) {
        Ok(Ok(process)) => format!(" (process id {process})"),
        Ok(Err(_)) | Err(_) => String::new(),
    }
}

/// Bytes in all files below a folder. What vanishes meanwhile counts nothing.
pub(super) fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Bytes that an ordinary user can still write to the folder's file system.
#[cfg(unix)]
pub(super) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let status = rustix::fs::statvfs(folder)?;
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}

/// Not known here: a full disk is seen when it is written to.
#[cfg(not(unix))]
pub(super) fn free_bytes(_folder: &Path) -> io::Result<u64> {
    Ok(u64::MAX)
}
