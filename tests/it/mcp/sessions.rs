//! Servers in running sessions: questions that survive a restart, tools that come while a program runs.

use std::collections::VecDeque;
use std::path::Path;

use playhouse::host::classify::off::Off;
use playhouse::host::clock::TestClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::llm::script::{Script, ScriptEntry};
use playhouse::host::program::load_texts;
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start};
use playhouse::host::tool::mcp::Generation;
use playhouse::lang::SourceText;
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Outcome, Timestamp, Wait};
use serde_json::json;

use super::server::{TestServer, tool};
use super::*;

/// What a person does when it is their turn.
pub(super) enum Person {
    /// Says something.
    Says(&'static str),
    /// Answers the question of a call.
    Answers(Value),
    /// Goes away; the session is stopped.
    Leaves,
}

/// What a run has come to.
pub(super) struct Run {
    pub(super) said: Vec<String>,
    pub(super) asked: Vec<String>,
    /// Names of events.
    pub(super) events: Vec<&'static str>,
    pub(super) value: Option<Value>,
}

/// Begins a session, or takes up the one that the journal holds.
async fn begin(registry: &Arc<Registry>, journal: &MemoryJournal, program: &str, script: Vec<ScriptEntry>) -> Session {
    let world = playhouse::host::session::World {
        llm: Arc::new(Script::from_entries("test", script)),
        classifier: Arc::new(Off),
        tools: registry.clone(),
        clock: Arc::new(TestClock::new(Timestamp(1_795_301_285_000))),
        options: SessionOptions::default(),
    };
    let session = if journal.snapshot().is_empty() {
        let roots = vec![SourceText { name: "program.md".into(), text: program.into() }];
        let signatures: Vec<_> = registry.signatures().iter().map(|tool| tool.signature.clone()).collect();
        let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("none".into()));
        let start = Start {
            id: "s1".into(),
            program: Arc::new(loaded.program),
            text,
            settings: Settings::default(),
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        Session::start(world, Box::new(journal.clone()), start)
    } else {
        Session::resume(world, Box::new(journal.clone())).await
    };
    session.unwrap()
}

/// Runs a program with these tools until it ends or the person leaves.
pub(super) async fn run(
    registry: &Arc<Registry>,
    journal: &MemoryJournal,
    program: &str,
    script: Vec<ScriptEntry>,
    person: Vec<Person>,
    before_answer: impl AsyncFn(),
) -> Run {
    let mut session = begin(registry, journal, program, script).await;
    let mut events = session.subscribe(Interest::Everything { capacity: 10_000 });
    let handle = session.spawn();
    let mut person = VecDeque::from(person);
    let mut run = Run { said: Vec::new(), asked: Vec::new(), events: Vec::new(), value: None };
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        run.events.push(event.name);
        if let PublicBody::Said { text } = &event.body {
            run.said.push(text.to_string());
        }
        if let PublicBody::ApprovalAsked { question, .. } = &event.body {
            run.asked.push(question.to_string());
        }
        if let PublicBody::Waiting { on: on @ (Wait::User | Wait::Approval(_)) } = &event.body {
            before_answer().await;
            match (person.pop_front(), on) {
                (Some(Person::Says(line)), Wait::User) => handle.send(line).await.unwrap(),
                (Some(Person::Answers(answer)), Wait::Approval(call)) => handle.approve(*call, answer).await.unwrap(),
                (Some(Person::Leaves), _) => handle.stop().await,
                (Some(Person::Says(_) | Person::Answers(_)) | None, _) => {
                    panic!("nobody expected to be asked: {on:?} {:?}", run.asked)
                }
            }
        }
    }
    if let Some(Outcome::Done { value }) = &handle.outcome().await.unwrap().outcome {
        run.value = Some(value.value().clone());
    }
    run
}

const DELETES: &str = "# Tidy\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $done = test.deletes()\n- \
                       Return $done\n";

