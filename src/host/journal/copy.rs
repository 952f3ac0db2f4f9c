//! Records as a journal file, which can be given away and opened elsewhere.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::journal::private::private;
use crate::journal::record::Record;
use crate::journal::{JournalError, secrets};

/// The lines of a journal file with these records; what is secret is masked.
pub fn lines(records: &[Record]) -> Vec<u8> {
    let names = secrets::names_of(records);
    let mut lines = Vec::new();
    for record in records {
        // Writing JSON of our own types into memory cannot fail: all keys are text and no number is infinite.
        let _ = serde_json::to_writer(&mut lines, &record.shown(&names));
        lines.push(b'\n');
    }
    lines
}

/// Whether anything in `records` is secret.
pub fn holds_secrets(records: &[Record]) -> bool {
    let names = secrets::names_of(records);
    records.iter().any(|record| record.body.masked(&names).is_some())
}

/// Keeps what is secret in `records` beside a journal file that is written next. Of those that were missing
/// themselves nothing is kept: they are missing there, too.
///
/// # Errors
/// They cannot be written.
pub fn keep_secrets(path: &Path, records: &[Record]) -> Result<(), JournalError> {
    let names = secrets::names_of(records);
    let is_kept = |record: &&Record| record.body.masked(&names).is_some_and(|masked| masked != record.body);
    let kept: Vec<Record> = records.iter().filter(is_kept).cloned().collect();
    secrets::keep(path, &kept).map_err(|cause| JournalError::io(path, "keep the secrets of", cause))
}

/// Makes a file that is not there yet, mode 0600.
///
/// # Errors
/// It is there already, or cannot be made.
pub fn make(path: &Path) -> io::Result<()> {
    private(OpenOptions::new().write(true).create_new(true)).open(path).map(|_| ())
}

/// Writes all of a file that was made; it is on disk when this returns.
///
/// # Errors
/// It cannot be written.
pub fn fill(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes a file that was made and could not be filled, with the secrets beside it.
pub fn discard(path: &Path) {
    let _ = std::fs::remove_file(secrets::path_of(path));
    let _ = std::fs::remove_file(path);
}
