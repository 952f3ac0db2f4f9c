//! Scripted conversations (`*.test.md`) driven through the library: a session in memory, a model that knows them
//! by heart, canned tools that count.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::TryStreamExt;
use playhouse::host::classify::TriggerClassifier;
use playhouse::host::classify::off::Off;
use playhouse::host::classify::rules::Rules;
use playhouse::host::classify::script::ScriptClassifier;
use playhouse::host::clock::TestClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::events::{PublicBody, PublicEvent};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::journal::{Durability, Flush, Journal, RecordStream};
use playhouse::host::launch::find_entry;
use playhouse::host::llm::Llm;
use playhouse::host::llm::script::{ScriptEntry, ScriptError};
use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::session::{Ending, Interest, Notice, Session, SessionHandle, SessionOptions, Start, World};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::{CallContext, Tool, ToolFuture, canned};
use playhouse::lang::SourceText;
use playhouse::lang::files::test_file::{TestFile, TestStepKind};
use playhouse::lang::program::{EntryId, Program, Signature};
use playhouse::span::FileId;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::view::View;
use playhouse::vm::protocol::{Effect, Fact, Outcome, Progress, StartCall, Timestamp, ToolSignature};
use playhouse::vm::{Begin, Machine};

use crate::ideal_model::{IdealModel, Known, Pace};

/// When sessions of tests begin.
pub(crate) const BEGAN: Timestamp = Timestamp(1_795_301_285_000);

/// A conversation as it is written.
pub(crate) struct Conversation {
    /// The test file's name.
    pub(crate) name: String,
    /// The program's path.
    pub(crate) program_path: PathBuf,
    /// As the test file says; none if it says nothing.
    classifier: String,
    /// The canned tools' text.
    pub(crate) tools: String,
    /// What the user says.
    pub(crate) lines: Vec<String>,
    /// What the model says.
    pub(crate) replies: Vec<ScriptEntry>,
    /// What the program is expected to say.
    pub(crate) expected: Vec<String>,
    text: ProgramText,
    program: Arc<Program>,
    /// What the session begins with; none: the program's entry.
    entry: Option<EntryId>,
    arguments: Map,
    signatures: Arc<[ToolSignature]>,
}

/// Those of every session here: a session that is cut often takes many turns, and is not to be begun afresh.
fn settings() -> Settings {
    Settings { max_session_turns: 1_000, retry_delay_ms: 1, context_tokens: 1_000_000, ..Settings::default() }
}

/// What a run came to: all that must be the same however often it was cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Account {
    /// All utterances, in the order they were begun.
    pub(crate) speech: Vec<String>,
    /// All calls by number, with their results.
    pub(crate) calls: BTreeMap<u64, String>,
    /// All variables at the end.
    pub(crate) variables: BTreeMap<String, Value>,
    /// How it ended.
    pub(crate) outcome: Option<Outcome>,
    /// The last utterances of both, as the machine remembers them.
    pub(crate) conversation: Vec<String>,
}

/// An account that is being drawn up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    speech: BTreeMap<u64, String>,
    calls: BTreeMap<u64, (String, String)>,
}

/// A run of a whole conversation.
pub(crate) struct Run {
    /// What it came to.
    pub(crate) account: Account,
    /// Its end.
    pub(crate) ending: Arc<Ending>,
    /// The calls whose tools were run, once for each time.
    pub(crate) executed: Vec<u64>,
}

/// Whether a file is a conversation whose replies stand in it as they are: what the embedded model replies is no file,
/// and what is written line by line becomes a reply only when it is asked for.
pub(crate) fn holds_replies(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".test.md") && {
        let test = TestFile::parse(FileId(0), &std::fs::read_to_string(path).unwrap()).unwrap();
        test.model.is_none() && !test.steps.iter().any(|step| matches!(step.kind, TestStepKind::Written(_)))
    }
}

