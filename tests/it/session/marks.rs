//! Marks: a place among a session's events that any later process finds again.

use playhouse::host::events::Mark;
use playhouse::host::llm::script::Chunks;
use playhouse::host::replay::{Stop, replay};

use super::*;

const TALK: &str = "# Desk

## Main
### Triggers
- At the beginning
### Steps
- Say \"Welcome to the desk.\"
- Tell the user a joke
- Ask the user for $order_id:str
- Return $order_id
";

fn talk(n_bytes: usize) -> Setup {
    let replies = [
        "{\"at\":\"02\",\"say\":\"Größe ist relativ.\"}\n{\"at\":\"03\",\"say\":\"Which number?\"}\n{\"at\":\"03\",\"wait\":\"user\"}\n",
        "{\"at\":\"03\",\"set\":{\"order_id\":\"4334\"}}\n{\"at\":\"04\"}\n",
    ];
    let entries = replies.map(|reply| ScriptEntry { chunks: Chunks::Every(n_bytes), ..ScriptEntry::reply(reply) });
    Setup::scripted(TALK, "{}", entries.into())
}

/// Runs a session until it waits for the user a second time, ends, or so many events were heard.
async fn hear(mut session: Session, line: Option<&str>, n_events: usize) -> Vec<Arc<PublicEvent>> {
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut heard = Vec::new();
    let mut line = line;
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if let PublicBody::Waiting { on: Wait::User } = &event.body {
            match line.take() {
                Some(line) => handle.send(line).await.unwrap(),
                None => handle.stop().await,
            }
        }
        heard.push(event);
        if heard.len() == n_events {
            handle.stop().await;
        }
    }
    let _ = handle.outcome().await;
    heard
}

fn marks(events: &[Arc<PublicEvent>]) -> Vec<Mark> {
    events.iter().filter_map(|event| event.mark).collect()
}

#[tokio::test(start_paused = true)]
async fn marks_rise_and_do_not_depend_on_how_a_reply_came() {
    let mut counted = Vec::new();
    for n_bytes in [1, 2, 5, 1000] {
        let journal = MemoryJournal::new();
        let events = hear(talk(n_bytes).start(journal.clone()).unwrap(), Some("4334"), usize::MAX).await;
        let marks = marks(&events);
        assert_eq!(marks.len(), events.len(), "each follows from the journal");
        assert!(marks.is_sorted(), "{marks:?}");
        assert_eq!(marks[0], Mark { n: 1, bytes: 0 });
        // Of speech only how far it has come.
        let whole = events.iter().filter(|event| event.name != "said_delta");
        counted.push(whole.map(|event| (event.name, event.mark)).collect::<Vec<_>>());
        let last = events.iter().rfind(|event| event.name == "said_delta").unwrap();
        assert_eq!(last.mark.unwrap().bytes, "Which number?".len() as u64);
        // Whoever reads the journal comes to the same place.
        let replayed = replay(&journal.snapshot(), None).unwrap();
        assert_eq!(replayed.maker.mark(), *marks.last().unwrap());
    }
    assert!(counted.windows(2).all(|pair| pair[0] == pair[1]), "{counted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_goes_on_goes_on_counting() {
    let whole = hear(talk(3).start(MemoryJournal::new()).unwrap(), Some("4334"), usize::MAX).await;
    for n_heard in 2..whole.len() {
        let journal = MemoryJournal::new();
        let before = hear(talk(3).start(journal.clone()).unwrap(), Some("4334"), n_heard).await;
        let last = *marks(&before).last().unwrap();
        let replayed = replay(&journal.snapshot(), None).unwrap();
        // A program that was stopped when it was over has its end in the journal, and nobody has heard of it.
        let is_over = matches!(replayed.stop, Stop::Finished(_)) && before.iter().all(|event| event.name != "finished");
        let expected = Mark { n: last.n + u64::from(is_over), ..last };
        assert_eq!(replayed.maker.mark(), expected, "stopped after {n_heard}");
        let session = talk(3).resume(journal.clone()).await.unwrap();
        let after = hear(session, None, usize::MAX).await;
        // What no journal has gets none; what is new stands after all that was heard.
        assert_eq!((after[0].name, after[0].mark), ("session_resumed", None));
        let marks = marks(&after);
        assert!(
            marks.iter().all(|mark| *mark > last) || after.iter().any(|event| event.name == "finished"),
            "{marks:?}"
        );
        assert!(marks.is_sorted(), "{marks:?}");
    }
}

#[test]
fn marks_are_written_and_read() {
    for (mark, text) in [(Mark { n: 12, bytes: 0 }, "1:12"), (Mark { n: 12, bytes: 5 }, "1:12+5")] {
        assert_eq!(mark.to_string(), text);
        assert_eq!(text.parse(), Ok(mark));
    }
    for text in ["", "12", "2:12", "1:", "1:x", "1:1+", "1:+1", "1:1++1", "1:-1"] {
        assert!(text.parse::<Mark>().is_err(), "{text}");
    }
}
