//! Locks on files: whether somebody holds one, and on which file.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Whether a process holds a lock, and its id where known.
pub(crate) fn holder(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()),
        Ok(()) => {
            let _ = file.unlock();
            None
        }
        Err(TryLockError::Error(_)) => None,
    }
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
