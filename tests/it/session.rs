//! Sessions: the loop around a machine, with scripted models, in memory and on tokio's paused clock.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use playhouse::host::clock::TestClock;
use playhouse::host::events::{PublicBody, PublicEvent};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::journal::{Journal, JournalError, SyncFuture};
use playhouse::host::llm::script::{Script, ScriptEntry, ScriptError};
use playhouse::host::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use playhouse::host::program::load_texts;
use playhouse::host::session::{
    Ending, Interest, Notice, Session, SessionError, SessionHandle, SessionOptions, Start, Subscription, World,
};
use playhouse::host::sessions::{Sessions, new_id};
use playhouse::host::tool::builtin::WorkingDirectory;
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::value::{Map, Value};
use playhouse::vm::limits::Settings;
use playhouse::vm::protocol::{Finish, Outcome, ReplyEnd, Timestamp, Usage};
use tokio::time::Instant;

const ORDER_DESK: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- Say "Welcome."
- Ask the user for $order_id:str
- $order = GetOrder($order_id)
- Tell the user what became of it
- Return $order.state
"#;

const ORDER_TOOLS: &str = r#"{
  "GetOrder": {"args": ["order_id"], "required": ["order_id"],
               "responses": [{"return": {"state": "shipped"}}, {"return": {"state": "lost"}}]}
}"#;

fn order_script() -> Vec<ScriptEntry> {
    [
        "{\"at\":\"02\",\"say\":\"Which number?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n",
        "{\"at\":\"02\",\"set\":{\"order_id\":\"4334\"}}\n{\"at\":\"03\",\"wait\":\"calls\"}\n",
        "{\"at\":\"04\",\"say\":\"It is {$order.state}.\"}\n{\"at\":\"05\"}\n",
    ]
    .map(ScriptEntry::reply)
    .into()
}

struct Setup {
    program: &'static str,
    tools: &'static str,
    llm: Arc<dyn Llm>,
    settings: Settings,
    options: SessionOptions,
    folder: PathBuf,
}

impl Setup {
    fn new(program: &'static str, tools: &'static str, llm: impl Llm + 'static) -> Setup {
        Setup {
            program,
            tools,
            llm: Arc::new(llm),
            settings: Settings::default(),
            options: SessionOptions::default(),
            folder: std::env::temp_dir(),
        }
    }

    fn scripted(program: &'static str, tools: &'static str, entries: Vec<ScriptEntry>) -> Setup {
        Setup::new(program, tools, Script::from_entries("test", entries))
    }

    fn desk() -> Setup {
        Setup::scripted(ORDER_DESK, ORDER_TOOLS, order_script())
    }

    fn world(&self) -> World {
        let directory = WorkingDirectory::open(&self.folder).unwrap();
        let mut tools = Registry::new();
        for tool in canned::from_text(self.tools, &directory).unwrap() {
            tools.add(tool).unwrap();
        }
        World {
            llm: self.llm.clone(),
            tools: Arc::new(tools),
            clock: Arc::new(TestClock::new(Timestamp(1_795_301_285_000))),
            options: self.options.clone(),
        }
    }

    fn start(&self, journal: impl Journal + 'static) -> Result<Session, SessionError> {
        let world = self.world();
        let roots = vec![SourceText { name: "desk.md".into(), text: self.program.into() }];
        let signatures: Vec<_> = world.tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
        let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("none".into()));
        let start = Start {
            id: "s1".into(),
            program: Arc::new(loaded.program),
            text,
            settings: self.settings.clone(),
            entry: None,
            arguments: Map::new(),
        };
        Session::start(world, Box::new(journal), start)
    }

    fn resume(&self, journal: impl Journal + 'static) -> Result<Session, SessionError> {
        Session::resume(self.world(), Box::new(journal))
    }
}

