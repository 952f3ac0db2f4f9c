//! `playhouse run FILE…`: a program, from its beginning or from where its session stands.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::diagnostic::{Severity, render};
use crate::host::clock::SystemClock;
use crate::host::equipment::Equipment;
use crate::host::journal::address::{Address, Place};
use crate::host::journal::record::{Begun, GivenFiles, Record, RecordBody};
use crate::host::journal::{JournalError, JournalErrorKind};
use crate::host::program::{ProgramText, ToolInventory, load_files, load_texts};
use crate::host::session::replay::last_text;
use crate::host::session::{Session, SessionError, Start, World};
use crate::host::sessions::new_id;
use crate::host::tool::registry::Registry;
use crate::lang::SourceText;
use crate::lang::program::{Entry, EntryId, Program, Signature};
use crate::serve::cli::changed::Given;
use crate::serve::cli::console::{Console, Exit, Failure, count};
use crate::serve::cli::conversation::{After, Subject, Surroundings, TalkArguments, converse};
use crate::serve::cli::debug_listen::Listening;
use crate::serve::cli::going_on::{check_tools, with_kept};
use crate::serve::cli::terminal::Input;
use crate::serve::cli::terminal::watch::{Watch, is_wanted_again};
use crate::serve::cli::test_file::json_or_text;
use crate::serve::cli::world::{self, BegunWith, WorldArguments};
use crate::value::{Map, Value};
use crate::vm::protocol::Signal;
use crate::vm::protocol::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  playhouse run program.md --model openai:gpt-4.1-mini
  playhouse run program.md --model openai:local --base-url http://127.0.0.1:8080/v1
  playhouse run program.md --model script:replies.jsonl --tools tools.json < messages.txt
  playhouse run program.md --playbook Report --arg year=2026 --session report-2026
  playhouse run trip.yaml --tools tools.json --arg city=Rome";

/// Runs a program, or a plan (`.json`, `.yaml`). On a terminal it is a conversation; else each line of standard input is one message of the
/// user, and standard output gets what the program says
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArguments {
    /// The program's files; of a plan, standard output gets its value
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) world: WorldArguments,
    /// The playbook or plan to begin with [default: the one with the trigger `At the beginning`]
    #[arg(long, value_name = "NAME")]
    pub(crate) playbook: Option<String>,
    /// An argument, or a variable: JSON or text (can be given again)
    #[arg(long, value_name = "NAME=VALUE", value_parser = argument)]
    pub(crate) arg: Vec<(Arc<str>, Value)>,
    /// How often the model may write another plan for one that has failed [default: `max_replans` in playhouse.toml, 0]
    #[arg(long, value_name = "N")]
    pub(crate) max_replans: Option<u32>,
    /// The session's id: it is resumed, or begun if there is none
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Where the session is kept: a `.jsonl` file, or a `.sqlite` or `.db` file for many sessions [default:
    /// $PLAYHOUSE_SESSIONS, or $XDG_STATE_HOME/playhouse/sessions/ID.jsonl]
    #[arg(long, value_name = "PATH")]
    pub(crate) journal: Option<PathBuf>,
    /// Let a debugger attach at this address, such as 127.0.0.1:4711 (port 0: any)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) debug_listen: Option<SocketAddr>,
    /// With --session: go on with the text of the files, from the last line that still exists
    #[arg(long, requires = "session")]
    pub(crate) migrate: bool,
    /// Load the program again when one of its files is saved; a running session keeps its text
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) talk: TalkArguments,
}

/// Reads `name=value`.
pub(crate) fn argument(text: &str) -> Result<(Arc<str>, Value), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().trim_start_matches('$').into(), json_or_text(value)))
        }
        _ => Err("write NAME=VALUE, as in `--arg year=2026`".to_owned()),
    }
}

/// Runs a program, or goes on with its session.
pub(crate) fn run(console: &Console, arguments: &RunArguments) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.journal {
        check_journal_kind(path)?;
    }
    if arguments.watch && !console.is_conversation {
        return Err(Failure::wrong("--watch is for a conversation; run it on a terminal, or leave --watch out"));
    }
    runtime()?.block_on(run_sessions(console, arguments))
}

