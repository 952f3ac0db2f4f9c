//! The user interrupts while tools run.

use tokio::sync::Notify;

use super::*;

const SLOW: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- $x = Slow()
- Ask the user for $name:str
- Return $name
"#;

/// Never comes to an end by itself; notes how it was ended.
#[derive(Default)]
struct Slow {
    has_begun: Notify,
    log: Mutex<Vec<&'static str>>,
}

/// A call of it, as long as anybody waits for that.
struct Held<'a>(&'a Slow);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.log.lock().unwrap().push("dropped");
    }
}

impl Tool for Slow {
    fn signature(&self) -> ToolSignature {
        let signature =
            Signature { name: "Slow".into(), parameters: Vec::new(), returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::Write)
    }

    fn call(&self, context: CallContext, _: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            let _held = Held(self);
            self.log.lock().unwrap().push("begun");
            self.has_begun.notify_one();
            context.cancel.cancelled().await;
            self.log.lock().unwrap().push("told");
            std::future::pending().await
        })
    }
}

fn setup(program: &'static str, slow: &Arc<Slow>, replies: &[&str]) -> Setup {
    let replies = replies.iter().map(|reply| ScriptEntry::reply(*reply)).collect();
    Setup { extra_tools: vec![slow.clone()], ..Setup::scripted(program, "{}", replies) }
}

/// Runs a session whose tool is interrupted as soon as it runs, and which is then answered with `lines`.
async fn interrupted(setup: &Setup, slow: &Slow, journal: MemoryJournal, lines: &[&str]) -> (Arc<Ending>, Vec<String>) {
    let mut session = setup.start(journal).unwrap();
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    slow.has_begun.notified().await;
    handle.interrupt().await.unwrap();
    let (mut lines, mut told) = (lines.iter(), Vec::new());
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if let PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User } = &event.body {
            told.push("waits".to_owned());
            match lines.next() {
                Some(line) => handle.send(*line).await.unwrap(),
                None => handle.stop().await,
            }
        } else if let PublicBody::CallFinished { error, .. } = &event.body {
            told.push(format!("{error:?}"));
        }
    }
    (handle.outcome().await.unwrap(), told)
}

