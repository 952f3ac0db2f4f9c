//! Reads the lines of a journal file, whatever state a killed process left it in.

use std::path::Path;

use serde::Deserialize;

use crate::journal::error::check_format;
use crate::journal::record::{ChunkText, Record, RecordBody};
use crate::journal::tail::next_piece;
use crate::journal::{JournalError, JournalErrorKind};

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Found {
    /// The records, numbered 1, 2, 3, …
    pub(crate) records: Vec<Record>,
    /// Where the last whole record ends; what follows was not written completely.
    pub(crate) end: u64,
}

/// A place from which on nothing fits.
struct Break {
    line: usize,
    offset: u64,
    cause: String,
    /// Whether a readable record follows: then it is damage, not an unfinished write.
    is_damage: bool,
}

/// The records of a file.
///
/// A last line that is cut off is left out. Earlier versions joined the chunks of a reply in the file itself: a chunk
/// may take the place of chunks with its number and higher ones, also after a stretch that a process left unreadable
/// which was killed meanwhile.
///
/// # Errors
/// Something in the middle cannot be read, or the format is newer than ours.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Found, JournalError> {
    let mut found = Found { records: Vec::new(), end: 0 };
    let mut broken: Option<Break> = None;
    let mut offset = 0;
    for (index, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let start = offset;
        offset += line.len() as u64;
        let corrupt = |cause: String| damaged(path, index + 1, cause);
        let parsed = if line.ends_with(b"\n") {
            parse(line, found.records.last())
        } else {
            Err("the line is cut off".to_owned())
        };
        if index == 0 && line.ends_with(b"\n") {
            check_first(path, line, &parsed)?;
        }
        match parsed {
            Ok(record) => {
                let expected = found.records.len() as u64 + 1;
                // What a short line follows cannot be seen from it.
                let is_lost = is_short(line) && broken.is_some();
                if !is_lost && fits(&found.records, &record, broken.is_some()) {
                    found.records.truncate(usize::try_from(record.seq).unwrap_or(1) - 1);
                    found.records.push(record);
                    found.end = offset;
                    broken = None;
                } else if record.seq < expected && broken.is_none() {
                    return Err(corrupt(format!("record {} comes after record {}", record.seq, expected - 1)));
                } else if let Some(broken) = &mut broken {
                    broken.is_damage = true;
                } else {
                    let cause = format!("record {} comes after record {}", record.seq, expected - 1);
                    broken = Some(Break { line: index + 1, offset: start, cause, is_damage: true });
                }
            }
            Err(cause) => {
                broken.get_or_insert(Break { line: index + 1, offset: start, cause, is_damage: false });
            }
        }
    }
    if let Some(broken) = broken {
        if broken.is_damage {
            return Err(damaged(path, broken.line, broken.cause));
        }
        found.end = broken.offset;
    }
    Ok(found)
}

/// Whether a record can stand here: it is the next one, or a chunk that takes the place of chunks. After an
/// unreadable stretch only a chunk can.
fn fits(records: &[Record], record: &Record, behind_break: bool) -> bool {
    let n_records = records.len() as u64;
    let is_chunk = matches!(record.body, RecordBody::Chunk { .. });
    if record.seq == n_records + 1 {
        return !behind_break || is_chunk;
    }
    if !is_chunk || record.seq == 0 || record.seq > n_records {
        return false;
    }
    let first = usize::try_from(record.seq).unwrap_or(1) - 1;
    // The copy of a joined record may find the same one in place, with the event after it and old chunks after both.
    let replaced = &records[first..];
    let n_copied = if replaced[0] == *record { 2 } else { 0 };
    replaced.iter().skip(n_copied).all(|old| matches!(old.body, RecordBody::Chunk { .. }))
}

/// A record, or a further piece of the reply that the record before is a piece of.
fn parse(line: &[u8], before: Option<&Record>) -> Result<Record, String> {
    let problem = |error: serde_json::Error| error.to_string();
    if !is_short(line) {
        return serde_json::from_slice(line).map_err(problem);
    }
    let (ms, text): (i64, ChunkText) = serde_json::from_slice(line).map_err(problem)?;
    let body = next_piece(before, text)?;
    let (seq, time) = before.map_or((0, 0), |before| (before.seq, before.time));
    Ok(Record { seq: seq + 1, time: time.saturating_add(ms), body })
}

fn is_short(line: &[u8]) -> bool {
    line.starts_with(b"[")
}

#[derive(Deserialize)]
struct FirstLine {
    #[serde(rename = "type")]
    kind: String,
    format: Option<u32>,
}

/// The first line says what the file is, also if we cannot read the rest of it.
fn check_first(path: &Path, line: &[u8], parsed: &Result<Record, String>) -> Result<(), JournalError> {
    let corrupt = |cause: &str| damaged(path, 1, cause.to_owned());
    let Ok(first) = serde_json::from_slice::<FirstLine>(line) else {
        return Err(corrupt("this is not a session journal"));
    };
    if let Some(found) = first.format {
        check_format(path, found)?;
    }
    if first.kind != "begun" {
        return Err(corrupt("the first record must be `begun`"));
    }
    parsed.as_ref().map(|_| ()).map_err(|cause| corrupt(cause))
}

fn damaged(path: &Path, line: usize, cause: String) -> JournalError {
    let advice =
        "restore the file from a copy, or remove this and all following lines to continue from the state before them";
    let kind = JournalErrorKind::Corrupt { what: "the journal".to_owned(), cause, advice };
    JournalError::new(format!("{}:{line}", path.display()), kind)
}
