//! Events from outside, in sessions: they are inputs like messages, and no crash loses one or takes it twice.

use playhouse::host::llm::script::Repeat;
use playhouse::vm::protocol::Signal;
use regex::Regex;

use super::*;

const GALLERY: &str = r#"# Gallery

## Main
### Triggers
- At the beginning
### Steps
- Ask the user for $title:str
- Say "Bye, {$title}."

## Photo
### Triggers
- When photo_uploaded arrives
### Steps
- Say "Photo {$event}."
- Ask the user for $caption:str
- Say "{$event} shows {$caption}."
"#;

enum Given {
    Words(&'static str),
    Photo(i64),
}

/// The second photo comes while the first one is talked about, and once more.
const GIVEN: [Given; 6] = [
    Given::Photo(7),
    Given::Photo(8),
    Given::Words("cats"),
    Given::Photo(8),
    Given::Words("dogs"),
    Given::Words("Pets"),
];

/// Replies to whatever is asked, as often as it is.
fn replies() -> Vec<ScriptEntry> {
    let reply = |when: &str, reply: &str| ScriptEntry {
        when: Some(Regex::new(when).unwrap()),
        repeat: Repeat::Always,
        ..ScriptEntry::reply(reply)
    };
    vec![
        reply("USER \"cats\"", "{\"at\":\"02\",\"set\":{\"caption\":\"cats\"}}\n"),
        reply("USER \"dogs\"", "{\"at\":\"02\",\"set\":{\"caption\":\"dogs\"}}\n"),
        reply("USER \"Pets\"", "{\"at\":\"01\",\"set\":{\"title\":\"Pets\"}}\n"),
        reply("PLAYBOOK Photo", "{\"at\":\"02\",\"wait\":\"user\"}\n"),
        reply("PLAYBOOK Main", "{\"at\":\"01\",\"wait\":\"user\"}\n"),
    ]
}

async fn give(handle: &SessionHandle, given: &Given) {
    let sent = match given {
        Given::Words(words) => handle.send(*words).await,
        Given::Photo(id) => {
            let signal = Signal::new("photo_uploaded", Value::Int(*id), Some(id.to_string().into()));
            handle.signal(signal.unwrap()).await
        }
    };
    sent.unwrap();
}

/// Gives each wait for the user the next of `given`. What was said in all, how it ended, and the journal's records
/// before the last wait.
async fn play(mut session: Session, given: &[Given]) -> (Vec<String>, Arc<Ending>, Vec<Record>) {
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut given = given.iter();
    let mut records = Vec::new();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            records = handle.records().await.unwrap().unwrap();
            let Some(given) = given.next() else {
                panic!("something is given at each wait: {:?}", handle.view().await.unwrap().conversation)
            };
            give(&handle, given).await;
        }
    }
    let ending = handle.outcome().await.unwrap();
    let utterances = ending.view.conversation.iter();
    (utterances.map(|utterance| utterance.text.to_string()).collect(), ending, records)
}

#[tokio::test(start_paused = true)]
async fn events_are_neither_lost_nor_taken_twice_wherever_the_process_stops() {
    let setup = || Setup::scripted(GALLERY, "{}", replies());
    let session = setup().start(MemoryJournal::new()).unwrap();
    let (said, ending, records) = play(session, &GIVEN).await;
    assert_eq!(done(&ending), Some(Value::Null));
    let told = |text: &str| said.iter().filter(|said| *said == text).count();
    assert_eq!(["Photo 7.", "7 shows cats.", "Photo 8.", "8 shows dogs.", "Bye, Pets."].map(told), [1; 5], "{said:?}");
    let mut n_signals = 0;
    for n in 1..=records.len() {
        let before = &records[..n];
        let is_input = |record: &&Record| matches!(record.body, RecordBody::Message { .. } | RecordBody::Signal { .. });
        let n_given = before.iter().filter(is_input).count();
        n_signals += usize::from(matches!(before[n - 1].body, RecordBody::Signal { .. }));
        let session = setup().resume(MemoryJournal::from_records(before.to_vec())).await.unwrap();
        let (said_then, ..) = play(session, &GIVEN[n_given..]).await;
        assert_eq!(said_then, said, "stopped after record {n}: {:?}", before[n - 1].body);
    }
    assert_eq!(n_signals, 3);
}
