//! The thread of this process that writes a store: what its sessions want at the same time is one transaction.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use crate::journal::sqlite::patience::patiently;
use crate::journal::sqlite::schema::{MAX_LOG_PAGES, fault};
use crate::journal::{Durability, JournalError, JournalErrorKind};

/// So many sessions share a transaction at most: whoever comes first shall not wait for all.
const GROUP: usize = 256;

/// Pages of the write-ahead log at which a commit that waits for the disk moves them into the file.
const LOG_PAGES: i32 = 1_000;

/// The writers of this process, by the store's own path.
static WRITERS: Mutex<Option<HashMap<PathBuf, Weak<Writer>>>> = Mutex::new(None);

/// A store's writer, as long as a session of this process has the store open.
pub(super) struct Writer {
    path: PathBuf,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// What one flush of a session writes.
pub(super) struct Wanted {
    pub(super) session: Arc<str>,
    pub(super) epoch: u64,
    /// With the first record of the session.
    pub(super) beginning: Option<Beginning>,
    pub(super) rows: Vec<Row>,
    pub(super) durability: Durability,
}

/// What the store knows of a session besides its records.
pub(super) struct Beginning {
    pub(super) format: u32,
    pub(super) program: Arc<str>,
}

/// A record.
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) time: i64,
    /// Masked.
    pub(super) body: String,
    /// Whole, where it is masked.
    pub(super) secret: Option<String>,
}

struct Job {
    wanted: Wanted,
    done: oneshot::Sender<Result<(), JournalError>>,
}

impl Writer {
    /// The writer of a store that is there; `connection` is used if there is none yet.
    pub(super) fn of(path: &Path, connection: Connection) -> Result<Arc<Writer>, JournalError> {
        let path = path.canonicalize().map_err(|cause| JournalError::io(path, "find", cause))?;
        let mut writers = WRITERS.lock().unwrap_or_else(PoisonError::into_inner);
        let writers = writers.get_or_insert_with(HashMap::new);
        if let Some(writer) = writers.get(&path).and_then(Weak::upgrade) {
            return Ok(writer);
        }
        let (jobs, received) = channel();
        let of_thread = path.clone();
        let thread = std::thread::Builder::new().name("journal".to_owned());
        let thread = thread.spawn(move || work(connection, &of_thread, &received));
        let thread = thread.map_err(|cause| JournalError::io(&path, "write", cause))?;
        let writer = Arc::new(Writer { path: path.clone(), jobs: Some(jobs), thread: Some(thread) });
        writers.retain(|_, writer| writer.strong_count() > 0);
        writers.insert(path, Arc::downgrade(&writer));
        Ok(writer)
    }

    /// Has something written; it is when the future is done.
    pub(super) fn write(
        self: &Arc<Self>,
        wanted: Wanted,
    ) -> impl Future<Output = Result<(), JournalError>> + Send + use<> {
        let (done, answer) = oneshot::channel();
        let job = Job { wanted, done };
        let is_sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        let writer = self.clone();
        async move {
            let answer = if is_sent { answer.await.ok() } else { None };
            answer.unwrap_or_else(|| {
                let location = writer.path.display().to_string();
                Err(JournalError::unavailable(
                    location,
                    "write",
                    "its thread is gone",
                    "resume the session, and please report this",
                ))
            })
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        // Whoever comes next finds the file closed.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(mut connection: Connection, path: &Path, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let mut group = vec![first];
        group.extend(jobs.try_iter().take(GROUP - 1));
        let written = patiently(path, || write(&mut connection, &group));
        match written {
            Ok(fenced) => {
                for (Job { wanted, done }, is_fenced) in group.into_iter().zip(fenced) {
                    let location = || format!("{}, session {}", path.display(), wanted.session);
                    // Whoever asked may have gone.
                    let _ = done.send(match is_fenced {
                        true => Err(JournalError::new(location(), JournalErrorKind::Fenced)),
                        false => Ok(()),
                    });
                }
            }
            Err(cause) => {
                let mut error = fault(path, "write", cause);
                for Job { done, .. } in group {
                    let next =
                        JournalError { location: error.location.clone(), kind: error.kind.clone(), source: None };
                    let _ = done.send(Err(std::mem::replace(&mut error, next)));
                }
            }
        }
    }
}

/// Writes what a group wants, all or nothing of it; says of each whether it is fenced.
fn write(connection: &mut Connection, group: &[Job]) -> rusqlite::Result<Vec<bool>> {
    let waits_for_disk = group.iter().any(|job| job.wanted.durability == Durability::PowerCut);
    if waits_for_disk {
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    }
    let written = (|| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fenced = group.iter().map(|job| write_one(&transaction, &job.wanted)).collect::<Result<Vec<_>, _>>()?;
        transaction.commit()?;
        Ok(fenced)
    })();
    if waits_for_disk {
        connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_PAGES)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
    }
    written
}

/// True: another owner has come, and nothing is written.
fn write_one(transaction: &Transaction<'_>, wanted: &Wanted) -> rusqlite::Result<bool> {
    let Wanted { session, epoch, beginning, rows, durability } = wanted;
    let epoch = column(*epoch);
    let select = "SELECT number, epoch, coalesce((SELECT max(seq) FROM record WHERE session = number), 0)
        FROM session WHERE id = ?";
    let found = transaction.query_row(select, [&**session], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    let (number, last_seq) = match (found.optional()?, beginning) {
        (Some((number, found, last_seq)), _) if found <= epoch => {
            let own = "UPDATE session SET epoch = ? WHERE number = ? AND epoch < ?";
            transaction.execute(own, params![epoch, number, epoch])?;
            (number, last_seq)
        }
        (None, Some(Beginning { format, program })) => {
            let began = rows.first().map_or(0, |row| row.time);
            let insert = "INSERT INTO session (id, format, begun, program, epoch) VALUES (?, ?, ?, ?, ?)";
            transaction.execute(insert, params![&**session, *format, began, &**program, epoch])?;
            (transaction.last_insert_rowid(), 0)
        }
        // A later owner, or somebody who has deleted it.
        (Some(_) | None, _) => return Ok(true),
    };
    if rows.first().is_some_and(|row| column(row.seq) != last_seq + 1) {
        return Ok(true);
    }
    let mut insert = transaction.prepare("INSERT INTO record (session, seq, time, body) VALUES (?, ?, ?, ?)")?;
    for Row { seq, time, body, secret } in rows {
        insert.execute(params![number, column(*seq), time, body])?;
        if let Some(secret) = secret {
            let insert = "INSERT INTO secret (session, seq, body) VALUES (?, ?, ?)";
            transaction.execute(insert, params![number, column(*seq), secret])?;
        }
    }
    if *durability == Durability::PowerCut {
        // A commit that waits for the disk takes everything before it along; one that changes nothing does not wait.
        let update = "UPDATE session SET syncs = syncs + 1 WHERE number = ?";
        transaction.execute(update, [number])?;
    }
    Ok(false)
}

/// SQLite counts to 2⁶³; no journal comes near.
fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
