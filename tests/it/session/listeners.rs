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

/// A journal with a bug.
struct Panics(MemoryJournal);

impl Journal for Panics {
    fn place(&self) -> PathBuf {
        self.0.place()
    }

    fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        self.0.records()
    }

    fn append(&mut self, time: Timestamp, body: RecordBody) -> Result<u64, JournalError> {
        assert!(self.0.snapshot().is_empty(), "the first record only");
        self.0.append(time, body)
    }

    fn sync(&mut self) -> SyncFuture {
        self.0.sync()
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
