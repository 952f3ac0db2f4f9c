//! What a long conversation takes on the disk and what writing it costs, in a file and in a store; and how long it
//! takes to list many sessions.
//!
//! `cargo bench --bench storage`
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock and prints")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use playhouse::host::classify::off::Off;
use playhouse::host::clock::SystemClock;
use playhouse::host::journal::Durability;
use playhouse::host::journal::address::{Address, Place};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Begun, ChunkText, EndWire, Record, RecordBody, UsageWire};
use playhouse::host::journal::tail::TailBuffer;
use playhouse::host::llm::script::{Script, ScriptEntry};
use playhouse::host::program::load_texts;
use playhouse::host::session::{Session, SessionOptions, Start, World};
use playhouse::host::stored;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::value::Map;
use playhouse::vm::protocol::Timestamp;
use playhouse::vm::protocol::settings::Settings;

const PROGRAM: &str = "\
# Desk
A help desk.
## Main
### Triggers
- At the beginning
### Steps
- Talk with the user until they have what they want
- End program
";

const REPLY: &str = "{\"at\":\"01\",\"say\":\"That is all.\"}\n{\"at\":\"02\"}\n";

/// Turns of the longest conversation, and characters of the text of each.
const N_TURNS: [usize; 3] = [100, 200, 300];
const N_CHARACTERS: usize = 2_000;
const PIECE: usize = 4;

/// At most this for 300 turns, of which each piece is a record: its words are shown as they come.
const AIM: u64 = 15_000_000;

const N_SESSIONS: usize = 200;

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let records = runtime.block_on(session());
    let begun = begun(&records);
    println!("a turn: a message, {N_CHARACTERS} characters in pieces of {PIECE}, the reply's end, then a sync");
    for n_turns in N_TURNS {
        for extension in ["jsonl", "sqlite"] {
            let folder = tempfile::tempdir().expect("a folder");
            let place = Place::at(&folder.path().join(format!("sessions.{extension}")));
            let address = place.address("talk").expect("an address");
            let written = runtime.block_on(talk(&address, begun, n_turns));
            let n_bytes = size(folder.path());
            let n_records = runtime.block_on(address.read()).expect("records").len();
            println!(
                "{extension:>6}, {n_turns} turns: {n_bytes} bytes on disk after closing ({n_records} records), {:.1} µs a \
                 piece, {:.2} ms a sync",
                micros(written.appends) / (n_turns * N_CHARACTERS / PIECE) as f64,
                micros(written.syncs) / 1_000.0 / n_turns as f64,
            );
            assert!(n_bytes < AIM, "the aim was missed: {n_bytes} bytes");
        }
    }
    println!("{N_SESSIONS} sessions that are over are listed");
    for name in ["folder", "all.sqlite"] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::at(&folder.path().join(name));
        for number in 0..N_SESSIONS {
            let address = place.address(&format!("session-{number}")).expect("an address");
            let mut journal = TailBuffer::new(runtime.block_on(address.open()).expect("a journal"));
            for record in &records {
                let body = if matches!(record.body, RecordBody::Begun(_)) {
                    let session = format!("session-{number}").into();
                    RecordBody::Begun(Box::new(Begun { session, ..begun.clone() }))
                } else {
                    record.body.clone()
                };
                journal.append(record.timestamp(), body, false);
            }
            runtime.block_on(journal.flush(Durability::Killed)).expect("a flush");
            runtime.block_on(journal.close());
        }
        for turn in ["first", "again"] {
            let before = Instant::now();
            let listed = runtime.block_on(stored::list(&place)).expect("a list");
            let took = before.elapsed();
            assert!(listed.len() == N_SESSIONS && listed.iter().all(|stored| stored.state.name() == "finished"));
            println!("{name:>10}, {turn}: {:.1} ms", micros(took) / 1_000.0);
        }
    }
}

/// The records of a short session that has ended.
async fn session() -> Vec<Record> {
    let root = SourceText { name: "desk.md".to_owned(), text: PROGRAM.to_owned() };
    let (text, loaded) = load_texts(vec![root], &[], &mut |_: &Path| Err("none".to_owned()));
    let start = Start {
        id: "session".into(),
        program: Arc::new(loaded.program),
        text,
        settings: Settings::default(),
        entry: None,
        arguments: Map::new(),
        given: Default::default(),
    };
    let world = World {
        llm: Arc::new(Script::from_entries("bench", vec![ScriptEntry::reply(REPLY)])),
        classifier: Arc::new(Off),
        tools: Arc::new(Registry::new()),
        clock: Arc::new(SystemClock),
        options: SessionOptions::default(),
    };
    let journal = MemoryJournal::new();
    let session = Session::start(world, Box::new(journal.clone()), start).expect("a session");
    session.spawn().outcome().await.expect("a session that ends");
    journal.snapshot()
}

fn begun(records: &[Record]) -> &Begun {
    match records.first().map(|record| &record.body) {
        Some(RecordBody::Begun(begun)) => begun,
        _ => panic!("a session begins with `begun`"),
    }
}

/// What writing took.
struct Written {
    appends: Duration,
    syncs: Duration,
}

/// Writes a long conversation, and closes the journal.
async fn talk(address: &Address, begun: &Begun, n_turns: usize) -> Written {
    let mut journal = TailBuffer::new(address.open().await.expect("a journal"));
    let mut written = Written { appends: Duration::ZERO, syncs: Duration::ZERO };
    let mut time = 1_790_000_000_000;
    let mut append = |journal: &mut TailBuffer, body: RecordBody| {
        time += 12;
        journal.append(Timestamp(time), body, false);
    };
    let begun = Begun { session: "talk".into(), ..begun.clone() };
    append(&mut journal, RecordBody::Begun(Box::new(begun)));
    let said = "Thank you, let me see. Your order has left our house and should be with you on Tuesday. ";
    for turn in 1..=n_turns {
        let reply = format!("{{\"at\":\"01\",\"say\":\"{turn}: {}", said.repeat(N_CHARACTERS / said.len() + 1));
        let before = Instant::now();
        for piece in reply.as_bytes()[..N_CHARACTERS].chunks(PIECE) {
            append(&mut journal, RecordBody::Chunk { turn: turn as u64, text: ChunkText(piece.into()) });
            // The words of each are shown.
            journal.flush(Durability::Killed).await.expect("a flush");
        }
        let usage = UsageWire { prompt_tokens: 2_100, cached_tokens: 1_024, completion_tokens: 500 };
        let end = EndWire::Complete { finish: "stop".into() };
        append(&mut journal, RecordBody::ReplyEnded { turn: turn as u64, end, usage: Some(usage) });
        append(
            &mut journal,
            RecordBody::Message { text: format!("And what about number {turn}?").into(), id: None, by: None },
        );
        written.appends += before.elapsed();
        let before = Instant::now();
        journal.flush(Durability::PowerCut).await.expect("a sync");
        written.syncs += before.elapsed();
    }
    journal.close().await;
    written
}

/// The bytes of all files of a folder.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len()).sum()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
