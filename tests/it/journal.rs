//! Journals: what is written is read again, whatever byte a process was killed at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse::host::journal::file::{FileJournal, holder, read_file};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Begun, ChunkText, FORMAT, OutcomeWire, Record, RecordBody};
use playhouse::host::journal::tail::{TailBuffer, joined};
use playhouse::host::journal::wire::{FileWire, ToolWire};
use playhouse::host::journal::{Durability, JournalErrorKind};
use playhouse::lang::program::{Parameter, Signature, Type, TypeKind};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{
    CallId, CallOutcome, EffectClass, Event, Finish, FrameId, ReplyEnd, Signal, TimerId, Timestamp, ToolSignature,
    TurnId, Usage,
};

use crate::stores::Log;

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
        trace_parent: None,
    }))
}

fn chunk(turn: u64, text: &str) -> RecordBody {
    chunk_bytes(turn, text.as_bytes())
}

fn chunk_bytes(turn: u64, bytes: &[u8]) -> RecordBody {
    RecordBody::Chunk { turn, text: ChunkText(bytes.into()) }
}

fn message(text: &str) -> RecordBody {
    RecordBody::Message { text: text.into(), id: None, by: None }
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

fn write(journal: &mut Log, bodies: Vec<RecordBody>) {
    journal.write(bodies);
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
        Event::Approved { call: CallId(1), answer: Value::Bool(true), by: None },
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
    assert!(line.starts_with(r#"{"seq":1,"time":5,"type":"begun","format":3,"session":"s1""#), "{line}");
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
    std::fs::write(&path, line.replace(&format!("\"format\":{FORMAT}"), "\"format\":1") + "\n").unwrap();
    let told = read_file(&path).unwrap_err().to_string();
    let expected = "s1.jsonl: the journal has format 1, this version reads 2 to 3, and the session would not run as before; \
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
        RecordBody::Edited { frame: None, name: "key".into(), value: Value::str("s3cret"), after: None, by: None },
    ];
    for body in bodies {
        let shown = Record { seq: 2, time: 5, body }.shown(&head.secrets);
        assert!(!format!("{shown:?}").contains("s3cret"));
    }
}

#[test]
fn pieces_are_joined_wherever_they_are_kept() {
    let memory = MemoryJournal::new();
    write(&mut Log::new(memory.clone()), bodies());
    let records = memory.snapshot();
    assert_numbered(&records);
    assert_eq!(records.len(), 6);
    assert_eq!(records[1].body, chunk(1, "{\"at\":\"01\",\n\"say\":\"hi\"}"));
    assert_eq!(records[1].time, 103);
    assert_eq!(records[3].body, chunk(1, "€"));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/s1.jsonl");
    let mut file = Log::new(FileJournal::open(&path).unwrap());
    write(&mut file, bodies());
    assert_eq!(file.records().unwrap(), records);
    drop(file);
    let written = read_file(&path).unwrap();
    assert_eq!(written, memory.written());
    assert_numbered(&written);
    assert_eq!(written.len(), bodies().len(), "nothing is written twice or over");
}

/// What is in memory only is joined before it is written; a piece that stays apart is a record of its own.
#[tokio::test]
async fn pieces_are_joined_until_they_are_flushed() {
    let memory = MemoryJournal::new();
    let mut tail = TailBuffer::new(Box::new(memory.clone()));
    for body in bodies() {
        tail.append(Timestamp(1), body, false);
    }
    assert!(memory.written().is_empty() && tail.holds_events());
    tail.flush(Durability::Killed).await.unwrap();
    assert!(tail.is_flushed() && !tail.holds_events());
    assert_eq!(memory.written(), memory.snapshot());
    assert_eq!(memory.written().len(), 6);

    for (piece, apart) in [("a", false), ("b", false), ("c", true), ("d", true)] {
        tail.append(Timestamp(2), chunk(2, piece), apart);
    }
    assert!(!tail.is_flushed() && !tail.holds_events());
    let shown = tail.records(true).await.unwrap();
    assert_eq!([&shown[6].body, &shown[7].body], [&chunk(2, "abc"), &chunk(2, "d")]);
    assert_eq!(memory.written().len(), 9);
    assert_eq!(memory.snapshot()[6].body, chunk(2, "abcd"));
}

/// The place of an edit is counted from the piece before it.
#[test]
fn the_piece_before_an_edit_stays_apart() {
    let edited = |after| RecordBody::Edited { frame: None, name: "x".into(), value: Value::Int(1), after, by: None };
    let bodies =
        [begun("s"), chunk(1, "a"), chunk(1, "b"), chunk(1, "c"), edited(Some(2)), chunk(1, "d"), edited(None)];
    let shown: Vec<RecordBody> = joined(records_of(&bodies), false).into_iter().map(|record| record.body).collect();
    assert_eq!(shown, [begun("s"), chunk(1, "ab"), chunk(1, "c"), edited(Some(2)), chunk(1, "d"), edited(None)]);
}

/// How people see a journal does not depend on how its pieces came to be joined.
#[test]
fn numbers_do_not_depend_on_when_pieces_came() {
    let all = bodies();
    let seen = joined(records_of(&all), false);
    // Joined before at every set of places.
    for places in 0..1_u32 << (all.len() - 1) {
        let mut written: Vec<RecordBody> = Vec::new();
        for (index, body) in all.iter().enumerate() {
            let is_joined = index > 0 && places & (1 << (index - 1)) != 0;
            match (written.last_mut(), body) {
                (Some(RecordBody::Chunk { text: last, .. }), RecordBody::Chunk { text, .. }) if is_joined => {
                    *last = ChunkText([&*last.0, &*text.0].concat().into());
                }
                _ => written.push(body.clone()),
            }
        }
        assert_eq!(joined(records_of(&written), false), seen);
    }
}

#[test]
fn chunks_of_another_turn_are_apart() {
    let bodies = vec![begun("s3cret"), chunk(1, "a"), chunk(1, "b"), chunk(2, "c"), chunk(2, "d"), chunk(1, "e")];
    let memory = MemoryJournal::new();
    write(&mut Log::new(memory.clone()), bodies);
    let records = memory.snapshot();
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

/// Earlier versions joined the chunks in the file: what a process left that was killed meanwhile.
#[test]
fn a_tail_that_was_being_replaced_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let line = |seq, body| serde_json::to_string(&Record { seq, time: 5, body }).unwrap() + "\n";
    let mut text = line(1, begun("s3cret"));
    for (seq, piece) in [(2, "one, "), (3, "two, "), (4, "three")] {
        text += &line(seq, chunk(1, piece));
    }
    let start = line(1, begun("s3cret")).len();
    let replacement = line(2, chunk(1, "one, two, three")) + &line(3, message("well"));
    let whole = text.clone() + &replacement;
    for n_over in 0..=replacement.len() {
        let mut bytes = whole.clone().into_bytes();
        bytes[start..start + n_over].copy_from_slice(&replacement.as_bytes()[..n_over]);
        std::fs::write(&path, &bytes).unwrap();
        let records = joined(read_file(&path).unwrap(), false);
        assert_eq!(meaning(&records)[1..], [chunk(1, "one, two, three"), message("well")], "{n_over}");
    }
}

/// What the file holds after each append.
fn states() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut journal = Log::new(FileJournal::open(&path).unwrap());
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
    let mut journal = Log::new(FileJournal::open(path).unwrap());
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
    write(&mut Log::new(FileJournal::open(&path).unwrap()), vec![begun("s3cret")]);
    for (n_done, pair) in states().windows(2).enumerate() {
        let (before, after) = (&pair[0], &pair[1]);
        let before_means = meaning(&records_of(&all[..n_done]));
        let after_means = meaning(&records_of(&all[..=n_done]));
        assert!(after.starts_with(before), "nothing is written over");
        let written = &after[before.len()..];
        for n_bytes in 0..=written.len() {
            let bytes = [before, &written[..n_bytes]].concat();
            let found = meaning(&reopen(&path, &bytes));
            assert!(found == before_means || n_bytes == written.len() && found == after_means);
            n_states += 1;
        }
    }
    assert!(n_states > 1_000, "{n_states}");
}

fn records_of(bodies: &[RecordBody]) -> Vec<Record> {
    bodies.iter().zip(1..).map(|(body, seq)| Record { seq, time: 0, body: body.clone() }).collect()
}

/// Of the pieces of one reply the further ones are no more than their text and the time since the one before.
#[test]
fn further_pieces_are_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s1.jsonl");
    let mut journal = Log::new(FileJournal::open(&path).unwrap());
    write(&mut journal, bodies());
    // Another owner goes on in the same way; another reply says whose piece it is.
    drop(journal);
    let mut journal = Log::new(FileJournal::open(&path).unwrap());
    for (body, time) in [(chunk(1, "a"), 150), (chunk(1, "b"), 150), (chunk(2, "c"), 171), (chunk(2, "d"), 193)] {
        journal.append(Timestamp(time), body).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let short: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
    let expected =
        [r#"[1,"\"01\",\n"]"#, r#"[1,"\"say\":\"hi\"}"]"#, r#"[1,{"hex":"82ac"}]"#, r#"[0,"b"]"#, r#"[22,"d"]"#];
    assert_eq!(short, expected);
    let read = read_file(&path).unwrap();
    assert_numbered(&read);
    assert_eq!(read[2], Record { seq: 3, time: 102, body: chunk(1, "\"01\",\n") });
    assert_eq!(read.last().unwrap(), &Record { seq: 13, time: 193, body: chunk(2, "d") });
}

/// A journal of the format before has no such lines, and gets none: whoever wrote it can still read it.
#[test]
fn a_journal_of_the_format_before_goes_on_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s1.jsonl");
    let RecordBody::Begun(mut first) = begun("s3cret") else { unreachable!() };
    first.format = 2;
    let mut all = bodies();
    all[0] = RecordBody::Begun(first);
    let (before, after) = all.split_at(3);
    write(&mut Log::new(FileJournal::open(&path).unwrap()), before.to_vec());
    write(&mut Log::new(FileJournal::open(&path).unwrap()), after.to_vec());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().all(|line| line.starts_with('{')), "{text}");
    let read: Vec<RecordBody> = read_file(&path).unwrap().into_iter().map(|record| record.body).collect();
    assert_eq!(read, all);
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
         or remove this and all following lines to continue from the state before them"
    );
    let alone = "s.jsonl:6: the journal is damaged: a further piece of a reply has none before it";
    assert!(error(with(6, r#"[5,"x"]"#)).contains(alone));
    assert!(error(with(3, "[5,")).contains("s.jsonl:3: the journal is damaged: EOF"));
    assert!(error(with(5, lines[0])).contains("s.jsonl:5: the journal is damaged: record 1 comes after record 4"));
    assert!(error(with(3, lines[4])).contains("s.jsonl:3: the journal is damaged: record 5 comes after record 2"));
    assert!(error(with(1, "# A program")).contains("s.jsonl:1: the journal is damaged: this is not a session journal"));
    assert!(error(with(1, lines[4])).contains("the first record must be `begun`"));
    assert_eq!(
        error(with(1, "{\"seq\":1,\"time\":5,\"type\":\"begun\",\"format\":9,\"new\":[]}")),
        "s.jsonl: the journal has format 9, this version reads up to 3; use a newer playhouse"
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
    assert!(matches!(error.kind, JournalErrorKind::Held(_)));
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

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = FileJournal::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("cannot open the journal") && error.contains("name a file"), "{error}");
}
