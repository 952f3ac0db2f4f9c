//! An SQLite database as a resource. One thread owns the connection and runs one statement after the other; a statement
//! that nobody waits for any more is interrupted.

mod open;
mod statement;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use futures_util::future::BoxFuture;
use playhouse_lang::value::Value;
use tokio::sync::oneshot;

use crate::resource::sql::{Database, SqlError, SqliteConfig};
use crate::resource::sqlite::statement::Statements;
use crate::resource::{Label, Resource, ResourceError};

/// An SQLite database.
pub struct Sqlite {
    label: Label,
    /// The working directory.
    folder: PathBuf,
    config: SqliteConfig,
    worker: Mutex<Option<Worker>>,
}

/// The thread that owns the connection, while the resource is acquired.
struct Worker {
    jobs: mpsc::Sender<Job>,
    /// Set when the resource is released: what still runs is interrupted.
    stop: Arc<AtomicBool>,
    /// Sends nothing; is dropped when the connection is closed.
    closed: oneshot::Receiver<()>,
}

struct Job {
    sql: Arc<str>,
    values: Value,
    /// Set when nobody waits for the result any more.
    abandoned: Arc<AtomicBool>,
    reply: oneshot::Sender<Result<Value, SqlError>>,
}

impl Sqlite {
    /// The database of this configuration; `folder` is the working directory. Nothing is opened before it is acquired.
    pub fn new(label: Label, folder: &Path, config: SqliteConfig) -> Sqlite {
        Sqlite { label, folder: folder.to_owned(), config, worker: Mutex::default() }
    }

    fn worker(&self) -> std::sync::MutexGuard<'_, Option<Worker>> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, sql: Arc<str>, values: Value) -> Result<Waiting, SqlError> {
        let (reply, result) = oneshot::channel();
        let abandoned = Arc::new(AtomicBool::new(false));
        let job = Job { sql, values, abandoned: abandoned.clone(), reply };
        let is_sent = self.worker().as_ref().is_some_and(|worker| worker.jobs.send(job).is_ok());
        if is_sent {
            Ok(Waiting { result, abandoned })
        } else {
            Err(SqlError::Failed("the database is not open".to_owned()))
        }
    }
}

/// Waits for a result; dropped, it says that nobody does.
struct Waiting {
    result: oneshot::Receiver<Result<Value, SqlError>>,
    abandoned: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

impl Database for Sqlite {
    fn placeholders(&self) -> &'static str {
        "`?` or `:name` (SQLite)"
    }

    fn may_write(&self) -> bool {
        self.config.write
    }

    fn timeout(&self) -> Duration {
        self.config.timeout
    }

    fn query(&self, sql: Arc<str>, values: Value) -> BoxFuture<'_, Result<Value, SqlError>> {
        Box::pin(async move {
            let mut waiting = self.send(sql, values)?;
            match tokio::time::timeout(self.config.timeout, &mut waiting.result).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(SqlError::Failed("the database was closed".to_owned())),
                Err(_) => Err(SqlError::Failed(format!(
                    "the statement took longer than {} s (`timeout` of the resource) and was cancelled",
                    self.config.timeout.as_secs_f64()
                ))),
            }
        })
    }
}

impl Resource for Sqlite {
    fn kind(&self) -> &str {
        "sqlite"
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            let (jobs, received) = mpsc::channel();
            let (opened, is_open) = oneshot::channel();
            let (close, closed) = oneshot::channel();
            let stop = Arc::new(AtomicBool::new(false));
            let (folder, config, stopped) = (self.folder.clone(), self.config.clone(), stop.clone());
            let work = move || {
                // Dropped after the connection: whoever waits for it knows that the file is closed.
                let _close: oneshot::Sender<()> = close;
                match open::open(&folder, &config).and_then(|connection| Statements::new(connection, &config, stopped))
                {
                    Ok(mut statements) => {
                        if opened.send(Ok(())).is_ok() {
                            work(&mut statements, &received);
                        }
                    }
                    Err(error) => {
                        let _ = opened.send(Err(error));
                    }
                }
            };
            let thread = std::thread::Builder::new().name("playhouse-sqlite".to_owned()).spawn(work);
            thread.map_err(|error| {
                ResourceError::new(format!("no thread can be started: {error}"), "raise the process limit")
            })?;
            let opened = is_open
                .await
                .unwrap_or_else(|_| Err(ResourceError::new("its thread ended", "look into the log with --log debug")));
            opened?;
            *self.worker() = Some(Worker { jobs, stop, closed });
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        let worker = self.worker().take();
        Box::pin(async {
            if let Some(Worker { jobs, stop, closed }) = worker {
                stop.store(true, Ordering::Relaxed);
                drop(jobs);
                let _ = closed.await;
            }
        })
    }
}

fn work(statements: &mut Statements, jobs: &mpsc::Receiver<Job>) {
    while let Ok(Job { sql, values, abandoned, reply }) = jobs.recv() {
        if !abandoned.load(Ordering::Relaxed) {
            let result = statements.run(&sql, &values, abandoned);
            let _ = reply.send(result);
        }
    }
}
