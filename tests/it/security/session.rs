//! A whole session with a scripted model, and everything that anybody could see of it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use playhouse::host::classify::off::Off;
use playhouse::host::clock::TestClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::llm::script::{Script, ScriptEntry};
use playhouse::host::llm::{Llm, LlmRequest, ReplyStream};
use playhouse::host::program::load_texts;
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::tool::Tool;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Outcome, Timestamp};

/// What there was to see.
pub(super) struct Played {
    /// The public events, a line of JSON each, as `--events` writes them.
    pub(super) events: String,
    /// The records of the journal, a line of JSON each.
    pub(super) journal: String,
    /// Every message to the model.
    pub(super) asked: Vec<String>,
    /// What the user was told.
    pub(super) said: Vec<String>,
    /// The names of all calls that were queued.
    pub(super) calls: Vec<String>,
    /// What the program gave back; none: it failed.
    pub(super) result: Option<Value>,
    /// The variables at the end.
    pub(super) variables: Vec<(String, Value)>,
}

/// Plays a program with these tools to its end. `replies` are the model's, `user` what is said when it waits.
pub(super) async fn play(program: &str, tools: &[Arc<dyn Tool>], replies: &[&str], user: &[&str]) -> Played {
    let registry = Registry::new();
    for tool in tools {
        registry.add(tool.clone()).unwrap();
    }
    let script = Script::from_entries("test", replies.iter().map(|reply| ScriptEntry::reply(*reply)).collect());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let signatures: Vec<_> = registry.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let roots = vec![SourceText { name: "desk.md".into(), text: program.into() }];
    let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("none".into()));
    let world = World {
        llm: Arc::new(Noting { script, asked: asked.clone() }),
        classifier: Arc::new(Off),
        tools: Arc::new(registry),
        clock: Arc::new(TestClock::new(Timestamp(1_795_301_285_000))),
        options: SessionOptions::default(),
    };
    let start = Start {
        id: "s1".into(),
        program: Arc::new(loaded.program),
        text,
        settings: Settings::default(),
        entry: None,
        arguments: Map::new(),
        given: Default::default(),
    };
    let mut session = Session::start(world, Box::new(MemoryJournal::new()), start).unwrap();
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let (mut lines, mut said, mut calls, mut journal) = (String::new(), Vec::new(), Vec::new(), String::new());
    let mut user = user.iter();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        lines.push_str(&format!("{}\n", serde_json::to_string(&event).unwrap()));
        // The session lives while it has anything to tell.
        if let Ok(Ok(records)) = handle.records().await {
            journal = records.iter().map(|record| format!("{}\n", serde_json::to_string(record).unwrap())).collect();
        }
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            match user.next() {
                Some(line) => handle.send(*line).await.unwrap(),
                None => handle.stop().await,
            }
        } else if let PublicBody::Said { text } = &event.body {
            said.push(text.to_string());
        } else if let PublicBody::CallQueued { callable, .. } = &event.body {
            calls.push(callable.to_string());
        }
    }
    let ending = handle.outcome().await.unwrap();
    let variables = ending.view.globals.iter().flat_map(|(_, variables)| variables);
    let variables = variables.map(|variable| (variable.name.to_string(), variable.value.value().clone())).collect();
    let result = match &ending.outcome {
        Some(Outcome::Done { value }) => Some(value.value().clone()),
        Some(Outcome::Failed(_)) | None => None,
    };
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    Played { events: lines, journal, asked, said, calls, result, variables }
}

/// A scripted model that notes what it is asked.
struct Noting {
    script: Script,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Llm for Noting {
    fn id(&self) -> Arc<str> {
        self.script.id()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        self.asked.lock().unwrap().extend(request.messages.iter().map(|message| message.text.to_string()));
        self.script.request(request)
    }
}
