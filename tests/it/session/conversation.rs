//! Whole conversations, interrupted and resumed ones.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_conversation_from_beginning_to_end() {
    let journal = MemoryJournal::new();
    let (ending, events) = converse(Setup::desk().start(journal.clone()).unwrap(), &["4334"]).await;
    assert_eq!(done(&ending), Some("shipped".into()));
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
        let session = safe_desk().resume(prefix.clone()).await.unwrap();
        let (ending, resumed) = converse(session, &["4334"][n_messages..]).await;
        assert_eq!(ending.outcome, expected.outcome, "after {n_records} records");
        assert_eq!(variables(&ending), variables(&expected), "after {n_records} records");
        assert_eq!(resumed[0].name, "session_resumed");
        assert_eq!(resumed.last().unwrap().name, "finished");
        // Nothing is said twice, and nothing is left out.
        let again = said(&resumed);
        assert!(said(&events).ends_with(&again), "{again:?}");
        // The resumed session can be resumed in its turn.
        let (again, _) = converse(safe_desk().resume(prefix).await.unwrap(), &[]).await;
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
    converse(desk().resume(prefix).await.unwrap(), &[]).await;
    assert_eq!(calls().lines().count(), 1, "what became of the first call is not known: there is no second");
    let before = MemoryJournal::from_records(records[..n_started - 1].to_vec());
    converse(desk().resume(before).await.unwrap(), &[]).await;
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
    let (ending, events) = converse(Setup::desk().resume(journal.clone()).await.unwrap(), &["4334"]).await;
    assert_eq!(done(&ending), Some("shipped".into()));
    assert_eq!(said(&events), ["It is shipped."]);
    assert_eq!(events.iter().filter(|event| event.name == "waiting").count(), 2, "for the user, for the call");
    // A finished session has nothing to add.
    let n_records = journal.snapshot().len();
    let (ending, events) = converse(Setup::desk().resume(journal.clone()).await.unwrap(), &[]).await;
    assert_eq!(done(&ending), Some("shipped".into()));
    assert_eq!(events.iter().map(|event| event.name).collect::<Vec<_>>(), ["session_resumed", "finished"]);
    assert_eq!(journal.snapshot().len(), n_records);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_does_not_fit_is_refused() {
    let journal = MemoryJournal::new();
    converse(Setup::desk().start(journal.clone()).unwrap(), &["4334"]).await;
    let error = async |records: Vec<Record>| {
        Setup::desk().resume(MemoryJournal::from_records(records)).await.err().unwrap().to_string()
    };
    assert!(error(Vec::new()).await.contains("the journal holds no session: it is empty"));
    let mut without_reply = journal.snapshot();
    without_reply.drain(1..3);
    let text = error(without_reply).await;
    assert!(text.contains("replay does not follow the journal at record 3: turn 2 has not been started"), "{text}");
    let mut with_go_on = journal.snapshot();
    with_go_on[1].body = RecordBody::GoOn;
    assert!(error(with_go_on).await.contains("at record 2: the machine is at Blocked(Reply(TurnId(1)))"));
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
            "watched.jsonl: cannot write the journal: no storage space; free some space, then resume the session"
        );
        assert!((1..fails_at).contains(&(records.snapshot().len() as u64)), "what was flushed before");
        // What was written resumes.
        assert!(Setup::desk().resume(records).await.is_ok());
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
    assert_eq!(done(&ending), Some("shipped".into()));
}

/// Asks a person before it does anything.
struct Pay;

impl Tool for Pay {
    fn signature(&self) -> ToolSignature {
        let signature =
            Signature { name: "Pay".into(), parameters: Vec::new(), returns: Type::ANY, summary: "Pays.".into() };
        ToolSignature::new(signature, EffectClass::Write)
    }

