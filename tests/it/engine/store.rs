//! What is true of the engine's store beyond what is true of every one.

use std::sync::Arc;

use futures_util::TryStreamExt;
use playhouse::host::engine::wire::ROOM;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::journal::store::Store;
use playhouse::host::journal::tail::TailBuffer;
use playhouse::host::journal::{Durability, JournalErrorKind};
use playhouse::host::ledger::Served;
use playhouse::host::residents::standing::{Standing, State};
use playhouse::host::residents::{Beginning, Residents};
use playhouse::vm::protocol::Timestamp;
use serde_json::json;

use super::{residents, with_server};
use crate::journal::begun;

fn message(text: &str) -> RecordBody {
    RecordBody::Message { text: text.into(), id: None, by: None }
}

async fn begin(store: &Arc<dyn Store>, session: &str) -> TailBuffer {
    let mut journal = TailBuffer::new(store.open(session).await.unwrap());
    journal.append(Timestamp(1), begun("x"), false);
    journal.flush(Durability::Killed).await.unwrap();
    journal
}

async fn bodies(store: &Arc<dyn Store>, session: &str) -> Vec<RecordBody> {
    let records: Vec<Record> = store.read(session, 1).try_collect().await.unwrap();
    records.into_iter().map(|record| record.body).collect()
}

#[test]
#[ignore = "needs a Restate server: RESTATE_SERVER"]
fn an_owner_that_was_away_is_fenced() {
    with_server(async |server| {
        let engine = server.join(ROOM).await;
        server.register(&engine, None).await;
        let store = engine.store();
        let mut first = begin(&store, "s1").await;
        // A visit of another node takes the session over.
        let opened = server.call("Log/s1/open", Some(json!({"node": "http://other", "visit": "v1"}))).await;
        assert_eq!((&opened["yours"]["epoch"], &opened["yours"]["first"]), (&json!(2), &json!(2)), "{opened}");
        for _ in 0..2 {
            first.append(Timestamp(2), message("mine"), false);
            assert_eq!(first.flush(Durability::Killed).await.unwrap_err().kind, JournalErrorKind::Fenced);
        }
        // What the earlier owner lets go is not its own.
        first.close().await;
        assert_eq!(store.holder("s1").await.as_deref(), Some("http://other"));
        let line = serde_json::to_string(&Record { seq: 2, time: 3, body: message("ours") }).unwrap();
        let append = json!({"epoch": 2, "from": 2, "n": 1, "blocks": [[2, line]]});
        // The answer to the first may have got lost.
        for _ in 0..3 {
            let taken = server.call("Log/s1/append", Some(append.clone())).await;
            assert!(taken["done"].is_object(), "{taken}");
        }
        assert_eq!(bodies(&store, "s1").await, [begun("x"), message("ours")]);
    });
}

#[test]
#[ignore = "needs a Restate server: RESTATE_SERVER"]
fn a_session_without_room_is_refused_whole() {
    with_server(async |server| {
        let engine = server.join(4_000).await;
        server.register(&engine, None).await;
        let store = engine.store();
        let mut journal = begin(&store, "s1").await;
        journal.append(Timestamp(2), message("fits"), false);
        journal.flush(Durability::Killed).await.unwrap();
        journal.append(Timestamp(3), message("so does this"), false);
        journal.append(Timestamp(3), message(&"long".repeat(1_000)), false);
        let full = journal.flush(Durability::Killed).await.unwrap_err();
        assert!(matches!(full.kind, JournalErrorKind::Full { .. }), "{full}");
        let words = full.to_string();
        let (_, cause) = words.split_once("the session has ").unwrap();
        let (n_bytes, advice) = cause.split_once(" bytes of records, ").unwrap();
        assert!(n_bytes.parse::<u64>().unwrap() < 4_000, "{words}");
        assert_eq!(
            advice, "and the limit is 4000; begin a new session, or fork this one from an earlier point",
            "{words}"
        );
        journal.close().await;
        assert_eq!(bodies(&store, "s1").await, [begun("x"), message("fits")], "nothing of it");
        let mut journal = TailBuffer::new(store.open("s1").await.unwrap());
        journal.append(Timestamp(4), message("goes on"), false);
        journal.flush(Durability::Killed).await.unwrap();
        journal.close().await;
    });
}

const TALK: &str = "# Desk

## Main
### Triggers
- At the beginning
### Steps
- Tell the user a long story
- Return 1
";

fn beginning(id: &str) -> Beginning {
    Beginning {
        program: "desk".into(),
        id: Some(id.into()),
        playbook: None,
        arguments: Default::default(),
        owner: "ida".into(),
        labels: "{}".into(),
    }
}

/// How a session stands when no server has it any more. None: it never came to that.
async fn rests(residents: &Residents, id: &str) -> Option<Standing> {
    for _ in 0..1_000 {
        let Ok(served) = residents.find(&id.into()).await else { continue };
        if let (Some(standing), None) = (served.standing, served.held_by) {
            return Some(serde_json::from_str(&standing).unwrap());
        }
    }
    None
}

/// Whoever begins a session may die before any server goes on with it: whoever asks for it again has it go on.
#[test]
#[ignore = "needs a Restate server: RESTATE_SERVER"]
fn a_beginning_whose_writer_has_died_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    with_server(async |server| {
        let engine = server.join(ROOM).await;
        let residents = residents(&engine, folder.path(), "# Desk\n\n## Main\n### Steps\n- Return 1\n", "").await;
        server.register(&engine, Some(&residents)).await;
        let store = engine.store();
        residents.begin(beginning("s1")).await.unwrap();
        let RecordBody::Begun(mut first) = bodies(&store, "s1").await.remove(0) else { panic!("it has no beginning") };
        let row = residents.find(&"s1".into()).await.unwrap();
        first.session = "s2".into();
        engine.ledger().begin(Served { session: "s2".into(), standing: None, held_by: None, ..row }).await.unwrap();
        let mut journal = TailBuffer::new(store.open("s2").await.unwrap());
        journal.append(Timestamp(1), RecordBody::Begun(first), false);
        journal.flush(Durability::Killed).await.unwrap();
        // It lets nothing go.
        std::mem::forget(journal);
        assert!(!residents.begin(beginning("s2")).await.unwrap().1, "it was there");
        let standing = rests(&residents, "s2").await.unwrap();
        assert_eq!((standing.state, standing.fault), (State::Finished, None));
    });
}

/// What a visit has asked the model costs something: one that finds no room is not tried again.
#[test]
#[ignore = "needs a Restate server: RESTATE_SERVER"]
fn a_session_without_room_fails_and_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let said = json!({"at": "02", "say": "long ".repeat(4_000)}).to_string();
    let script = format!("{}\n", json!({"reply": said + "\n"}));
    with_server(async |server| {
        let engine = server.join(16_000).await;
        let residents = residents(&engine, folder.path(), TALK, &script).await;
        server.register(&engine, Some(&residents)).await;
        let begun = residents.begin(beginning("s1")).await;
        let standing = rests(&residents, "s1").await.unwrap_or_else(|| panic!("{begun:?}"));
        assert_eq!(standing.state, State::Failed);
        let why = standing.fault.unwrap().message;
        assert!(why.ends_with("begin a new session, or fork this one from an earlier point"), "{why}");
        assert_eq!(server.admin().status().await.unwrap().stuck, []);
        // One owner has begun it, and one visit has gone on with it: none was tried again.
        assert_eq!(server.call("Log/s1/state", None).await["epoch"], 2);
        // One that is served is looked for by its program.
        assert_eq!(server.call("Directory/stored/rows", None).await, json!({}));
    });
}
