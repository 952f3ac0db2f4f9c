//! Sessions whose program has triggers in words: how long they wait for a verdict, and how they go on.

use playhouse::host::classify::script::ScriptClassifier;

use super::*;

const DESK: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- Repeat until the user says goodbye
  - Wait for the user
  - Set $mood to how the user feels
  - Tell the user something

## Calm
### Triggers
- When the $mood of the user is bad
### Steps
- Say "I am sorry."
"#;

/// The model: waits; sets the mood and talks on; waits for ever after.
fn model() -> Vec<ScriptEntry> {
    let wait = "{\"at\":\"01.01\",\"wait\":\"user\"}\n";
    let talk =
        format!("{{\"at\":\"01.02\",\"set\":{{\"mood\":\"bad\"}}}}\n{{\"at\":\"01.03\",\"say\":\"Nice.\"}}\n{wait}");
    let again = talk.replace("bad", "worse");
    [wait, &talk, &again, wait, wait].map(ScriptEntry::reply).into()
}

fn setup(classifier: impl TriggerClassifier + 'static) -> Setup {
    Setup { classifier: Arc::new(classifier), ..Setup::scripted(DESK, "{}", model()) }
}

fn script(entries: &str) -> ScriptClassifier {
    ScriptClassifier::from_text("c", entries).unwrap()
}

/// What became of the trigger, each with how long it took.
fn verdicts(events: &[Arc<PublicEvent>]) -> Vec<(&'static str, u64)> {
    let verdict = |event: &Arc<PublicEvent>| {
        let PublicBody::TriggerEvaluated { ruling, ms, .. } = &event.body else { return None };
        Some((ruling.into(), *ms))
    };
    events.iter().filter_map(verdict).collect()
}

#[tokio::test(start_paused = true)]
async fn a_verdict_is_waited_for_and_no_longer() {
    for (entry, verdict, ms, expected) in [
        // The model goes on when the trigger's playbook has returned.
        (r#"{"match":["Calm:T1"]}"#, "match", 0, vec!["I am sorry.", "Nice."]),
        (r#"{"match":["Calm:T1"],"delay_ms":400}"#, "match", 400, vec!["I am sorry.", "Nice."]),
        (r#"{"match":[],"delay_ms":400}"#, "no_match", 400, vec!["Nice."]),
        (r#"{"match":["Calm:T1"],"delay_ms":6000}"#, "timeout", 5_000, vec!["Nice."]),
        (r#"{"error":"hang"}"#, "timeout", 5_000, vec!["Nice."]),
        (r#"{"error":500,"delay_ms":20}"#, "failed", 20, vec!["Nice."]),
    ] {
        let began = Instant::now();
        let (ending, events) = converse(setup(script(entry)).start(MemoryJournal::new()).unwrap(), &["hello"]).await;
        assert_eq!(said(&events), expected, "{entry}");
        assert_eq!(verdicts(&events)[0], (verdict, ms), "{entry}");
        assert_eq!(began.elapsed().as_millis(), u128::from(ms), "nothing else is waited for: {entry}");
        let summary = &ending.summary;
        let n_calls = expected.len() as u64;
        assert_eq!((summary.classifier_calls, summary.classifier_ms), (n_calls, ms));
        assert_eq!(summary.verdict_ms, ms / n_calls);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_out_is_configured() {
    let mut setup = setup(script(r#"{"error":"hang"}"#));
    setup.options.classifier_timeout = Duration::from_millis(70);
    let (_, events) = converse(setup.start(MemoryJournal::new()).unwrap(), &["hello"]).await;
    assert_eq!(verdicts(&events), [("timeout", 70)]);
}

/// A classifier without a delay is asked inside of the task: nothing lies between the question and its verdict.
#[tokio::test(start_paused = true)]
async fn a_verdict_at_once_follows_its_question() {
    let journal = MemoryJournal::new();
    converse(setup(script(r#"{"match":[]}"#)).start(journal.clone()).unwrap(), &["hello"]).await;
    assert_eq!(
        names(&journal.snapshot()),
        ["begun", "chunk", "reply_ended", "message", "chunk", "verdict", "reply_ended"]
    );
}

/// A resumed session goes on in the script where it stood, and a question that was open is asked again.
#[tokio::test(start_paused = true)]
async fn scripts_go_on_after_a_restart() {
    let entries = r#"{"match":[]}
                     {"when":"worse","match":["Calm:T1"],"delay_ms":300}"#;
    let journal = MemoryJournal::new();
    let session = setup(script(entries)).start(journal.clone()).unwrap();
    let (_, events) = converse(session, &["hello"]).await;
    assert_eq!(verdicts(&events), [("no_match", 0)]);

    // Stopped while the second question is open.
    let session = setup(script(entries)).resume(journal.clone()).await.unwrap();
    let handle = session.spawn();
    handle.send("hello").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    handle.stop().await;
    let ending = handle.outcome().await.unwrap();
    assert_eq!(ending.summary.outcome, "stopped");
    assert!(ending.view.question.is_some());

    let (ending, events) = converse(setup(script(entries)).resume(journal.clone()).await.unwrap(), &[]).await;
    assert_eq!(verdicts(&events).last().map(|(verdict, _)| *verdict), Some("match"));
    assert_eq!(said(&events), ["I am sorry."]);
    let unused = ending.left_over.iter().find(|left| left.message.starts_with("script c,"));
    assert_eq!(unused, None, "both entries were used, once");
}

/// Nobody is there any more, but what has begun is ended.
#[tokio::test(start_paused = true)]
async fn an_abandoned_session_waits_for_its_verdict() {
    let journal = MemoryJournal::new();
    let session = setup(script(r#"{"match":[],"delay_ms":400}"#)).start(journal.clone()).unwrap();
    let handle = session.handle();
    let task = tokio::spawn(session.run());
    handle.send("hello").await.unwrap();
    drop(handle);
    let began = Instant::now();
    task.await.unwrap();
    assert_eq!(began.elapsed().as_millis(), 400);
    assert!(names(&journal.snapshot()).contains(&"verdict".to_owned()));
}

/// A trigger's timer alone is no reason to go on.
#[tokio::test(start_paused = true)]
async fn timers_of_triggers_keep_no_session_running() {
    let program = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Wait for the user\n\n\
                   ## Tick\n### Triggers\n- Every 10 minutes\n### Steps\n- Say \"Tick.\"\n";
    let reply = || ScriptEntry::reply("{\"at\":\"01\",\"wait\":\"user\"}");
    let desk = || Setup::scripted(program, "{}", vec![reply(), reply()]);
    let session = desk().start(MemoryJournal::new()).unwrap();
    let began = Instant::now();
    session.run().await;
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    // With somebody there it beats.
    let mut session = desk().start(MemoryJournal::new()).unwrap();
    let mut events = session.subscribe(Interest::Speech);
    let handle = session.spawn();
    let text = loop {
        let Some(Notice::Event(event)) = events.next().await else { panic!() };
        if let PublicBody::Said { text } = &event.body {
            break text.clone();
        }
    };
    assert_eq!(&*text, "Tick.");
    handle.stop().await;
}