/// One session, and those that a person begins after it.
async fn run_sessions(console: &Console, arguments: &RunArguments) -> Result<Exit, Failure> {
    let mut input = None;
    let mut watch = arguments.watch.then(|| Watch::new(&arguments.files, console.color));
    let mut events = None;
    let mut is_first = true;
    let listening = match arguments.debug_listen {
        Some(address) => Some(Listening::open(console, address).await?),
        None => None,
    };
    loop {
        let ready = prepare(console, arguments, is_first, watch.as_mut()).await;
        // Not before: until then Ctrl-C ends the process, whatever a model does to get ready.
        let input = match &mut input {
            Some(input) => input,
            None => input.insert(Input::open(console).await),
        };
        let (exit, after) = match ready {
            Ok(ready) => {
                is_first = false;
                if events.is_none() {
                    events = arguments.talk.open_events()?;
                }
                let surroundings =
                    Surroundings { console, arguments: &arguments.talk, input, watch: watch.as_mut(), signal: None };
                begin(surroundings, ready, events.as_ref(), true, listening.as_ref()).await?
            }
            // The findings have been told, and the next save may mend them.
            Err(Failure::Quiet(exit)) if watch.is_some() => (exit, After::Ended),
            Err(failure) => return Err(failure),
        };
        match (after, &mut watch) {
            (After::Left, _) | (After::Ended, None) => return Ok(exit),
            (After::Ended, Some(watch)) => {
                if !watch.take_newer() && !is_wanted_again(console, input, watch).await? {
                    return Ok(exit);
                }
            }
            (After::Restart, _) => {}
        }
        console.remark("a new session begins");
    }
}

/// Tells what was chosen, opens the session and talks with it.
async fn begin(
    surroundings: Surroundings<'_>,
    ready: Ready<'_>,
    events: Option<&File>,
    can_restart: bool,
    listening: Option<&Listening>,
) -> Result<(Exit, After), Failure> {
    // One file for all sessions of a process.
    let events = events.map(File::try_clone).transpose();
    let events = events.map_err(|cause| Failure::failed(format!("--events: {cause}; close some programs")))?;
    let Ready { about, equipment, open } = ready;
    for choice in &about.choices {
        surroundings.console.remark(choice);
    }
    for warning in &equipment.warnings {
        surroundings.console.warning(warning);
    }
    if let Some(warning) = about.warning {
        surroundings.console.warning(warning);
    }
    let subject = Subject { can_restart, ..about.subject };
    let talked = match open.await {
        Ok(session) => {
            if let Some(listening) = listening {
                listening.show(&session, &subject);
            }
            converse(surroundings, &subject, events, session).await
        }
        Err(failure) => Err(failure),
    };
    if let Some(listening) = listening {
        listening.hide().await;
    }
    equipment.close().await;
    talked
}

/// The session that `--session` names, if it is kept: its id and its journal.
async fn stored<'a>(console: &Console, arguments: &'a RunArguments) -> Result<Option<(&'a str, Address)>, Failure> {
    let Some(id) = &arguments.session else { return Ok(None) };
    let address = world::sessions_place(console, arguments.journal.as_deref())?.address(id).map_err(journal_failure)?;
    let is_kept = address.is_there().await.map_err(journal_failure)?;
    Ok(is_kept.then_some((id, address)))
}

/// A session that can be opened.
pub(crate) struct Ready<'a> {
    /// About it.
    pub(crate) about: About,
    /// What has to be closed after it.
    pub(crate) equipment: Equipment,
    /// What opens it.
    pub(crate) open: Opening<'a>,
}

/// What opens it.
type Opening<'a> = BoxFuture<'a, Result<Session, Failure>>;

/// What is told of a session and about it.
pub(crate) struct About {
    /// The program.
    pub(crate) subject: Subject,
    /// Which model and which trigger classifier were chosen, and why.
    pub(crate) choices: Vec<String>,
    /// What is odd.
    pub(crate) warning: Option<&'static str>,
    /// The ids of the model and of the trigger classifier.
    pub(crate) ids: (String, String),
    /// What it was opened with.
    pub(crate) world: WorldArguments,
}

