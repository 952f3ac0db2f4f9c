//! Files that are locked as long as somebody holds something, and say who: the process id stands in them. The lock of a
//! process that was killed is given up by the system; the file that it leaves behind means nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock; none: somebody else has it ([`holder`]).
    ///
    /// # Errors
    /// The file cannot be made or locked.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Lock>> {
        Lock::obtain(path, &|file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(cause)) => Err(cause),
        })
    }

    /// Takes the lock as soon as nobody else has it. For what is held for a moment only.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn wait(path: &Path) -> io::Result<Lock> {
        loop {
            if let Some(lock) = Lock::obtain(path, &|file| file.lock().map(|()| true))? {
                return Ok(lock);
            }
        }
    }

    fn obtain(path: &Path, lock: &dyn Fn(&File) -> io::Result<bool>) -> io::Result<Option<Lock>> {
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            // Its last holder may have removed it since it was opened: then others lock another one.
            if is_still(path, &file)? {
                file.set_len(0)?;
                write!(file, "{}", std::process::id())?;
                return Ok(Some(Lock { path: path.to_owned(), file }));
            }
        }
    }
}

impl Drop for Lock {
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