const AFTERWARDS: &str = "{\"at\":\"02\",\"set\":{\"name\":\"Ida\"}}\n{\"at\":\"03\",\"return\":\"$name\"}\n";

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_running_tools_and_the_program_waits_for_the_user() {
    let (slow, journal) = (Arc::new(Slow::default()), MemoryJournal::new());
    let setup = setup(SLOW, &slow, &[AFTERWARDS]);
    let (ending, told) = interrupted(&setup, &slow, journal.clone(), &["I am Ida"]).await;
    assert_eq!(told, ["Some(\"interrupted by the user\")", "waits"]);
    assert_eq!(*slow.log.lock().unwrap(), ["begun", "told", "dropped"]);
    assert_eq!(done(&ending), Some("Ida".into()));
    let records = journal.snapshot();
    assert_eq!(
        names(&records)[..5],
        ["begun", "call_started", "interrupted", "call_ended", "message"],
        "nothing is waited for but the end of the call"
    );
    // Every part of it can be taken up again.
    for n_records in 4..=records.len() {
        let prefix = MemoryJournal::from_records(records[..n_records].to_vec());
        let again = self::setup(SLOW, &slow, &[AFTERWARDS]);
        let lines = if n_records < 5 { &["I am Ida"][..] } else { &[] };
        let (again, _) = converse(again.resume(prefix).await.unwrap(), lines).await;
        assert_eq!(done(&again), Some("Ida".into()), "after {n_records} records");
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_in_which_the_tool_went_on_after_the_interrupt_still_goes_on() {
    let (slow, journal) = (Arc::new(Slow::default()), MemoryJournal::new());
    interrupted(&setup(SLOW, &slow, &[]), &slow, journal.clone(), &[]).await;
    let mut records = journal.snapshot();
    assert_eq!(names(&records), ["begun", "call_started", "interrupted", "call_ended"]);
    let RecordBody::CallEnded { outcome, .. } = &mut records[3].body else { panic!("{records:?}") };
    assert_eq!(*outcome, OutcomeWire::Interrupted);
    *outcome = OutcomeWire::Value { value: Value::Int(8), secret: false };
    let old = MemoryJournal::from_records(records);
    let (ending, _) = converse(setup(SLOW, &slow, &[AFTERWARDS]).resume(old).await.unwrap(), &["I am Ida"]).await;
    assert_eq!(done(&ending), Some("Ida".into()));
    assert!(variables(&ending).contains(&("x".to_owned(), Value::Int(8))), "{:?}", variables(&ending));
}

#[tokio::test(start_paused = true)]
async fn a_return_that_waits_for_an_interrupted_call_waits_for_the_user() {
    const RETURNS: &str = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Return Slow()\n";
    let (slow, journal) = (Arc::new(Slow::default()), MemoryJournal::new());
    let setup = setup(RETURNS, &slow, &["{\"return\":\"none\"}\n"]);
    let (ending, told) = interrupted(&setup, &slow, journal, &["leave it"]).await;
    assert_eq!(told, ["Some(\"interrupted by the user\")", "waits"]);
    assert_eq!(done(&ending), Some("none".into()));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ends_does_not_wait_for_an_interrupted_call() {
    const ENDS: &str = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Slow()\n- End program\n";
    let (slow, journal) = (Arc::new(Slow::default()), MemoryJournal::new());
    let reply = "{\"at\":\"01\",\"call\":\"Slow\"}\n{\"at\":\"02\",\"end\":\"enough\"}\n";
    let setup =
        Setup { settings: Settings { explicit_lines: false, ..Settings::default() }, ..setup(ENDS, &slow, &[reply]) };
    let (ending, told) = interrupted(&setup, &slow, journal, &[]).await;
    assert_eq!(told, ["Some(\"interrupted by the user\")"]);
    assert_eq!(done(&ending), Some("enough".into()));
}

#[tokio::test]
async fn a_plugin_is_told_that_its_call_was_interrupted() {
    const ASKS: &str = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Demo.go()\n\
                        - Ask the user for $name:str\n- $y = Demo.go()\n- Return $y\n";
    let script =
        "next; tell begun; IFS= read -r cancel; echo \"$cancel\" >cancelled; fail cancelled ''; next; answer 2; next";
    let folder = tempfile::tempdir().unwrap();
    crate::plugin::write_folder(folder.path(), "- command_name: go\n", script);
    let plugin = crate::plugin::open(folder.path()).unwrap();
    let replies = vec![ScriptEntry::reply("{\"at\":\"02\",\"set\":{\"name\":\"Ida\"}}\n")];
    let setup = Setup { extra_tools: plugin.tools().to_vec(), ..Setup::scripted(ASKS, "{}", replies) };
    let mut session = setup.start(MemoryJournal::new()).unwrap();
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut failed = Vec::new();
    while let Some(Notice::Event(event)) = events.next().await {
        if let PublicBody::CallProgress { .. } = &event.body {
            handle.interrupt().await.unwrap();
        } else if let PublicBody::CallFinished { error: Some(error), .. } = &event.body {
            failed.push(error.to_string());
        } else if let PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User } = &event.body {
            handle.send("I am Ida").await.unwrap();
        }
    }
    assert_eq!(failed, ["interrupted by the user"]);
    assert_eq!(done(&handle.outcome().await.unwrap()), Some(Value::Int(2)));
    let told = std::fs::read_to_string(folder.path().join("cancelled")).unwrap();
    assert!(told.contains(r#""content":{"event":"cancel","thrd_id":"s1/1#1"}"#), "{told}");
    plugin.close().await;
}
