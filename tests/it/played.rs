//! Sessions that are played in memory on tokio's paused clock, from a case that is a text: what they took, tokens and
//! time, is the same every time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse::host::classify::TriggerClassifier;
use playhouse::host::classify::model::ModelClassifier;
use playhouse::host::classify::off::Off;
use playhouse::host::classify::script::ScriptClassifier;
use playhouse::host::clock::TestClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::Record;
use playhouse::host::llm::script::Script;
use playhouse::host::program::load_texts;
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::{Tool, canned};
use playhouse::lang::SourceText;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Timestamp, Wait};

/// When every session begins.
const BEGINS: Timestamp = Timestamp(1_795_301_285_000);

/// A case: sections that begin with a line `--- name`.
pub(crate) struct Case {
    sections: Vec<(String, String)>,
    /// Tools beside those that are canned.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) options: SessionOptions,
}

impl Case {
    pub(crate) fn new(text: &str) -> Case {
        let mut sections: Vec<(String, String)> = Vec::new();
        for line in text.split_inclusive('\n') {
            match (line.strip_prefix("--- "), sections.last_mut()) {
                (Some(name), _) => sections.push((name.trim().to_owned(), String::new())),
                (None, Some((_, body))) => body.push_str(line),
                (None, None) => assert!(line.trim().is_empty(), "text before the first section: {line}"),
            }
        }
        Case { sections, tools: Vec::new(), options: SessionOptions::default() }
    }

    /// The text of a section, if it is there.
    pub(crate) fn section(&self, name: &str) -> Option<&str> {
        self.sections.iter().find(|(known, _)| known == name).map(|(_, body)| body.as_str())
    }

    pub(crate) fn world(&self) -> World {
        let directory = WorkingDirectory::open(&std::env::temp_dir()).unwrap();
        let tools = Registry::new();
        for tool in canned::from_text(self.section("tools").unwrap_or("{}"), &directory).unwrap() {
            tools.add(tool).unwrap();
        }
        for tool in &self.tools {
            tools.add(tool.clone()).unwrap();
        }
        let classifier: Arc<dyn TriggerClassifier> = match (self.section("classifier"), self.section("judge")) {
            (Some(script), _) => Arc::new(ScriptClassifier::from_text("classifier.jsonl", script).unwrap()),
            (None, Some(script)) => {
                let judge = Script::from_text("judge.jsonl", script).unwrap();
                Arc::new(ModelClassifier::new(Arc::new(judge)))
            }
            (None, None) => Arc::new(Off),
        };
        World {
            llm: Arc::new(Script::from_text("replies.jsonl", self.section("script").unwrap_or("")).unwrap()),
            classifier,
            tools: Arc::new(tools),
            clock: Arc::new(TestClock::new(BEGINS)),
            options: self.options.clone(),
        }
    }

    /// A session of it that begins.
    pub(crate) fn start(&self, journal: &MemoryJournal) -> Session {
        let world = self.world();
        let roots = vec![SourceText { name: "case.md".into(), text: self.section("program").unwrap().into() }];
        let signatures: Vec<_> = world.tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
        let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("none".into()));
        let settings = Settings {
            classifier: self.section("classifier").or(self.section("judge")).is_some(),
            ..Settings::default()
        };
        let given = self.section("arguments").unwrap_or("{}");
        let arguments = Value::from_json(given).unwrap().as_map().cloned().unwrap_or_else(Map::new);
        let program = Arc::new(loaded.program);
        let start =
            Start { id: "s1".into(), program, text, settings, entry: None, arguments, given: Default::default() };
        Session::start(world, Box::new(journal.clone()), start).unwrap()
    }

    /// Plays it to the end of what the user says (`--- says`, a line each; `+5000 text` comes after five seconds), and
    /// gives the records as they were written.
    pub(crate) fn play(&self) -> Vec<Record> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        // What is waited for longer by chance is waited for as long every time.
        fastrand::seed(7);
        runtime.block_on(async {
            let journal = MemoryJournal::new();
            self.converse(self.start(&journal)).await;
            journal.written()
        })
    }

    /// Answers each wait for a person with the next line; stops the session where there is none.
    pub(crate) async fn converse(&self, mut session: Session) {
        let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
        let handle = session.spawn();
        let mut lines = self.section("says").unwrap_or("").lines().filter(|line| !line.is_empty());
        while let Some(notice) = events.next().await {
            let Notice::Event(event) = notice else { panic!("{notice:?}") };
            let PublicBody::Waiting { on: on @ (Wait::User | Wait::Approval(_)) } = &event.body else { continue };
            let Some(line) = lines.next() else {
                handle.stop().await;
                continue;
            };
            let (after, line) = line.strip_prefix('+').and_then(|line| line.split_once(' ')).unwrap_or(("0", line));
            tokio::time::sleep(Duration::from_millis(after.parse().unwrap())).await;
            match on {
                Wait::Approval(call) => handle.approve(*call, Value::Bool(line == "y")).await.unwrap(),
                Wait::User | Wait::Reply(_) | Wait::Call(_) | Wait::Timer(_) | Wait::Verdict(_) | Wait::Budget => {
                    handle.send(line).await.unwrap()
                }
            }
        }
        handle.outcome().await.unwrap();
    }
}
