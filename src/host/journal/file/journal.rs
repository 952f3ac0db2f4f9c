//! The journal of one session in a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{self, Either};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::journal::blocking::blocking;
use crate::journal::file::read;
use crate::journal::lease::Lease;
use crate::journal::private::{make_folder_of, sync_folder_of};
use crate::journal::record::Record;
use crate::journal::tail::Run;
use crate::journal::{Durability, Flush, Journal, JournalError, JournalErrorKind, RecordStream, secrets};

/// Room for lines that is kept from one piece of a reply to the next, in bytes: an idle session must not cost more.
const KEPT_ROOM: usize = 256;

/// A journal in a file, for the process that writes it.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    /// Where the next record goes.
    end: u64,
    next_seq: u64,
    /// What is not flushed.
    lines: Vec<u8>,
    /// The pieces of the reply that is being written.
    run: Run,
    /// The whole records whose masked twins are in `lines`.
    kept: Vec<Record>,
    /// What opening has found, until somebody wants it.
    found: Option<Vec<Record>>,
    /// The file's name has not been synced into its folder yet.
    is_new: bool,
    /// The variables that are declared secret.
    secret_names: Vec<Arc<str>>,
    /// Has the file, too.
    lease: Lease,
}

impl FileJournal {
    /// Opens the file, or creates it with its folders; it is empty then. Reads all of it: not for an async thread.
    ///
    /// # Errors
    /// It cannot be opened, another process has it, or what it holds is no journal.
    pub fn open(path: impl Into<PathBuf>) -> Result<FileJournal, JournalError> {
        let path = path.into();
        let error = |action, cause| JournalError::io(&path, action, cause);
        make_folder_of(&path).map_err(|cause| error("make the folder of", cause))?;
        if path.is_dir() {
            return Err(error("open", io::ErrorKind::IsADirectory.into()));
        }
        let lease = Lease::of_file(&path, &note_path(&path))?;
        let bytes = std::fs::read(&path).map_err(|cause| error("read", cause))?;
        let read::Found { mut records, end } = read::read(&path, &bytes)?;
        if end < bytes.len() as u64 {
            tracing::warn!(path = %path.display(), "dropped what a killed process had not written completely");
            lease.file().set_len(end).map_err(|cause| error("mend", cause))?;
        }
        restore(&path, &mut records)?;
        Ok(FileJournal {
            end,
            next_seq: records.len() as u64 + 1,
            lines: Vec::new(),
            run: Run::after(&records),
            kept: Vec::new(),
            is_new: end == 0,
            secret_names: secrets::names_of(&records),
            found: Some(records),
            lease,
            path,
        })
    }
}

impl Journal for FileJournal {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn append(&mut self, record: Record) {
        self.found = None;
        self.next_seq = record.seq + 1;
        secrets::declare(&mut self.secret_names, &record.body);
        let mut record = record;
        if let Some(body) = record.body.masked(&self.secret_names) {
            let shown = Record { body, ..record };
            self.kept.push(std::mem::replace(&mut record, shown));
        }
        // Writing JSON of our own types into memory cannot fail: all keys are text and no number is infinite.
        let _ = match self.run.further(&record) {
            Some(piece) => serde_json::to_writer(&mut self.lines, &piece),
            None => serde_json::to_writer(&mut self.lines, &record),
        };
        self.lines.push(b'\n');
    }

    fn flush(&mut self, durability: Durability) -> Flush {
        let offset = self.end;
        self.end += self.lines.len() as u64;
        if durability == Durability::Killed && self.kept.is_empty() {
            // Into the system's memory: that takes less time than handing it on to a thread.
            let written = write(self.lease.file(), &self.path, &self.lines, offset);
            self.lines.clear();
            self.lines.shrink_to(KEPT_ROOM);
            return Either::Left(future::ready(written));
        }
        let (lines, kept) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.kept));
        let (file, path) = (self.lease.file().clone(), self.path.clone());
        let is_new = durability == Durability::PowerCut && std::mem::take(&mut self.is_new);
        let work = move || {
            let error = |action, cause| JournalError::io(&path, action, cause);
            secrets::keep(&path, &kept).map_err(|cause| error("keep the secrets of", cause))?;
            write(&file, &path, &lines, offset)?;
            if durability == Durability::PowerCut {
                file.sync_data().map_err(|cause| error("sync", cause))?;
            }
            if is_new {
                sync_folder_of(&path);
            }
            Ok(())
        };
        Either::Right(blocking(self.location(), work).boxed())
    }

    fn read(&mut self, from: u64) -> RecordStream {
        if let Some(records) = self.found.take() {
            return stream::iter(records.into_iter().skip_while(move |record| record.seq < from).map(Ok)).boxed();
        }
        stream_of(self.path.clone(), from, true)
    }
}