impl Conversation {
    /// Reads a test file with its program and its tools, whose effect class is set to `effect`, if there is one.
    pub(crate) fn read(path: &Path, effect: Option<&str>) -> Conversation {
        let text = std::fs::read_to_string(path).unwrap();
        let file = TestFile::parse(FileId(0), &text).unwrap_or_else(|found| panic!("{}: {found:?}", path.display()));
        let folder = path.parent().unwrap();
        let mut tools = match &file.tools {
            Some(name) => std::fs::read_to_string(folder.join(name)).unwrap(),
            None => "{}".to_owned(),
        };
        if let Some(effect) = effect {
            let mut json: serde_json::Value = serde_json::from_str(&tools).unwrap();
            json.as_object_mut().unwrap().values_mut().for_each(|tool| tool["effect"] = effect.into());
            tools = json.to_string();
        }
        let program_path = folder.join(&file.program);
        let directory = WorkingDirectory::open(&std::env::temp_dir()).unwrap();
        let signatures: Arc<[ToolSignature]> =
            canned::from_text(&tools, &directory).unwrap().iter().map(|tool| tool.signature()).collect();
        let plain: Vec<Signature> = signatures.iter().map(|tool| tool.signature.clone()).collect();
        let source = std::fs::read_to_string(&program_path).unwrap();
        let roots = vec![SourceText { name: file.program.clone(), text: source }];
        let (text, loaded) = load_texts(roots, &plain, &mut |imported: &Path| {
            std::fs::read_to_string(folder.join(imported)).map_err(|cause| cause.to_string())
        });
        let mut conversation = Conversation {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            program_path,
            classifier: match file.settings.get("classifier") {
                Some(Value::Str(id)) => id.to_string(),
                _ => "off".to_owned(),
            },
            tools,
            lines: Vec::new(),
            replies: Vec::new(),
            expected: Vec::new(),
            text,
            entry: file.playbook.as_deref().map(|name| find_entry(&loaded.program, name).unwrap()),
            program: Arc::new(loaded.program),
            arguments: file.arguments.into_iter().collect(),
            signatures,
        };
        for step in file.steps {
            match step.kind {
                TestStepKind::User(line) => conversation.lines.push(line),
                TestStepKind::Interrupts(_)
                | TestStepKind::Event(_)
                | TestStepKind::Wait(_)
                | TestStepKind::Set(_)
                | TestStepKind::Written(_) => panic!("line {} of {} is of no use here", step.line, path.display()),
                TestStepKind::ExpectSay(said) => conversation.expected.extend(said),
                TestStepKind::Reply(reply) => {
                    let error = reply.error.map(|error| match error.as_str() {
                        "drop" => ScriptError::Drop,
                        "length" => ScriptError::Length,
                        other => panic!("{other} is of no use here"),
                    });
                    conversation.replies.push(ScriptEntry { error, ..ScriptEntry::reply(reply.text) });
                }
                TestStepKind::ExpectVariables(_)
                | TestStepKind::ExpectCalls(_)
                | TestStepKind::ExpectOutcome(_)
                | TestStepKind::Expect(_) => {}
            }
        }
        conversation
    }

    fn settings(&self) -> Settings {
        let (classifier, classifier_first) = (self.classifier != "off", self.classifier == "rules");
        Settings { classifier, classifier_first, ..settings() }
    }

    /// A machine at the beginning.
    pub(crate) fn machine(&self) -> Machine {
        Machine::begin(Begin {
            program: self.program.clone(),
            settings: self.settings(),
            tools: self.signatures.clone(),
            entry: self.entry,
            arguments: self.arguments.clone(),
            time: BEGAN,
        })
    }

    /// A session at the beginning.
    pub(crate) fn start(&self, world: World, journal: impl Journal + 'static) -> Session {
        let start = Start {
            id: "s1".into(),
            program: self.program.clone(),
            text: self.text.clone(),
            settings: self.settings(),
            entry: self.entry,
            arguments: self.arguments.clone(),
            given: Default::default(),
        };
        Session::start(world, Box::new(journal), start).unwrap()
    }

