//! Locks on files: who holds one, and on which file. The process id of a holder stands in a file, for people only.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use crate::host::journal::private::private;

/// How often a lock is tried that somebody is only looking at. Looking takes two calls of the system.
const TRIES: u32 = 10_000;

/// Whether a process holds the lock of a file, and its id where `process` says it.
pub(crate) fn holder(locked: &Path, process: &Path) -> Option<String> {
    let file = File::open(locked).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(process_in(process)),
        Ok(()) => {
            let _ = file.unlock();
            None
        }
        Err(TryLockError::Error(_)) => None,
    }
}

/// Takes the lock of a file; false: somebody holds it. Who only looks at it ([`holder`]) has it, too, for a moment,
/// but shares it: that is no reason to say that it is held.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    for _ in 0..TRIES {
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
        std::thread::yield_now();
    }
    Ok(false)
}

/// Writes down who holds a lock.
pub(super) fn write_process(path: &Path) -> io::Result<()> {
    let mut options = File::options();
    let mut file = private(options.write(true).create(true).truncate(true)).open(path)?;
    write!(file, "{}", std::process::id())
}

/// The process id that a file holds; empty if it is not known.
pub(super) fn process_in(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim().parse().map_or_else(|_| String::new(), |id: u32| id.to_string())
}

/// Whether the path still means this open file.
#[cfg(unix)]
pub(super) fn is_still(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let locked = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (locked.dev(), locked.ino())),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

#[cfg(not(unix))]
pub(super) fn is_still(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}