/// A session that the command line means: one that is kept goes on; else one begins.
pub(crate) async fn prepare<'a>(
    console: &Console,
    arguments: &RunArguments,
    is_first: bool,
    watch: Option<&mut Watch>,
) -> Result<Ready<'a>, Failure> {
    match stored(console, arguments).await.map(|stored| stored.filter(|_| is_first))? {
        Some((id, address)) => {
            let stored = Stored { address: &address, id, is_elsewhere: arguments.journal.is_some() };
            let given = Given { files: &arguments.files, migrate: arguments.migrate };
            prepare_resume(console, &arguments.world, &stored, given, watch).await
        }
        None => prepare_start(console, arguments, is_first, watch).await,
    }
}

/// A session from its beginning. Only the first one of a process has the id of the command line, and its journal if
/// that is for one session only.
async fn prepare_start<'a>(
    console: &Console,
    arguments: &RunArguments,
    is_first: bool,
    watch: Option<&mut Watch>,
) -> Result<Ready<'a>, Failure> {
    let equipment = arguments.world.open(console, &arguments.files).await?;
    let tools = equipment.tools.clone();
    match prepare_world(console, arguments, is_first, watch, tools).await {
        Ok((about, open)) => Ok(Ready { about, equipment, open }),
        Err(failure) => {
            equipment.close().await;
            Err(failure)
        }
    }
}

/// All that a new session needs but its equipment, which has to be closed whatever happens.
async fn prepare_world<'a>(
    console: &Console,
    arguments: &RunArguments,
    is_first: bool,
    watch: Option<&mut Watch>,
    tools: Arc<Registry>,
) -> Result<(About, Opening<'a>), Failure> {
    let (text, program) = load(console, &arguments.files, &world::inventory(&tools), watch)?;
    let entry = arguments.playbook.as_deref().map(|name| find_entry(&program, name)).transpose()?;
    let mut equipped = arguments.world.equip(console, &program, tools, None).await?;
    equipped.settings.max_replans = arguments.max_replans.unwrap_or(equipped.settings.max_replans);
    let id: Arc<str> = match arguments.session.as_ref().filter(|_| is_first) {
        Some(id) => id.as_str().into(),
        None => new_id(&SystemClock),
    };
    let journal = arguments.journal.as_deref().filter(|path| is_first || !Place::at(path).is_for_one());
    let address = world::sessions_place(console, journal)?.address(&id).map_err(journal_failure)?;
    let subject = Subject {
        is_plan: is_plan(&program, entry),
        ..subject(&program, &equipped.world, &id, &arguments.files, journal)
    };
    let (ids, world) = (ids(&equipped.world), arguments.world.clone());
    let begun = Start {
        id,
        program,
        text,
        settings: equipped.settings,
        entry,
        arguments: arguments.arg.iter().cloned().collect::<Map>(),
        given: equipped.given,
    };
    let open = async move {
        let journal = address.open().await.map_err(journal_failure)?;
        Session::start(equipped.world, journal, begun).map_err(session_failure)
    };
    let about = About { subject, choices: equipped.choices, warning: None, ids, world };
    Ok((about, open.boxed()))
}

/// Runs a plan that is no file yet: `name` is what it is called, `world` what it acts through.
pub(crate) async fn run_plan(
    console: &Console,
    name: &str,
    plan: &str,
    world: World,
    equipment: Equipment,
    (settings, given): (Settings, GivenFiles),
    arguments: Map,
) -> Result<Exit, Failure> {
    let roots = vec![SourceText { name: name.to_owned(), text: plan.to_owned() }];
    let tools = world::inventory(&world.tools);
    let (text, loaded) =
        load_texts(roots, &tools, &mut |path| Err(format!("{}: a plan imports nothing", path.display())));
    let program = Arc::new(loaded.program);
    let id = new_id(&SystemClock);
    let address = world::sessions_place(console, None)?.address(&id).map_err(journal_failure)?;
    let subject = Subject { is_plan: true, ..subject(&program, &world, &id, &[PathBuf::from(name)], None) };
    let ids = ids(&world);
    let begun = Start { id, program, text, settings, entry: None, arguments, given };
    let open = async move {
        let journal = address.open().await.map_err(journal_failure)?;
        Session::start(world, journal, begun).map_err(session_failure)
    };
    let about = About { subject, choices: Vec::new(), warning: None, ids, world: WorldArguments::default() };
    let ready = Ready { about, equipment, open: open.boxed() };
    let mut input = Input::open(console).await;
    let talk = TalkArguments::default();
    let surroundings = Surroundings { console, arguments: &talk, input: &mut input, watch: None, signal: None };
    Ok(begin(surroundings, ready, None, false, None).await?.0)
}

