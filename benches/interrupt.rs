//! How soon a trigger stops a reply, and what waiting for verdicts costs: the real session reads server-sent events
//! through the real client; the server is a thread of this process and holds the watch.
//!
//! `cargo bench --bench interrupt`
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock, paces and prints")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use playhouse::host::classify::off::Off;
use playhouse::host::classify::script::{ClassifierEntry, ScriptClassifier};
use playhouse::host::classify::{TriggerClassifier, VerdictFuture};
use playhouse::host::clock::SystemClock;
use playhouse::host::events::{PublicBody, Summary};
use playhouse::host::journal::file::FileJournal;
use playhouse::host::llm::openai::{OpenAi, OpenAiConfig};
use playhouse::host::llm::script::Repeat;
use playhouse::host::program::load_texts;
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Outcome, Question};

/// What every program here begins with; triggers follow.
const DESK: &str = "\
# Desk
A help desk.

## Main
### Triggers
- At the beginning
### Steps
- Note $attempts, $mood, $topic, $product and $place as they become known
- Talk with the user
";

const CONDITION: &str = "
## Escalate
### Triggers
- When $attempts > 3
### Steps
- End program
";

const SEMANTIC: &str = "
## Escalate
### Triggers
- When $mood sounds furious
### Steps
- End program
";

/// As `CONDITION`; the interpreter is busy for a while before it waits for anything again.
const BUSY: &str = "
## Escalate
### Triggers
- When $attempts > 3
### Steps
- $n = 0
- While $n < 3000
  - $n = $n + 1
- End program
";

/// None of them matches; the last is asked about every update.
const WATCHED: &str = "
## Escalate
### Triggers
- When $mood sounds furious
- When $topic is something that a person must decide
- When $product sounds like one that was recalled
- When $place is far away
- When $attempts sound like more than anybody would bear
### Steps
- End program
";

/// The reply that is stopped, up to the last piece of the line that stops it.
const BEFORE: &str = concat!(
    r#"{"at":"01","say":"I see, let me have a look at what can be done here."}"#,
    "\n",
    r#"{"at":"01","set":{"mood":"furious","attempts":"#,
);
const LAST_PIECE: &str = "4}}\n";

/// Longer than the session needs for a piece: when the last one leaves, all before it have been handled.
const PAUSE: Duration = Duration::from_millis(1);

/// Between two tokens of a server that goes on.
const TOKEN_PAUSE: Duration = Duration::from_millis(5);

/// Between two pieces of a reply that is not stopped.
const PIECE_PAUSE: Duration = Duration::from_millis(2);

/// Runs before those that count: the first ones load what all share.
const N_WARM_UP: usize = 10;
const N_RUNS: usize = 200;
const N_PAIRS: usize = 30;

/// At most this between the set line and the closed connection, besides the classifier's own time.
const AIM: Duration = Duration::from_millis(2);

/// At most this much longer, in percent, with triggers that do not match.
const AIM_PERCENT: f64 = 2.0;

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let mut missed = Vec::new();
    println!("from the last byte of the set line to the closed connection, {N_RUNS} runs each, as the server sees it");
    let cases = [
        Case { name: "condition", triggers: CONDITION, delay: None, is_aim: true },
        // With few cores the server's thread may have to wait for the session's.
        Case { name: "condition, then 3,000 turns of a loop", triggers: BUSY, delay: None, is_aim: false },
        Case { name: "semantic, script at once", triggers: SEMANTIC, delay: Some(Duration::ZERO), is_aim: true },
        Case {
            name: "semantic, script after 20 ms",
            triggers: SEMANTIC,
            delay: Some(Duration::from_millis(20)),
            is_aim: true,
        },
    ];
    for case in &cases {
        for after in [After::Silence, After::Tokens] {
            interrupts(case, after, &mut missed);
        }
    }
    println!("a reply of 80 pieces, {PIECE_PAUSE:?} apart, script after 5 ms: with triggers against without");
    totals("5 sets among speech", TOPICS, true, &mut missed);
    totals("the last set ends the reply", TOPICS_LAST, false, &mut missed);
    match missed.as_slice() {
        [] => println!("all aims were reached"),
        missed => println!("missed: {}", missed.join("; ")),
    }
}

/// A way to be stopped.
struct Case {
    name: &'static str,
    /// Added to the program.
    triggers: &'static str,
    /// After how long the scripted classifier answers that they match; none: nobody is asked.
    delay: Option<Duration>,
    /// Whether the aim is for it.
    is_aim: bool,
}

