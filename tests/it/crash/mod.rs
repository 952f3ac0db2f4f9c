//! The real binary, killed: whatever point a process is stopped at, the next one goes on from its journal. No
//! call is made twice that may not be, no word is said twice, and the end is that of the uninterrupted run.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]
#![allow(clippy::print_stdout, reason = "how many points were tried is what one wants to know")]

mod edges;

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use playhouse::host::journal::file::{FileJournal, read_file};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{OutcomeWire, Record, RecordBody};
use playhouse::host::journal::{Durability, Journal, JournalError};
use playhouse::host::llm::script::{Chunks, ScriptEntry, ScriptError};
use playhouse::host::replay::replay;
use playhouse::vm::protocol::EffectClass;

use crate::conversation::{Account, Conversation, variables};
use crate::ideal_model::{IdealModel, Known, Pace};
use crate::stores::{self, now, store_at};

const UNKNOWN: &str = "outcome unknown: the process stopped during the call";

/// Replies arrive in pieces of so many bytes.
const PIECE: usize = 7;

/// Types lines to a process. One that is over before it has read them all does not want them.
fn type_lines(child: &mut Child, lines: &str) {
    if let Err(error) = child.stdin.take().unwrap().write_all(lines.as_bytes()) {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}

/// A program, its uninterrupted run, and every state of its journal.
struct Case {
    conversation: Conversation,
    golden: Account,
    known: Known,
    states: Vec<Vec<Record>>,
    /// The journal's file in each of these states.
    files: Vec<Vec<u8>>,
    tools_path: PathBuf,
}

impl Case {
    fn new(name: &str) -> Case {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/crash");
        let conversation = Conversation::read(&folder.join(format!("{name}.test.md")), None);
        let (run, known, states) = paused().block_on(conversation.record(PIECE));
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("s.jsonl");
        let mut journal = FileJournal::open(&path).unwrap();
        let mut files = Vec::new();
        for state in &states {
            journal.append(state.last().unwrap().clone());
            now(journal.flush(Durability::Killed)).unwrap();
            assert_eq!(read_file(&path).unwrap()[1..], state[1..]);
            files.push(fs::read(&path).unwrap());
        }
        let tools_path = folder.join(format!("{name}.tools.json"));
        Case { conversation, golden: run.account, known, states, files, tools_path }
    }

    fn all() -> Vec<Case> {
        ["desk", "squares", "story"].map(Case::new).into()
    }

    fn class(&self, name: &str) -> EffectClass {
        let json: serde_json::Value = serde_json::from_str(&self.conversation.tools).unwrap();
        match json[name]["effect"].as_str().unwrap() {
            "read_only" => EffectClass::ReadOnly,
            "idempotent" => EffectClass::Idempotent,
            _ => EffectClass::Write,
        }
    }

    /// Goes on from a journal in memory: what it comes to, and what the model says on the way.
    fn foresee(&self, records: &[Record]) -> (Account, Vec<ScriptEntry>) {
        let model = IdealModel::knowing(self.conversation.replies.clone(), self.known.clone(), Pace::whole());
        let model = Arc::new(model);
        let journal = MemoryJournal::from_records(records.to_vec());
        let run = paused().block_on(self.conversation.resume(journal, model.clone()));
        (run.account, model.answers().0)
    }

    /// The real binary, in `folder`, on the journal there.
    fn command(&self, folder: &Path, script: &[ScriptEntry]) -> Command {
        let script_path = folder.join("script.jsonl");
        fs::write(&script_path, script.iter().map(script_line).collect::<String>()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_playhouse"));
        command
            .arg("run")
            .arg(&self.conversation.program_path)
            .args(["--session", "s1", "--journal"])
            .arg(journal_in(folder))
            .arg("--model")
            .arg(format!("script:{}", script_path.display()))
            .arg("--tools")
            .arg(&self.tools_path)
            .arg("--working-directory")
            .arg(folder)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The lines of the user that a journal does not hold yet.
    fn lines_left(&self, records: &[Record]) -> String {
        let is_message = |record: &&Record| matches!(record.body, RecordBody::Message { .. });
        let n_heard = records.iter().filter(is_message).count();
        self.conversation.lines[n_heard..].iter().map(|line| format!("{line}\n")).collect()
    }

    /// Goes on with the real binary from the journal in `folder`, and compares all that can be compared.
    fn go_on(&self, folder: &Path, name: &str) {
        let path = journal_in(folder);
        let records = read(&path).unwrap();
        let (foreseen, script) = self.foresee(&records);
        let mut child = self.command(folder, &script).spawn().unwrap();
        type_lines(&mut child, &self.lines_left(&records));
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {errors}");

        // The binary does what the library does.
        let after = read(&path).unwrap();
        let replayed = replay(&after, None).unwrap();
        assert_eq!(variables(&replayed.machine.view()), foreseen.variables, "{name}");
        let said_before = self.conversation.read_back(&records).speech().concat();
        let said = said_before + &String::from_utf8(output.stdout).unwrap().replace('\n', "");
        assert_eq!(said, foreseen.speech.concat(), "{name}: said twice, or not at all");

        // And that is what the uninterrupted run did, but for a call nobody knows the outcome of.
        let unknown = in_flight(&records).find(|call| self.class(call_name(&self.golden, *call)) == EffectClass::Write);
        match unknown {
            None => assert_eq!(foreseen, self.golden, "{name}"),
            Some(call) => {
                assert!(foreseen.calls[&call].ends_with(UNKNOWN), "{name}: {foreseen:?}");
                assert_eq!(foreseen.outcome, self.golden.outcome, "{name}");
            }
        }
        self.check_log(folder, &after, name);
    }

    /// No call twice unless that is safe, none missing that has a result.
    fn check_log(&self, folder: &Path, records: &[Record], name: &str) {
        let log = fs::read_to_string(folder.join("calls.txt")).unwrap_or_default();
        let mut n_made: BTreeMap<u64, usize> = BTreeMap::new();
        for line in log.lines() {
            let (id, rest) = line.split_once(' ').unwrap();
            let call = id.strip_prefix("s1/").unwrap().parse().unwrap();
            let tool = rest.split(' ').next().unwrap();
            assert!(self.golden.calls[&call].starts_with(tool), "{name}: {line}");
            *n_made.entry(call).or_default() += 1;
            assert!(n_made[&call] == 1 || self.class(tool) != EffectClass::Write, "{name}: twice: {line}");
        }
        for record in records {
            if let RecordBody::CallEnded { call, outcome: OutcomeWire::Value { .. }, .. } = &record.body {
                assert!(n_made.contains_key(call), "{name}: call {call} has a result, but was never made");
            }
        }
    }

    /// Writes what the killed process had logged, at most: every call it had begun.
    fn write_log(&self, folder: &Path, records: &[Record]) {
        let started = records.iter().filter_map(|record| match record.body {
            RecordBody::CallStarted { call, .. } => Some(call),
            _ => None,
        });
        let lines = started.map(|call| format!("s1/{call} {} {{}}\n", call_name(&self.golden, call)));
        fs::write(folder.join("calls.txt"), lines.collect::<String>()).unwrap();
    }
}

/// The journal in a folder, whatever keeps it.
fn journal_in(folder: &Path) -> PathBuf {
    let store = folder.join("all.sqlite");
    if store.exists() { store } else { folder.join("s1.jsonl") }
}

fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    stores::read(&store_at(path), "s1")
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

fn call_name(account: &Account, call: u64) -> &str {
    account.calls[&call].split('{').next().unwrap()
}

/// The calls that were begun and have not ended.
fn in_flight(records: &[Record]) -> impl Iterator<Item = u64> {
    let mut calls = Vec::new();
    for record in records {
        match record.body {
            RecordBody::CallStarted { call, .. } => calls.push(call),
            RecordBody::CallEnded { call, .. } => calls.retain(|running| *running != call),
            _ => {}
        }
    }
    calls.into_iter()
}

/// A line of a script file.
fn script_line(entry: &ScriptEntry) -> String {
    let mut json = serde_json::json!({"delay_ms": entry.delay.as_millis() as u64});
    if let Some(reply) = &entry.reply {
        json["reply"] = reply.as_str().into();
    }
    match entry.error {
        None => {}
        Some(ScriptError::Drop) => json["error"] = "drop".into(),
        Some(ScriptError::Status(status)) => json["error"] = status.into(),
        Some(other) => panic!("{other:?} is of no use here"),
    }
    if let Chunks::Every(size) = entry.chunks {
        json["chunks"] = size.into();
    }
    format!("{json}\n")
}

/// Does the work of all points on a few threads.
fn for_each<T: Sync>(points: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(point);
                }
            });
        }
    });
}

