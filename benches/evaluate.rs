//! What it costs to judge many stored sessions: backtests and rules (spec `evaluate.md`, section 12).
//!
//! `cargo bench --bench evaluate`
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock and prints")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use playhouse::host::backtest::{Backtest, Fate};
use playhouse::host::checks::{Checks, Verdict, Written, verify};
use playhouse::host::classify::off::Off;
use playhouse::host::clock::SystemClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::Journal;
use playhouse::host::journal::address::Place;
use playhouse::host::journal::record::Record;
use playhouse::host::llm::script::{Repeat, Script, ScriptEntry};
use playhouse::host::program::{ProgramCache, ProgramText, ToolInventory, load_texts};
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::stored::look_at_all;
use playhouse::host::tool::registry::Registry;
use playhouse::host::travel::Run;
use playhouse::lang::SourceText;
use playhouse::lang::evaluation::checks::Check;
use playhouse::lang::program::Program;
use playhouse::span::Sources;
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

/// Sessions of the backtest, and then four times as many that are held against the rules.
const N_SESSIONS: usize = 1_000;

/// Some hold, some do not, some stay open to the end.
const RULES: &str = "\
never says /voucher/
never says /(?i)card number/
user says /yes/ is followed by says /thank/
user says /human/ is followed by says /colleague/ within 2 turns
after user says /yes/ never says /sorry/
reaches Desk.Main:01
reaches Desk.Main:02.02
reaches Decide:02
at most 1 Decide($n)
at most 2 Decide($n) per $n
never Decide(7)
Decide($n) only if $n is at least 20
Decide($n) only after user says /yes/
Decide($n) only if $word is provided
user says /yes/ is followed by Decide
Decide 1 times
$n is 20
turns at most 30
tokens at most 100000
depth at most 2
";

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::at(&folder.path().join("desk.sqlite"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(fill(&place, N_SESSIONS));
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
    rules(&runtime);
}

/// Holds sessions of a store against rules, as `playhouse sessions check --rules` does.
fn rules(runtime: &tokio::runtime::Runtime) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::at(&folder.path().join("desk.sqlite"));
    runtime.block_on(fill(&place, 4 * N_SESSIONS));
    let program = load(PROGRAM).1;
    let mut sources = Sources::default();
    let file = sources.add("rules.md", RULES);
    let written = RULES.lines().enumerate().map(|(index, rule)| Written {
        label: "Rules".into(),
        line: index + 1,
        check: Check::parse(rule, file, 0).expect("a rule"),
    });
    let tools = ToolInventory::default();
    let no_file = &mut |_, path: &str| Err(format!("there is no {path}"));
    let checks = Checks::new(written.collect(), &program, &tools, no_file).expect("rules of the program");
    let (n_rules, programs) = (checks.written().len(), ProgramCache::default());
    let aim = Duration::from_secs(10);
    let begun = Instant::now();
    let look = move |records: Vec<Record>| Ok(verify(&checks, &Run::one_of_many(&records, &programs)?));
    let looked = runtime.block_on(look_at_all(&place, look)).expect("sessions");
    let took = begun.elapsed();
    let verdicts = looked.iter().flat_map(|(_, verified)| verified.as_ref().expect("verdicts"));
    let n_hold = verdicts.filter(|verified| matches!(verified.verdict, Verdict::Holds)).count();
    println!(
        "{} sessions of 20 turns, {n_rules} rules each ({n_hold} hold): {:.2} s (aim < {} s)",
        looked.len(),
        took.as_secs_f64(),
        aim.as_secs()
    );
    assert_eq!(looked.len(), 4 * N_SESSIONS);
    assert!(took < aim, "the aim was missed");
}

fn load(text: &str) -> (ProgramText, Arc<Program>) {
    let roots = vec![SourceText { name: "desk.md".to_owned(), text: text.to_owned() }];
    let (text, loaded) = load_texts(roots, &Vec::new(), &mut |_| Err("nothing is imported".to_owned()));
    (text, Arc::new(loaded.program))
}

/// Plays the sessions.
async fn fill(place: &Place, n_sessions: usize) {
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
    for n in 0..n_sessions {
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
