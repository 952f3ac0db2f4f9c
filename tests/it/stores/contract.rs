//! What is true of every store.

use std::sync::Arc;

use futures_util::TryStreamExt;
use playhouse::host::journal::memory::MemoryStore;
use playhouse::host::journal::record::{ChunkText, OutcomeWire, Record, RecordBody};
use playhouse::host::journal::store::Store;
use playhouse::host::journal::tail::{TailBuffer, joined};
use playhouse::host::journal::{Durability, JournalError, JournalErrorKind};
use playhouse::value::Value;
use playhouse::vm::protocol::Timestamp;

use super::remote::{LEASE, Remote};
use super::store_at;
use crate::journal::begun;

/// All of them, each empty.
fn stores(folder: &tempfile::TempDir) -> Vec<(&'static str, Arc<dyn Store>)> {
    vec![
        ("folder", store_at(&folder.path().join("sessions"))),
        ("memory", Arc::new(MemoryStore::new())),
        ("sqlite", store_at(&folder.path().join("all.sqlite"))),
        ("remote", Arc::new(Remote::new(0))),
        ("remote, disturbed", Arc::new(Remote::new(3))),
        ("remote, much disturbed", Arc::new(Remote::new(2))),
    ]
}

/// Does something with each of them, where a second takes no time.
fn with_all(test: impl AsyncFn(&str, &Arc<dyn Store>)) {
    let folder = tempfile::tempdir().unwrap();
    for (name, store) in stores(&folder) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(test(name, &store));
    }
}

/// Each body is a test of all stores that are here, and one of the engine, whose server is another process.
macro_rules! true_of_every_store {
    ($($body:ident),+) => {
        $(
            mod $body {
                #[test]
                fn here() {
                    super::with_all(super::$body);
                }

                #[cfg(feature = "restate")]
                #[test]
                #[ignore = "needs a Restate server: RESTATE_SERVER"]
                fn on_the_engine() {
                    crate::engine::with_store(super::$body);
                }
            }
        )+
    };
}

true_of_every_store!(
    what_was_flushed_is_there_and_nothing_else,
    what_was_not_flushed_never_happened,
    a_session_has_one_owner,
    sessions_are_listed_found_and_deleted,
    secrets_come_back_whole
);

fn chunk(turn: u64, text: &str) -> RecordBody {
    RecordBody::Chunk { turn, text: ChunkText(text.as_bytes().into()) }
}

fn message(text: &str) -> RecordBody {
    RecordBody::Message { text: text.into(), id: None, by: None }
}

fn secret() -> RecordBody {
    let outcome = OutcomeWire::Value { value: Value::str("hush-4711"), secret: true };
    RecordBody::CallEnded { call: 1, outcome, usage: None }
}

fn bodies() -> Vec<RecordBody> {
    vec![begun("key-4711"), chunk(1, "one, "), chunk(1, "two"), message("well"), secret(), chunk(2, "three")]
}

async fn open(store: &Arc<dyn Store>, session: &str) -> TailBuffer {
    TailBuffer::new(store.open(session).await.unwrap())
}

async fn read(store: &Arc<dyn Store>, session: &str) -> Result<Vec<Record>, JournalError> {
    store.read(session, 1).try_collect().await
}

/// Writes a session, with a flush after each record.
async fn write(store: &Arc<dyn Store>, session: &str) {
    let mut journal = open(store, session).await;
    for (body, time) in bodies().into_iter().zip(100..) {
        journal.append(Timestamp(time), body, false);
        journal.flush(Durability::Killed).await.unwrap();
    }
    journal.close().await;
}

async fn what_was_flushed_is_there_and_nothing_else(name: &str, store: &Arc<dyn Store>) {
    let mut journal = open(store, "s1").await;
    assert!(journal.is_empty(), "{name}");
    let mut expected = Vec::new();
    for (index, body) in bodies().into_iter().enumerate() {
        journal.append(Timestamp(100 + index as i64), body.clone(), false);
        assert!(read(store, "s1").await.map_or(0, |records| records.len()) <= index, "{name}: not flushed");
        // Again and again: once it is there, it is there once.
        for durability in [Durability::Killed, Durability::PowerCut, Durability::Killed] {
            journal.flush(durability).await.unwrap();
        }
        expected.push(Record { seq: index as u64 + 1, time: 100 + index as i64, body });
        assert_eq!(read(store, "s1").await.unwrap(), expected, "{name}: as it was written");
    }
    assert_eq!(journal.records(false).await.unwrap(), joined(expected.clone(), false), "{name}");
    journal.close().await;
    for from in 1..=expected.len() as u64 + 1 {
        let rest: Vec<Record> = store.read("s1", from).try_collect().await.unwrap();
        assert_eq!(rest, expected[from as usize - 1..], "{name}, from {from}");
    }
    // The next owner goes on with the next number.
    let mut journal = open(store, "s1").await;
    assert_eq!(journal.records(false).await.unwrap(), joined(expected.clone(), false), "{name}");
    journal.append(Timestamp(900), RecordBody::Reopened, false);
    journal.flush(Durability::PowerCut).await.unwrap();
    assert_eq!(read(store, "s1").await.unwrap().last().unwrap().seq, expected.len() as u64 + 1, "{name}");
    journal.close().await;
}