    /// A world with this model; the calls that its tools run are noted.
    pub(crate) fn world(&self, llm: Arc<dyn Llm>) -> (World, Arc<Mutex<Vec<u64>>>) {
        let executed = Arc::default();
        let folder = std::env::temp_dir();
        let directory = WorkingDirectory::open(&folder).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&self.tools).unwrap();
        for tool in json.as_object_mut().unwrap().values_mut() {
            tool.as_object_mut().unwrap().remove("log");
        }
        let tools = Registry::new();
        for inner in canned::from_text(&json.to_string(), &directory).unwrap() {
            tools.add(Arc::new(Counted { inner, executed: Arc::clone(&executed) })).unwrap();
        }
        let clock = Arc::new(TestClock::new(BEGAN));
        let classifier: Arc<dyn TriggerClassifier> = match &*self.classifier {
            "off" => Arc::new(Off),
            "rules" => Arc::new(Rules),
            script => {
                let file = script.strip_prefix("script:").unwrap();
                Arc::new(ScriptClassifier::load(&self.program_path.with_file_name(file)).unwrap())
            }
        };
        (World { llm, classifier, tools: Arc::new(tools), clock, options: SessionOptions::default() }, executed)
    }

    /// The uninterrupted run, in pieces of `n_bytes`, what its model learned, and every state its journal was in.
    pub(crate) async fn record(&self, n_bytes: usize) -> (Run, Known, Vec<Vec<Record>>) {
        let llm = Arc::new(IdealModel::learning(self.replies.clone(), Pace::pieces(n_bytes)));
        let (world, executed) = self.world(llm.clone());
        let journal = Snapshots::default();
        let states = journal.states.clone();
        let run = run(self.start(world, journal), &self.lines, Ledger::default(), executed).await;
        assert_eq!(run.account.speech, self.expected, "{}: what the file expects", self.name);
        let known = Known { requests: llm.requests(), utterances: run.account.speech.clone() };
        assert_eq!(known.requests.len(), self.replies.len(), "{}: every reply is used", self.name);
        let states = std::mem::take(&mut *states.lock().unwrap());
        (run, known, states)
    }

    /// Goes on from a journal.
    pub(crate) async fn resume(&self, journal: impl Journal + 'static, llm: Arc<dyn Llm>) -> Run {
        let mut journal = journal;
        let records: Vec<Record> = journal.read(1).try_collect().await.unwrap();
        let ledger = self.read_back(&records);
        let is_message = |record: &&Record| matches!(record.body, RecordBody::Message { .. });
        let n_messages = records.iter().filter(is_message).count();
        let (world, executed) = self.world(llm);
        let session = Session::resume(world, Box::new(journal)).await.unwrap();
        run(session, &self.lines[n_messages..], ledger, executed).await
    }

    /// What a journal says was done.
    pub(crate) fn read_back(&self, records: &[Record]) -> Ledger {
        let mut ledger = Ledger::default();
        let mut machine = self.machine();
        settle(&mut machine, &mut ledger);
        for record in &records[1..] {
            machine.handle(record.timestamp(), record.body.to_event().unwrap());
            settle(&mut machine, &mut ledger);
        }
        ledger
    }
}

/// Lets a machine go as far as it can.
pub(crate) fn settle(machine: &mut Machine, ledger: &mut Ledger) {
    loop {
        match machine.advance() {
            Progress::Emit(Effect::Say { utterance, text, .. }) => ledger.say(utterance.0, &text),
            Progress::Emit(Effect::Report(report)) => match &report.fact {
                Fact::CallQueued { call, name, arguments, .. } => {
                    let arguments: Map =
                        arguments.iter().map(|(name, argument)| (name.clone(), argument.shown())).collect();
                    ledger.call(call.0, name, &Value::map(arguments));
                }
                Fact::CallFinished { call, result, .. } => {
                    ledger.result(call.0, result.as_ref().map(|value| value.shown()).map_err(|error| &**error));
                }
                _ => {}
            },
            Progress::Emit(_) | Progress::Reached(_) => {}
            Progress::Blocked(_) | Progress::Finished(_) => return,
        }
    }
}

