//! A journal in a file: one JSON object per line (`.jsonl`), mode 0600, one process at a time.
//!
//! A process may be killed at any byte of any write without a handled event being lost. Records are only ever
//! appended, with one exception: when the tail is replaced, the joined record (with the event that ended the tail)
//! is first *appended*, then written once more over the tail, then the file is cut after it. In every state
//! between, the complete copy at the end is found by `read.rs`, which lets a chunk take the place of the chunks
//! that were written with its number or a higher one.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::journal::lock::{self, is_still, process_in, write_process};
use crate::host::journal::private::{make_folder_of, sync_folder_of};
use crate::host::journal::read::{self, Tail};
use crate::host::journal::record::{ChunkText, Record, RecordBody};
use crate::host::journal::sync::Unsynced;
use crate::host::journal::{Journal, JournalError, SyncFuture, secrets};
use crate::vm::protocol::Timestamp;

thread_local! {
    /// Where records are put together before they are written: one for each thread, so that an idle session
    /// keeps none.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A journal in a file. The file is locked as long as this lives.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: Arc<File>,
    /// Where the next record goes.
    end: u64,
    next_seq: u64,
    tail: Option<Box<Tail>>,
    unsynced: Unsynced,
    /// What opening has found, until somebody wants it.
    found: Option<Vec<Record>>,
    /// The file's name has not been synced into its folder yet.
    is_new: bool,
    /// The variables that are declared secret.
    secret_names: Vec<Arc<str>>,
}

impl FileJournal {
    /// Opens the file, or creates it with its folders; it is empty then ([`Journal::records`]).
    ///
    /// # Errors
    /// It cannot be opened, another process has it, or what it holds is no journal.
    pub fn open(path: impl Into<PathBuf>) -> Result<FileJournal, JournalError> {
        let path = path.into();
        let error = |action, cause| io_error(&path, action, cause);
        make_folder_of(&path).map_err(|cause| error("make the folder of", cause))?;
        let file = loop {
            let file = open_private(&path).map_err(|cause| error("open", cause))?;
            if !lock::try_lock(&file).map_err(|cause| error("lock", cause))? {
                return Err(locked(&path));
            }
            // Somebody may have deleted it since it was opened: then nobody would find what is written.
            if is_still(&path, &file).map_err(|cause| error("open", cause))? {
                break file;
            }
        };
        // Only to tell others who holds it: nothing depends on this file.
        let _ = write_process(&lock_path(&path));
        let file = Arc::new(file);
        let mut journal = FileJournal {
            path,
            file,
            end: 0,
            next_seq: 1,
            tail: None,
            unsynced: Unsynced::default(),
            found: None,
            is_new: false,
            secret_names: Vec::new(),
        };
        journal.found = Some(journal.read()?);
        journal.is_new = journal.end == 0;
        Ok(journal)
    }

    /// Reads the whole file, and cuts off what was not written completely.
    fn read(&mut self) -> Result<Vec<Record>, JournalError> {
        let bytes = read_all(&self.file).map_err(|cause| io_error(&self.path, "read", cause))?;
        let found = read::read(&self.path, &bytes)?;
        if found.end < bytes.len() as u64 {
            tracing::warn!(path = %self.path.display(), "dropped what a killed process had not written completely");
            self.file.set_len(found.end).map_err(|cause| io_error(&self.path, "mend", cause))?;
        }
        self.end = found.end;
        self.next_seq = found.records.len() as u64 + 1;
        self.tail = found.tail.map(Box::new);
        let mut records = found.records;
        let error = |cause| io_error(&self.path, "read the secrets of", cause);
        if let Some(seq) = secrets::restore(&self.path, &mut records).map_err(error)? {
            return Err(JournalError::SecretsMissing { path: secrets::path_of(&self.path), seq });
        }
        self.secret_names = secrets::names_of(&records);
        Ok(records)
    }