    fn call(&self, context: CallContext, _arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            match context.ask {
                Some(answer) => ToolOutcome::Value(answer),
                None => ToolOutcome::Needs("pay 5 EUR?".into()),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_outlives_the_process() {
    const SHOP: &str =
        "# Shop\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $paid = Pay()\n- Return $paid\n";
    let shop = || Setup { extra_tools: vec![Arc::new(Pay)], ..Setup::scripted(SHOP, "{}", Vec::new()) };
    let ask = async |session: Session, answer: Option<Value>| {
        let mut session = session;
        let mut events = session.subscribe(Interest::Speech);
        let handle = session.spawn();
        while let Some(Notice::Event(event)) = events.next().await {
            if let PublicBody::Waiting { on: Wait::Approval(call) } = event.body {
                match &answer {
                    Some(answer) => handle.approve(call, answer.clone()).await.unwrap(),
                    None => handle.stop().await,
                }
            }
        }
        handle.outcome().await.unwrap()
    };
    let journal = MemoryJournal::new();
    let ending = ask(shop().start(journal.clone()).unwrap(), None).await;
    assert_eq!((ending.outcome.as_ref(), ending.summary.outcome), (None, "waiting"));
    let ending = ask(shop().resume(journal.clone()).await.unwrap(), Some("by Ann".into())).await;
    assert_eq!(done(&ending), Some("by Ann".into()));
    let records = journal.snapshot();
    let expected = ["begun", "call_started", "call_ended", "approved", "call_started", "call_ended"];
    assert_eq!(names(&records), expected);
    assert!(matches!(records[4].body, RecordBody::CallStarted { call: 1, attempt: 2 }));
    assert!(shop().resume(journal).await.is_ok());
}

/// Gives back more than a session keeps.
struct Huge;

impl Tool for Huge {
    fn signature(&self) -> ToolSignature {
        let signature =
            Signature { name: "Huge".into(), parameters: Vec::new(), returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::ReadOnly)
    }

    fn call(&self, _: CallContext, _: Map) -> ToolFuture<'_> {
        Box::pin(async { ToolOutcome::Value("x".repeat(100_000).into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_large_is_not_in_the_journal() {
    const TAKES: &str =
        "# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Huge()\n- Say \"done\"\n- Return 1\n";
    let settings = Settings { value_bytes: 10_000, ..Settings::default() };
    let setup = || Setup {
        extra_tools: vec![Arc::new(Huge)],
        settings: settings.clone(),
        ..Setup::scripted(TAKES, "{}", vec![ScriptEntry::reply("{\"return\":1}\n")])
    };
    let journal = MemoryJournal::new();
    let (ending, events) = converse(setup().start(journal.clone()).unwrap(), &[]).await;
    assert_eq!((done(&ending), said(&events)), (Some(Value::Int(1)), vec!["done".to_owned()]));
    let text = serde_json::to_string(&journal.snapshot()).unwrap();
    assert!(text.contains("the result is larger than the limit `value_bytes` of 10000 bytes") && text.len() < 10_000);
    let (again, _) = converse(setup().resume(journal).await.unwrap(), &[]).await;
    assert_eq!(done(&again), Some(Value::Int(1)));
}

#[tokio::test(start_paused = true)]
async fn a_debugger_can_change_a_variable() {
    let journal = MemoryJournal::new();
    let mut session = Setup::desk().start(journal.clone()).unwrap();
    let mut events = session.subscribe(Interest::Speech);
    let handle = session.spawn();
    while let Some(Notice::Event(event)) = events.next().await {
        if event.name == "waiting" {
            break;
        }
    }
    handle.edit(None, "note", Value::Int(3)).await.unwrap();
    let view = handle.view().await.unwrap();
    let variables = view.globals.iter().flat_map(|(_, variables)| variables);
    let found: Vec<_> = variables.filter(|variable| &*variable.name == "note").collect();
    assert_eq!(found.len(), 1);
    handle.stop().await;
    handle.outcome().await.unwrap();
    assert_eq!(names(&journal.snapshot()).pop().unwrap(), "edited");
}
