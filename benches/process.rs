//! What a process costs, with everything in it: CPU and memory to the first request, CPU per turn, memory per idle
//! session. The model is a server in this process; of the real binary, `/proc` is read while it waits for an
//! answer. Linux only.
//!
//! `cargo bench --bench process`; `-- turns`: the turns alone, `-- skills`: how long skills are looked for
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock, paces and prints")]

#[path = "shared/conversation.rs"]
mod conversation;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use playhouse::host::classify::off::Off;
use playhouse::host::clock::SystemClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::file::FileJournal;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Begun, ChunkText, Record, RecordBody};
use playhouse::host::journal::{Durability, Journal};
use playhouse::host::llm::script::{Repeat, Script, ScriptEntry};
use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::session::{Interest, Notice, Session, SessionHandle, SessionOptions, Start, Subscription, World};
use playhouse::host::sessions::Sessions;
use playhouse::host::skills::find::Places;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::lang::program::Program;
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;

use crate::conversation::{CONVERSATION, REPLY};

/// Longer than the process needs for a piece.
const PAUSE: Duration = Duration::from_micros(300);

const N_TURNS: usize = 200;
const N_STARTS: usize = 20;
const N_SESSIONS: usize = 10_000;
const N_STORED_TURNS: usize = 20;
const N_OPENED: usize = 300;
const N_SKILLS: usize = 863;
const N_SEARCHES: usize = 21;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Parts that need a process of their own.
        ["reader", address] => bare_reader(address),
        ["idle", "memory"] => {
            idle_sessions("journals in memory", &|_, _| Box::new(MemoryJournal::new()) as Box<dyn Journal>);
        }
        ["idle", "files"] => idle_sessions("journals in files", &file),
        ["opened"] => opened_sessions(),
        ["turns", "--bench"] => all_turns(),
        ["skills", "--bench"] => skills(),
        [.., "--bench"] => {
            first_request();
            all_turns();
            skills();
            for part in [&["idle", "memory"][..], &["idle", "files"], &["opened"]] {
                let ended = own_part(part).wait();
                assert!(ended.is_ok_and(|status| status.success()));
            }
        }
        // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
        _ => {}
    }
}

/// Skills that are found and of which the front matter is read: as many, as long and with as many files beside them as in 13
/// public collections.
fn skills() {
    let home = tempfile::tempdir().expect("a folder");
    for n in 0..N_SKILLS {
        let folder = home.path().join(format!(".agents/skills/collection-{}/skill-{n}", n % 13));
        fs::create_dir_all(folder.join("scripts")).expect("a file is written");
        let description = format!("Does the work of number {n}. Use when {}", "somebody asks for it, and ".repeat(9));
        let step = "## Step 1: Read the files\n\nThen go on with the next one, as the text says.\n\n";
        let text = format!("---\nname: skill-{n}\ndescription: {description}\n---\n\n{}", step.repeat(100));
        fs::write(folder.join("SKILL.md"), text).expect("a file is written");
        fs::write(folder.join("scripts/run.sh"), "echo run\n").expect("a file is written");
    }
    let places = Places { working: home.path().to_owned(), home: Some(home.path().to_owned()) };
    let mut times: Vec<Duration> = (0..N_SEARCHES)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(places.find().skills.len(), N_SKILLS);
            start.elapsed()
        })
        .collect();
    times.sort();
    let (median, longest) = (times[N_SEARCHES / 2], times[N_SEARCHES - 1]);
    println!("{N_SKILLS} skills found and read: median {median:.1?}, longest of {N_SEARCHES} {longest:.1?}");
}

/// Turns with and without pauses, and the least that those with pauses can cost.
fn all_turns() {
    for pause in [None, Some(PAUSE)] {
        turns(pause, &|folder, listener| start(folder, listener, &vec!["--message=43345678, please"; N_TURNS + 1]));
    }
    print!("beside it, a process that only reads and writes what it has read, ");
    turns(Some(PAUSE), &|_, listener| own_part(&["reader", &address(listener)]));
}

/// Runs a part of this bench as a process.
fn own_part(arguments: &[&str]) -> Child {
    let own = std::env::current_exe().expect("a path");
    Command::new(own).args(arguments).stdin(Stdio::null()).spawn().expect("a process")
}

