//! Journals: what is written is read again, whatever byte a process was killed at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse::host::journal::file::{FileJournal, holder, read_file};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Begun, ChunkText, FORMAT, OutcomeWire, Record, RecordBody};
use playhouse::host::journal::wire::{FileWire, ToolWire};
use playhouse::host::journal::{Journal, JournalError};
use playhouse::lang::program::{Parameter, Signature, Type, TypeKind};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{
    CallId, CallOutcome, EffectClass, Event, Finish, FrameId, ReplyEnd, Signal, TimerId, Timestamp, ToolSignature,
    TurnId, Usage,
};

fn tool() -> ToolSignature {
    let parameter = |name: &str, default| Parameter {
        name: name.into(),
        ty: Type { kind: TypeKind::Int, optional: true },
        default,
        description: "what for".into(),
        span: None,
    };
    let signature = Signature {
        name: "Tool".into(),
        parameters: vec![parameter("a", None), parameter("b", Some(Value::Null)), parameter("c", Some(Value::Int(3)))],
        returns: Type::ANY,
        summary: "does".into(),
    };
    ToolSignature::new(signature, EffectClass::Idempotent)
}

pub(crate) fn begun(secret: &str) -> RecordBody {
    let arguments: Map = [("key".into(), Value::str(secret)), ("name".into(), Value::str("Ann"))].into_iter().collect();
    RecordBody::Begun(Box::new(Begun {
        format: FORMAT,
        session: "s1".into(),
        forked_from: None,
        model: "script:x".into(),
        classifier: Some("rules".into()),
        hash: "fnv1a64:0".to_owned(),
        roots: vec!["a.md".into()],
        files: vec![FileWire { name: "a.md".into(), text: "# A\n".into(), imports: Default::default() }],
        settings: Settings { turns: 7, ..Settings::default() },
        tools: vec![ToolWire::from_tool(&tool())],
        entry: None,
        arguments: Value::map(arguments),
        secrets: vec!["key".into()],
        given: Default::default(),
    }))
}

fn chunk(turn: u64, text: &str) -> RecordBody {
    chunk_bytes(turn, text.as_bytes())
}

fn chunk_bytes(turn: u64, bytes: &[u8]) -> RecordBody {
    RecordBody::Chunk { turn, text: ChunkText(bytes.into()) }
}

fn message(text: &str) -> RecordBody {
    RecordBody::Message { text: text.into() }
}

/// A beginning, three chunks, a message, two chunks with a character cut in two, an end.
fn bodies() -> Vec<RecordBody> {
    let euro = "€".as_bytes();
    vec![
        begun("s3cret"),
        chunk(1, "{\"at\":"),
        chunk(1, "\"01\",\n"),
        chunk(1, "\"say\":\"hi\"}"),
        message("well"),
        chunk_bytes(1, &euro[..1]),
        chunk_bytes(1, &euro[1..]),
        RecordBody::from_event(&Event::ReplyEnded { turn: TurnId(1), end: ReplyEnd::Closed, usage: None }).unwrap(),
        RecordBody::GoOn,
    ]
}

fn write(journal: &mut dyn Journal, bodies: Vec<RecordBody>) -> Vec<u64> {
    bodies.into_iter().zip(100..).map(|(body, time)| journal.append(Timestamp(time), body).unwrap()).collect()
}

/// What a machine makes of it: the bodies with neighbouring chunks of a turn joined.
fn meaning(records: &[Record]) -> Vec<RecordBody> {
    let mut joined: Vec<RecordBody> = Vec::new();
    for record in records {
        if let (RecordBody::Chunk { turn, text }, Some(RecordBody::Chunk { turn: last_turn, text: last })) =
            (&record.body, joined.last_mut())
            && turn == last_turn
        {
            *last = ChunkText([&*last.0, &*text.0].concat().into());
            continue;
        }
        joined.push(record.body.clone());
    }
    joined
}

fn assert_numbered(records: &[Record]) {
    for (record, seq) in records.iter().zip(1..) {
        assert_eq!(record.seq, seq);
    }
}

