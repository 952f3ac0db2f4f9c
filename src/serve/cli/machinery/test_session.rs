//! One scripted conversation is played: a session of its own, its journal in memory, its replies in order.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use regex::Regex;

use crate::host::clock::TestClock;
use crate::host::config::{Environment, FileConfig};
use crate::host::events::{PublicBody, PublicEvent};
use crate::host::journal::memory::MemoryJournal;
use crate::host::launch::{Choices, Launch, LaunchError, Source, StartOptions, Workshop, find_entry, inventory};
use crate::host::llm::embedded::Embedded;
use crate::host::llm::script::{Chunks as ScriptChunks, Script, ScriptEntry, ScriptError};
use crate::host::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use crate::host::program::ToolInventory;
use crate::host::session::{Interest, Notice, SendError, Session};
use crate::host::summary::SkippedWire;
use crate::host::travel::Run;
use crate::serve::cli::machinery::beside::folder_of;
use crate::serve::cli::machinery::test_file::{
    Chunks, ExpectedCall, ExpectedOutcome, ExpectedResult, ScriptedReply, Stretch, TestFile, TestStep, TestStepKind,
    instant,
};
use crate::serve::show::commands::Wanted;
use crate::value::{Map, Value};
use crate::vm::protocol::{CallKind, Outcome, ReplyEnd, Timestamp};

/// The id of every test's session.
const SESSION: &str = "test";

/// Events of one test that may wait to be read.
const EVENTS: usize = 1_000_000;

/// How long a scripted reply may hang where the test does not say so itself.
const TURN_TIMEOUT: Duration = Duration::from_secs(1);

/// When a test begins that does not say so itself: 2026-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp(1_767_225_600_000);

/// What happened.
#[derive(Debug)]
pub(crate) struct Played {
    /// Stretch by stretch.
    pub(crate) stretches: Vec<Stretch>,
    /// Why the test fails whatever it expects: requests without a reply, replies and user lines left over.
    pub(crate) problems: Vec<String>,
    /// Lines that the replies have left out.
    pub(crate) skipped: Vec<SkippedWire>,
    /// All that happened; none: the program was refused.
    pub(crate) run: Option<Run>,
    /// The tools that there were.
    pub(crate) tools: ToolInventory,
}

/// The trigger classifier that the command line wants.
pub(crate) struct ChosenClassifier<'a> {
    /// `--classifier`.
    pub(crate) id: Option<&'a str>,
    /// Where a model finds its key and server.
    pub(crate) environment: &'a Environment,
}

impl ChosenClassifier<'_> {
    /// A launch with it.
    pub(crate) fn launch(&self) -> Launch {
        let environment = Environment {
            api_key: self.environment.api_key.clone(),
            base_url: self.environment.base_url.clone(),
            ..Environment::default()
        };
        let choices = Choices { classifier: self.id.map(str::to_owned), ..Choices::default() };
        Launch::new(Workshop { environment, ..Workshop::default() }, choices)
    }
}