/// Runs a session to its end, answering each wait for the user with the next of `lines`; stops when there is none.
async fn converse(mut session: Session, lines: &[&str]) -> (Arc<Ending>, Vec<Arc<PublicEvent>>) {
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut lines = lines.iter();
    let mut seen = Vec::new();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if matches!(event.body, PublicBody::Waiting { whom: "user", .. }) {
            match lines.next() {
                Some(line) => handle.send(*line).await.unwrap(),
                None => handle.stop().await,
            }
        }
        seen.push(event);
    }
    (handle.outcome().await.unwrap(), seen)
}

fn said(events: &[Arc<PublicEvent>]) -> Vec<String> {
    let texts = events.iter().filter_map(|event| match &event.body {
        PublicBody::Said { text } => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}

fn variables(ending: &Ending) -> Vec<(String, Value)> {
    let all = ending.view.others.iter().flat_map(|(_, variables)| variables);
    all.map(|variable| (variable.name.to_string(), variable.value.value.clone())).collect()
}

fn names(records: &[Record]) -> Vec<String> {
    let name = |record: &Record| serde_json::to_value(record).unwrap()["type"].as_str().unwrap().to_owned();
    records.iter().map(name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_conversation_from_beginning_to_end() {
    let journal = MemoryJournal::new();
    let (ending, events) = converse(Setup::desk().start(journal.clone()).unwrap(), &["4334"]).await;
    assert_eq!(ending.outcome, Some(Outcome::Done { value: "shipped".into() }));
    assert_eq!(said(&events), ["Welcome.", "Which number?", "It is shipped."]);
    assert_eq!(
        names(&journal.snapshot()),
        [
            "begun",
            "chunk",
            "reply_ended",
            "message",
            "chunk",
            "call_started",
            "reply_ended",
            "call_ended",
            "chunk",
            "reply_ended"
        ]
    );
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!((event.seq, &*event.session), (seq, "s1"));
    }
    assert_eq!(events[0].name, "session_started");
    assert_eq!(events.last().unwrap().name, "finished");
    assert_eq!((ending.summary.turns, ending.summary.tool_calls, ending.summary.outcome), (3, 1, "finished"));
    let waiting = events.iter().find(|event| event.name == "waiting").unwrap();
    let json = serde_json::to_string(waiting).unwrap();
    assert!(
        json.contains(r#""session":"s1","type":"waiting","agent":"Desk","playbook":"Main","line":"02","depth":0"#),
        "{json}"
    );
    assert!(json.ends_with(r#""for":"user"}"#), "{json}");
}

/// The desk, with a tool that may be called again.
fn safe_desk() -> Setup {
    let tools = r#"{
      "GetOrder": {"args": ["order_id"], "required": ["order_id"], "effect": "idempotent",
                   "responses": [{"return": {"state": "shipped"}}, {"return": {"state": "lost"}}]}
    }"#;
    Setup::scripted(ORDER_DESK, tools, order_script())
}

#[tokio::test(start_paused = true)]
async fn every_prefix_of_a_journal_resumes_to_the_same_end() {
    let journal = MemoryJournal::new();
    let (expected, events) = converse(safe_desk().start(journal.clone()).unwrap(), &["4334"]).await;
    let records = journal.snapshot();
    assert_eq!(records.len(), 10);
    for n_records in 1..=records.len() {
        let prefix = MemoryJournal::from_records(records[..n_records].to_vec());
        let n_messages = names(&records[..n_records]).iter().filter(|name| *name == "message").count();
        let session = safe_desk().resume(prefix.clone()).unwrap();
        let (ending, resumed) = converse(session, &["4334"][n_messages..]).await;
        assert_eq!(ending.outcome, expected.outcome, "after {n_records} records");
        assert_eq!(variables(&ending), variables(&expected), "after {n_records} records");
        assert_eq!(resumed[0].name, "session_resumed");
        assert_eq!(resumed.last().unwrap().name, "finished");
        // Nothing is said twice, and nothing is left out.
        let again = said(&resumed);
        assert!(said(&events).ends_with(&again), "{again:?}");
        // The resumed session can be resumed in its turn.
        let (again, _) = converse(safe_desk().resume(prefix).unwrap(), &[]).await;
        assert_eq!(again.outcome, expected.outcome, "after {n_records} records");
    }
}

#[tokio::test(start_paused = true)]
async fn a_writing_call_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let desk = || {
        let tools = r#"{"GetOrder": {"args": ["order_id"], "log": "calls.txt", "responses": [{"return": 1}]}}"#;
        Setup { folder: folder.path().to_owned(), ..Setup::scripted(ORDER_DESK, tools, order_script()) }
    };
    let calls = || std::fs::read_to_string(folder.path().join("calls.txt")).unwrap();
    let journal = MemoryJournal::new();
    converse(desk().start(journal.clone()).unwrap(), &["4334"]).await;
    assert_eq!(calls(), "s1/1 GetOrder {\"order_id\":\"4334\"}\n");
    let records = journal.snapshot();
    let n_started = names(&records).iter().position(|name| name == "call_started").unwrap() + 1;
    let prefix = MemoryJournal::from_records(records[..n_started].to_vec());
    converse(desk().resume(prefix).unwrap(), &[]).await;
    assert_eq!(calls().lines().count(), 1, "what became of the first call is not known: there is no second");
    let before = MemoryJournal::from_records(records[..n_started - 1].to_vec());
    converse(desk().resume(before).unwrap(), &[]).await;
    assert_eq!(calls().lines().count(), 2, "a call that was not recorded as started is started now");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_waits_can_be_stopped_and_resumed() {
    let journal = MemoryJournal::new();
    let setup = Setup::desk();
    let (ending, _) = converse(setup.start(journal.clone()).unwrap(), &[]).await;
    assert_eq!((ending.outcome.as_ref(), ending.summary.outcome), (None, "waiting"));
    let error = setup.start(journal.clone()).err().unwrap().to_string();
    assert!(error.contains("memory: the journal already holds a session"), "{error}");
    let (ending, events) = converse(Setup::desk().resume(journal.clone()).unwrap(), &["4334"]).await;
    assert_eq!(ending.outcome, Some(Outcome::Done { value: "shipped".into() }));
    assert_eq!(said(&events), ["It is shipped."]);
    assert_eq!(events.iter().filter(|event| event.name == "waiting").count(), 2, "for the user, for the call");
    // A finished session has nothing to add.
    let n_records = journal.snapshot().len();
    let (ending, events) = converse(Setup::desk().resume(journal.clone()).unwrap(), &[]).await;
    assert_eq!(ending.outcome, Some(Outcome::Done { value: "shipped".into() }));
    assert_eq!(events.iter().map(|event| event.name).collect::<Vec<_>>(), ["session_resumed", "finished"]);
    assert_eq!(journal.snapshot().len(), n_records);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_does_not_fit_is_refused() {
    let journal = MemoryJournal::new();
    converse(Setup::desk().start(journal.clone()).unwrap(), &["4334"]).await;
    let error =
        |records: Vec<Record>| Setup::desk().resume(MemoryJournal::from_records(records)).err().unwrap().to_string();
    assert!(error(Vec::new()).contains("the journal holds no session: it is empty"));
    let mut without_reply = journal.snapshot();
    without_reply.drain(1..3);
    let text = error(without_reply);
    assert!(text.contains("replay does not follow the journal at record 5: turn 2 has not been started"), "{text}");
    let mut with_go_on = journal.snapshot();
    with_go_on[1].body = RecordBody::GoOn;
    assert!(error(with_go_on).contains("at record 2: the machine is at Blocked(Reply(TurnId(1)))"));
}

/// One part of a reply and the time before it.
type Piped = VecDeque<(u64, ReplyPart)>;

/// A model whose replies come in parts at given times.
struct Pipes {
    replies: Mutex<VecDeque<Piped>>,
    /// When it was asked, and when the reply was dropped.
    log: Arc<Mutex<Vec<(&'static str, Duration)>>>,
    began: Instant,
}

struct LogDrop(Arc<Mutex<Vec<(&'static str, Duration)>>>, Instant);

impl Drop for LogDrop {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(("dropped", self.1.elapsed()));
    }
}

impl Pipes {
    fn new(replies: Vec<Vec<(u64, ReplyPart)>>) -> Pipes {
        let replies = replies.into_iter().map(VecDeque::from).collect();
        Pipes { replies: Mutex::new(replies), log: Arc::default(), began: Instant::now() }
    }
}

impl Llm for Pipes {
    fn id(&self) -> Arc<str> {
        "pipes".into()
    }

    fn request(&self, _request: LlmRequest) -> ReplyStream {
        self.log.lock().unwrap().push(("asked", self.began.elapsed()));
        let parts = self.replies.lock().unwrap().pop_front().unwrap_or_default();
        let guard = LogDrop(self.log.clone(), self.began);
        Box::pin(futures_util::stream::unfold((parts, guard), |(mut parts, guard)| async move {
            let Some((delay, part)) = parts.pop_front() else {
                // A server that says nothing more.
                std::future::pending::<()>().await;
                return None;
            };
            tokio::time::sleep(Duration::from_millis(delay)).await;
            Some((part, (parts, guard)))
        }))
    }
}

fn bytes(text: &str) -> ReplyPart {
    ReplyPart::Bytes(text.into())
}

fn complete(completion_tokens: u64) -> ReplyPart {
    let usage = Usage { prompt_tokens: 100, cached_tokens: 0, completion_tokens };
    ReplyPart::End { end: ReplyEnd::Complete(Finish::Stop), usage: Some(usage) }
}

const TALK: &str = "# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Talk with the user\n- Say goodbye\n";
const WAIT: &str = "{\"at\":\"01\",\"say\":\"Hi.\"}\n{\"at\":\"01\",\"wait\":\"user\"}";

/// What the journal says of the end of the first reply, and after how many milliseconds it came.
async fn first_end(parts: Vec<(u64, ReplyPart)>) -> (String, i64) {
    let journal = MemoryJournal::new();
    let handle = Setup::new(TALK, "{}", Pipes::new(vec![parts])).start(journal.clone()).unwrap().spawn();
    tokio::time::sleep(Duration::from_secs(5)).await;
    handle.stop().await;
    handle.outcome().await.unwrap();
    let records = journal.snapshot();
    let ends: Vec<&Record> =
        records.iter().filter(|record| matches!(record.body, RecordBody::ReplyEnded { .. })).collect();
    assert_eq!(ends.len(), 1, "{records:?}");
    let mut json = serde_json::to_value(ends[0]).unwrap();
    let json = json.as_object_mut().unwrap();
    json.retain(|key, _| key == "end" || key == "finish" || key == "usage");
    (serde_json::to_string(json).unwrap(), ends[0].time - records[0].time)
}

#[tokio::test(start_paused = true)]
async fn a_reply_may_run_on_for_its_usage() {
    let usage = r#""usage":{"prompt_tokens":100,"cached_tokens":0,"completion_tokens":9}"#;
    let complete_text = format!(r#"{{"end":"complete","finish":"stop",{usage}}}"#);
    let closed = r#"{"end":"closed"}"#.to_owned();
    let framing = bytes("\n]\n```\n");
    let cases = [
        (vec![(10, bytes(WAIT)), (500, framing.clone()), (400, complete(9))], complete_text.clone(), 910),
        (vec![(10, bytes(WAIT)), (0, complete(9))], complete_text, 10),
        // Silence: the grace is over.
        (vec![(10, bytes(WAIT))], closed.clone(), 1_010),
        (vec![(10, bytes(WAIT)), (999, framing)], closed.clone(), 1_010),
        // The model goes on.
        (vec![(10, bytes(WAIT)), (300, bytes("\n{\"at\":")), (400, complete(9))], closed.clone(), 310),
    ];
    for (parts, expected, after) in cases {
        assert_eq!(first_end(parts.clone()).await, (expected, after), "{parts:?}");
    }
    let broken = ReplyPart::End { end: ReplyEnd::Broken { reason: "reset".into(), retry_after_ms: None }, usage: None };
    assert_eq!(first_end(vec![(10, bytes(WAIT)), (100, broken)]).await, (closed, 110));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_closes_the_connection_at_once() {
    let pipes = Pipes::new(vec![vec![(10, bytes("{\"at\":\"01\",\"say\":\"I am ")), (9_000, bytes("slow\"}\n"))]]);
    let log = pipes.log.clone();
    let journal = MemoryJournal::new();
    let handle = Setup::new(TALK, "{}", pipes).start(journal.clone()).unwrap().spawn();
    tokio::time::sleep(Duration::from_millis(100)).await;
    handle.interrupt().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(
        *log.lock().unwrap(),
        [("asked", Duration::ZERO), ("dropped", Duration::from_millis(100))],
        "the connection is closed when the user says so"
    );
    let names = names(&journal.snapshot());
    assert_eq!(names, ["begun", "chunk", "interrupted", "reply_ended"]);
    handle.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_is_tried_again_after_a_while() {
    let broken = |retry_after_ms| {
        vec![(0, ReplyPart::End { end: ReplyEnd::Broken { reason: "503".into(), retry_after_ms }, usage: None })]
    };
    let pipes = Pipes::new(vec![broken(None), broken(Some(20_000)), vec![(0, bytes(WAIT)), (0, complete(1))]]);
    let log = pipes.log.clone();
    let (ending, _) = converse(Setup::new(TALK, "{}", pipes).start(MemoryJournal::new()).unwrap(), &[]).await;
    assert_eq!(ending.summary.retries, 2);
    let asked: Vec<Duration> =
        log.lock().unwrap().iter().filter(|(what, _)| *what == "asked").map(|(_, when)| *when).collect();
    let between = |low: u64, high: u64, time: Duration| {
        assert!(time >= Duration::from_millis(low) && time <= Duration::from_millis(high), "{time:?}");
    };
    between(500, 625, asked[1] - asked[0]);
    between(20_000, 25_000, asked[2] - asked[1]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_end_is_given_up() {
    let mut setup = Setup::new(TALK, "{}", Pipes::new(vec![vec![(10, bytes("{\"at\":\"01\",\"say\":\"I"))]]));
    setup.options.turn_timeout = Duration::from_secs(3);
    setup.settings.max_retries = 0;
    let (ending, _) = converse(setup.start(MemoryJournal::new()).unwrap(), &[]).await;
    let Some(Outcome::Failed(fault)) = &ending.outcome else { panic!("{:?}", ending.outcome) };
    assert!(fault.message.contains("the reply had no end after 3 s (turn_timeout)"), "{}", fault.message);
    assert_eq!(ending.summary.outcome, "failed");
    assert_eq!(ending.summary.wall_ms, 3_000);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stops_without_an_end_is_broken() {
    let entries = vec![ScriptEntry::error(ScriptError::Drop)];
    let mut setup = Setup::scripted(TALK, "{}", entries);
    setup.settings.max_retries = 0;
    let (ending, _) = converse(setup.start(MemoryJournal::new()).unwrap(), &[]).await;
    assert!(matches!(&ending.outcome, Some(Outcome::Failed(_))), "{:?}", ending.outcome);
}

#[tokio::test(start_paused = true)]
async fn waiting_chunks_are_one_event() {
    let parts: Vec<(u64, ReplyPart)> =
        WAIT.as_bytes().chunks(4).map(|chunk| (0, ReplyPart::Bytes(chunk.into()))).collect();
    let ready = futures_util::stream::iter(parts.into_iter().map(|(_, part)| part).chain([complete(1)]));
    struct Once(Mutex<Option<ReplyStream>>);
    impl Llm for Once {
        fn id(&self) -> Arc<str> {
            "once".into()
        }
        fn request(&self, _request: LlmRequest) -> ReplyStream {
            self.0.lock().unwrap().take().unwrap()
        }
    }
    let journal = Watched::new();
    let log = journal.log.clone();
    converse(Setup::new(TALK, "{}", Once(Mutex::new(Some(Box::pin(ready))))).start(journal).unwrap(), &[]).await;
    let log = log.lock().unwrap();
    assert_eq!(log.iter().filter(|line| *line == "chunk").count(), 1, "{log:?}");
}

/// A journal that notes what is done to it, and fails when it is told to.
struct Watched {
    inner: MemoryJournal,
    log: Arc<Mutex<Vec<String>>>,
    fails_at: u64,
}

impl Watched {
    fn new() -> Watched {
        Watched { inner: MemoryJournal::new(), log: Arc::default(), fails_at: u64::MAX }
    }
}

impl Journal for Watched {
    fn place(&self) -> PathBuf {
        "watched.jsonl".into()
    }

    fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        self.inner.records()
    }

    fn append(&mut self, time: Timestamp, body: RecordBody) -> Result<u64, JournalError> {
        if self.inner.snapshot().len() as u64 + 1 >= self.fails_at {
            return Err(JournalError::Io {
                path: self.place(),
                action: "write",
                cause: std::io::ErrorKind::StorageFull.into(),
                advice: "free some space, then resume the session with --session",
            });
        }
        let seq = self.inner.append(time, body)?;
        let records = self.inner.snapshot();
        self.log.lock().unwrap().push(names(&records).pop().unwrap());
        Ok(seq)
    }

    fn sync(&mut self) -> SyncFuture {
        self.log.lock().unwrap().push("sync".to_owned());
        self.inner.sync()
    }
}

#[tokio::test(start_paused = true)]
async fn a_writing_call_is_on_disk_before_it_starts() {
    let journal = Watched::new();
    let log = journal.log.clone();
    converse(Setup::desk().start(journal).unwrap(), &["4334"]).await;
    assert_eq!(
        *log.lock().unwrap(),
        [
            "begun",
            "chunk",
            "reply_ended",
            "sync",
            "message",
            "chunk",
            "call_started",
            "sync",
            "reply_ended",
            "call_ended",
            "chunk",
            "reply_ended",
            "sync"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_ends_the_session_and_says_so() {
    let mut n_failed = 0;
    for fails_at in 2..=10 {
        let mut journal = Watched::new();
        journal.fails_at = fails_at;
        let records = journal.inner.clone();
        let handle = Setup::desk().start(journal).unwrap().spawn();
        handle.send("4334").await.ok();
        let error = handle.outcome().await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "watched.jsonl: cannot write the journal: no storage space; free some space, then resume the session \
             with --session"
        );
        assert_eq!(records.snapshot().len() as u64, fails_at - 1);
        // What was written resumes.
        assert!(Setup::desk().resume(records).is_ok());
        n_failed += 1;
    }
    assert_eq!(n_failed, 9);
}

#[tokio::test(start_paused = true)]
async fn an_endless_loop_of_explicit_lines_can_be_stopped_and_seen() {
    const LOOP: &str = "# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $n = 0\n- Repeat 1000000000 times\n  - $n = $n + 1\n";
    let journal = MemoryJournal::new();
    let setup = Setup::scripted(LOOP, "{}", Vec::new());
    let handle = setup.start(journal.clone()).unwrap().spawn();
    let view = handle.view().await.unwrap();
    assert_eq!(view.stack.len(), 1);
    handle.stop().await;
    let ending = handle.outcome().await.unwrap();
    assert_eq!((ending.outcome.as_ref(), ending.summary.outcome), (None, "stopped"));
    assert!(names(&journal.snapshot()).iter().skip(1).all(|name| name == "go_on"));
    assert!(handle.view().await.is_ok(), "an ended session can still be looked at");
    assert!(handle.send("late").await.is_err());
    assert!(handle.has_ended());
}

#[tokio::test(start_paused = true)]
async fn messages_sent_early_wait_their_turn() {
    let journal = MemoryJournal::new();
    let handle = Setup::desk().start(journal.clone()).unwrap().spawn();
    handle.send("4334").await.unwrap();
    let ending = handle.outcome().await.unwrap();
    assert_eq!(ending.outcome, Some(Outcome::Done { value: "shipped".into() }));
}

async fn next_event(events: &mut Subscription) -> Arc<PublicEvent> {
    match events.next().await {
        Some(Notice::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_is_told_what_it_missed() {
    let mut session = Setup::desk().start(MemoryJournal::new()).unwrap();
    let mut slow = session.subscribe(Interest::Everything { capacity: 3 });
    let dropped = session.subscribe(Interest::Everything { capacity: 3 });
    drop(dropped);
    let handle = session.spawn();
    handle.send("4334").await.unwrap();
    handle.outcome().await.unwrap();
    let Some(Notice::Missed(n_missed)) = slow.next().await else { panic!() };
    let mut rest = Vec::new();
    while let Some(Notice::Event(event)) = slow.next().await {
        rest.push(event);
    }
    assert_eq!(rest.len(), 3);
    assert_eq!(rest[0].seq, n_missed + 1);
    assert_eq!(rest[2].name, "finished");
}

#[tokio::test(start_paused = true)]
async fn a_terminal_hears_every_word() {
    let text = "x".repeat(500);
    let line = format!("{{\"at\":\"01\",\"say\":\"{text}\"}}\n{{\"at\":\"01\",\"wait\":\"user\"}}");
    let parts = line.as_bytes().chunks(3).map(|chunk| (1, ReplyPart::Bytes(chunk.into()))).collect();
    let mut session = Setup::new(TALK, "{}", Pipes::new(vec![parts])).start(MemoryJournal::new()).unwrap();
    let mut speech = session.subscribe(Interest::Speech);
    let mut quick = session.subscribe(Interest::Everything { capacity: 10_000 });
    let handle = session.spawn();
    let mut n_deltas = 0;
    loop {
        let event = next_event(&mut quick).await;
        n_deltas += usize::from(event.name == "said_delta");
        if event.name == "waiting" {
            break;
        }
    }
    assert!(n_deltas > 100, "{n_deltas}");
    // Nobody has read the speech so far: it is one piece.
    let mut heard = Vec::new();
    while let Some(Notice::Event(event)) = speech.try_next() {
        heard.push(event);
    }
    let names: Vec<&str> = heard.iter().map(|event| event.name).collect();
    assert_eq!(names, ["session_started", "said_delta", "said", "waiting"]);
    assert!(matches!(&heard[1].body, PublicBody::SaidDelta { text: heard, .. } if *heard == text));
    handle.stop().await;
    assert_eq!(speech.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn sessions_of_a_process() {
    let sessions = Sessions::new(1);
    let start = || Setup::desk().start(MemoryJournal::new()).unwrap();
    let handle = sessions.spawn(start()).unwrap();
    assert_eq!((sessions.len(), sessions.ids()), (1, vec!["s1".into()]));
    assert_eq!(sessions.get("s1").map(|handle| handle.id().clone()), Some("s1".into()));
    let error = sessions.spawn(start()).err().unwrap().to_string();
    assert_eq!(error, "1 sessions are open already; end one, or raise max_sessions in playhouse.toml");
    handle.send("4334").await.unwrap();
    handle.outcome().await.unwrap();
    tokio::task::yield_now().await;
    assert!(sessions.is_empty());
    let both = Sessions::new(2);
    let _first = both.spawn(start()).unwrap();
    let error = both.spawn(start()).err().unwrap().to_string();
    assert!(error.starts_with("session s1 is open already in this process"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_session_nobody_can_reach_ends() {
    let journal = MemoryJournal::new();
    let mut session = Setup::desk().start(journal.clone()).unwrap();
    let mut events = session.subscribe(Interest::Speech);
    drop(session.spawn());
    while events.next().await.is_some() {}
    assert_eq!(names(&journal.snapshot()), ["begun", "chunk", "reply_ended"]);
}

#[tokio::test(start_paused = true)]
async fn ids_are_readable_and_sorted_by_time() {
    let clock = TestClock::new(Timestamp(1_795_301_285_000));
    let id = new_id(&clock);
    assert!(id.starts_with("20261121-224805-") && id.len() == 20, "{id}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(new_id(&clock) > id);
}

#[allow(dead_code)]
fn handles_go_anywhere(handle: SessionHandle) -> impl Clone + Send + Sync + 'static {
    handle
}