/// A session that is kept somewhere.
pub(crate) struct Stored<'a> {
    /// Its journal.
    pub(crate) address: &'a Address,
    /// Its id, as it was given.
    pub(crate) id: &'a str,
    /// Whether the journal is not at its default place.
    pub(crate) is_elsewhere: bool,
}

/// Goes on with a session; with the text of the files `migrate`, if there are any, and for an event from outside, if
/// there is one.
pub(crate) fn resume(
    console: &Console,
    world: &WorldArguments,
    talk: &TalkArguments,
    stored: &Stored<'_>,
    migrate: &[PathBuf],
    signal: Option<Signal>,
) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let given = Given { files: migrate, migrate: !migrate.is_empty() };
        let ready = prepare_resume(console, world, stored, given, None).await?;
        let events = talk.open_events()?;
        let mut input = Input::open(console).await;
        let surroundings = Surroundings { console, arguments: talk, input: &mut input, watch: None, signal };
        Ok(begin(surroundings, ready, events.as_ref(), false, None).await?.0)
    })
}

/// A session that goes on. Of the files that are given only whether they have changed is told, unless it is to go on
/// with their text.
async fn prepare_resume<'a>(
    console: &Console,
    world: &WorldArguments,
    stored: &Stored<'_>,
    given: Given<'_>,
    watch: Option<&mut Watch>,
) -> Result<Ready<'a>, Failure> {
    // Opened first: whoever else holds it is more important than anything that could be wrong here.
    let journal = stored.address.open().await.map_err(journal_failure)?;
    let records = stored.address.read().await.map_err(journal_failure)?;
    let begun = begun(&records, &stored.address.location())?;
    stored.address.check(&records).map_err(journal_failure)?;
    let world = &with_kept(world, begun)?;
    let (text, known) = last_text(&records).unwrap_or_else(|| (begun_text(begun), &begun.tools));
    let signatures: Vec<Signature> = known.iter().map(|tool| tool.to_tool().signature).collect();
    let program = Arc::new(text.load(&signatures).program);
    let changes = given.changes((&text, &program), &signatures)?;
    let migrates = given.migrate && changes.is_some();
    let equipment = match migrates {
        true => world.open(console, given.files).await?,
        false => world.open_for(console, &program).await?,
    };
    if let Some(watch) = watch {
        // Only so that it knows what to look at: the session has its own text.
        let _ = watch.load(&world::inventory(&equipment.tools));
    }
    let tools = equipment.tools.clone();
    let files = if migrates { given.files } else { &[] };
    match prepare_old_world(console, world, stored, files, (&text, &program, &records), begun, tools).await {
        Ok((mut about, session_world, changed)) => {
            drop(records);
            given.tell(console, stored.id, changes.as_ref(), &mut about.choices);
            let open = async move {
                let resumed = match changed {
                    Some(text) => Session::resume_changed(session_world, journal, text).await,
                    None => Session::resume(session_world, journal).await,
                };
                resumed.map_err(session_failure)
            };
            Ok(Ready { about, equipment, open: open.boxed() })
        }
        Err(failure) => {
            equipment.close().await;
            Err(failure)
        }
    }
}