/// Plays a test. The error says why it cannot begin.
pub(crate) async fn play(path: &Path, test: &TestFile, chosen: &ChosenClassifier<'_>) -> Result<Played, String> {
    let folder = folder_of(path);
    let program = path.with_file_name(&test.program);
    let name = path.display().to_string();
    let replies = Arc::new(Replies::new(&name, test)?);
    let configuration = configuration(&program, path, &test.settings)?;
    let mut launch = chosen.launch();
    let choices = &mut launch.choices;
    choices.tools = test.tools.iter().map(|file| path.with_file_name(file)).collect();
    choices.working_directory = Some(folder.to_owned());
    if test.settings.contains_key("classifier") {
        choices.classifier = choices.classifier.take().or(configuration.classifier.clone());
    }
    let turn_timeout = configuration.turn_timeout.unwrap_or(TURN_TIMEOUT);
    launch.configuration = Some(FileConfig { turn_timeout: Some(turn_timeout), ..configuration });
    launch.llm = Some(match &test.model {
        Some(_) => Arc::new(Embedded),
        None => replies.clone(),
    });
    let mut zone = None;
    let mut clock = TestClock::new(BEGINNING);
    if let Some((now, offset)) = test.now.as_deref().and_then(instant) {
        clock = TestClock::new(now).in_zone(TimeZone::fixed(offset));
        zone = (!test.settings.contains_key("zone")).then(|| offset.to_string().into());
    }
    launch.workshop.clock = Arc::new(clock);
    let mut opened = match launch.open(Source::Files(&[program])).await {
        Ok(opened) => opened,
        Err(error @ LaunchError::Program { .. }) if expects_refusal(test) => {
            let outcome = Some(ExpectedOutcome::Refused { message: Some(error.to_string()) });
            let stretches = vec![Stretch { outcome, ..Stretch::default() }];
            let tools = ToolInventory::default();
            return Ok(Played { stretches, problems: Vec::new(), skipped: Vec::new(), run: None, tools });
        }
        Err(error) => return Err(error.to_string()),
    };
    let settings = &mut opened.settings;
    settings.zone = zone.unwrap_or(settings.zone.clone());
    // Nothing gets better by waiting.
    settings.retry_delay_ms = 0;
    settings.max_retry_delay_ms = 0;
    let entry = test.playbook.as_deref().map(|name| find_entry(&opened.program, name)).transpose();
    let session = entry.and_then(|entry| {
        let options = StartOptions { id: SESSION.into(), entry, arguments: test.arguments.clone() };
        opened.start(Box::new(MemoryJournal::new()), options)
    });
    let played = match session {
        Ok(session) => {
            let stretches = vec![Stretch::default()];
            let (calls, skipped, events) = (Vec::new(), Vec::new(), Vec::new());
            let mut stage = Stage { name, test, stretches, calls, skipped, events };
            stage.perform(session).await.map(|mut problems| {
                problems.splice(0..0, replies.problems());
                let Stage { stretches, skipped, events, .. } = stage;
                let run = Run::listened(SESSION.into(), opened.program.clone(), events);
                let run = Some(run.with_arguments(test.arguments.clone()));
                Played { stretches, problems, skipped, run, tools: inventory(&opened.world.tools) }
            })
        }
        Err(error) => Err(error.to_string()),
    };
    opened.close().await;
    played
}

/// Whether the test is about what is wrong with its program.
fn expects_refusal(test: &TestFile) -> bool {
    let is_refusal = |outcome: &ExpectedOutcome| matches!(outcome, ExpectedOutcome::Refused { .. });
    test.steps.iter().any(|step| matches!(&step.kind, TestStepKind::ExpectOutcome(outcome) if is_refusal(outcome)))
}

/// `playhouse.toml` beside the program, and over it what the test at `path` sets.
pub(crate) fn configuration(program: &Path, path: &Path, settings: &Map) -> Result<FileConfig, String> {
    let mut file = FileConfig::find(None, Some(program)).map_err(|error| error.to_string())?;
    let text: String = settings.iter().map(|(key, value)| format!("{key} = {}\n", to_toml(value))).collect();
    let own = FileConfig::from_text(Path::new("setting"), &text).map_err(|error| error.to_string())?;
    file.limits.extend(own.limits);
    if let Some(classifier) = own.classifier {
        // Its paths are relative to the test.
        let script = classifier.strip_prefix("script:");
        let script = script.and_then(|file| std::path::absolute(path.with_file_name(file)).ok());
        file.classifier = Some(script.map_or(classifier.clone(), |file| format!("script:{}", file.display())));
    }
    file.classifier_timeout = own.classifier_timeout.or(file.classifier_timeout);
    file.resume_fresh = own.resume_fresh.or(file.resume_fresh);
    file.starts_in_think = own.starts_in_think.or(file.starts_in_think);
    file.turn_timeout = own.turn_timeout.or(file.turn_timeout);
    file.yield_grace = own.yield_grace.or(file.yield_grace);
    // Which model the program would have is none of a test's business.
    file.model = None;
    Ok(file)
}