fn address(listener: &TcpListener) -> String {
    listener.local_addr().expect("an address").to_string()
}

/// CPU time and memory of a new process when its first request arrives.
fn first_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cpu = Vec::new();
    let mut memory = Vec::new();
    let mut wall = Vec::new();
    for _ in 0..N_STARTS {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let begun = Instant::now();
        let mut child = start(folder.path(), &listener, &[]);
        let (mut connection, _) = listener.accept().expect("the request");
        read_request(&mut connection).expect("the request");
        wall.push(begun.elapsed());
        let usage = Usage::of(child.id());
        cpu.push(usage.cpu);
        memory.push(usage.peak_memory);
        drop(connection);
        end(&mut child);
    }
    println!(
        "to the first request: CPU {} (median of {N_STARTS}; worst {}), {} of wall time, peak memory {:.1} MiB",
        milliseconds(median(&mut cpu)),
        milliseconds(cpu[N_STARTS - 1]),
        milliseconds(median(&mut wall)),
        median(&mut memory) as f64 / 1024.0,
    );
}

/// CPU time per turn of a long conversation, journal and all. The pause is made after each piece of a reply.
fn turns(pause: Option<Duration>, start: &dyn Fn(&Path, &TcpListener) -> Child) {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut child = start(folder.path(), &listener);
    let process = child.id();
    let (sender, requests) = std::sync::mpsc::channel();
    // The next turn may begin before the last bytes of a reply are read: then it has a connection of its own.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || serve(connection, process, pause, &sender));
        }
    });
    let wait = || requests.recv_timeout(Duration::from_secs(60)).expect("a request");
    let (before, begun) = (wait(), Instant::now());
    let mut after = wait();
    for _ in 1..N_TURNS {
        after = wait();
    }
    let wall = begun.elapsed();
    end(&mut child);
    println!(
        "per turn, {}: CPU {} ({} of wall time), peak memory after {N_TURNS} turns {:.1} MiB",
        match pause {
            None => "pieces without a pause".to_owned(),
            Some(pause) => format!("a pause of {} µs after each piece", pause.as_micros()),
        },
        milliseconds((after.cpu - before.cpu) / N_TURNS as u32),
        milliseconds(wall / N_TURNS as u32),
        after.peak_memory as f64 / 1024.0,
    );
}

/// Answers the requests of one connection; what the process has used is taken before each answer.
fn serve(mut connection: TcpStream, process: u32, pause: Option<Duration>, sender: &Sender<Usage>) {
    let _ = connection.set_nodelay(true);
    while read_request(&mut connection).is_ok() {
        if sender.send(Usage::of(process)).is_err() || answer(&mut connection, pause).is_err() {
            return;
        }
    }
}