/// What the server does behind the set line.
#[derive(Clone, Copy)]
enum After {
    Silence,
    /// It writes a token again and again.
    Tokens,
}

/// One reply that was stopped.
#[derive(Clone, Copy)]
struct Stopped {
    /// From the moment at which the write of the last piece had returned.
    since_written: Duration,
    /// From the moment before it.
    since_before: Duration,
    /// What the classifier itself took.
    judged: Duration,
    /// In the session: from the last bytes to the dropped reply.
    in_session: Duration,
}

/// Measures one case.
fn interrupts(case: &Case, after: After, missed: &mut Vec<String>) {
    let (listener, address) = listen();
    let (sender, closed) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            if serve_until_closed(connection, after, &sender).is_none() {
                return;
            }
        }
    });
    let matching = |delay| ClassifierEntry {
        matched: vec!["Escalate:T1".into()],
        delay,
        repeat: Repeat::Always,
        ..ClassifierEntry::default()
    };
    let bench = Bench::new(address, case.delay.map(matching));
    let mut stopped = Vec::new();
    for run in 0..N_WARM_UP + N_RUNS {
        let done = bench.run(case.triggers, run);
        let (since_before, since_written) = closed.recv().expect("the server saw the connection closed");
        assert_eq!((done.summary.trigger_matches, done.summary.cancels), (1, 1), "the trigger stopped the reply");
        let (judged, in_session) = (bench.judged(), Duration::from_micros(done.summary.cancel_us));
        stopped.push(Stopped { since_written, since_before, judged, in_session });
    }
    let stopped = &stopped[N_WARM_UP..];
    let of = |value: fn(&Stopped) -> Duration| Spread::of(stopped.iter().map(value).collect());
    let own = of(|run| run.since_written.saturating_sub(run.judged));
    let mut parts = vec![format!("from before the write {}", of(|run| run.since_before.saturating_sub(run.judged)))];
    if case.delay.is_some() {
        parts.push(format!("with the classifier's own time {}", of(|run| run.since_written)));
    }
    let name = match after {
        After::Silence => {
            // Tokens would count as the last bytes.
            parts.push(format!("in the session {}", of(|run| run.in_session.saturating_sub(run.judged))));
            format!("{}; then silence", case.name)
        }
        After::Tokens => format!("{}; then a token every {TOKEN_PAUSE:?}", case.name),
    };
    println!("  {name}: {own} ({})", parts.join("; "));
    if case.is_aim && own.median > AIM {
        missed.push(format!("{name}: {}", milliseconds(own.median)));
    }
}

