//! One scripted conversation is played: a session of its own, its journal in memory, its replies in order.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use regex::Regex;

use crate::host::cassette::take::{Mode, Take};
use crate::host::clock::TestClock;
use crate::host::config::{Environment, FileConfig};
use crate::host::events::{PublicBody, PublicEvent};
use crate::host::journal::memory::MemoryJournal;
use crate::host::launch::{Choices, Launch, LaunchError, Source, StartOptions, Workshop, find_entry};
use crate::host::llm::embedded::Embedded;
use crate::host::llm::script::{Chunks as ScriptChunks, Script, ScriptEntry, ScriptError};
use crate::host::llm::{Llm, LlmRequest, ModelKind, ReplyPart, ReplyStream};
use crate::host::session::{Interest, Notice, SendError, Session};
use crate::host::summary::Summary;
use crate::host::travel::Run;
use crate::lang::program::Program;
use crate::serve::cli::machinery::recorded_test::take_beside;
use crate::serve::cli::machinery::test_file::{
    Chunks, ExpectedCall, ExpectedOutcome, ExpectedResult, ScriptedReply, Stretch, TestFile, TestModel, TestStep,
    TestStepKind, instant,
};
use crate::serve::show::commands::Wanted;
use crate::value::{Map, Value};
use crate::vm::protocol::fault::FaultKind;
use crate::vm::protocol::{CallKind, Outcome, ReplyEnd, Timestamp};

/// The id of every test's session.
const SESSION: &str = "test";

/// Events of one test that may wait to be read.
const EVENTS: usize = 1_000_000;

/// How long a scripted reply may hang where the test does not say so itself.
const TURN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a reply may run on while it is recorded, if nothing else is configured.
const RECORDING_GRACE: Duration = Duration::from_secs(60);

/// When a test begins that does not say so itself: 2026-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp(1_767_225_600_000);

/// What happened.
#[derive(Debug)]
pub(crate) struct Played {
    /// Stretch by stretch.
    pub(crate) stretches: Vec<Stretch>,
    /// Why the test fails whatever it expects: requests without a reply, replies and user lines left over.
    pub(crate) problems: Vec<String>,
    /// What it has cost, and the lines that the replies have left out.
    pub(crate) summary: Summary,
    /// What replied.
    pub(crate) model: ModelKind,
    /// All that happened; none: the program was refused.
    pub(crate) run: Option<Run>,
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
        let Environment { api_key, base_url, .. } = self.environment.clone();
        let environment = Environment { api_key, base_url, ..Environment::default() };
        let choices = Choices { classifier: self.id.map(str::to_owned), ..Choices::default() };
        Launch::new(Workshop { environment, ..Workshop::default() }, choices)
    }

    /// The same for a test that is recorded, whose model is chosen as that of a run: `model` is `--model`.
    pub(crate) fn launch_to_record(&self, model: Option<&str>) -> Launch {
        let mut launch = self.launch();
        let Environment { model: named, local_ports, .. } = self.environment.clone();
        let environment = Environment { model: named, local_ports, ..launch.workshop.environment };
        launch.workshop.environment = environment;
        launch.choices.model = model.map(str::to_owned);
        launch
    }
}

/// Plays a test with the replies that it has, or with its recording. The error says why it cannot begin, or what is not
/// recorded.
pub(crate) async fn play(path: &Path, test: &TestFile, chosen: &ChosenClassifier<'_>) -> Result<Played, String> {
    let replies = Arc::new(Replies::new(&path.display().to_string(), test)?);
    let mut launch = chosen.launch();
    match test.model {
        Some(TestModel::Recorded) => launch.take = Some(take_beside(path, test, Mode::Replay)?),
        Some(TestModel::Embedded) => launch.llm = Some(Arc::new(Embedded)),
        None => launch.llm = Some(replies.clone()),
    }
    let mut played = play_with(path, &path.with_file_name(&test.program), test, launch).await?;
    if played.run.is_some() {
        played.problems.splice(0..0, replies.problems());
    }
    Ok(played)
}