/// The file of every state a journal was in, and some that end inside a record.
#[test]
fn killed_after_every_record_of_three_programs() {
    let cases = Case::all();
    let mut points = Vec::new();
    let mut n_torn = 0;
    for case in &cases {
        for (index, file) in case.files.iter().enumerate() {
            let name = format!("{}, after append {}", case.conversation.name, index + 1);
            points.push((case, index, file.clone(), name.clone()));
            // The next record at its first bytes, in the middle, and without its end.
            let Some(next) = case.files.get(index + 1).filter(|next| next.starts_with(file)) else { continue };
            let n_more = next.len() - file.len();
            let n_part = [1, n_more / 2, n_more - 1][index % 3];
            if n_part > 0 {
                points.push((case, index, next[..file.len() + n_part].to_vec(), format!("{name} and {n_part} bytes")));
                n_torn += 1;
            }
        }
    }
    for_each(&points, |(case, index, file, name)| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("s1.jsonl"), file).unwrap();
        case.write_log(folder.path(), &case.states[*index]);
        case.go_on(folder.path(), name);
    });
    println!("crash: {} journals of killed processes resumed by the binary, {n_torn} of them torn", points.len());
    assert!(points.len() >= 170, "{}", points.len());
}

/// How far a journal is: bytes of replies, and other records.
fn progress(records: &[Record]) -> usize {
    let of = |record: &Record| match &record.body {
        RecordBody::Chunk { text, .. } => text.0.len(),
        _ => 1,
    };
    records.iter().map(of).sum()
}

