//! One scripted conversation is played: a session of its own, its journal in memory, its replies in order.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::host::cassette::take::{Mode, Take};
use crate::host::clock::TestClock;
use crate::host::config::{Environment, FileConfig};
use crate::host::equipment::declaration::Written;
use crate::host::events::{PublicBody, PublicEvent};
use crate::host::journal::memory::MemoryJournal;
use crate::host::journal::record::Record;
use crate::host::launch::{
    Choices, Launch, LaunchError, Opened, Source, StartOptions, Workshop, find_entry, inventory,
};
use crate::host::llm::ModelKind;
use crate::host::llm::embedded::Embedded;
use crate::host::program::{ProgramText, ToolInventory};
use crate::host::resource::prices::PriceTable;
use crate::host::session::Session;
use crate::host::summary::Summary;
use crate::host::travel::Run;
use crate::lang::files::test_file::{ExpectedOutcome, Stretch, TestFile, TestModel, instant};
use crate::lang::program::Program;
use crate::serve::cli::machinery::beside::read_by;
use crate::serve::cli::machinery::recorded_test::take_beside;
use crate::serve::cli::machinery::test_interrupts::{Interrupting, planned};
use crate::serve::cli::machinery::test_replies::Replies;
use crate::serve::cli::machinery::test_stage::{Heard, Performed, Props, Stage, hear};
use crate::value::{Map, Value};
use crate::vm::protocol::Timestamp;
use crate::vm::protocol::fault::FaultKind;

/// The id of every test's session.
const SESSION: &str = "test";

/// How long a scripted reply may hang where the test does not say so itself.
const TURN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a reply may take that is recorded, or that the embedded model gives, if nothing else is configured.
const PATIENCE: Duration = Duration::from_secs(60);

/// When a test begins that does not say so itself: 2026-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp(1_767_225_600_000);

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// Stretch by stretch; there is no outcome where the program could not go on for want of a reply.
    pub(crate) stretches: Vec<Stretch>,
    /// Why the test fails whatever it expects: requests without a reply, replies and user lines left over.
    pub(crate) problems: Vec<String>,
    /// What it has cost, and the lines that the replies have left out.
    pub(crate) summary: Summary,
    /// What each scripted piece answered, for people.
    pub(crate) answers: Vec<String>,
    /// Whether a model replied, and nothing that stands in for one.
    pub(crate) is_live: bool,
    /// All that happened; none: the program was refused.
    pub(crate) run: Option<Run>,
    /// The session's records.
    pub(crate) journal: MemoryJournal,
    /// The tools that there were.
    pub(crate) tools: ToolInventory,
    /// What models cost.
    pub(crate) prices: Arc<PriceTable>,
    /// The program's text.
    pub(crate) text: ProgramText,
    /// Commands of plugins that were called although the test has canned tools, one a line.
    pub(crate) real: String,
    /// Whether it can have changed anything outside of the session: tools that write are not all canned.
    pub(crate) acts_outside: bool,
}

/// A program to be played in the place of the one in the files, and what is declared beside it.
pub(crate) struct Instead {
    /// Its text.
    pub(crate) text: ProgramText,
    /// The program.
    pub(crate) program: Arc<Program>,
    /// What the configuration declares.
    pub(crate) declared: Vec<Written>,
}

/// What is played: a test, against a program.
#[derive(Clone, Copy)]
pub(crate) struct Playing<'a> {
    /// The test's file.
    pub(crate) path: &'a Path,
    /// The test.
    pub(crate) test: &'a TestFile,
    /// The program's file: of the one that the test names, or of another one.
    pub(crate) program: &'a Path,
    /// What is played in the place of what stands there.
    pub(crate) instead: Option<&'a Instead>,
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
        let Environment { api_key, base_url, executable, .. } = self.environment.clone();
        let environment = Environment { api_key, base_url, executable, ..Environment::default() };
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
    play_instead(path, test, chosen, None).await
}

/// The same, with another program if one is given.
pub(crate) async fn play_instead(
    path: &Path,
    test: &TestFile,
    chosen: &ChosenClassifier<'_>,
    instead: Option<&Instead>,
) -> Result<Played, String> {
    let (launch, replies) = launch_of(path, test, chosen)?;
    play_in(Playing { path, test, program: &path.with_file_name(&test.program), instead }, launch, replies).await
}

/// A test that can begin, with the replies that it has or with its recording.
///
/// # Errors
/// It cannot begin; one that is about what is wrong with its program, neither.
#[cfg(feature = "dap")]
pub(crate) async fn begin(path: &Path, test: &TestFile, chosen: &ChosenClassifier<'_>) -> Result<Begun, String> {
    let (launch, replies) = launch_of(path, test, chosen)?;
    let playing = Playing { path, test, program: &path.with_file_name(&test.program), instead: None };
    begin_in(playing, launch, replies).await.map_err(|error| error.to_string())
}

