//! Who listens to a session, and the sessions of a process.

use super::streams::{Pipes, TALK};
use super::*;

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

/// Tells more news than anybody wants to hear.
struct Chatty;

impl Tool for Chatty {
    fn signature(&self) -> ToolSignature {
        let signature =
            Signature { name: "Chatty".into(), parameters: Vec::new(), returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::ReadOnly)
    }

    fn call(&self, context: CallContext, _: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            for number in 0..5_000 {
                let _ = context.progress.send(Value::Int(number)).await;
            }
            ToolOutcome::Value(Value::Null)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn of_news_about_a_call_that_nobody_reads_the_last_is_kept() {
    const TALK: &str = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Chatty()\n- $y = Chatty()\n- Return $y\n";
    let setup = Setup { extra_tools: vec![Arc::new(Chatty)], ..Setup::scripted(TALK, "{}", Vec::new()) };
    let mut session = setup.start(MemoryJournal::new()).unwrap();
    let (mut speech, mut all) =
        (session.subscribe(Interest::Speech), session.subscribe(Interest::Everything { capacity: 100_000 }));
    session.spawn().outcome().await.unwrap();
    let mut heard = Vec::new();
    while let Some(Notice::Event(event)) = speech.next().await {
        heard.push(event.name);
    }
    assert_eq!(heard.iter().filter(|name| **name == "call_progress").count(), 2, "{heard:?}");
    let mut n_news = 0;
    while let Some(Notice::Event(event)) = all.next().await {
        n_news += usize::from(event.name == "call_progress");
    }
    assert_eq!(n_news, 10_000, "whoever wants everything gets everything");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_nobody_reads_is_bounded() {
    const TALK: &str =
        "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Repeat 12000 times\n  - Say \"x\"\n";
    let mut session = Setup::scripted(TALK, "{}", Vec::new()).start(MemoryJournal::new()).unwrap();
    let mut speech = session.subscribe(Interest::Speech);
    session.spawn().outcome().await.unwrap();
    let Some(Notice::Missed(n_missed)) = speech.next().await else { panic!("it holds everything") };
    let mut n_heard = 0;
    let mut last = "";
    while let Some(Notice::Event(event)) = speech.next().await {
        (n_heard, last) = (n_heard + 1, event.name);
    }
    assert_eq!((n_heard, last), (10_000, "finished"));
    assert!(n_missed > 10_000, "a delta and its whole for each: {n_missed}");
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
    assert!(sessions.is_empty(), "who has heard of the end can take its place");
    let both = Sessions::new(2);
    let _first = both.spawn(start()).unwrap();
    let error = both.spawn(start()).err().unwrap().to_string();
    assert!(error.starts_with("session s1 is open already in this process"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_of_a_session_for_which_there_is_no_room() {
    let sessions = Sessions::new(1);
    let place = sessions.reserve(&"s1".into()).unwrap();
    assert_eq!((sessions.len(), sessions.ids(), sessions.get("s1").is_some()), (1, Vec::new(), false));
    for id in ["s1", "s2"] {
        assert!(sessions.reserve(&id.into()).is_err(), "{id}: before it begins");
    }
    let journal = MemoryJournal::new();
    let handle = place.spawn(Setup::desk().start(journal.clone()).unwrap()).unwrap();
    assert_eq!(sessions.ids(), ["s1".into()]);
    handle.stop().await;
    handle.outcome().await.unwrap();
    // The very same session goes on in the place that is free now.
    let place = sessions.reserve(&"s1".into()).unwrap();
    drop(place);
    assert!(sessions.is_empty(), "one that does not begin leaves its place");
    // A session with another id than was said takes a place of its own.
    let handle = sessions.reserve(&"s9".into()).unwrap().spawn(Setup::desk().resume(journal).await.unwrap()).unwrap();
    assert_eq!((sessions.ids(), sessions.len()), (vec!["s1".into()], 1));
    handle.stop().await;
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
    assert!(id.starts_with("20261121-224805-") && id.len() == 32, "{id}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(new_id(&clock) > id);
}

#[allow(dead_code)]
fn handles_go_anywhere(handle: SessionHandle) -> impl Clone + Send + Sync + 'static {
    handle
}

/// A journal with a bug.
struct Panics(MemoryJournal);

impl Journal for Panics {
    fn location(&self) -> String {
        self.0.location()
    }

    fn next_seq(&self) -> u64 {
        self.0.next_seq()
    }

    fn append(&mut self, record: Record) {
        assert_eq!(record.seq, 1, "the first record only");
        self.0.append(record);
    }

    fn flush(&mut self, durability: Durability) -> Flush {
        self.0.flush(durability)
    }

    fn read(&mut self, from: u64) -> RecordStream {
        self.0.read(from)
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_panics_is_told_to_all() {
    let sessions = Sessions::new(1);
    let mut session = Setup::desk().start(Panics(MemoryJournal::new())).unwrap();
    let mut events = session.subscribe(Interest::Speech);
    let handle = sessions.spawn(session).unwrap();
    while events.next().await.is_some() {}
    let error = handle.outcome().await.err().unwrap().to_string();
    assert!(error.starts_with("internal error: the session's task ended unexpectedly"), "{error}");
    assert!(handle.view().await.is_err());
    assert!(handle.has_ended() && sessions.is_empty());
}