/// Plays what a test's user says against `program` with the model or the recording that `launch` has; the test's own
/// replies count for nothing.
///
/// # Errors
/// It cannot begin; something is not recorded; the model failed while it was recorded.
pub(crate) async fn play_with(
    path: &Path,
    program: &Path,
    test: &TestFile,
    mut launch: Launch,
) -> Result<Played, String> {
    let take = launch.take.clone();
    let is_recording = take.as_ref().is_some_and(|take| !take.is_replay());
    let is_live = launch.llm.is_none() && take.as_ref().is_none_or(|take| !take.is_replay());
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let name = path.display().to_string();
    let mut configuration = configuration(program, path, &test.settings)?;
    let choices = &mut launch.choices;
    choices.tools = test.tools.iter().map(|file| path.with_file_name(file)).collect();
    choices.working_directory = Some(folder.to_owned());
    if test.settings.contains_key("classifier") {
        choices.classifier = choices.classifier.take().or(configuration.classifier.clone());
    }
    if !is_live {
        // Which model the program would have is none of a test's business, and nothing is worth waiting for.
        configuration.model = None;
        configuration.turn_timeout = configuration.turn_timeout.or(Some(TURN_TIMEOUT));
    }
    if is_recording {
        // Servers take their time, and their counts are worth it.
        configuration.yield_grace = configuration.yield_grace.or(Some(RECORDING_GRACE));
    }
    launch.configuration = Some(configuration);
    let mut zone = None;
    let mut clock = TestClock::new(BEGINNING);
    if let Some((now, offset)) = test.now.as_deref().and_then(instant) {
        clock = TestClock::new(now).in_zone(TimeZone::fixed(offset));
        zone = (!test.settings.contains_key("zone")).then(|| offset.to_string().into());
    }
    launch.workshop.clock = Arc::new(clock);
    let mut opened = match launch.open(Source::Files(&[program.to_owned()])).await {
        Ok(opened) => opened,
        Err(error @ LaunchError::Program { .. }) if expects_refusal(test) => {
            let outcome = Some(ExpectedOutcome::Refused { message: Some(error.to_string()) });
            let stretches = vec![Stretch { outcome, ..Stretch::default() }];
            let (problems, summary) = (Vec::new(), Summary::default());
            return Ok(Played { stretches, problems, summary, model: ModelKind::Recorded, run: None });
        }
        Err(error) => return Err(error.to_string()),
    };
    let settings = &mut opened.settings;
    settings.zone = zone.unwrap_or(settings.zone.clone());
    if !is_live {
        // Nothing gets better by waiting.
        settings.retry_delay_ms = 0;
        settings.max_retry_delay_ms = 0;
    }
    let arguments = arguments_of(test, &opened.program, take.as_ref());
    let entry = test.playbook.as_deref().map(|name| find_entry(&opened.program, name)).transpose();
    let session = entry.and_then(|entry| {
        let options = StartOptions { id: SESSION.into(), entry, arguments };
        opened.start(Box::new(MemoryJournal::new()), options)
    });
    let played = match session {
        Ok(session) => {
            let stretches = vec![Stretch::default()];
            let (calls, summary, events) = (Vec::new(), Summary::default(), Vec::new());
            let mut stage = Stage { name, test, stretches, calls, summary, events };
            stage.perform(session).await.and_then(|problems| {
                let Stage { name, stretches, summary, events, .. } = stage;
                if let Some(take) = &take {
                    check_take(&name, take, stretches.last())?;
                }
                let run = Some(Run::listened(SESSION.into(), opened.program.clone(), events));
                Ok(Played { stretches, problems, summary, model: opened.world.llm.kind(), run })
            })
        }
        Err(error) => Err(error.to_string()),
    };
    opened.close().await;
    played
}

/// What the program is given: no argument that stands for a secret result. What is secret of it is in no recording.
fn arguments_of(test: &TestFile, program: &Program, take: Option<&Arc<Take>>) -> Map {
    let mut arguments = test.arguments.clone();
    if let Some(take) = take {
        arguments.retain(|name, _| take.secret(name).is_none());
        let is_secret = |name: &str| program.agents.iter().any(|agent| agent.declares_secret(name));
        arguments.iter().filter(|(name, _)| is_secret(name)).for_each(|(_, value)| take.hide(value));
    }
    arguments
}

/// What is wrong with a run that is recorded or replayed, whatever the test expects: the first thing that is not recorded,
/// from which everything else follows; a model that failed.
fn check_take(name: &str, take: &Take, last: Option<&Stretch>) -> Result<(), String> {
    if let Some(miss) = take.misses().into_iter().next() {
        return Err(miss);
    }
    match last.and_then(|stretch| stretch.outcome.as_ref()) {
        Some(ExpectedOutcome::Failed { kind, message }) if *kind == FaultKind::Model.to_string() => {
            let message = message.as_deref().unwrap_or("the model failed");
            Err(if take.is_replay() {
                message.to_owned()
            } else {
                format!("{name}: the model failed while it was recorded: {message}; nothing was written")
            })
        }
        Some(_) | None => Ok(()),
    }
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
    summary: Summary,
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
        self.summary.clone_from(&ending.summary);
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