/// JSON and TOML write text, numbers and lists alike; tables have a sign of their own.
fn to_toml(value: &Value) -> String {
    match value {
        Value::Map(members) => {
            let members = members.iter().map(|(key, value)| format!("{key:?} = {}", to_toml(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::List(items) => format!("[{}]", items.iter().map(to_toml).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => value.to_json(),
    }
}

/// A test while it is played.
struct Stage<'t> {
    name: String,
    test: &'t TestFile,
    stretches: Vec<Stretch>,
    /// Where the running calls stand: id, stretch, place in it.
    calls: Vec<(u64, usize, usize)>,
    skipped: Vec<SkippedWire>,
    events: Vec<PublicEvent>,
}

impl Stage<'_> {
    /// Plays to the end; gives the user lines that nobody wanted to hear.
    async fn perform(&mut self, mut session: Session) -> Result<Vec<String>, String> {
        let mut events = session.subscribe(Interest::Everything { capacity: EVENTS });
        let handle = session.spawn();
        let mut given = self.test.steps.iter().filter(|step| step.kind.begins());
        while let Some(notice) = events.next().await {
            let Notice::Event(event) = notice else { continue };
            self.events.push(PublicEvent::clone(&event));
            let Some(wanted) = self.note(&event) else { continue };
            let Some(step) = given.next() else {
                handle.stop().await;
                continue;
            };
            let before = self.stretches.last().map(|stretch| stretch.variables.clone()).unwrap_or_default();
            self.stretches.push(Stretch { variables: before, ..Stretch::default() });
            // A session that has ended says so by its last event.
            let _ = if let TestStepKind::Event(signal) = &step.kind {
                handle.signal(signal.clone()).await.map_err(SendError::from)
            } else if let TestStepKind::User(text) = &step.kind {
                wanted.give(&handle, text).await
            } else {
                Ok(())
            };
        }
        let ending = handle.outcome().await.map_err(|error| error.to_string())?;
        self.skipped.clone_from(&ending.summary.skipped);
        let outcome = match &ending.outcome {
            Some(Outcome::Done { value }) => ExpectedOutcome::Finished { value: Some(value.value().clone()) },
            Some(Outcome::Failed(fault)) => {
                ExpectedOutcome::Failed { kind: fault.kind.to_string(), message: Some(fault.message.to_string()) }
            }
            None => ExpectedOutcome::Waits,
        };
        if let Some(last) = self.stretches.last_mut() {
            last.outcome = Some(outcome);
        }
        let unheard = given.map(|TestStep { line, kind }| {
            let what = if matches!(kind, TestStepKind::Event(_)) { "event" } else { "user line" };
            format!("{}:{line}: the program was over before this {what}; remove it, or look at its end", self.name)
        });
        Ok(unheard.collect())
    }

    /// Keeps what is compared; gives what the user is asked for.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a test expects what is named here")]
    fn note(&mut self, event: &PublicEvent) -> Option<Wanted> {
        let index = self.stretches.len() - 1;
        let stretch = self.stretches.last_mut()?;
        match &event.body {
            PublicBody::Said { text } => stretch.said.push(text.to_string()),
            PublicBody::VariableSet { variable, value, .. } => {
                stretch.variables.insert(variable.clone(), value.clone());
            }
            PublicBody::CallQueued { call, callable, kind: CallKind::Tool, args, .. } => {
                let arguments = args.as_map().cloned().unwrap_or_default();
                self.calls.push((*call, index, stretch.calls.len()));
                stretch.calls.push(ExpectedCall { name: callable.to_string(), arguments, result: None });
            }
            PublicBody::CallFinished { call, result, error, .. } => {
                let result = match (result, error) {
                    (Some(value), _) => Some(ExpectedResult::Value(value.clone())),
                    (None, Some(error)) => Some(ExpectedResult::Error(error.to_string())),
                    (None, None) => None,
                };
                if let Some((_, stretch, place)) = self.calls.iter().find(|(running, ..)| running == call) {
                    self.stretches[*stretch].calls[*place].result = result;
                }
            }
            PublicBody::Waiting { on } => return Wanted::of(on),
            // A test expects nothing else.
            _ => {}
        }
        None
    }
}

/// The replies of a test: in the order written, each once.
struct Replies {
    name: String,
    replies: Vec<Reply>,
    state: Mutex<RepliesState>,
}

struct Reply {
    line: usize,
    when: Option<Regex>,
    when_any: Option<Regex>,
    /// A script of this one reply.
    script: Script,
}

#[derive(Default)]
struct RepliesState {
    n_used: usize,
    problems: Vec<String>,
}

impl Replies {
    fn new(name: &str, test: &TestFile) -> Result<Replies, String> {
        let mut replies = Vec::new();
        for step in &test.steps {
            if let TestStepKind::Reply(reply) = &step.kind {
                replies.push(Reply::new(name, step.line, reply)?);
            }
        }
        Ok(Replies { name: name.to_owned(), replies, state: Mutex::default() })
    }

    /// What did not fit, and what was not asked for.
    fn problems(&self) -> Vec<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.replies.iter().skip(state.n_used).map(|reply| {
            format!(
                "{}:{}: nobody asked for this reply; remove it, or look at what the program does",
                self.name, reply.line
            )
        });
        // After a request without a fitting reply nothing can be said of the replies after it.
        if state.problems.is_empty() { left.collect() } else { state.problems.clone() }
    }

    /// The reply to a request, or why there is none.
    fn take(&self, request: &LlmRequest) -> Result<&Reply, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = request.messages.last().map_or("", |message| &*message.text);
        let problem = match self.replies.get(state.n_used) {
            Some(reply) => match reply.misfit(last, request) {
                None => {
                    state.n_used += 1;
                    return Ok(reply);
                }
                Some(option) => format!("{}:{}: `{option}` does not match the request", self.name, reply.line),
            },
            None => {
                format!("{}: the program asks once more than there are replies; add a `## Model` section", self.name)
            }
        };
        let asked: String = last.lines().map(|line| format!("\n  | {line}")).collect();
        let problem = format!("{problem}; what was asked:{asked}");
        state.problems.push(problem.clone());
        Err(problem)
    }
}

impl Llm for Replies {
    fn id(&self) -> Arc<str> {
        "script:test".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        match self.take(&request) {
            Ok(reply) => reply.script.request(request),
            Err(problem) => {
                let end = ReplyEnd::Refused { reason: problem.into() };
                Box::pin(tokio_stream::once(ReplyPart::End { end, usage: None }))
            }
        }
    }
}

impl Reply {
    fn new(name: &str, line: usize, reply: &ScriptedReply) -> Result<Reply, String> {
        let regex = |source: &Option<String>| {
            let regex = source.as_deref().map(Regex::new).transpose();
            regex.map_err(|error| format!("{name}:{line}: this is no regular expression: {error}"))
        };
        let has_text = !reply.text.is_empty() || reply.error.is_none();
        let error = reply.error.as_deref().map(|error| {
            script_error(error)
                .ok_or_else(|| format!("{name}:{line}: unknown error `{error}`; docs/testing.md lists what there is"))
        });
        let entry = ScriptEntry {
            reply: has_text.then(|| reply.text.clone()),
            chunks: match &reply.chunks {
                None => ScriptChunks::Whole,
                Some(Chunks::Bytes) => ScriptChunks::Every(1),
                Some(Chunks::Sizes(sizes)) => ScriptChunks::Sizes(sizes.clone()),
            },
            error: error.transpose()?,
            ..ScriptEntry::default()
        };
        let (when, when_any) = (regex(&reply.when)?, regex(&reply.when_any)?);
        Ok(Reply { line, when, when_any, script: Script::from_entries(name, vec![entry]) })
    }

    /// The option that does not fit a request.
    fn misfit(&self, last: &str, request: &LlmRequest) -> Option<&'static str> {
        if self.when.as_ref().is_some_and(|when| !when.is_match(last)) {
            return Some("when");
        }
        let when_any = self.when_any.as_ref()?;
        let all: Vec<&str> = request.messages.iter().map(|message| &*message.text).collect();
        (!when_any.is_match(&all.join("\n"))).then_some("when any")
    }
}

fn script_error(name: &str) -> Option<ScriptError> {
    Some(match name {
        "drop" => ScriptError::Drop,
        "hang" => ScriptError::Hang,
        "length" => ScriptError::Length,
        "no_finish" => ScriptError::NoFinish,
        "quota" => ScriptError::Quota,
        _ => ScriptError::Status(name.parse().ok().filter(|status| (400..=599).contains(status))?),
    })
}
