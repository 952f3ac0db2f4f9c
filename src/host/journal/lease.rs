//! Leases: a session has one owner, who holds the lock of a file beside it. Its process id stands in that file, for
//! people only. The lock of a process that was killed is given up by the system; the file that it leaves means nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host::journal::JournalError;
use crate::host::journal::private::private;

/// How often a lock is tried that somebody is only looking at. Looking takes two calls of the system, unless whoever
/// looks has to wait for a processor between them.
const TRIES: u32 = 3_000;

/// After so many tries there is a pause before each.
const TRIES_AT_ONCE: u32 = 1_000;

/// A lease, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    path: PathBuf,
    file: File,
}

impl Lease {
    /// Takes the lease whose file is `path`, of what is kept at `location`.
    ///
    /// # Errors
    /// Somebody else has it; or the file cannot be made or locked.
    pub(crate) fn take(path: &Path, location: &Path) -> Result<Lease, JournalError> {
        let lease = Lease::obtain(path, &try_lock).map_err(|cause| JournalError::io(path, "lock", cause))?;
        lease.ok_or_else(|| JournalError::held(location.display().to_string(), process_in(path)))
    }

    /// Takes the lease as soon as nobody else has it. For what is held for a moment only.
    ///
    /// # Errors
    /// The file cannot be made or locked.
    pub(crate) fn wait(path: &Path) -> io::Result<Lease> {
        loop {
            if let Some(lease) = Lease::obtain(path, &|file| file.lock().map(|()| true))? {
                return Ok(lease);
            }
        }
    }

    /// Whether a process has it, and its id where known.
    pub(crate) fn holder(path: &Path) -> Option<String> {
        let file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(process_in(path)),
            Ok(()) => {
                let _ = file.unlock();
                None
            }
            Err(TryLockError::Error(_)) => None,
        }
    }

    fn obtain(path: &Path, lock: &dyn Fn(&File) -> io::Result<bool>) -> io::Result<Option<Lease>> {
        loop {
            let mut options = OpenOptions::new();
            let mut file = private(options.read(true).write(true).create(true).truncate(false)).open(path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            // Its last holder may have removed it since it was opened: then others lock another one.
            if is_still(path, &file)? {
                file.set_len(0)?;
                write!(file, "{}", std::process::id())?;
                return Ok(Some(Lease { path: path.to_owned(), file }));
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // While it is locked: afterwards it could be another process' file. Elsewhere than here an open file cannot
        // be removed, and stays.
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
        // Not left to the closing of the file: a process that is just being started has a copy of it for a moment,
        // and the lock would stay with that.
        let _ = self.file.unlock();
    }
}

/// Takes the lock of a file; false: somebody holds it. Who only looks at it ([`Lease::holder`]) has it, too, for a
/// moment, but shares it: that is no reason to say that it is held.
fn try_lock(file: &File) -> io::Result<bool> {
    for attempt in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        match file.try_lock_shared() {
            Ok(()) => file.unlock()?,
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        match attempt {
            ..TRIES_AT_ONCE => std::thread::yield_now(),
            _ => std::thread::park_timeout(Duration::from_millis(1)),
        }
    }
    Ok(false)
}

/// The process id that a file holds; empty if it is not known.
fn process_in(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim().parse().map_or_else(|_| String::new(), |id: u32| id.to_string())
}

/// Whether the path still means this open file.
#[cfg(unix)]
fn is_still(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let locked = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (locked.dev(), locked.ino())),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

#[cfg(not(unix))]
fn is_still(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}