/// What a test is launched with, and its own replies if those are given.
fn launch_of(
    path: &Path,
    test: &TestFile,
    chosen: &ChosenClassifier<'_>,
) -> Result<(Launch, Option<Arc<Replies>>), String> {
    let replies = Arc::new(Replies::new(&path.display().to_string(), test)?);
    let mut launch = chosen.launch();
    match test.model {
        Some(TestModel::Recorded) => launch.take = Some(take_beside(path, test, Mode::Replay)?),
        Some(TestModel::Embedded) => launch.llm = Some(Arc::new(Embedded)),
        None => launch.llm = Some(replies.clone()),
    }
    Ok((launch, test.model.is_none().then_some(replies)))
}

/// Plays a test's file; gives the records of its session, which can be looked at like any other's. None: its program is
/// refused.
///
/// # Errors
/// It is no test, it cannot begin, or it is not played as it says.
pub async fn session_of_test(path: &Path) -> Result<Vec<Record>, String> {
    let (test, _) = read_by(path, false, TestFile::parse)?;
    let chosen = ChosenClassifier { id: None, environment: &Environment::default() };
    let played = play(path, &test, &chosen).await?;
    if played.problems.is_empty() { Ok(played.journal.snapshot()) } else { Err(played.problems.join("\n")) }
}

/// Plays what a test's user says against `program` with the model or the recording that `launch` has; the test's own
/// replies count for nothing.
///
/// # Errors
/// It cannot begin; something is not recorded; the model failed while it was recorded.
pub(crate) async fn play_with(path: &Path, program: &Path, test: &TestFile, launch: Launch) -> Result<Played, String> {
    play_in(Playing { path, test, program, instead: None }, launch, None).await
}

/// The same; `replies` are the test's own, if the model that `launch` has gives those.
async fn play_in(playing: Playing<'_>, launch: Launch, replies: Option<Arc<Replies>>) -> Result<Played, String> {
    match begin_in(playing, launch, replies).await {
        Ok(mut begun) => {
            let heard = begun.hear();
            begun.session.spawn();
            let played = begun.script.perform(playing.path, playing.test, heard, &begun.opened).await;
            begun.opened.close().await;
            played
        }
        Err(error @ LaunchError::Program { .. }) if playing.test.expects_refusal() => {
            let outcome = Some(ExpectedOutcome::Refused { message: Some(error.to_string()) });
            let stretches = vec![Stretch { outcome, ..Stretch::default() }];
            Ok(Played { stretches, ..Played::default() })
        }
        Err(error) => Err(error.to_string()),
    }
}

/// A test that can begin.
pub(crate) struct Begun {
    /// Its session, which does not run yet.
    pub(crate) session: Session,
    /// What has to be closed at the end.
    pub(crate) opened: Opened,
    /// How it goes on.
    pub(crate) script: Script,
}

/// What is to happen in the session of a test.
pub(crate) struct Script {
    props: Props,
    take: Option<Arc<Take>>,
    journal: MemoryJournal,
    arguments: Map,
}

async fn begin_in(playing: Playing<'_>, launch: Launch, replies: Option<Arc<Replies>>) -> Result<Begun, LaunchError> {
    let (test, take) = (playing.test, launch.take.clone());
    let (mut opened, clock) = open_test(playing, launch).await?;
    let journal = MemoryJournal::new();
    let arguments = arguments_of(test, &opened.program, take.as_ref());
    let entry = test.playbook.as_deref().map(|name| find_entry(&opened.program, name)).transpose();
    let door = replies.as_ref().map_or_else(Arc::default, |replies| replies.door());
    let interrupting = (replies.is_none() && !planned(test).is_empty())
        .then(|| Arc::new(Interrupting::new(opened.world.llm.clone(), test, door.clone())));
    if let Some(interrupting) = &interrupting {
        opened.world.llm = interrupting.clone();
    }
    let is_known = replies.as_ref().map_or(Ok(()), |replies| replies.check(&opened.program));
    let session = is_known.map_err(LaunchError::Model).and(entry).and_then(|entry| {
        let options = StartOptions { id: SESSION.into(), entry, arguments: arguments.clone() };
        opened.start(Box::new(journal.clone()), options)
    });
    match session {
        Ok(session) => {
            let props = Props { replies, interrupting, door, clock };
            Ok(Begun { session, opened, script: Script { props, take, journal, arguments } })
        }
        Err(error) => {
            opened.close().await;
            Err(error)
        }
    }
}

impl Begun {
    /// Everything that its session tells, from the first event on.
    pub(crate) fn hear(&mut self) -> Heard {
        hear(&mut self.session)
    }
}