/// What a session showed of itself while it ran, each view with the number of states its journal had been in. Whoever
/// looks has what has happened flushed, so that often only the second of two looks tells which state it was.
pub(crate) async fn views(handle: &SessionHandle, states: &Mutex<Vec<Vec<Record>>>) -> Vec<(usize, Arc<View>)> {
    let mut seen = Vec::new();
    while !handle.has_ended() {
        for _ in 0..2 {
            let n_before = states.lock().unwrap().len();
            let view = handle.view().await.unwrap();
            if states.lock().unwrap().len() == n_before {
                seen.push((n_before, view));
            }
        }
        // The clock is paused: it goes on when nobody has anything to do.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    seen
}

impl Ledger {
    fn say(&mut self, utterance: u64, text: &str) {
        self.speech.entry(utterance).or_default().push_str(text);
    }

    fn call(&mut self, call: u64, name: &str, arguments: &Value) {
        let before = self.calls.insert(call, (format!("{name}{arguments}"), String::new()));
        assert_eq!(before, None, "call {call} is queued twice");
    }

    fn result(&mut self, call: u64, result: Result<Value, &str>) {
        let text = match result {
            Ok(value) => format!(" -> {value}"),
            Err(error) => format!(" !! {error}"),
        };
        let entry = self.calls.get_mut(&call).unwrap();
        assert_eq!(entry.1, "", "call {call} ends twice");
        entry.1 = text;
    }

    fn hear(&mut self, event: &PublicEvent) {
        match &event.body {
            PublicBody::SaidDelta { text, utterance } => self.say(*utterance, text),
            PublicBody::CallQueued { call, callable, args, .. } => self.call(*call, callable, args),
            PublicBody::CallFinished { call, result, error, .. } => {
                self.result(*call, result.clone().ok_or_else(|| &**error.as_ref().unwrap()));
            }
            _ => {}
        }
    }

    /// The utterances that were heard.
    pub(crate) fn speech(&self) -> Vec<String> {
        self.speech.values().filter(|text| !text.is_empty()).cloned().collect()
    }

    fn account(self, view: &View, outcome: Option<Outcome>) -> Account {
        let conversation = view.conversation.iter();
        Account {
            speech: self.speech(),
            calls: self.calls.into_iter().map(|(call, (text, result))| (call, text + &result)).collect(),
            variables: variables(view),
            outcome,
            conversation: conversation
                .map(|utterance| format!("{}: {}", if utterance.by_user { "user" } else { "you" }, utterance.text))
                .collect(),
        }
    }
}

/// All variables of a view: those of frames, and the others.
pub(crate) fn variables(view: &View) -> BTreeMap<String, Value> {
    let of_frames = view.stack.iter().flat_map(|frame| {
        frame.variables.iter().map(|variable| (format!("{}.{}", frame.name, variable.name), variable))
    });
    let others = view.globals.iter().flat_map(|(agent, variables)| {
        variables.iter().map(move |variable| (format!("{agent}.{}", variable.name), variable))
    });
    of_frames.chain(others).map(|(name, variable)| (name, variable.value.value().clone())).collect()
}

/// Runs a session to its end, answering each wait for the user with the next line.
pub(crate) async fn run(mut session: Session, lines: &[String], ledger: Ledger, executed: Arc<Mutex<Vec<u64>>>) -> Run {
    let mut ledger = ledger;
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut lines = lines.iter();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            match lines.next() {
                Some(line) => handle.send(line.as_str()).await.unwrap(),
                None => handle.stop().await,
            }
        }
        ledger.hear(&event);
    }
    let ending = handle.outcome().await.unwrap();
    let executed = executed.lock().unwrap().clone();
    Run { account: ledger.account(&ending.view, ending.outcome.clone()), ending, executed }
}

/// A tool that notes its calls.
struct Counted {
    inner: Arc<dyn Tool>,
    executed: Arc<Mutex<Vec<u64>>>,
}

impl Tool for Counted {
    fn signature(&self) -> ToolSignature {
        self.inner.signature()
    }

    fn begun(&self, session: &str, call: &StartCall) {
        self.inner.begun(session, call);
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        let number = context.call_id.rsplit('/').next().unwrap().parse().unwrap();
        self.executed.lock().unwrap().push(number);
        self.inner.call(context, arguments)
    }
}

/// A journal that keeps every state it was in.
#[derive(Clone, Default)]
pub(crate) struct Snapshots {
    inner: MemoryJournal,
    /// What it held after each record.
    pub(crate) states: Arc<Mutex<Vec<Vec<Record>>>>,
}

impl Snapshots {
    /// A journal that holds `records`.
    pub(crate) fn from_records(records: Vec<Record>) -> Snapshots {
        Snapshots { inner: MemoryJournal::from_records(records), states: Arc::default() }
    }
}

impl Journal for Snapshots {
    fn location(&self) -> String {
        self.inner.location()
    }

    fn next_seq(&self) -> u64 {
        self.inner.next_seq()
    }

    fn append(&mut self, record: Record) {
        self.inner.append(record);
    }

    /// A process may be killed after each of the records.
    fn flush(&mut self, durability: Durability) -> Flush {
        let n_before = self.inner.written().len();
        let flush = self.inner.flush(durability);
        let records = self.inner.written();
        let states = &mut *self.states.lock().unwrap();
        states.extend((n_before + 1..=records.len()).map(|n| records[..n].to_vec()));
        flush
    }

    fn read(&mut self, from: u64) -> RecordStream {
        self.inner.read(from)
    }
}
