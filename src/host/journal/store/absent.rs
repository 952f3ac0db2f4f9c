//! What a build without SQLite says of stores.

use std::path::Path;

use crate::host::journal::record::Record;
use crate::host::journal::store::{Found, Listed};
use crate::host::journal::{Journal, JournalError};

/// Opens a session of a store.
///
/// # Errors
/// This build has no SQLite.
pub fn open(path: &Path, _: &str) -> Result<Box<dyn Journal>, JournalError> {
    no_sqlite(path)
}

/// The records of a session.
///
/// # Errors
/// This build has no SQLite.
pub fn read(path: &Path, _: &str) -> Result<Vec<Record>, JournalError> {
    no_sqlite(path)
}

/// Whether a store has a session.
///
/// # Errors
/// This build has no SQLite.
pub fn contains(path: &Path, _: &str) -> Result<bool, JournalError> {
    no_sqlite(path)
}

/// The sessions of a store.
///
/// # Errors
/// This build has no SQLite.
pub fn list(path: &Path) -> Result<Vec<Listed>, JournalError> {
    no_sqlite(path)
}

/// Keeps a store open.
///
/// # Errors
/// This build has no SQLite.
pub fn hold(path: &Path) -> Result<impl Sized + use<>, JournalError> {
    no_sqlite::<()>(path)
}

/// Keeps how sessions stand.
///
/// # Errors
/// This build has no SQLite.
pub fn remember(path: &Path, _: &[Found]) -> Result<(), JournalError> {
    no_sqlite(path)
}

/// Deletes sessions.
///
/// # Errors
/// This build has no SQLite.
pub fn delete(path: &Path, _: &str) -> Result<(), JournalError> {
    no_sqlite(path)
}

fn no_sqlite<T>(path: &Path) -> Result<T, JournalError> {
    Err(JournalError::NoSqlite { path: path.to_owned() })
}
