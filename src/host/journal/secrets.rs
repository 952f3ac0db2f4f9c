//! What is secret in a journal stands beside it: `ID.jsonl.secrets`, mode 0600.
//!
//! The journal itself holds `"***"`, so it can be looked at, copied and sent to somebody. The file beside it holds the
//! same records whole; it is written, and on disk, before the journal's own record. Reading puts them back. A record
//! that was written here and whose twin never got into the journal (the process was killed between) has no effect: it
//! counts only where the journal has a record of its number that is the same but for the mask.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::journal::private::{private, sync_folder_of};
use crate::journal::record::{Record, RecordBody};

/// Where the secrets of the journal at `path` are.
pub(crate) fn path_of(path: &Path) -> PathBuf {
    path.with_added_extension("secrets")
}

/// Which variables are declared secret at the end of the records: the journal's beginning says so, and each change of
/// the program what is beside.
pub fn names_of(records: &[Record]) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    records.iter().for_each(|record| declare(&mut names, &record.body));
    names
}

/// Adds the names that a record declares secret.
pub(crate) fn declare(names: &mut Vec<Arc<str>>, body: &RecordBody) {
    if let RecordBody::Begun(begun) = body {
        names.extend(begun.secrets.iter().cloned());
    } else if let RecordBody::ProgramChanged(changed) = body {
        names.extend(changed.secrets.iter().cloned());
    }
}

/// Keeps whole records; they are on disk when this returns. They are few: the time does not matter.
pub(crate) fn keep(path: &Path, records: &[Record]) -> io::Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let path = path_of(path);
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    let mut file = private(options.append(true).create(true)).open(&path)?;
    // A record that a killed process left unfinished must not take this one with it.
    let mut lines = b"\n".to_vec();
    for record in records {
        serde_json::to_writer(&mut lines, record).map_err(io::Error::other)?;
        lines.push(b'\n');
    }
    file.write_all(&lines)?;
    file.sync_data()?;
    // A journal whose secrets are gone cannot go on.
    if is_new {
        sync_folder_of(&path);
    }
    Ok(())
}

/// Puts the whole records into the place of the masked ones, as far as they are there. Gives the number of the first
/// that is not.
///
/// # Errors
/// The file is there and cannot be read.
pub(crate) fn restore(path: &Path, records: &mut [Record]) -> io::Result<Option<u64>> {
    if !are_masked(records) {
        return Ok(None);
    }
    let text = match std::fs::read_to_string(path_of(path)) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(cause),
    };
    let kept = text.lines().filter_map(|line| serde_json::from_str::<Record>(line).ok());
    // Of two with one number the later one: the earlier never got into the journal.
    let kept: HashMap<u64, Record> = kept.map(|record| (record.seq, record)).collect();
    Ok(restore_from(&kept, records))
}

/// Whether any of these records was masked, as far as can be seen.
pub(crate) fn are_masked(records: &[Record]) -> bool {
    let names = names_of(records);
    records.iter().any(|record| is_masked(record, &names))
}

/// The same as [`restore`], from records by their numbers.
pub(crate) fn restore_from(kept: &HashMap<u64, Record>, records: &mut [Record]) -> Option<u64> {
    let mut missing = None;
    let all_names = names_of(records);
    // Those that had been declared when the record was written.
    let mut names = Vec::new();
    for record in records {
        declare(&mut names, &record.body);
        let ways = [&names, &all_names];
        if !ways.iter().any(|names| is_masked(record, names)) {
            continue;
        }
        match kept.get(&record.seq).filter(|whole| ways.iter().any(|names| whole.shown(names) == *record)) {
            Some(whole) => *record = whole.clone(),
            None => missing = missing.or(Some(record.seq)),
        }
    }
    missing
}

/// Whether a secret value of a record is masked: others may have been declared secret since it was written.
pub(crate) fn is_masked(record: &Record, names: &[Arc<str>]) -> bool {
    // Name by name; without one what a tool has called secret.
    let mut each = names.chunks(1).chain([&[][..]]);
    each.any(|name| record.body.masked(name).is_some_and(|masked| masked == record.body))
}
