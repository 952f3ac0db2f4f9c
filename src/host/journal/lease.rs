//! Leases: a session has one owner, who holds the lock of a file, its own or one beside it. The owner's process id is
//! noted beside it, for people only. The lock of a process that was killed is given up by the system; a note that it
//! leaves means nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::journal::JournalError;
use crate::journal::private::private;

/// How often a lock is tried that somebody is only looking at. Looking takes two calls of the system, unless whoever
/// looks has to wait for a processor between them.
const TRIES: u32 = 3_000;

/// After so many tries there is a pause before each.
const TRIES_AT_ONCE: u32 = 1_000;

/// A lease, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    note: PathBuf,
    file: Arc<File>,
}

impl Lease {
    /// Takes the lease of what is kept in a file of its own, which is made if it is not there.
    ///
    /// # Errors
    /// Somebody else has it; or the file cannot be opened or locked.
    pub(crate) fn of_file(path: &Path, note: &Path) -> Result<Lease, JournalError> {
        // A link is followed: it is the user's, who names the path.
        let file = obtain(path, &open_followed, &try_lock).map_err(|cause| JournalError::io(path, "open", cause))?;
        let file = file.ok_or_else(|| JournalError::held(path.display().to_string(), process_in(note)))?;
        let mut options = OpenOptions::new();
        // Nothing depends on it.
        let _ = private(options.write(true).create(true).truncate(true)).open(note).and_then(note_process);
        Ok(Lease { note: note.to_owned(), file: Arc::new(file) })
    }

    /// Takes the lease of what is kept at `location` among others: that of a file beside it, which has the note, too.
    ///
    /// # Errors
    /// Somebody else has it; or the file cannot be made or locked.
    #[cfg(feature = "sqlite")]
    pub(crate) fn beside(note: &Path, location: &Path) -> Result<Lease, JournalError> {
        let lease = Lease::noted(note, &try_lock).map_err(|cause| JournalError::io(note, "lock", cause))?;
        lease.ok_or_else(|| JournalError::held(location.display().to_string(), process_in(note)))
    }

    /// Takes such a lease as soon as nobody else has it. For what is held for a moment only.
    ///
    /// # Errors
    /// The file cannot be made or locked.
    #[cfg(feature = "sqlite")]
    pub(crate) fn wait(note: &Path) -> io::Result<Lease> {
        loop {
            if let Some(lease) = Lease::noted(note, &|file| file.lock().map(|()| true))? {
                return Ok(lease);
            }
        }
    }

    #[cfg(feature = "sqlite")]
    fn noted(note: &Path, lock: &dyn Fn(&File) -> io::Result<bool>) -> io::Result<Option<Lease>> {
        let Some(file) = obtain(note, &open_private, lock)? else { return Ok(None) };
        file.set_len(0)?;
        let file = note_process(file)?;
        Ok(Some(Lease { note: note.to_owned(), file: Arc::new(file) }))
    }

    /// The file that is locked.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Whether a process has the lease whose lock is on `locked`, and its id where it is noted.
    pub(crate) fn holder(locked: &Path, note: &Path) -> Option<String> {
        let file = File::open(locked).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(process_in(note)),
            Ok(()) => {
                let _ = file.unlock();
                None
            }
            Err(TryLockError::Error(_)) => None,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // While it is locked: afterwards it could be another process' file. Elsewhere than here an open file cannot
        // be removed, and stays.
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.note);
        }
        // Not left to the closing of the file: a process that is just being started has a copy of it for a moment,
        // and the lock would stay with that.
        let _ = self.file.unlock();
    }
}

/// Opens a file and locks it; none: somebody holds it.
fn obtain(
    path: &Path,
    open: &dyn Fn(&Path) -> io::Result<File>,
    lock: &dyn Fn(&File) -> io::Result<bool>,
) -> io::Result<Option<File>> {
    loop {
        let file = open(path)?;
        if !lock(&file)? {
            return Ok(None);
        }
        // Somebody may have removed it since it was opened: then others lock another one.
        if is_still(path, &file)? {
            return Ok(Some(file));
        }
    }
}

#[cfg(feature = "sqlite")]
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    private(options.read(true).write(true).create(true).truncate(false)).open(path)
}

fn open_followed(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn note_process(mut file: File) -> io::Result<File> {
    write!(file, "{}", std::process::id())?;
    Ok(file)
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