impl Script {
    /// Does what the test says with a session that runs, or will, until it is over.
    ///
    /// # Errors
    /// It is not played as it says.
    pub(crate) async fn perform(
        self,
        path: &Path,
        test: &TestFile,
        heard: Heard,
        opened: &Opened,
    ) -> Result<Played, String> {
        let Script { props, take, journal, arguments } = self;
        let name = path.display().to_string();
        let performed = Stage::new(&name, test, &props).perform(heard).await?;
        let Performed { stretches, problems, summary, answers, events } = performed;
        if let Some(take) = &take {
            check_take(&name, take, stretches.last())?;
        }
        let real = if take.is_some() { String::new() } else { real_calls(&events, opened) };
        let run = Run::listened(SESSION.into(), opened.program.clone(), events).with_arguments(arguments);
        Ok(Played {
            stretches,
            problems,
            summary,
            answers,
            is_live: opened.world.llm.kind() == ModelKind::Live,
            run: Some(run),
            journal,
            tools: inventory(&opened.world.tools),
            prices: opened.world.options.prices.clone(),
            text: opened.text.clone(),
            real,
            acts_outside: opened.acts_outside(),
        })
    }
}

/// The commands of plugins that were called although there are canned tools, each once, one a line.
fn real_calls(events: &[PublicEvent], opened: &Opened) -> String {
    let called = events.iter().filter_map(|event| {
        if let PublicBody::CallStarted { callable, .. } = &event.body { Some(callable) } else { None }
    });
    let real: BTreeSet<_> = called.filter(|name| opened.is_real_beside_canned(name)).collect();
    real.into_iter().map(|name| format!("  {name}\n")).collect()
}

/// Opens what a test is played with: the program that it names or another one, the tools beside it, its settings, its
/// clock.
///
/// # Errors
/// As for [`Launch::open`]; a setting is wrong.
pub(crate) async fn open_test(
    Playing { path, test, program, instead }: Playing<'_>,
    mut launch: Launch,
) -> Result<(Opened, TestClock), LaunchError> {
    let is_live = is_live(&launch);
    let furnished = furnish(&mut launch, (path, program), test.tools.as_deref(), &test.settings);
    let mut clock = furnished.map_err(LaunchError::Model)?;
    let mut zone = None;
    if let Some((now, offset)) = test.now.as_deref().and_then(instant) {
        clock = clock_of(&launch, Timestamp(now)).in_zone(TimeZone::fixed(offset));
        zone = (!test.settings.contains_key("zone")).then(|| offset.to_string().into());
        launch.workshop.clock = Arc::new(clock.clone());
    }
    let files = [program.to_owned()];
    let source = match instead {
        Some(Instead { text, program, declared }) => {
            launch.configuration.iter_mut().for_each(|configuration| configuration.declared.clone_from(declared));
            Source::Loaded(text.clone(), program.clone())
        }
        None => Source::Files(&files),
    };
    let mut opened = launch.open(source).await?;
    let settings = &mut opened.settings;
    settings.zone = zone.unwrap_or(settings.zone.clone());
    if !is_live {
        // Nothing gets better by waiting.
        settings.retry_delay_ms = 0;
        settings.max_retry_delay_ms = 0;
    }
    Ok((opened, clock))
}

/// Whether a model is asked, and not what stands in for one.
fn is_live(launch: &Launch) -> bool {
    launch.llm.is_none() && launch.take.as_ref().is_none_or(|take| !take.is_replay())
}

/// A clock that begins then. Nobody measures what stands in for a model: so timers that run out together always do.
fn clock_of(launch: &Launch, start: Timestamp) -> TestClock {
    let is_recording = launch.take.as_ref().is_some_and(|take| !take.is_replay());
    if is_live(launch) || is_recording { TestClock::new(start) } else { TestClock::still(start) }
}

/// Gives a launch what the case at `path` says of its program's world, and a clock that begins when tests do.
pub(crate) fn furnish(
    launch: &mut Launch,
    (path, program): (&Path, &Path),
    tools: Option<&str>,
    settings: &Map,
) -> Result<TestClock, String> {
    let mut configuration = configuration(program, path, settings)?;
    let choices = &mut launch.choices;
    let beside = Choices::beside(path, tools);
    (choices.tools, choices.working_directory) = (beside.tools, beside.working_directory);
    if settings.contains_key("classifier") {
        choices.classifier = choices.classifier.take().or(configuration.classifier.clone());
    }
    if !is_live(launch) {
        // Which model the program would have is none of a test's business, and nothing is worth waiting for.
        configuration.model = None;
        // The embedded model never hangs; a busy machine may let it wait.
        let is_embedded = launch.llm.as_ref().is_some_and(|llm| llm.kind() == ModelKind::Embedded);
        let timeout = if is_embedded { PATIENCE } else { TURN_TIMEOUT };
        configuration.turn_timeout = configuration.turn_timeout.or(Some(timeout));
    }
    if launch.take.as_ref().is_some_and(|take| !take.is_replay()) {
        // Servers take their time, and their counts are worth it.
        configuration.yield_grace = configuration.yield_grace.or(Some(PATIENCE));
    }
    launch.configuration = Some(configuration);
    let clock = clock_of(launch, BEGINNING);
    launch.workshop.clock = Arc::new(clock.clone());
    Ok(clock)
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
                format!("{name}: the model failed during the recording: {message}; nothing was written")
            })
        }
        Some(_) | None => Ok(()),
    }
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
    file.zone = own.zone.or(file.zone);
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
