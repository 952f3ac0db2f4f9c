//! What it costs to judge programs: stored sessions, recorded tests, mutants, traces (spec `evaluate.md`, section 12).
//!
//! `cargo bench --bench evaluate`
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock and prints")]

use std::fmt::Write;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use playhouse::host::backtest::{Backtest, Fate};
use playhouse::host::checks::{Checks, Verdict, verify};
use playhouse::host::classify::off::Off;
use playhouse::host::clock::SystemClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::Journal;
use playhouse::host::journal::address::Place;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::Record;
use playhouse::host::llm::script::Script;
use playhouse::host::otel::export::Exporter;
use playhouse::host::otel::options::{Capture, Target};
use playhouse::host::otel::spans::{SpanSink, Traces};
use playhouse::host::program::{ProgramCache, ProgramText, ToolInventory, load_texts};
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::stored::look_at_all;
use playhouse::host::tool::registry::Registry;
use playhouse::host::travel::Run;
use playhouse::lang::SourceText;
use playhouse::lang::evaluation::checks::{Check, Written};
use playhouse::lang::program::Program;
use playhouse::span::Sources;
use playhouse::value::Map;
use playhouse::vm::protocol::Wait;
use playhouse::vm::protocol::settings::Settings;
use tokio::runtime::Runtime;

/// Twenty turns: of each word the model asks in one and hears in another. Then a decision without a model.
const PROGRAM: &str = "\
# Desk
A help desk.
## Main
### Triggers
- At the beginning
### Steps
- $n = 0
- Repeat 10 times
  - Ask the user for $word
  - $n = $n + 1
- $answer = Decide($n)
- Return $answer
## Decide($n: int)
### Steps
- If $n is more than 5
  - Return \"many\"
- Return \"few\"
";

/// The model.
const REPLIES: &str = r#"
{"when":"USER","reply":"{\"at\":\"02.01\",\"set\":{\"word\":\"yes\"}}\n{\"at\":\"02.02\"}\n","repeat":true}
{"reply":"{\"at\":\"02.01\",\"say\":\"Which word?\"}\n{\"at\":\"02.01\",\"wait\":\"user\"}\n","repeat":true}
"#;

/// Sessions of the backtest, and then four times as many that are held against the rules.
const N_SESSIONS: usize = 1_000;

const N_TURNS: u32 = 20;

const N_TESTS: usize = 100;

/// Mutants that are played, at least.
const N_MUTANTS: usize = 200;

/// What is held against another figure is measured so often, both by turns; the least counts.
const N_ROUNDS: usize = 10;

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
Decide($n) only if $n is at least 10
Decide($n) only after user says /yes/
Decide($n) only if $word is provided
user says /yes/ is followed by Decide
Decide 1 times
$n is 10
turns at most 30
tokens at most 100000
depth at most 2
";

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = runtime();
    backtests(&runtime);
    rules(&runtime);
    recorded();
    mutants();
    dead_collector();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Tells what something took, and holds it against its aim.
fn report(name: &str, took: Duration, aim: Duration) {
    println!("{name}: {took:.2?} (aim < {aim:.2?})");
    assert!(took < aim, "the aim was missed");
}

/// Plays sessions of a store against another text, as `playhouse backtest` does.
fn backtests(runtime: &Runtime) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::at(&folder.path().join("desk.sqlite"));
    runtime.block_on(fill(&place, N_SESSIONS));
    println!("{N_SESSIONS} sessions of {N_TURNS} turns in a store, {:.1} MB", size(folder.path()) as f64 / 1e6);
    let other = PROGRAM.replace("more than 5", "more than 15");
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
        report(&format!("backtest, {what}"), took, Duration::from_secs(5));
    }
}

/// Holds sessions of a store against rules, as `playhouse sessions check --rules` does.
fn rules(runtime: &Runtime) {
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
    let begun = Instant::now();
    let look = move |records: Vec<Record>| Ok(verify(&checks, &Run::one_of_many(&records, &programs)?));
    let looked = runtime.block_on(look_at_all(&place, look)).expect("sessions");
    let took = begun.elapsed();
    let verdicts = looked.iter().flat_map(|(_, verified)| verified.as_ref().expect("verdicts"));
    let n_hold = verdicts.filter(|verified| matches!(verified.verdict, Verdict::Holds)).count();
    assert_eq!(looked.len(), 4 * N_SESSIONS);
    let name = format!("{} sessions of {N_TURNS} turns, {n_rules} rules each ({n_hold} hold)", looked.len());
    report(&name, took, Duration::from_secs(10));
}

/// Recorded tests of 20 turns, without and with coverage.
fn recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("desk.md", PROGRAM);
    write("replies.jsonl", REPLIES.trim_start());
    for number in 1..=N_TESTS {
        write(&format!("words-{number}.test.md"), &test(number));
    }
    let all_pass = |arguments: &[&str]| {
        let (text, took) = playhouse(folder.path(), arguments);
        assert!(text.contains(&format!("\n{N_TESTS} passed, 0 failed\n")), "{text}");
        (text, took)
    };
    all_pass(&["test", "--record", "--model", "script:replies.jsonl"]);
    let (mut plain, mut covered) = (Duration::MAX, Duration::MAX);
    for _ in 0..N_ROUNDS {
        plain = plain.min(all_pass(&["test"]).1);
        let (text, took) = all_pass(&["test", "--coverage"]);
        assert!(text.contains("% of lines"), "{text}");
        covered = covered.min(took);
    }
    report(&format!("{N_TESTS} recorded tests of {N_TURNS} turns"), plain, Duration::from_secs(2));
    let more = 100.0 * (covered.as_secs_f64() / plain.as_secs_f64() - 1.0);
    report(&format!("the same with coverage, {more:+.1} %"), covered, plain.mul_f64(1.1));
}