/// What is the least that a process can do with a paced stream: it wakes, reads a piece and writes it.
fn bare_reader(address: &str) {
    let mut connection = TcpStream::connect(address).expect("a connection");
    let mut sink = fs::OpenOptions::new().write(true).open("/dev/null").expect("a sink");
    let mut piece = [0; 8_192];
    loop {
        connection.write_all(b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n").expect("a connection");
        loop {
            let n = connection.read(&mut piece).unwrap_or(0);
            if n == 0 {
                return;
            }
            sink.write_all(&piece[..n]).expect("a sink");
            if piece[..n].ends_with(b"0\r\n\r\n") {
                break;
            }
        }
    }
}

/// Starts the binary with the program and the server.
fn start(folder: &Path, listener: &TcpListener, more: &[&str]) -> Child {
    fs::write(folder.join("shop.md"), CONVERSATION).expect("a file");
    let url = format!("http://{}/v1", address(listener));
    Command::new(env!("CARGO_BIN_EXE_playhouse"))
        .args(["run", "shop.md", "--model", "openai:test", "--base-url", &url])
        .args(more)
        .current_dir(folder)
        .env_clear()
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary")
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
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

/// Writes the reply as a stream of pieces of four characters: each a write of its own if there is a pause.
fn answer(connection: &mut TcpStream, pause: Option<Duration>) -> std::io::Result<()> {
    let mut waiting =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let characters: Vec<char> = REPLY.chars().collect();
    let mut events: Vec<String> = characters
        .chunks(4)
        .map(|piece| {
            let text = serde_json::Value::from(piece.iter().collect::<String>());
            format!(
                "{{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"test\",\
                 \"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}"
            )
        })
        .collect();
    events.push("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}".to_owned());
    events.push("{\"choices\":[],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":80}}".to_owned());
    events.push("[DONE]".to_owned());
    for event in events {
        let event = format!("data: {event}\n\n");
        waiting.extend(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
        if let Some(pause) = pause {
            connection.write_all(&waiting)?;
            waiting.clear();
            std::thread::sleep(pause);
        }
    }
    waiting.extend(b"0\r\n\r\n");
    connection.write_all(&waiting)
}

/// The program, a model that always answers the same, and all the rest that a session needs.
struct Shop {
    world: World,
    program: Arc<Program>,
    text: ProgramText,
}

impl Shop {
    fn new() -> Shop {
        let mut entry = ScriptEntry::reply(REPLY);
        entry.repeat = Repeat::Always;
        let world = World {
            llm: Arc::new(Script::from_entries("bench", vec![entry])),
            classifier: Arc::new(Off),
            tools: Arc::new(Registry::new()),
            clock: Arc::new(SystemClock),
            options: SessionOptions::default(),
        };
        let root = SourceText { name: "shop.md".to_owned(), text: CONVERSATION.to_owned() };
        let (text, loaded) = load_texts(vec![root], &[], &mut |_| Err("none".to_owned()));
        Shop { world, program: Arc::new(loaded.program), text }
    }

    fn begin(&self, n: usize, journal: Box<dyn Journal>) -> Session {
        let start = Start {
            id: format!("session-{n}").into(),
            program: self.program.clone(),
            text: self.text.clone(),
            settings: Settings::default(),
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        Session::start(self.world.clone(), journal, start).expect("a session")
    }
}

fn file(folder: &Path, n: usize) -> Box<dyn Journal> {
    let journal = FileJournal::open(folder.join(format!("{n}.jsonl")));
    Box::new(journal.expect("a file for each session (ulimit -n)"))
}

/// How long it takes until a stored session answers that is opened because somebody wants it. All pieces of its replies
/// had been shown.
fn opened_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Shop::new();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut times = runtime.block_on(async {
        let sessions = Sessions::new(N_OPENED);
        let whole = MemoryJournal::new();
        let mut session = shop.begin(0, Box::new(whole.clone()));
        let mut events = session.subscribe(Interest::Everything { capacity: 1_000 });
        let handle = sessions.spawn(session).expect("room for a session");
        for _ in 0..N_STORED_TURNS {
            wait(&mut events).await;
            handle.send("43345678, please").await.expect("a session that waits");
        }
        wait(&mut events).await;
        handle.stop().await;
        handle.outcome().await.expect("a session that can be stopped");
        let mut times = Vec::new();
        for n in 0..N_OPENED {
            let id: Arc<str> = format!("session-{n}").into();
            let mut journal = file(folder.path(), n);
            for body in whole.snapshot().into_iter().flat_map(|record| shown_pieces(record.body, &id)) {
                let (seq, time) = (journal.next_seq(), 1_790_000_000_000 + 12 * journal.next_seq() as i64);
                journal.append(Record { seq, time, body });
            }
            journal.flush(Durability::Killed).await.expect("a flush");
            journal.close().await;
            let before = Instant::now();
            let open = async || {
                let path = folder.path().to_owned();
                let journal = tokio::task::spawn_blocking(move || file(&path, n)).await.expect("a journal");
                Session::resume(shop.world.clone(), journal).await
            };
            let handle = sessions.open_or_resume(&id, open).await.expect("a session");
            let view = handle.view().await.expect("a session that goes on");
            times.push(before.elapsed());
            assert!(view.counters.turns >= N_STORED_TURNS as u64);
        }
        sessions.drain(Duration::from_secs(10)).await;
        times
    });
    let median = median(&mut times);
    println!(
        "a stored session of {N_STORED_TURNS} turns, opened on demand: {} (99th percentile {}, worst of {N_OPENED} {})",
        milliseconds(median),
        milliseconds(times[N_OPENED * 99 / 100]),
        milliseconds(times[N_OPENED - 1]),
    );
}

/// A record as it would be where every four characters were shown as they came; the beginning is that of another session.
fn shown_pieces(body: RecordBody, id: &Arc<str>) -> Vec<RecordBody> {
    if let RecordBody::Begun(begun) = body {
        return vec![RecordBody::Begun(Box::new(Begun { session: id.clone(), ..*begun }))];
    }
    let RecordBody::Chunk { turn, text } = body else { return vec![body] };
    let piece = |piece: &[u8]| RecordBody::Chunk { turn, text: ChunkText(piece.into()) };
    text.0.chunks(4).map(piece).collect()
}

async fn wait(events: &mut Subscription) {
    while let Some(Notice::Event(event)) = events.next().await {
        if matches!(event.body, PublicBody::Waiting { .. }) {
            return;
        }
    }
    panic!("the session has ended");
}

/// Memory of many sessions in this process, each after one turn, waiting for its user.
fn idle_sessions(what: &str, journal: &dyn Fn(&Path, usize) -> Box<dyn Journal>) {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Shop::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let sessions = Sessions::new(N_SESSIONS);
    let begin = |n: usize| shop.begin(n, journal(folder.path(), n));
    let (n_kib, n_resting_kib, wall) = runtime.block_on(async {
        // What the first session loads, all share.
        let first = converse(&sessions, begin(0)).await;
        first.stop().await;
        first.outcome().await.expect("a session that can be stopped");
        let (before, begun) = (own_memory(), Instant::now());
        let mut handles = Vec::with_capacity(N_SESSIONS);
        for n in 1..=N_SESSIONS {
            handles.push(converse(&sessions, begin(n)).await);
        }
        let used = (own_memory().saturating_sub(before), begun.elapsed());
        assert_eq!(sessions.len(), N_SESSIONS);
        all_rest(&sessions, handles).await;
        // The allocator keeps what they had; as many again show what of it is not free.
        let resting = own_memory();
        let mut handles = Vec::with_capacity(N_SESSIONS);
        for n in 1..=N_SESSIONS {
            handles.push(converse(&sessions, begin(N_SESSIONS + n)).await);
        }
        all_rest(&sessions, handles).await;
        (used.0, own_memory().saturating_sub(resting), used.1)
    });
    let each = |n: f64| n / N_SESSIONS as f64;
    println!(
        "{N_SESSIONS} idle sessions, {what}: {:.1} KiB each, {:.3} KiB each when they rest, {:.0} µs each to begin and to \
         take one turn",
        each(n_kib as f64),
        each(n_resting_kib as f64),
        each(wall.as_secs_f64() * 1e6),
    );
}

/// Waits until none of them is in memory any more.
async fn all_rest(sessions: &Sessions, handles: Vec<SessionHandle>) {
    drop(handles);
    sessions.rest(Duration::ZERO);
    while !sessions.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs a session until it waits for the user after its first turn.
async fn converse(sessions: &Arc<Sessions>, mut session: Session) -> SessionHandle {
    let mut events = session.subscribe(Interest::Everything { capacity: 1_000 });
    let handle = sessions.spawn(session).expect("room for a session");
    let mut n_said = 0;
    while let Some(Notice::Event(event)) = events.next().await {
        if matches!(event.body, PublicBody::Waiting { .. }) {
            break;
        }
        n_said += usize::from(matches!(event.body, PublicBody::Said { .. }));
    }
    assert_eq!(n_said, 2);
    handle
}

/// What a process has used so far.
struct Usage {
    cpu: Duration,
    /// In KiB.
    peak_memory: u64,
}

impl Usage {
    /// Of a living process. Its threads' times are in nanoseconds, where `stat` counts hundredths of a second; a
    /// thread that has ended would be missing, and none does so soon.
    fn of(process: u32) -> Usage {
        let threads = fs::read_dir(format!("/proc/{process}/task")).expect("a process");
        let nanoseconds = threads.flatten().filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        let cpu = Duration::from_nanos(nanoseconds.sum());
        Usage { cpu, peak_memory: status(&process.to_string(), "VmHWM:") }
    }
}

/// This process' memory in KiB.
fn own_memory() -> u64 {
    status("self", "VmRSS:")
}

fn status(process: &str, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a known line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn median<T: Copy + Ord>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}
