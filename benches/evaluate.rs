//! What it costs to judge many stored sessions (spec `evaluate.md`, section 12).
//!
//! `cargo bench --bench evaluate`
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock and prints")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use playhouse::host::backtest::{Backtest, Fate};
use playhouse::host::classify::off::Off;
use playhouse::host::clock::SystemClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::Journal;
use playhouse::host::journal::address::Place;
use playhouse::host::llm::script::{Repeat, Script, ScriptEntry};
use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::stored::look_at_all;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::lang::program::Program;
use playhouse::value::Map;
use playhouse::vm::protocol::Wait;
use playhouse::vm::protocol::settings::Settings;

/// Twenty turns, then a decision without a model.
const PROGRAM: &str = "\
# Desk
A help desk.
## Main
### Triggers
- At the beginning
### Steps
- $n = 0
- Repeat 20 times
  - Ask the user for $word
  - $n = $n + 1
- $answer = Decide($n)
- Return $answer
## Decide($n: int)
### Steps
- If $n is more than 15
  - Return \"many\"
- Return \"few\"
";

const REPLY: &str = "{\"at\":\"02.01\",\"set\":{\"word\":\"yes\"}}\n{\"at\":\"02.02\"}\n";

const N_SESSIONS: usize = 1_000;

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::at(&folder.path().join("desk.sqlite"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(fill(&place));
    println!("{N_SESSIONS} sessions of 20 turns in a store, {:.1} MB", size(folder.path()) as f64 / 1e6);
    let aim = Duration::from_secs(5);
    let other = PROGRAM.replace("more than 15", "more than 25");
    for (what, text, is_it) in [
        ("the same text", PROGRAM, (|fate| matches!(fate, Fate::Same)) as fn(&Fate) -> bool),
        ("a text that parts at the end of each", &other, |fate| matches!(fate, Fate::Parts(_))),
    ] {
        let backtest = Backtest::new(load(text).0, Vec::new());
        let begun = Instant::now();
        let looked = runtime.block_on(look_at_all(&place, move |records| backtest.fate(&records))).expect("sessions");
        let took = begun.elapsed();
        let n = looked.iter().filter(|(_, fate)| fate.as_ref().is_ok_and(is_it)).count();
        assert_eq!(n, N_SESSIONS, "{:?}", looked.first());
        println!("backtest, {what}: {:.2} s (aim < {} s)", took.as_secs_f64(), aim.as_secs());
        assert!(took < aim, "the aim was missed");
    }
}

fn load(text: &str) -> (ProgramText, Arc<Program>) {
    let roots = vec![SourceText { name: "desk.md".to_owned(), text: text.to_owned() }];
    let (text, loaded) = load_texts(roots, &Vec::new(), &mut |_| Err("nothing is imported".to_owned()));
    (text, Arc::new(loaded.program))
}

/// Plays the sessions.
async fn fill(place: &Place) {
    let (text, program) = load(PROGRAM);
    let entry = ScriptEntry { repeat: Repeat::Always, ..ScriptEntry::reply(REPLY) };
    let world = World {
        llm: Arc::new(Script::from_entries("bench", vec![entry])),
        classifier: Arc::new(Off),
        tools: Arc::new(Registry::new()),
        clock: Arc::new(SystemClock),
        options: SessionOptions::default(),
    };
    let settings = Settings::default();
    for n in 0..N_SESSIONS {
        let id = format!("session-{n:04}");
        let journal: Box<dyn Journal> = place.address(&id).expect("an address").open().await.expect("a journal");
        let start = Start {
            id: id.as_str().into(),
            program: program.clone(),
            text: text.clone(),
            settings: settings.clone(),
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        let mut session = Session::start(world.clone(), journal, start).expect("a session");
        let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
        let handle = session.spawn();
        while let Some(Notice::Event(event)) = events.next().await {
            if matches!(event.body, PublicBody::Waiting { on: Wait::User }) {
                handle.send("yes").await.expect("a session");
            }
        }
        handle.outcome().await.expect("an end");
    }
}

fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).expect("a folder").flatten();
    files.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
}