/// The records of a journal, read on a thread for that. `whole`: it is an error if a secret is missing.
pub(super) fn stream_of(path: PathBuf, from: u64, whole: bool) -> RecordStream {
    let read = move || {
        let records = read_all(&path, whole)?;
        Ok(stream::iter(records.into_iter().skip_while(move |record| record.seq < from).map(Ok)))
    };
    blocking(String::new(), read).into_stream().try_flatten().boxed()
}

/// Reads a journal that may be open in another process. A record that is being written is left out. Secrets that are
/// not there any more stay masked.
///
/// # Errors
/// It cannot be read, or is no journal.
pub fn read_file(path: &Path) -> Result<Vec<Record>, JournalError> {
    read_all(path, false)
}

fn read_all(path: &Path, whole: bool) -> Result<Vec<Record>, JournalError> {
    let bytes = std::fs::read(path).map_err(|cause| JournalError::io(path, "read", cause))?;
    let mut records = read::read(path, &bytes)?.records;
    match restore(path, &mut records) {
        Err(JournalError { kind: JournalErrorKind::SecretsMissing { .. }, .. }) if !whole => {}
        restored => restored?,
    }
    Ok(records)
}

/// Puts the secrets into their places, as far as they are there.
fn restore(path: &Path, records: &mut [Record]) -> Result<(), JournalError> {
    let missing = secrets::restore(path, records);
    match missing.map_err(|cause| JournalError::io(path, "read the secrets of", cause))? {
        Some(seq) => {
            let location = secrets::path_of(path).display().to_string();
            Err(JournalError::new(location, JournalErrorKind::SecretsMissing { seq }))
        }
        None => Ok(()),
    }
}

/// The first record of a journal, alone; none if not even that is there.
///
/// # Errors
/// It cannot be read, or is no journal.
pub(super) fn read_first(path: &Path) -> Result<Vec<Record>, JournalError> {
    let mut line = Vec::new();
    let file = File::open(path).map_err(|cause| JournalError::io(path, "read", cause))?;
    BufReader::new(file).read_until(b'\n', &mut line).map_err(|cause| JournalError::io(path, "read", cause))?;
    Ok(read::read(path, &line)?.records)
}

/// Whether a process has the journal open, and its id where known.
pub fn holder(path: &Path) -> Option<String> {
    Lease::holder(path, &note_path(path))
}

/// Removes a journal with all that stands beside it, readable or not.
///
/// # Errors
/// A process has it open, or it cannot be removed.
pub(super) fn delete(path: &Path) -> Result<(), JournalError> {
    let error = |cause| JournalError::io(path, "delete", cause);
    path.metadata().map_err(error)?;
    let _lease = Lease::of_file(path, &note_path(path))?;
    let gone = |path: &Path| match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(error(cause)),
        Ok(()) | Err(_) => Ok(()),
    };
    // What is secret goes first: whatever happens next, it is not left where nobody looks for it.
    gone(&secrets::path_of(path))?;
    gone(path)
}

fn note_path(path: &Path) -> PathBuf {
    path.with_added_extension("lock")
}

fn write(file: &File, path: &Path, lines: &[u8], offset: u64) -> Result<(), JournalError> {
    write_all_at(file, lines, offset).map_err(|cause| {
        // What was written of it must not stand in the way of who comes next.
        let _ = file.set_len(offset);
        JournalError::io(path, "write", cause)
    })
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
    io::Write::write_all(&mut file, bytes)
}