#[test]
fn every_event_survives_the_wire() {
    let events = [
        Event::Chunk { turn: TurnId(3), bytes: Arc::from(&b"caf\xc3\xa9"[..]) },
        Event::Chunk { turn: TurnId(3), bytes: Arc::from(&b"caf\xc3"[..]) },
        Event::ReplyEnded {
            turn: TurnId(3),
            end: ReplyEnd::Complete(Finish::Other("content_filter".into())),
            usage: Some(Usage { prompt_tokens: 1, cached_tokens: 2, completion_tokens: 3 }),
        },
        Event::ReplyEnded { turn: TurnId(3), end: ReplyEnd::Complete(Finish::Length), usage: None },
        Event::ReplyEnded {
            turn: TurnId(3),
            end: ReplyEnd::Broken { reason: "reset".into(), retry_after_ms: Some(9) },
            usage: None,
        },
        Event::ReplyEnded { turn: TurnId(3), end: ReplyEnd::Refused { reason: "no key".into() }, usage: None },
        Event::CallStarted { call: CallId(1), attempt: 2 },
        Event::CallEnded {
            call: CallId(1),
            outcome: CallOutcome::Value { value: Value::Float(0.1 + 0.2), secret: true },
            usage: Some(Usage { prompt_tokens: 7, cached_tokens: 2, completion_tokens: 3 }),
        },
        Event::CallEnded {
            call: CallId(1),
            outcome: CallOutcome::Value { value: Value::Null, secret: false },
            usage: None,
        },
        Event::CallEnded { call: CallId(1), outcome: CallOutcome::Error("no".into()), usage: None },
        Event::CallEnded { call: CallId(1), outcome: CallOutcome::Interrupted, usage: None },
        Event::CallEnded {
            call: CallId(1),
            outcome: CallOutcome::Needs { question: "sure?".into(), takes_no: true },
            usage: None,
        },
        Event::Message { text: "hello\n\"you\" \u{2028}".into() },
        Event::TimerFired { timer: TimerId(4) },
        Event::Approved { call: CallId(1), answer: Value::Bool(true) },
        Event::Signal(Signal::new("photo", Value::from(7), None).unwrap()),
        Event::Signal(Signal::new("photo", Value::Null, Some("a\n1".into())).unwrap()),
        Event::Interrupted,
        Event::Edited { frame: Some(FrameId(2)), name: "x".into(), value: Value::list(vec![Value::Int(i64::MAX)]) },
        Event::Edited { frame: None, name: "x".into(), value: Value::Float(1.0) },
        Event::SignaturesChanged { tools: Arc::from(vec![tool()]) },
        Event::GoOn,
        Event::Reopened,
    ];
    for event in events {
        let record = Record { seq: 2, time: 5, body: RecordBody::from_event(&event).unwrap() };
        let line = serde_json::to_string(&record).unwrap();
        let read: Record = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(read.body.to_event().as_ref(), Some(&event), "{line}");
        // `Value` compares by meaning, the wire must keep the kind too.
        assert_eq!(format!("{:?}", read.body.to_event()), format!("{:?}", Some(&event)));
    }
}

