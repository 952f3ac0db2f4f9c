//! Replies that come late, break off or run on.

use super::*;

/// One part of a reply and the time before it.
pub(super) type Piped = VecDeque<(u64, ReplyPart)>;

/// A model whose replies come in parts at given times.
pub(super) struct Pipes {
    replies: Mutex<VecDeque<Piped>>,
    /// When it was asked, and when the reply was dropped.
    pub(super) log: Arc<Mutex<Vec<(&'static str, Duration)>>>,
    began: Instant,
}

struct LogDrop(Arc<Mutex<Vec<(&'static str, Duration)>>>, Instant);

impl Drop for LogDrop {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(("dropped", self.1.elapsed()));
    }
}

impl Pipes {
    pub(super) fn new(replies: Vec<Vec<(u64, ReplyPart)>>) -> Pipes {
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

pub(super) fn bytes(text: &str) -> ReplyPart {
    ReplyPart::Bytes(text.into())
}

pub(super) fn complete(completion_tokens: u64) -> ReplyPart {
    let usage = Usage { prompt_tokens: 100, cached_tokens: 0, completion_tokens };
    ReplyPart::End { end: ReplyEnd::Complete(Finish::Stop), usage: Some(usage) }
}

pub(super) const TALK: &str =
    "# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Talk with the user\n- Say goodbye\n";
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
    let ending = handle.outcome().await.unwrap();
    assert_eq!(ending.summary.cancels, 0, "when the user speaks is no matter of ours");
}

/// How long it takes to cut a reply off is measured from its last byte.
#[tokio::test(start_paused = true)]
async fn replies_cut_off_are_counted() {
    let bad = || vec![(10, bytes("{\"at\":\"77\",\"say\":\"x\"}\n")), (9_000, bytes("more"))];
    let good = || vec![(10, bytes(WAIT)), (0, complete(1))];
    for (replies, n_cut) in [(vec![bad(), bad(), good()], 2), (vec![good()], 0)] {
        let setup = Setup::new(TALK, "{}", Pipes::new(replies));
        let (ending, _) = converse(setup.start(MemoryJournal::new()).unwrap(), &[]).await;
        let summary = &ending.summary;
        assert_eq!((summary.repairs, summary.cancels), (n_cut, n_cut));
        assert_eq!((summary.cancel_us, summary.cancel_max_us), (0, 0), "the clock stands still in between");
    }
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
