//! Who did what, and messages that are sent twice: also over a restart.

use playhouse::host::events::Mark;
use playhouse::host::session::{Deed, Receipt, Refusal, SendError};
use playhouse::vm::protocol::CallId;

use super::*;

const TWICE: &str = "# Desk

## Main
### Triggers
- At the beginning
### Steps
- Ask the user for $a:str
- Ask the user for $b:str
- Return $b
";

fn twice() -> Setup {
    let replies = [
        "{\"at\":\"01\",\"say\":\"A?\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n",
        "{\"at\":\"01\",\"set\":{\"a\":\"1\"}}\n{\"at\":\"02\",\"say\":\"B?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n",
        "{\"at\":\"02\",\"set\":{\"b\":\"2\"}}\n{\"at\":\"03\"}\n",
    ];
    Setup::scripted(TWICE, "{}", replies.map(ScriptEntry::reply).into())
}

fn message(text: &str, id: &str) -> Deed {
    Deed::Message { text: text.into(), id: Some(id.into()) }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_sent_twice_is_taken_once() {
    let journal = MemoryJournal::new();
    let mut session = twice().start(journal.clone()).unwrap();
    let mut events = session.subscribe(Interest::Everything { capacity: 1000 });
    let handle = session.spawn().on_behalf_of("ida");
    let mut before = Mark { n: 0, bytes: 0 };
    while let Some(Notice::Event(event)) = events.next().await {
        before = event.mark.unwrap_or(before);
        if event.name == "turn_finished" {
            break;
        }
    }
    let first = handle.deliver(message("one", "m1")).await.unwrap();
    assert_eq!(first, Receipt { mark: before, is_repeated: false });
    let last = journal.snapshot().iter().rfind(|record| matches!(record.body, RecordBody::Message { .. })).cloned();
    let last = serde_json::to_string(&last.unwrap()).unwrap();
    assert!(last.ends_with(r#""type":"message","text":"one","id":"m1","by":"ida"}"#), "{last}");
    let refused = async |handle: &SessionHandle| {
        let again = handle.deliver(message("one", "m1")).await.unwrap();
        assert_eq!(again, Receipt { is_repeated: true, ..first });
        let other = handle.deliver(message("two", "m1")).await.unwrap_err();
        assert_eq!(other, SendError::Refused(Refusal::AnotherText("m1".into())));
        let nothing = handle.deliver(Deed::Approve(CallId(9), true.into())).await.unwrap_err();
        assert_eq!(nothing, SendError::Refused(Refusal::NotAsked(9)));
    };
    refused(&handle).await;
    handle.stop().await;
    handle.outcome().await.unwrap();
    // The next process knows it, too.
    let handle = twice().resume(journal.clone()).await.unwrap().spawn();
    refused(&handle).await;
    let second = handle.deliver(message("two", "m2")).await.unwrap();
    assert!(!second.is_repeated && second.mark > first.mark);
    assert_eq!(done(&handle.outcome().await.unwrap()), Some("2".into()));
    let records = journal.snapshot();
    assert_eq!(records.iter().filter(|record| matches!(record.body, RecordBody::Message { .. })).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_was_read_is_not_read_again() {
    let journal = MemoryJournal::new();
    let setup = Setup::desk();
    let session = setup.start(journal.clone()).unwrap();
    let (ending, _) = converse(session, &[]).await;
    assert_eq!(ending.outcome, None);
    let programs = setup.options.programs.clone();
    let read = |journal: &MemoryJournal| {
        let world = setup.world();
        let kept = journal.clone();
        async move { Session::resume(world, Box::new(kept)).await.unwrap() }
    };
    let first = read(&journal).await;
    let signatures: Vec<_> = setup.world().tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let records = journal.snapshot();
    let RecordBody::Begun(begun) = &records[0].body else { panic!("it does not begin") };
    let begun = ProgramText { roots: begun.roots.clone(), files: begun.files.clone() };
    let one = programs.load(&begun, signatures.clone()).unwrap();
    drop(first);
    assert_eq!(Arc::strong_count(&one), 1, "what nobody has is let go");
    let _second = read(&journal).await;
    assert!(Arc::strong_count(&one) > 1, "the session has the same program");
    let other = Signature { summary: "another".into(), ..signatures[0].clone() };
    assert!(!Arc::ptr_eq(&one, &programs.load(&begun, vec![other]).unwrap()), "other tools, another reading");
}