/// Kills a process as soon as its journal has come so far; false: it had ended before.
fn kill_at(child: &mut Child, path: &Path, target: usize) -> bool {
    loop {
        // A record that is being written is not there yet.
        if read(path).is_ok_and(|records| progress(&records) >= target) {
            // SIGKILL; a process that has just ended by itself is no failure.
            let is_killed = child.try_wait().unwrap().is_none() && child.kill().is_ok();
            child.wait().unwrap();
            return is_killed;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::yield_now();
    }
}

/// Live processes, killed with signal 9 while they run.
#[test]
fn kill_9_while_it_runs() {
    kill_9("s1.jsonl");
}

#[cfg(feature = "sqlite")]
#[test]
fn kill_9_while_it_writes_a_store() {
    kill_9("all.sqlite");
}

fn kill_9(file: &str) {
    let cases = Case::all();
    let mut points = Vec::new();
    for case in &cases {
        let n_states = case.states.len();
        for place in 0..14 {
            points.push((case, progress(&case.states[1 + place * (n_states - 2) / 14])));
        }
    }
    let n_killed = AtomicUsize::new(0);
    for_each(&points, |(case, target)| {
        let name = format!("{}, killed at {target}", case.conversation.name);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        now(async {
            let mut journal = store_at(&path).open("s1").await.unwrap();
            journal.append(case.states[0][0].clone());
            journal.flush(Durability::Killed).await.unwrap();
            journal.close().await;
        });
        let pace = Pace { delay: std::time::Duration::from_millis(3), ..Pace::pieces(PIECE) };
        let paced =
            |entry: &ScriptEntry| ScriptEntry { chunks: pace.chunks.clone(), delay: pace.delay, ..entry.clone() };
        let script: Vec<ScriptEntry> = case.conversation.replies.iter().map(paced).collect();
        let mut child = case.command(folder.path(), &script).spawn().unwrap();
        type_lines(&mut child, &case.lines_left(&[]));
        let is_killed = kill_at(&mut child, &path, *target);
        n_killed.fetch_add(usize::from(is_killed), Ordering::Relaxed);

        // What was heard of it stands in the journal: nothing is said before it is written.
        let mut heard = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut heard).unwrap();
        let said = case.conversation.read_back(&read(&path).unwrap()).speech().concat();
        // What comes before the first event is said where the session begins.
        let first = case.conversation.read_back(&case.states[0]).speech().concat();
        let heard = first + &heard.replace('\n', "");
        assert!(said.starts_with(&heard), "{name}: heard {heard:?}, but the journal has {said:?}");
        case.check_log(folder.path(), &read(&path).unwrap(), &name);
        case.go_on(folder.path(), &name);
    });
    let n_killed = n_killed.into_inner();
    println!("crash: {n_killed} live processes killed with signal 9 and resumed");
    assert!(n_killed >= 30, "{n_killed}");
}