/// Answers one request up to the set line and waits for the end of the connection. None: nobody listens any more.
fn serve_until_closed(mut connection: TcpStream, after: After, sender: &Sender<(Duration, Duration)>) -> Option<()> {
    read_request(&mut connection).ok()?;
    write_head(&mut connection);
    for piece in pieces(BEFORE, 4) {
        write_delta(&mut connection, &piece).expect("nobody closes before the set line");
        std::thread::sleep(PAUSE);
    }
    let mut writer = connection.try_clone().expect("a socket");
    let (stop, stopped) = channel::<()>();
    let framed = framed(&delta(LAST_PIECE));
    let before = Instant::now();
    connection.write_all(&framed).expect("nobody closes before the set line");
    let written = Instant::now();
    let tokens = std::thread::spawn(move || {
        if matches!(after, After::Silence) {
            return;
        }
        let mut begun = false;
        while stopped.recv_timeout(TOKEN_PAUSE) == Err(RecvTimeoutError::Timeout) {
            let text = if begun { " more" } else { r#"{"at":"02","say":"And"# };
            begun = true;
            if write_delta(&mut writer, text).is_err() {
                return;
            }
        }
    });
    let mut byte = [0; 64];
    while let Ok(1..) = connection.read(&mut byte) {}
    let closed = Instant::now();
    drop(stop);
    tokens.join().expect("a thread that ends");
    sender.send((closed - before, closed - written)).ok()
}

/// Five updates among speech, as a model would write them.
const TOPICS: &str = r#"{"at":"01","set":{"mood":"calm"}}
{"at":"01","say":"Good morning, and thank you for coming back to us so soon about this. "}
{"at":"01","set":{"topic":"a late parcel"}}
{"at":"01","say":"I am sorry that your parcel is late, this is not how it should have been. "}
{"at":"01","set":{"product":"a tea pot"}}
{"at":"01","say":"The tea pot was packed on Monday and left our house in the same evening. "}
{"at":"01","set":{"place":"the next town"}}
{"at":"01","say":"It has come as far as the next town, where it waits for the van. "}
{"at":"01","set":{"attempts":2}}
{"at":"02","say":"They have tried twice, and they will come once more tomorrow between 9 and 12. "}
{"at":"02","return":null}
"#;

/// The same; the verdict on the last update comes behind the end of the reply.
const TOPICS_LAST: &str = r#"{"at":"01","set":{"mood":"calm"}}
{"at":"01","say":"Good morning, and thank you for coming back to us so soon about this. "}
{"at":"01","set":{"topic":"a late parcel"}}
{"at":"01","say":"I am sorry that your parcel is late, this is not how it should have been. "}
{"at":"01","set":{"product":"a tea pot"}}
{"at":"01","say":"The tea pot was packed on Monday and left our house in the same evening. "}
{"at":"01","set":{"place":"the next town"}}
{"at":"01","say":"It has come as far as the next town, where it waits for the van. "}
{"at":"02","say":"They have tried twice, and they will come once more tomorrow between 9 and 12. "}
{"at":"02","set":{"attempts":2},"return":null}
"#;

/// Compares a program with triggers that do not match with the same program without them.
fn totals(what: &str, reply: &'static str, is_aim: bool, missed: &mut Vec<String>) {
    const N_PIECES: usize = 80;
    let (listener, address) = listen();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            std::thread::spawn(move || while serve_paced(&mut connection, reply, N_PIECES).is_ok() {});
        }
    });
    let delay = Duration::from_millis(5);
    let entry = ClassifierEntry { delay, repeat: Repeat::Always, ..ClassifierEntry::default() };
    let bench = Bench::new(address, Some(entry));
    let mut ends = [Vec::new(), Vec::new()];
    let (mut differences, mut percents) = (Vec::new(), Vec::new());
    for pair in 0..N_PAIRS + 1 {
        let mut took = [Duration::ZERO; 2];
        // Whatever drifts meets both in the same way.
        let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
        for with in order {
            let done = bench.run(["", WATCHED][with], pair * 2 + with);
            assert_eq!(done.summary.classifier_calls, [0, 5][with], "one question for each update");
            assert_eq!((done.n_said, done.summary.trigger_matches, done.summary.turns), (5, 0, 1));
            took[with] = done.took;
        }
        if pair > 0 {
            let difference = took[1].as_secs_f64() - took[0].as_secs_f64();
            differences.push(difference * 1e3);
            percents.push(difference / took[0].as_secs_f64() * 100.0);
            ends[0].push(took[0]);
            ends[1].push(took[1]);
        }
    }
    let [without, with] = ends.map(Spread::of);
    percents.sort_by(f64::total_cmp);
    differences.sort_by(f64::total_cmp);
    let (percent, worst) = (percents[N_PAIRS / 2], percents[N_PAIRS - 1]);
    println!(
        "  {what}: {percent:+.2} % ({:+.2} ms), median of {N_PAIRS} pairs; the worst {worst:+.2} %; \
         medians {} with, {} without",
        differences[N_PAIRS / 2],
        milliseconds(with.median),
        milliseconds(without.median),
    );
    if is_aim && percent > AIM_PERCENT {
        missed.push(format!("{what}: {percent:+.2} %"));
    }
}

