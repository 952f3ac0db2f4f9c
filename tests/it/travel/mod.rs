//! Time travel: every point of every example's past, and forks from there.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]
#![allow(clippy::print_stdout, reason = "how many points were tried is what one wants to know")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::llm::Llm;
use playhouse::host::session::{Ending, Interest, Notice, Session};
use playhouse::host::travel::{Point, Timeline};

use crate::conversation::{Conversation, holds_replies};

pub(crate) mod cases;

mod files;

mod forks;

mod points;

mod random;

mod retelling;

/// Replies arrive in pieces of so many bytes.
const PIECE: usize = 16;

/// All golden conversations of the examples and of the crash tests.
fn conversations() -> Vec<PathBuf> {
    in_folders(&["examples", "tests/cases/crash"])
}

fn in_folders(folders: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .filter(|path| holds_replies(path))
        .collect();
    found.sort();
    assert!(found.len() >= 6, "{found:?}");
    found
}

/// The records as they came, each chunk for itself: a session's journal as it is while a reply is read.
fn unjoined(states: &[Vec<Record>]) -> Vec<Record> {
    let came = states.iter().enumerate().map(|(index, records)| {
        let record = records.last().unwrap().clone();
        Record { seq: index as u64 + 1, ..record }
    });
    came.collect()
}

/// All points of a timeline.
fn points(timeline: &Timeline) -> Vec<Point> {
    let seqs = 1..=timeline.records().len() as u64;
    let of = |seq| (0..=timeline.last_directive(seq).unwrap()).map(move |directive| Point::new(seq, directive));
    seqs.flat_map(of).collect()
}

/// Lets a session go on from its records until it ends, with the user's lines that it has not had yet, then with `Bye`:
/// its end, and what its journal holds then.
async fn go_on(conversation: &Conversation, records: &[Record], llm: Arc<dyn Llm>) -> (Arc<Ending>, Vec<Record>) {
    let journal = MemoryJournal::from_records(records.to_vec());
    let n_messages = records.iter().filter(|record| matches!(record.body, RecordBody::Message { .. })).count();
    let mut lines = conversation.lines.iter().skip(n_messages);
    let (world, _) = conversation.world(llm);
    let mut session = Session::resume(world, Box::new(journal.clone())).await.unwrap();
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            handle.send(lines.next().map_or("Bye", |line| line)).await.unwrap();
        }
    }
    (handle.outcome().await.unwrap(), journal.snapshot())
}