    /// Replaces the tail by one record, together with `line`, if it is there.
    fn replace_tail(&mut self, tail: Tail, line: &[u8]) -> Result<(), JournalError> {
        let body = RecordBody::Chunk { turn: tail.turn, text: ChunkText(tail.bytes.into()) };
        let mut lines = Vec::with_capacity(line.len() + 256);
        put_line(&mut lines, &Record { seq: tail.seq, time: tail.time, body });
        let n_joined = lines.len() as u64;
        let room = self.end - tail.start;
        let with_line = n_joined + line.len() as u64 <= room;
        if with_line {
            lines.extend_from_slice(line);
        }
        let n_bytes = lines.len() as u64;
        self.write_at(self.end, &lines)?;
        if n_bytes <= room {
            self.write_at(tail.start, &lines)?;
            self.end = tail.start + n_bytes;
            self.file.set_len(self.end).map_err(|cause| io_error(&self.path, "write", cause))?;
        } else {
            // The joined form can be longer than the parts only if it is no UTF-8. The copy at the end counts.
            self.end += n_bytes;
        }
        if !with_line {
            self.write_at(self.end, line)?;
            self.end += line.len() as u64;
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), JournalError> {
        write_all_at(&self.file, bytes, offset).map_err(|cause| {
            // What was written of it must not stand in the way of what comes after it is read again.
            if offset == self.end {
                let _ = self.file.set_len(self.end);
            }
            io_error(&self.path, "write", cause)
        })
    }
}

impl Journal for FileJournal {
    fn place(&self) -> PathBuf {
        self.path.clone()
    }

    fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        match self.found.take() {
            Some(records) => Ok(records),
            None => self.read(),
        }
    }

    fn append(&mut self, time: Timestamp, body: RecordBody) -> Result<u64, JournalError> {
        LINES.with_borrow_mut(|lines| {
            lines.clear();
            lines.shrink_to(1 << 16);
            self.found = None;
            self.unsynced.note();
            if let RecordBody::Chunk { turn, text } = &body {
                let goes_on = self.tail.as_ref().is_some_and(|tail| tail.turn == *turn);
                if let Some(tail) = self.tail.take_if(|tail| !goes_on && tail.n_chunks > 1) {
                    self.next_seq = tail.seq + 1;
                    self.replace_tail(*tail, b"")?;
                }
                let (turn, bytes, seq, start) = (*turn, text.0.clone(), self.next_seq, self.end);
                put_line(lines, &Record { seq, time: time.0, body });
                self.write_at(start, lines)?;
                self.end += lines.len() as u64;
                match self.tail.as_mut().filter(|_| goes_on) {
                    Some(tail) => tail.push(time.0, &bytes),
                    None => self.tail = Some(Box::new(Tail::new(start, seq, turn, time.0, &bytes))),
                }
                self.next_seq = seq + 1;
                return Ok(seq);
            }
            secrets::declare(&mut self.secret_names, &body);
            let joins = body.joins_chunks();
            let seq = match self.tail.as_ref().filter(|tail| joins && tail.n_chunks > 1) {
                Some(tail) => tail.seq + 1,
                None => self.next_seq,
            };
            let mut record = Record { seq, time: time.0, body };
            if secrets::holds_secret(&record.body, &self.secret_names) {
                let error = |cause| io_error(&self.path, "keep the secrets of", cause);
                secrets::keep(&self.path, &record).map_err(error)?;
                record = record.shown(&self.secret_names);
            }
            let tail = self.tail.take().filter(|tail| joins && tail.n_chunks > 1);
            put_line(lines, &record);
            match tail {
                Some(tail) => self.replace_tail(*tail, lines)?,
                None => {
                    self.write_at(self.end, lines)?;
                    self.end += lines.len() as u64;
                }
            }
            self.next_seq = seq + 1;
            Ok(seq)
        })
    }