/// A recorded test, in which nobody says what somebody says in another.
fn test(number: usize) -> String {
    let mut text = format!("# Words {number}\n\n- program: desk.md\n- model: recorded\n");
    for word in 1..=N_TURNS / 2 {
        write!(text, "\n## User\n\n> Word {word} of {number}\n").expect("a text");
    }
    text + "\n## Outcome\n\nfinished: \"many\"\n"
}

/// All mutants of the examples and of the library: with one that no test notices the command fails.
fn mutants() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = env!("CARGO_MANIFEST_DIR");
    let (text, took) =
        playhouse(folder.path(), &["mutants", &format!("{root}/examples"), &format!("{root}/playbooks")]);
    let summary = text.lines().last().expect("a summary");
    let fates = summary.split_once(" mutants: ").expect("a summary").1;
    let n_caught = fates.split_once(" caught").and_then(|(n, _)| n.parse::<usize>().ok());
    assert!(n_caught.is_some_and(|n| n >= N_MUTANTS), "{text}");
    report(summary, took, Duration::from_secs(30));
}

/// The real binary, which finds nothing of whoever has started it: what it prints, and how long it runs.
fn playhouse(folder: &Path, arguments: &[&str]) -> (String, Duration) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_playhouse"));
    command.args(arguments).current_dir(folder).env_clear();
    command.env("HOME", folder).env("PLAYHOUSE_LOCAL_PORTS", "0,0,0");
    let begun = Instant::now();
    let output = command.output().expect("a process");
    let took = begun.elapsed();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    (text, took)
}

/// What each turn costs more whose traces nobody takes.
fn dead_collector() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1/traces", listener.local_addr().expect("an address"));
    drop(listener);
    let url = url.parse().expect("a URL");
    let target = Target { url, headers: Vec::new(), capture: Capture::None, service: None };
    let (mut without, mut with) = (Duration::MAX, Duration::MAX);
    for _ in 0..N_ROUNDS {
        without = without.min(talk(None));
        with = with.min(talk(Some(&target)));
    }
    let name = format!("a dead collector, each of {N_TURNS} turns ({without:.2?} without it, {with:.2?} with it)");
    report(&name, with.saturating_sub(without) / N_TURNS, Duration::from_millis(1));
}

/// How long a session in memory takes, with all that is done for its traces: the exporter is opened, every span is encoded,
/// and each attempt to send is refused.
fn talk(target: Option<&Target>) -> Duration {
    runtime().block_on(async {
        let begun = Instant::now();
        let exporter = target.map(|target| Arc::new(Exporter::open(target, Arc::default()).expect("an exporter")));
        let sink = exporter.clone().map(|exporter| exporter as Arc<dyn SpanSink>);
        Desk::new(Traces { sink, parent: None }).play("session", Box::new(MemoryJournal::new())).await;
        if let Some(exporter) = exporter {
            // The wait for another attempt costs nobody anything: that clock stands still, and is set forward.
            tokio::time::pause();
            let said = exporter.close().await.expect("a loss");
            assert!(said.contains("refused"), "{said}");
        }
        begun.elapsed()
    })
}

fn load(text: &str) -> (ProgramText, Arc<Program>) {
    let roots = vec![SourceText { name: "desk.md".to_owned(), text: text.to_owned() }];
    let (text, loaded) = load_texts(roots, &Vec::new(), &mut |_| Err("nothing is imported".to_owned()));
    (text, Arc::new(loaded.program))
}

/// Plays the sessions of a store.
async fn fill(place: &Place, n_sessions: usize) {
    let desk = Desk::new(Traces::default());
    for n in 0..n_sessions {
        let id = format!("session-{n:04}");
        let journal = place.address(&id).expect("an address").open().await.expect("a journal");
        desk.play(&id, journal).await;
    }
}

/// `PROGRAM`, and what its sessions act through.
struct Desk {
    world: World,
    text: ProgramText,
    program: Arc<Program>,
}

impl Desk {
    fn new(traces: Traces) -> Desk {
        let world = World {
            llm: Arc::new(Script::from_text("replies.jsonl", REPLIES.trim_start()).expect("a script")),
            classifier: Arc::new(Off),
            tools: Arc::new(Registry::new()),
            clock: Arc::new(SystemClock),
            options: SessionOptions { traces, ..SessionOptions::default() },
        };
        let (text, program) = load(PROGRAM);
        Desk { world, text, program }
    }

    /// A session from its beginning to its end.
    async fn play(&self, id: &str, journal: Box<dyn Journal>) {
        let start = Start {
            id: id.into(),
            program: self.program.clone(),
            text: self.text.clone(),
            settings: Settings::default(),
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        let mut session = Session::start(self.world.clone(), journal, start).expect("a session");
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
    let files = fs::read_dir(folder).expect("a folder").flatten();
    files.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
}