/// Answers one request at a model's pace: the pieces leave when they are due, whatever became of those before.
fn serve_paced(connection: &mut TcpStream, reply: &str, n_pieces: usize) -> std::io::Result<()> {
    read_request(connection)?;
    let begun = Instant::now();
    write_head(connection);
    let n_characters = reply.chars().count().div_ceil(n_pieces);
    for (index, piece) in pieces(reply, n_characters).iter().enumerate() {
        std::thread::sleep((PIECE_PAUSE * index as u32).saturating_sub(begun.elapsed()));
        write_delta(connection, piece)?;
    }
    let mut end = framed(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#);
    end.extend(framed(r#"{"choices":[],"usage":{"prompt_tokens":900,"completion_tokens":80}}"#));
    end.extend(framed("[DONE]"));
    end.extend(b"0\r\n\r\n");
    connection.write_all(&end)
}

/// What all runs of a case share.
struct Bench {
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
    world: World,
    watch: Arc<Mutex<Duration>>,
}

/// One session that is over.
struct Done {
    took: Duration,
    summary: Summary,
    n_said: usize,
}

impl Bench {
    fn new(server: SocketAddr, entry: Option<ClassifierEntry>) -> Bench {
        let config = OpenAiConfig { base_url: format!("http://{server}/v1"), ..OpenAiConfig::new("test") };
        let watch = Arc::default();
        let classifier: Arc<dyn TriggerClassifier> = match entry {
            Some(entry) => {
                let script = ScriptClassifier::from_entries("bench", vec![entry]);
                Arc::new(Timed { script, watch: Arc::clone(&watch) })
            }
            None => Arc::new(Off),
        };
        Bench {
            // As the binary's.
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"),
            folder: tempfile::tempdir().expect("a folder"),
            world: World {
                llm: Arc::new(OpenAi::new(config).expect("a model")),
                classifier,
                tools: Arc::new(Registry::new()),
                clock: Arc::new(SystemClock),
                options: SessionOptions::default(),
            },
            watch,
        }
    }

    /// Runs a session to its end, with its journal in a file and somebody who listens.
    fn run(&self, triggers: &str, number: usize) -> Done {
        let root = SourceText { name: "desk.md".to_owned(), text: format!("{DESK}{triggers}") };
        let (text, loaded) = load_texts(vec![root], &[], &mut |_: &Path| Err("none".to_owned()));
        let start = Start {
            id: format!("session-{number}").into(),
            program: Arc::new(loaded.program),
            text,
            settings: Settings::default(),
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        let journal = FileJournal::open(self.folder.path().join(format!("{number}.jsonl"))).expect("a file");
        let mut session = Session::start(self.world.clone(), Box::new(journal), start).expect("a session");
        let mut events = session.subscribe(Interest::Everything { capacity: 10_000 });
        self.runtime.block_on(async {
            let begun = Instant::now();
            let handle = session.spawn();
            let mut n_said = 0;
            while let Some(Notice::Event(event)) = events.next().await {
                n_said += usize::from(matches!(event.body, PublicBody::Said { .. }));
            }
            let ending = handle.outcome().await.expect("a session that ends");
            let took = begun.elapsed();
            assert!(matches!(ending.outcome, Some(Outcome::Done { .. })), "{:?}", ending.outcome);
            Done { took, summary: ending.summary.clone(), n_said }
        })
    }

    /// What the classifier has taken for its last answer.
    fn judged(&self) -> Duration {
        std::mem::take(&mut *self.watch.lock().expect("no panic"))
    }
}

/// A scripted classifier whose answers are timed.
struct Timed {
    script: ScriptClassifier,
    watch: Arc<Mutex<Duration>>,
}

impl TriggerClassifier for Timed {
    fn id(&self) -> Arc<str> {
        self.script.id()
    }

    fn judge(&self, question: Arc<Question>) -> VerdictFuture {
        let (begun, watch) = (Instant::now(), self.watch.clone());
        let judged = self.script.judge(question);
        Box::pin(async move {
            let verdict = judged.await;
            *watch.lock().expect("no panic") = begun.elapsed();
            verdict
        })
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Reads one request to its end.
fn read_request(connection: &mut TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 65_536];
    loop {
        let n = connection.read(&mut piece)?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        request.extend_from_slice(&piece[..n]);
        let Some(head) = request.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if request.len() >= head + 4 + length {
            return Ok(());
        }
    }
}

fn write_head(connection: &mut TcpStream) {
    connection.set_nodelay(true).expect("a socket");
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    connection.write_all(head).expect("a connection");
}

fn write_delta(connection: &mut TcpStream, text: &str) -> std::io::Result<()> {
    connection.write_all(&framed(&delta(text)))
}

/// The JSON of a chunk with a piece of text.
fn delta(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        "{{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"test\",\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}"
    )
}

/// An event as a chunk of the body.
fn framed(data: &str) -> Vec<u8> {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}

/// Pieces of so many characters.
fn pieces(text: &str, n_characters: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(n_characters).map(|piece| piece.iter().collect()).collect()
}

/// Median and 99th percentile.
#[derive(Clone, Copy)]
struct Spread {
    median: Duration,
    p99: Duration,
}

impl Spread {
    fn of(mut values: Vec<Duration>) -> Spread {
        values.sort_unstable();
        let rank = (values.len() * 99).div_ceil(100);
        Spread { median: values[values.len() / 2], p99: values[rank - 1] }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "median {}, p99 {}", milliseconds(self.median), milliseconds(self.p99))
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}
