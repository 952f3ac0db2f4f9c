//! Files that are locked as long as somebody holds something, and say who: the process id stands in them. The lock of a
//! process that was killed is given up by the system; the file that it leaves after means nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::host::journal::lock::{is_still, try_lock};
use crate::host::journal::private::private;

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
        Lock::obtain(path, &try_lock)
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
            let mut file = private(options.read(true).write(true).create(true).truncate(false)).open(path)?;
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