#[tokio::test]
async fn a_question_of_a_server_is_asked_in_the_session_and_survives_a_restart() {
    for generation in GENERATIONS {
        let (server, _events) = TestServer::new(vec![tool("deletes", json!({}), 0)]);
        let question = "The server `test` asks: Delete everything?\nsure (yes or no)";
        let nothing = async || {};

        let world = World::new(server.options(generation)).await;
        let answers = vec![Person::Answers(Value::Bool(false))];
        let run_once = run(&world.registry, &MemoryJournal::new(), DELETES, Vec::new(), answers, nothing).await;
        assert_eq!(run_once.asked, [question]);
        assert_eq!(run_once.value, Some(r#"Accept {"sure":false}"#.into()));

        let journal = MemoryJournal::new();
        let leaves = vec![Person::Leaves];
        let begun = run(&world.registry, &journal, DELETES, Vec::new(), leaves, nothing).await;
        assert_eq!((begun.asked.len(), begun.value), (1, None));
        world.server.close().await;
        drop(world);
        let world = World::new(server.options(generation)).await;
        // The call is made anew, and the person who has answered is not asked again.
        let answers = vec![Person::Answers(Value::Bool(true))];
        let resumed = run(&world.registry, &journal, DELETES, Vec::new(), answers, nothing).await;
        assert_eq!(resumed.value, Some(r#"Accept {"sure":true}"#.into()), "{:?}", resumed.asked);
        assert!(resumed.asked.len() <= 1, "{:?}", resumed.asked);
    }
}

#[tokio::test]
async fn a_running_session_calls_a_tool_that_came_while_it_ran() {
    for generation in GENERATIONS {
        let (server, mut events) = TestServer::new(vec![tool("one", json!({}), 0)]);
        let world = World::new(server.options(generation)).await;
        world.server.follow(&world.registry);
        if generation == Generation::Discover {
            while events.recv().await.unwrap() != "listens" {}
        }
        let program = "# Tidy\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $go\n- Do it\n- \
                       Return $done\n";
        let script = [
            "{\"at\":\"01\",\"wait\":\"user\"}\n",
            "{\"at\":\"01\",\"set\":{\"go\":\"on\"}}\n{\"at\":\"02\",\"call\":\"test.late\",\"args\":{\"n\":1},\
             \"as\":\"done\"}\n{\"at\":\"02\",\"wait\":\"calls\"}\n",
            "{\"at\":\"03\"}\n",
        ];
        let changes = std::sync::Mutex::new(world.registry.changes());
        let before_answer = async || {
            server.change(vec![tool("late", json!({"n": {"type": "integer"}}), 1)]).await;
            let mut seen = changes.lock().unwrap().clone();
            seen.changed().await.unwrap();
            // The session reads it on its own task.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        };
        let script = script.map(ScriptEntry::reply).to_vec();
        let person = vec![Person::Says("go on")];
        let run = run(&world.registry, &MemoryJournal::new(), program, script, person, before_answer).await;
        assert_eq!(run.value, Some(r#"{"n":1}"#.into()), "{:?}", run.events);
    }
}

#[tokio::test]
async fn a_server_is_told_that_a_call_was_interrupted() {
    for generation in GENERATIONS {
        let (server, mut seen) = TestServer::new(vec![tool("slow", json!({}), 0)]);
        let world = World::new(server.options(generation)).await;
        let program = "# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = test.slow()\n- Ask the user \
                       for $name\n";
        let mut session = begin(&world.registry, &MemoryJournal::new(), program, Vec::new()).await;
        let mut events = session.subscribe(Interest::Everything { capacity: 10_000 });
        let handle = session.spawn();
        while seen.recv().await.unwrap() != "slow runs" {}
        handle.interrupt().await.unwrap();
        let mut failed = Vec::new();
        while let Some(Notice::Event(event)) = events.next().await {
            if let PublicBody::CallFinished { error: Some(error), .. } = &event.body {
                failed.push(error.to_string());
            } else if let PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User } = &event.body {
                break;
            }
        }
        assert_eq!(failed, ["interrupted by the user"]);
        assert_eq!(seen.recv().await.unwrap(), "slow was cancelled");
        handle.stop().await;
    }
}

/// The tools of a server are known when it is there, so a rule for one that it does not have is found then.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_a_tool_that_the_server_does_not_have_refuses_to_begin() {
    let (server, _events) = TestServer::new(vec![tool("read", json!({}), 0), tool("write", json!({}), 0)]);
    let http = server.http().await;
    let body = "}\n---\n\n# A\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Say \"x\"\n";
    let front = format!("---\nmcp: {{files: {{url: \"{}\"}}}}\ntools: {{files.write: {{approval: ask}}", http.url);
    let wrong = format!("{front}, files.wrote: {{approval: ask}}{body}");
    let right = format!("{front}{body}");
    let refused = tokio::task::spawn_blocking(move || {
        let run = crate::run::Run::new().program(&wrong).script("").line("check program.md").code(0);
        let done = run.then().line("run program.md --model script:script.jsonl").code(2);
        done.then().program(&right).line("run program.md --model script:script.jsonl").stdout("x\n");
        done.stderr
    });
    let refused = refused.await.unwrap();
    assert!(refused.contains("error[unknown-tool]: there is no tool `files.wrote`"), "{refused}");
    assert!(refused.contains("help: write `files.write`"), "{refused}");
}
