//! Sessions that rest, that are opened on demand, and a process that takes leave of all of them.

use std::sync::atomic::{AtomicUsize, Ordering};

use playhouse::host::session::SendError;
use playhouse::host::sessions::Sessions;

use super::*;

async fn waiting(mut session: Session, sessions: &Arc<Sessions>) -> (SessionHandle, Subscription) {
    let mut events = session.subscribe(Interest::Speech);
    let handle = sessions.spawn(session).unwrap();
    hear_wait(&mut events).await;
    (handle, events)
}

async fn hear_wait(events: &mut Subscription) {
    while let Some(Notice::Event(event)) = events.next().await {
        if let PublicBody::Waiting { on: Wait::User } = &event.body {
            return;
        }
    }
    panic!("it has ended");
}

#[tokio::test(start_paused = true)]
async fn a_session_rests_when_nobody_hears_it_and_goes_on_when_it_is_wanted() {
    let sessions = Sessions::new(10);
    let journal = MemoryJournal::new();
    let (handle, events) = waiting(Setup::desk().start(journal.clone()).unwrap(), &sessions).await;
    let minute = Duration::from_secs(60);
    tokio::time::sleep(minute).await;
    sessions.rest(minute);
    assert!(handle.view().await.is_ok() && !handle.has_ended(), "somebody listens");
    drop(events);
    sessions.rest(minute * 2);
    assert!(handle.view().await.is_ok() && !handle.has_ended(), "it has not waited for so long");
    sessions.rest(minute);
    let ended = handle.outcome().await.unwrap();
    assert_eq!((ended.outcome.clone(), ended.summary.outcome, ended.due), (None, "waiting", None));
    assert!(sessions.is_empty());
    assert!(handle.send("4334").await.is_err(), "what is said to it is refused, not lost");
    // Many want it at once: it is opened once.
    let opened = AtomicUsize::new(0);
    let (id, setup) = ("s1".into(), Setup::desk());
    let open = async || -> Result<Session, SessionError> {
        opened.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(minute).await;
        setup.resume(journal.clone()).await
    };
    let (one, two) = tokio::join!(sessions.open_or_resume(&id, open), sessions.open_or_resume(&id, open));
    assert_eq!((opened.load(Ordering::Relaxed), sessions.len()), (1, 1));
    one.unwrap().send("4334").await.unwrap();
    let ended = two.unwrap().outcome().await.unwrap();
    assert_eq!(done(&ended), Some("shipped".into()));
}

#[tokio::test(start_paused = true)]
async fn what_comes_just_before_a_session_rests_is_not_lost() {
    let sessions = Sessions::new(10);
    let journal = MemoryJournal::new();
    let (handle, events) = waiting(Setup::desk().start(journal.clone()).unwrap(), &sessions).await;
    drop(events);
    // Both stand in the inbox before the session's task runs again.
    handle.rest(Duration::ZERO);
    handle.send("4334").await.unwrap();
    let ended = handle.outcome().await.unwrap();
    assert_eq!(done(&ended), Some("shipped".into()));
}

#[tokio::test(start_paused = true)]
async fn one_that_nobody_needs_makes_room() {
    let sessions = Sessions::new(1);
    let (first, events) = waiting(Setup::desk().start(MemoryJournal::new()).unwrap(), &sessions).await;
    let open = async || Setup::desk().start(MemoryJournal::new());
    let refused = sessions.open_or_resume(&"s2".into(), open).await;
    assert!(matches!(refused, Err(SessionError::TooMany { limit: 1 })), "somebody listens to the one that is open");
    drop(events);
    // The new one calls itself s1, too: it is the other's journal that differs.
    let second = sessions.open_or_resume(&"s2".into(), open).await;
    assert!(first.has_ended());
    second.unwrap().stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_lets_all_go() {
    let sessions = Sessions::new(10);
    let (waits, events) = waiting(Setup::desk().start(MemoryJournal::new()).unwrap(), &sessions).await;
    drop(events);
    let begun = tokio::time::Instant::now();
    sessions.drain(Duration::from_secs(30)).await;
    assert!(waits.has_ended() && sessions.is_empty() && begun.elapsed() < Duration::from_secs(1));
    assert!(matches!(sessions.reserve(&"s3".into()), Err(SessionError::Draining)));
}

#[tokio::test(start_paused = true)]
async fn a_busy_session_gets_its_grace_and_is_stopped_then() {
    let sessions = Sessions::new(10);
    let hangs = ScriptEntry { error: Some(ScriptError::Hang), ..ScriptEntry::reply("") };
    let session = Setup::scripted(ORDER_DESK, ORDER_TOOLS, vec![hangs]).start(MemoryJournal::new()).unwrap();
    let handle = sessions.spawn(session).unwrap();
    let begun = tokio::time::Instant::now();
    sessions.drain(Duration::from_secs(30)).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(30) && took < Duration::from_secs(31), "{took:?}");
    assert_eq!(handle.outcome().await.unwrap().outcome, None);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_rests_tells_when_its_timer_is_due() {
    const REMINDER: &str = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $order_id:str\n\n## Remind\n### Triggers\n- Every 10 minutes\n### Steps\n- Say \"Still there?\"\n";
    let entry = ScriptEntry::reply("{\"at\":\"01\",\"say\":\"Which number?\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n");
    let setup = Setup::scripted(REMINDER, "{}", vec![entry]);
    let sessions = Sessions::new(10);
    let (handle, events) = waiting(setup.start(MemoryJournal::new()).unwrap(), &sessions).await;
    drop(events);
    tokio::time::sleep(Duration::from_secs(60)).await;
    sessions.rest(Duration::ZERO);
    let ended = handle.outcome().await.unwrap();
    // The clock of the test began with the session.
    let due = ended.due.expect("a timer runs");
    assert_eq!(due, Timestamp(1_795_301_285_000 + 600_000));
}

#[tokio::test(start_paused = true)]
async fn a_message_has_a_bound() {
    let mut setup = Setup::desk();
    setup.options.message_bytes = 4;
    let journal = MemoryJournal::new();
    let sessions = Sessions::new(1);
    let (handle, events) = waiting(setup.start(journal.clone()).unwrap(), &sessions).await;
    drop(events);
    let refused = handle.send("43340").await.unwrap_err();
    assert_eq!(refused, SendError::TooLarge { found: 5, limit: 4 });
    assert!(!names(&journal.snapshot()).contains(&"message".to_owned()));
    handle.send("4334").await.unwrap();
    assert_eq!(done(&handle.outcome().await.unwrap()), Some("shipped".into()));
}