/// What a session that goes on acts through, what is told of it, and the text of the files with which it is to go on,
/// if there are any.
async fn prepare_old_world(
    console: &Console,
    world: &WorldArguments,
    stored: &Stored<'_>,
    files: &[PathBuf],
    (text, program, records): (&ProgramText, &Arc<Program>, &[Record]),
    begun: &Begun,
    tools: Arc<Registry>,
) -> Result<(About, World, Option<ProgramText>), Failure> {
    let changed = match files {
        [] => None,
        files => Some(load(console, files, &world::inventory(&tools), None)?),
    };
    let (text, program) = changed.as_ref().map_or((text, program), |(text, program)| (text, program));
    let server = begun.given.found_server.as_deref();
    let begun_with = BegunWith { model: &begun.model, classifier: begun.classifier.as_deref(), server };
    let equipped = world.equip(console, program, tools, Some(&begun_with)).await?;
    if changed.is_none() {
        check_tools(stored.id, program, records, &equipped.world.tools)?;
    }
    let is_off = equipped.settings.classifier && !begun.settings.classifier && equipped.has_classifier;
    let warning = is_off.then_some(
        "the session was begun with the classifier off, and stays so: its triggers in words never fire; begin a new \
         session for that",
    );
    let own_files: Vec<PathBuf> = text.roots.iter().map(|root| PathBuf::from(&**root)).collect();
    let path = stored.is_elsewhere.then(|| PathBuf::from(stored.address.location()));
    let subject = subject(program, &equipped.world, &begun.session, &own_files, path.as_deref());
    let is_plan = begun.entry.as_ref().map_or_else(|| is_plan(program, None), |entry| entry.is_plan);
    let subject = Subject { is_resumed: true, is_plan, ..subject };
    let (ids, world) = (ids(&equipped.world), world.clone());
    let about = About { subject, choices: equipped.choices, warning, ids, world };
    Ok((about, equipped.world, changed.map(|(text, _)| text)))
}

fn ids(world: &World) -> (String, String) {
    (world.llm.id().to_string(), world.classifier.id().to_string())
}

/// The beginning that a journal holds.
pub(crate) fn begun<'r>(records: &'r [Record], location: &str) -> Result<&'r Begun, Failure> {
    match records.first().map(|record| &record.body) {
        Some(RecordBody::Begun(begun)) => Ok(begun),
        _ => Err(Failure::failed(format!("{location}: the journal holds no session; begin a new one"))),
    }
}

/// The program's texts that a journal holds.
pub(crate) fn begun_text(begun: &Begun) -> ProgramText {
    ProgramText { roots: begun.roots.clone(), files: begun.files.clone() }
}

/// Loads a program; errors in its text end the command, warnings are counted.
pub(crate) fn load(
    console: &Console,
    files: &[PathBuf],
    tools: &ToolInventory,
    watch: Option<&mut Watch>,
) -> Result<(ProgramText, Arc<Program>), Failure> {
    let loaded = match watch {
        Some(watch) => watch.load(tools),
        None => load_files(files, tools),
    };
    let (text, loaded) = loaded.map_err(|error| Failure::wrong(error.to_string()))?;
    let n_of = |severity| loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let (n_errors, n_warnings) = (n_of(Severity::Error), n_of(Severity::Warning));
    if n_errors > 0 {
        console.tell(&render(&loaded.diagnostics, &loaded.program.sources, console.color));
        console.tell(&format!("\n{}, {}\n", count(n_errors, "error"), count(n_warnings, "warning")));
        return Err(Failure::Quiet(Exit::Wrong));
    }
    if n_warnings > 0 {
        console.remark(&format!("{}; `playhouse check` shows what and where", count(n_warnings, "warning")));
    }
    Ok((text, Arc::new(loaded.program)))
}

/// The playbook or plan that `--playbook` means: of the agent the program begins with, or `Agent.Playbook`.
pub(crate) fn find_entry(program: &Program, name: &str) -> Result<EntryId, Failure> {
    let first = match &program.entry {
        Entry::Beginning(ids) => ids.first().map(|id| program.playbook(*id).agent),
        Entry::Single(id) | Entry::Root(id) => Some(program.playbook(*id).agent),
        Entry::Plan(_) | Entry::None => None,
    };
    let agents = first.into_iter().chain(program.agents.iter().map(|agent| agent.id));
    if let Some(found) = agents.into_iter().find_map(|agent| program.find_playbook(agent, name)) {
        return Ok(EntryId::Playbook(found));
    }
    if let Some(plan) = program.find_plan(name) {
        return Ok(EntryId::Plan(plan));
    }
    let playbooks = program.playbooks.iter().filter(|playbook| !playbook.implicit).map(|playbook| &*playbook.name);
    let names: Vec<&str> = playbooks.chain(program.plans.iter().map(|plan| &*plan.name)).collect();
    Err(Failure::wrong(format!("--playbook: there is no playbook `{name}`; there are {}", names.join(", "))))
}

