//! Sessions: the loop around a machine, with scripted models, in memory and on tokio's paused clock.

mod barrier;
mod classifier;
mod conversation;
mod inputs;
mod interrupt;
mod listeners;
mod marks;
mod resting;
mod signals;
mod stored;
mod streams;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{Either, ready};

use playhouse::host::classify::TriggerClassifier;
use playhouse::host::classify::off::Off;
use playhouse::host::clock::TestClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::events::{PublicBody, PublicEvent};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{OutcomeWire, Record, RecordBody};
use playhouse::host::journal::{Durability, Flush, Journal, JournalError, JournalErrorKind, RecordStream};
use playhouse::host::llm::script::{Script, ScriptEntry, ScriptError};
use playhouse::host::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::session::{
    Ending, Interest, Notice, Session, SessionError, SessionHandle, SessionOptions, Start, Subscription, World,
};
use playhouse::host::sessions::{Sessions, new_id};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome, canned};
use playhouse::lang::SourceText;
use playhouse::lang::program::{Signature, Type};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{EffectClass, Finish, Outcome, ReplyEnd, Timestamp, ToolSignature, Usage, Wait};
use tokio::time::Instant;

/// What a program that is over has given back.
fn done(ending: &Ending) -> Option<Value> {
    match &ending.outcome {
        Some(Outcome::Done { value }) => Some(value.value().clone()),
        Some(Outcome::Failed(_)) | None => None,
    }
}

const ORDER_DESK: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- Say "Welcome."
- Ask the user for $order_id:str
- $order = GetOrder($order_id)
- Tell the user what became of it
- Return $order.state
"#;

const ORDER_TOOLS: &str = r#"{
  "GetOrder": {"args": ["order_id"], "required": ["order_id"],
               "responses": [{"return": {"state": "shipped"}}, {"return": {"state": "lost"}}]}
}"#;

fn order_script() -> Vec<ScriptEntry> {
    [
        "{\"at\":\"02\",\"say\":\"Which number?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n",
        "{\"at\":\"02\",\"set\":{\"order_id\":\"4334\"}}\n{\"at\":\"03\",\"wait\":\"calls\"}\n",
        "{\"at\":\"04\",\"say\":\"It is {$order.state}.\"}\n{\"at\":\"05\"}\n",
    ]
    .map(ScriptEntry::reply)
    .into()
}

struct Setup {
    program: &'static str,
    tools: &'static str,
    llm: Arc<dyn Llm>,
    classifier: Arc<dyn TriggerClassifier>,
    settings: Settings,
    options: SessionOptions,
    folder: PathBuf,
    extra_tools: Vec<Arc<dyn Tool>>,
}

impl Setup {
    fn new(program: &'static str, tools: &'static str, llm: impl Llm + 'static) -> Setup {
        Setup {
            program,
            tools,
            llm: Arc::new(llm),
            classifier: Arc::new(Off),
            settings: Settings::default(),
            options: SessionOptions::default(),
            folder: std::env::temp_dir(),
            extra_tools: Vec::new(),
        }
    }

    fn scripted(program: &'static str, tools: &'static str, entries: Vec<ScriptEntry>) -> Setup {
        Setup::new(program, tools, Script::from_entries("test", entries))
    }

    fn desk() -> Setup {
        Setup::scripted(ORDER_DESK, ORDER_TOOLS, order_script())
    }

    fn world(&self) -> World {
        let directory = WorkingDirectory::open(&self.folder).unwrap();
        let tools = Registry::new();
        for tool in canned::from_text(self.tools, &directory).unwrap() {
            tools.add(tool).unwrap();
        }
        for tool in &self.extra_tools {
            tools.add(tool.clone()).unwrap();
        }
        World {
            llm: self.llm.clone(),
            classifier: self.classifier.clone(),
            tools: Arc::new(tools),
            clock: Arc::new(TestClock::new(Timestamp(1_795_301_285_000))),
            options: self.options.clone(),
        }
    }

    fn start(&self, journal: impl Journal + 'static) -> Result<Session, SessionError> {
        let world = self.world();
        let roots = vec![SourceText { name: "desk.md".into(), text: self.program.into() }];
        let signatures: Vec<_> = world.tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
        let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("none".into()));
        let start = Start {
            id: "s1".into(),
            program: Arc::new(loaded.program),
            text,
            settings: self.settings.clone(),
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        Session::start(world, Box::new(journal), start)
    }

    async fn resume(&self, journal: impl Journal + 'static) -> Result<Session, SessionError> {
        Session::resume(self.world(), Box::new(journal)).await
    }
}

/// Runs a session to its end, answering each wait for the user with the next of `lines`; stops when there is none.
async fn converse(mut session: Session, lines: &[&str]) -> (Arc<Ending>, Vec<Arc<PublicEvent>>) {
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut lines = lines.iter();
    let mut seen = Vec::new();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            match lines.next() {
                Some(line) => handle.send(*line).await.unwrap(),
                None => handle.stop().await,
            }
        }
        seen.push(event);
    }
    (handle.outcome().await.unwrap(), seen)
}

fn said(events: &[Arc<PublicEvent>]) -> Vec<String> {
    let texts = events
        .iter()
        .filter_map(|event| if let PublicBody::Said { text } = &event.body { Some(text.to_string()) } else { None });
    texts.collect()
}

fn variables(ending: &Ending) -> Vec<(String, Value)> {
    let all = ending.view.globals.iter().flat_map(|(_, variables)| variables);
    all.map(|variable| (variable.name.to_string(), variable.value.value().clone())).collect()
}

fn names(records: &[Record]) -> Vec<String> {
    let name = |record: &Record| serde_json::to_value(record).unwrap()["type"].as_str().unwrap().to_owned();
    records.iter().map(name).collect()
}

/// A journal that notes what is done to it, and fails when it is told to.
struct Watched {
    inner: MemoryJournal,
    log: Arc<Mutex<Vec<String>>>,
    fails_at: u64,
}

impl Watched {
    fn new() -> Watched {
        Watched { inner: MemoryJournal::new(), log: Arc::default(), fails_at: u64::MAX }
    }
}

impl Journal for Watched {
    fn location(&self) -> String {
        "watched.jsonl".to_owned()
    }

    fn next_seq(&self) -> u64 {
        self.inner.next_seq()
    }

    fn append(&mut self, record: Record) {
        self.inner.append(record);
    }

    fn flush(&mut self, durability: Durability) -> Flush {
        if self.inner.next_seq() > self.fails_at {
            let (action, cause, advice) =
                ("write", "no storage space".to_owned(), "free some space, then resume the session");
            let error = JournalError::new(self.location(), JournalErrorKind::Full { action, cause, advice });
            return Either::Left(ready(Err(error)));
        }
        let n_before = self.inner.written().len();
        let flush = self.inner.flush(durability);
        let mut log = self.log.lock().unwrap();
        log.extend(names(&self.inner.written()[n_before..]));
        if durability == Durability::PowerCut {
            log.push("sync".to_owned());
        }
        flush
    }

    fn read(&mut self, from: u64) -> RecordStream {
        self.inner.read(from)
    }
}