async fn what_was_not_flushed_never_happened(name: &str, store: &Arc<dyn Store>) {
    write(store, "s1").await;
    let before = read(store, "s1").await.unwrap();
    let mut journal = open(store, "s1").await;
    journal.append(Timestamp(1), message("lost"), false);
    journal.append(Timestamp(1), chunk(3, "lost"), true);
    journal.close().await;
    assert_eq!(read(store, "s1").await.unwrap(), before, "{name}");
}

async fn a_session_has_one_owner(name: &str, store: &Arc<dyn Store>) {
    let mut journal = open(store, "s1").await;
    journal.append(Timestamp(1), begun("x"), false);
    journal.flush(Durability::Killed).await.unwrap();
    assert!(store.holder("s1").await.is_some(), "{name}");
    for refused in [store.open("s1").await.err(), store.delete("s1").await.err()] {
        assert!(matches!(refused.unwrap().kind, JournalErrorKind::Held(_)), "{name}");
    }
    // Another one is free, and everybody may look.
    let other = open(store, "s2").await;
    assert_eq!(read(store, "s1").await.unwrap().len(), 1, "{name}");
    other.close().await;
    journal.close().await;
    assert_eq!(store.holder("s1").await, None, "{name}");
    open(store, "s1").await.close().await;
    // Whoever drops it gives it up, too, at once or soon.
    drop(open(store, "s1").await);
    let mut n_looks = 0;
    while store.holder("s1").await.is_some() {
        n_looks += 1;
        assert!(n_looks < 10_000, "{name}");
    }
}

async fn sessions_are_listed_found_and_deleted(name: &str, store: &Arc<dyn Store>) {
    let ids =
        async || -> Vec<String> { store.list().await.unwrap().iter().map(|listed| listed.id.to_string()).collect() };
    assert!(ids().await.is_empty(), "{name}");
    assert!(!store.find("s1").await.unwrap(), "{name}");
    write(store, "s1").await;
    write(store, "s2").await;
    // What all of these records say they are is `s1`: a folder goes by that.
    assert_eq!(ids().await, ["s1", "s2"], "{name}");
    assert!(store.find("s1").await.unwrap(), "{name}");
    store.delete("s1").await.unwrap();
    assert_eq!(ids().await.len(), 1, "{name}");
    for none in [read(store, "s3").await.err(), store.delete("s3").await.err()] {
        assert!(none.is_some(), "{name}");
    }
    // It can begin anew.
    assert!(open(store, "s3").await.is_empty(), "{name}");
}

async fn secrets_come_back_whole(name: &str, store: &Arc<dyn Store>) {
    write(store, "s1").await;
    let bodies_read: Vec<RecordBody> = read(store, "s1").await.unwrap().into_iter().map(|record| record.body).collect();
    assert_eq!(bodies_read, bodies(), "{name}");
    let mut journal = open(store, "s1").await;
    journal.append(Timestamp(5), secret(), false);
    assert_eq!(journal.records(false).await.unwrap().last().unwrap().body, secret(), "{name}");
    journal.close().await;
}

/// What comes twice is taken once, however often it was sent.
#[test]
fn a_log_far_away_takes_everything_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let remote = Remote::new(3);
        let store: Arc<dyn Store> = Arc::new(remote.clone());
        let mut journal = open(&store, "s1").await;
        journal.append(Timestamp(1), begun("x"), false);
        for n in 0..50 {
            journal.append(Timestamp(n), message("again"), false);
            journal.flush(Durability::Killed).await.unwrap();
        }
        assert_eq!(read(&store, "s1").await.unwrap().len(), 51);
        assert!(remote.n_repeated() > 10, "{}", remote.n_repeated());
    });
}

/// An owner that was away for too long finds that another one has come: nothing of it is taken any more.
#[test]
fn an_owner_that_was_away_is_fenced() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let store: Arc<dyn Store> = Arc::new(Remote::new(3));
        let mut first = open(&store, "s1").await;
        first.append(Timestamp(1), begun("x"), false);
        first.flush(Durability::Killed).await.unwrap();
        tokio::time::advance(LEASE).await;
        let mut second = open(&store, "s1").await;
        for _ in 0..2 {
            first.append(Timestamp(2), message("mine"), false);
            assert_eq!(first.flush(Durability::Killed).await.unwrap_err().kind, JournalErrorKind::Fenced);
        }
        second.append(Timestamp(3), message("ours"), false);
        second.flush(Durability::Killed).await.unwrap();
        let bodies: Vec<RecordBody> = read(&store, "s1").await.unwrap().into_iter().map(|record| record.body).collect();
        assert_eq!(bodies, [begun("x"), message("ours")]);
    });
}