    fn sync(&mut self) -> SyncFuture {
        let (file, path) = (self.file.clone(), self.path.clone());
        let is_new = self.is_new && !self.unsynced.has_synced();
        self.unsynced.sync(move || {
            file.sync_data().map_err(|cause| io_error(&path, "sync", cause))?;
            if is_new {
                sync_folder_of(&path);
            }
            Ok(())
        })
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        // Before the lock goes with the file: afterwards it could be another process' file.
        let _ = std::fs::remove_file(lock_path(&self.path));
        // Not left to the closing of the file: a process that is just being started has a copy of it for a moment,
        // and the lock would stay with that.
        let _ = self.file.unlock();
    }
}

/// Reads a journal that may be open in another process. A record that is being written is left out. Secrets that are
/// not there any more stay masked.
///
/// # Errors
/// It cannot be read, or is no journal.
pub fn read_file(path: &Path) -> Result<Vec<Record>, JournalError> {
    let bytes = std::fs::read(path).map_err(|cause| io_error(path, "read", cause))?;
    let mut records = read::read(path, &bytes)?.records;
    secrets::restore(path, &mut records).map_err(|cause| io_error(path, "read the secrets of", cause))?;
    Ok(records)
}

/// The first record of a journal, alone; none if not even that is there.
///
/// # Errors
/// It cannot be read, or is no journal.
pub fn read_first(path: &Path) -> Result<Vec<Record>, JournalError> {
    let mut line = Vec::new();
    let file = File::open(path).map_err(|cause| io_error(path, "read", cause))?;
    BufReader::new(file).read_until(b'\n', &mut line).map_err(|cause| io_error(path, "read", cause))?;
    Ok(read::read(path, &line)?.records)
}

/// Whether a process has the journal open, and its id where known.
pub fn holder(path: &Path) -> Option<String> {
    lock::holder(path, &lock_path(path))
}

/// Removes a journal with all that stands beside it, readable or not.
///
/// # Errors
/// A process has it open, or it cannot be removed.
pub fn delete(path: &Path) -> Result<(), JournalError> {
    let error = |cause| io_error(path, "delete", cause);
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(error)?;
    if !lock::try_lock(&file).map_err(error)? {
        return Err(locked(path));
    }
    let gone = |path: &Path| match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(error(cause)),
        Ok(()) | Err(_) => Ok(()),
    };
    // What is secret goes first: whatever happens next, it is not left where nobody looks for it.
    gone(&secrets::path_of(path))?;
    gone(&lock_path(path))?;
    gone(path)
}

fn locked(path: &Path) -> JournalError {
    JournalError::Locked { path: path.to_owned(), holder: holder_text(&process_in(&lock_path(path))) }
}

/// ` (process id 4711)`, or nothing where it is not known.
pub(super) fn holder_text(process: &str) -> String {
    if process.is_empty() { String::new() } else { format!(" (process id {process})") }
}

fn put_line(lines: &mut Vec<u8>, record: &Record) {
    // Writing JSON of our own types into memory cannot fail: all keys are text and no number is infinite.
    let _ = serde_json::to_writer(&mut *lines, record);
    lines.push(b'\n');
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // A link is followed: it is the user's, who names the path.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn read_all(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    io::Write::write_all(&mut file, bytes)
}

pub(crate) fn io_error(path: &Path, action: &'static str, cause: io::Error) -> JournalError {
    use io::ErrorKind::{IsADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let kind = cause.kind();
    let advice = if [StorageFull, QuotaExceeded].contains(&kind) {
        "free some space, then resume the session with --session"
    } else if [PermissionDenied, ReadOnlyFilesystem].contains(&kind) {
        "make it writable, or choose another place with --journal"
    } else if kind == IsADirectory {
        "name a file with --journal"
    } else {
        "choose another place with --journal, or mend the cause and resume with --session"
    };
    JournalError::Io { path: path.to_owned(), action, cause, advice }
}