#[test]
fn the_beginning_survives_the_wire() {
    let record = Record { seq: 1, time: 5, body: begun("s3cret") };
    let line = serde_json::to_string(&record).unwrap();
    assert!(line.starts_with(r#"{"seq":1,"time":5,"type":"begun","format":2,"session":"s1""#), "{line}");
    let read: Record = serde_json::from_str(&line).unwrap();
    assert_eq!(read, record);
    let RecordBody::Begun(begun) = read.body else { panic!() };
    assert_eq!(begun.settings, Settings { turns: 7, ..Settings::default() });
    assert_eq!(begun.tools[0].to_tool(), tool());
}

/// An older session would not go on as it went; the message says what can be done.
#[test]
fn an_older_journal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s1.jsonl");
    let line = serde_json::to_string(&Record { seq: 1, time: 5, body: begun("s3cret") }).unwrap();
    std::fs::write(&path, line.replace("\"format\":2", "\"format\":1") + "\n").unwrap();
    let told = read_file(&path).unwrap_err().to_string();
    let expected = "s1.jsonl: the journal has format 1, this program reads 2: the session would not go on as it went; \
                    finish it with the playhouse that wrote it, or begin a new session";
    assert!(told.ends_with(expected), "{told}");
}

#[test]
fn secrets_are_kept_and_not_shown() {
    let first = Record { seq: 1, time: 5, body: begun("s3cret") };
    let RecordBody::Begun(head) = &first.body else { panic!() };
    let shown = serde_json::to_string(&first.shown(&head.secrets)).unwrap();
    assert!(!shown.contains("s3cret") && shown.contains("\"key\":\"***\"") && shown.contains("Ann"), "{shown}");
    let result = OutcomeWire::Value { value: Value::str("s3cret"), secret: true };
    let bodies = [
        RecordBody::CallEnded { call: 1, outcome: result, usage: None },
        RecordBody::Edited { frame: None, name: "key".into(), value: Value::str("s3cret"), after: None },
    ];
    for body in bodies {
        let shown = Record { seq: 2, time: 5, body }.shown(&head.secrets);
        assert!(!format!("{shown:?}").contains("s3cret"));
    }
}

#[test]
fn tails_are_joined() {
    let mut memory = MemoryJournal::new();
    assert_eq!(write(&mut memory, bodies()), [1, 2, 3, 4, 3, 4, 5, 5, 6]);
    let records = memory.snapshot();
    assert_numbered(&records);
    assert_eq!(records.len(), 6);
    assert_eq!(records[1].body, chunk(1, "{\"at\":\"01\",\n\"say\":\"hi\"}"));
    assert_eq!(records[1].time, 103);
    assert_eq!(records[3].body, chunk(1, "€"));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/s1.jsonl");
    let mut file = FileJournal::open(&path).unwrap();
    assert_eq!(write(&mut file, bodies()), [1, 2, 3, 4, 3, 4, 5, 5, 6]);
    assert_eq!(read_file(&path).unwrap(), records);
    drop(file);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 6);
    let mut again = FileJournal::open(&path).unwrap();
    assert_eq!(again.records().unwrap(), records);
    assert_eq!(again.append(Timestamp(1), RecordBody::Reopened).unwrap(), 7);
}

#[test]
fn a_tail_goes_on_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut journal = FileJournal::open(&path).unwrap();
    write(&mut journal, bodies()[..3].to_vec());
    drop(journal);
    let mut journal = FileJournal::open(&path).unwrap();
    assert_eq!(journal.records().unwrap().len(), 3);
    assert_eq!(journal.append(Timestamp(9), RecordBody::Reopened).unwrap(), 3);
    let records = read_file(&path).unwrap();
    assert_eq!(records.len(), 3);
    assert_eq!(records[1].body, chunk(1, "{\"at\":\"01\",\n"));
}

#[test]
fn chunks_of_another_turn_begin_a_new_tail() {
    let bodies = vec![begun("s3cret"), chunk(1, "a"), chunk(1, "b"), chunk(2, "c"), chunk(2, "d"), chunk(1, "e")];
    let mut memory = MemoryJournal::new();
    write(&mut memory, bodies.clone());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut file = FileJournal::open(&path).unwrap();
    write(&mut file, bodies);
    let records = read_file(&path).unwrap();
    assert_eq!(records, memory.snapshot());
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

/// What the file holds after each append.
fn states() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut journal = FileJournal::open(&path).unwrap();
    let mut states = vec![Vec::new()];
    for (body, time) in bodies().into_iter().zip(100..) {
        journal.append(Timestamp(time), body).unwrap();
        states.push(std::fs::read(&path).unwrap());
    }
    states
}

/// Reads `bytes` as a killed process left them, then goes on.
fn reopen(path: &Path, bytes: &[u8]) -> Vec<Record> {
    std::fs::write(path, bytes).unwrap();
    let mut journal = FileJournal::open(path).unwrap();
    let records = journal.records().unwrap();
    assert_numbered(&records);
    if records.is_empty() {
        return records;
    }
    journal.append(Timestamp(7), message("after")).unwrap();
    drop(journal);
    let after = read_file(path).unwrap();
    assert_numbered(&after);
    let mut expected = meaning(&records);
    expected.push(message("after"));
    assert_eq!(meaning(&after), expected);
    records
}