/// Whether a session that begins there is of a plan.
fn is_plan(program: &Program, entry: Option<EntryId>) -> bool {
    match (entry, &program.entry) {
        (Some(EntryId::Plan(_)), _) | (None, Entry::Plan(_)) => true,
        (Some(EntryId::Playbook(_)), _)
        | (None, Entry::Beginning(_) | Entry::Single(_) | Entry::Root(_) | Entry::None) => false,
    }
}

fn subject(program: &Arc<Program>, world: &World, id: &str, files: &[PathBuf], journal: Option<&Path>) -> Subject {
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let (go_on, show) = match journal {
        None => (format!("playhouse sessions resume {id}"), Some(format!("playhouse sessions show {id}"))),
        Some(path) => {
            let path = path.display();
            let go_on = format!("playhouse run {} --session {id} --journal {path}", files.join(" "));
            (go_on, Some(format!("playhouse sessions show {id} --journal {path}")))
        }
    };
    let model = world.llm.id();
    let is_of = |kinds: &[&str]| kinds.iter().any(|kind| model.starts_with(kind));
    Subject {
        program: program.clone(),
        go_on,
        show,
        is_resumed: false,
        can_restart: false,
        has_tokens: !is_of(&["script:", "replay:", "embedded"]),
        asks_model: world.classifier.id().starts_with("model:"),
        is_plan: false,
    }
}

fn check_journal_kind(path: &Path) -> Result<(), Failure> {
    if Place::at(path).has_ending() {
        return Ok(());
    }
    Err(Failure::wrong(format!(
        "{}: what kind of journal this is to be is not known; name a `.jsonl` file (one session) or a `.sqlite` or \
         `.db` file (many) with --journal",
        path.display()
    )))
}

/// One thread is enough for one session, and is there at once.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Failure::failed(format!("cannot start: {cause}; close some programs and try again")))
}

/// A journal that is there already is a matter of the command; everything else is not. Which options name another place
/// is said here: the rest is true for every door.
pub(crate) fn journal_failure(error: JournalError) -> Failure {
    let text = error.to_string();
    match &error.kind {
        JournalErrorKind::Exists => Failure::wrong(format!("{text} (--session ID, --journal PATH)")),
        JournalErrorKind::Foreign(_) | JournalErrorKind::Unsupported(_) => {
            Failure::wrong(format!("{text} (--journal PATH)"))
        }
        JournalErrorKind::NoSession(_) => Failure::wrong(format!(
            "{text}; `playhouse sessions list --journal {}` shows those there are",
            error.location
        )),
        JournalErrorKind::SessionId(_) | JournalErrorKind::OtherSession { .. } => Failure::wrong(text),
        JournalErrorKind::Full { .. } => Failure::failed(format!("{text} (--session ID)")),
        JournalErrorKind::Unavailable { .. } => Failure::failed(format!("{text} (--journal PATH)")),
        JournalErrorKind::Fenced
        | JournalErrorKind::Held(_)
        | JournalErrorKind::Corrupt { .. }
        | JournalErrorKind::Format { .. }
        | JournalErrorKind::SecretsMissing { .. } => Failure::failed(text),
    }
}

/// A session that cannot begin or go on.
pub(crate) fn session_failure(error: SessionError) -> Failure {
    match error {
        SessionError::Journal(error) => journal_failure(error),
        SessionError::NoPoint(_) | SessionError::Change(_) => Failure::wrong(error.to_string()),
        SessionError::NoSession(_)
        | SessionError::Program(_)
        | SessionError::Replay { .. }
        | SessionError::TooMany { .. }
        | SessionError::Open(_)
        | SessionError::Vanished => Failure::failed(error.to_string()),
    }
}