#[test]
fn a_process_may_be_killed_at_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let all = bodies();
    let mut n_states = 0;
    // The secrets of the beginning are beside it before the first byte of it is written.
    write(&mut FileJournal::open(&path).unwrap(), vec![begun("s3cret")]);
    for (n_done, pair) in states().windows(2).enumerate() {
        let (before, after) = (&pair[0], &pair[1]);
        let before_means = meaning(&records_of(&all[..n_done]));
        let after_means = meaning(&records_of(&all[..=n_done]));
        let common = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let start = before[..common].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let is_append = after.starts_with(before);
        let written = if is_append { &after[before.len()..] } else { &after[start..] };
        // Appending.
        for n_bytes in 0..=written.len() {
            let bytes = [before, &written[..n_bytes]].concat();
            let found = meaning(&reopen(&path, &bytes));
            assert!(
                found == before_means || n_bytes == written.len() && found == after_means || {
                    // The joined record alone: the event it was written with is not there yet.
                    !is_append && found == before_means
                }
            );
            n_states += 1;
        }
        if is_append {
            continue;
        }
        // Writing over the tail, the complete copy standing at the end.
        let appended = [&before[..], written].concat();
        for n_bytes in 0..=written.len() {
            let mut bytes = appended.clone();
            bytes[start..start + n_bytes].copy_from_slice(&written[..n_bytes]);
            assert_eq!(meaning(&reopen(&path, &bytes)), after_means, "{n_bytes}");
            n_states += 1;
        }
    }
    assert!(n_states > 1_000, "{n_states}");
}

fn records_of(bodies: &[RecordBody]) -> Vec<Record> {
    bodies.iter().zip(1..).map(|(body, seq)| Record { seq, time: 0, body: body.clone() }).collect()
}

#[test]
fn damage_in_the_middle_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let whole = states().pop().unwrap();
    let text = String::from_utf8(whole).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let with = |line: usize, replacement: &str| {
        let mut lines = lines.clone();
        lines[line - 1] = replacement;
        lines.join("\n") + "\n"
    };
    let error = |text: String| {
        std::fs::write(&path, text).unwrap();
        let error = FileJournal::open(&path).unwrap_err().to_string();
        error.replace(&path.display().to_string(), "s.jsonl")
    };
    assert_eq!(
        error(with(3, "{\"seq\":3,")),
        "s.jsonl:3: the journal is damaged: EOF while parsing a value at line 2 column 0; restore the file from a copy, \
         or remove this and all following lines to go on from the state before them"
    );
    assert!(error(with(5, lines[0])).contains("s.jsonl:5: the journal is damaged: record 1 comes after record 4"));
    assert!(error(with(3, lines[4])).contains("s.jsonl:3: the journal is damaged: record 5 comes after record 2"));
    assert!(error(with(1, "# A program")).contains("s.jsonl:1: the journal is damaged: this is not a session journal"));
    assert!(error(with(1, lines[2])).contains("the first record must be `begun`"));
    assert_eq!(
        error(with(1, "{\"seq\":1,\"time\":5,\"type\":\"begun\",\"format\":9,\"new\":[]}")),
        "s.jsonl: the journal has format 9, this program reads up to 2; use a newer playhouse"
    );
}

#[test]
fn one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    assert_eq!(holder(&path), None);
    let journal = FileJournal::open(&path).unwrap();
    let id = std::process::id();
    assert_eq!(holder(&path), Some(id.to_string()));
    let error = FileJournal::open(&path).unwrap_err();
    assert!(matches!(error, JournalError::Locked { .. }));
    assert!(error.to_string().contains(&format!("open in another process (process id {id})")), "{error}");
    drop(journal);
    assert_eq!(holder(&path), None);
    assert!(FileJournal::open(&path).is_ok());
    let names: Vec<PathBuf> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names, [path], "the note of who holds it is gone");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let _journal = FileJournal::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn syncing_is_a_future() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = FileJournal::open(folder.path().join("s.jsonl")).unwrap();
    journal.append(Timestamp(1), begun("s3cret")).unwrap();
    journal.sync().await.unwrap();
    // Nothing new: nothing to do.
    journal.sync().await.unwrap();
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = FileJournal::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("cannot open the journal") && error.contains("name a file with --journal"), "{error}");
}
