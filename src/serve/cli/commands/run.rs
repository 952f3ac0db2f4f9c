//! `playhouse run FILE…`: a program, from its beginning or from where its session stands.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::host::clock::SystemClock;
use crate::host::equipment::Equipment;
use crate::host::journal::address::{Address, Place};
use crate::host::launch::{
    self, Begins, Launch, LaunchError, Ready, Reopening, Source, StartOptions, Wanted, inventory,
};
use crate::host::llm::ModelKind;
use crate::host::program::{ProgramText, ToolInventory};
use crate::host::sessions::new_id;
use crate::lang::SourceText;
use crate::lang::files::case_file::item::json_or_text;
use crate::lang::program::{ARGUMENTS, Program};
use crate::lang::source::skill::FILE_NAME;
use crate::serve::cli::machinery::changed::tell_changes;
use crate::serve::cli::machinery::console::{Console, Exit, Failure};
use crate::serve::cli::machinery::conversation::{After, Surroundings, TalkArguments, converse};
use crate::serve::cli::machinery::debug_listen::Listening;
use crate::serve::cli::machinery::ending::Subject;
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::terminal::Input;
use crate::serve::cli::machinery::terminal::watch::{Watch, is_wanted_again};
use crate::serve::cli::machinery::world::{LiveArguments, launch_failure, sessions_place, tell};
use crate::value::{Map, Value};
use crate::vm::protocol::Signal;

const EXAMPLES: &str = "\
Examples:
  playhouse run program.md --model openai:gpt-4.1-mini
  playhouse run program.md --model openai:local --base-url http://127.0.0.1:8080/v1
  playhouse run program.md --model script:replies.jsonl --tools tools.json < messages.txt
  playhouse run program.md --playbook Report --arg year=2026 --session report-2026
  playhouse run trip.yaml --tools tools.json --arg city=Rome";

/// Runs a program or a plan
///
/// On a terminal you talk with it; otherwise each line of standard input is one user message, and what the program
/// says goes to standard output
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArguments {
    /// The program's files, or a plan (`.json`, `.yaml`), whose value goes to standard output; after a skill's
    /// folder, the words to call it with
    #[arg(required_unless_present = "skill", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A skill to use in the program, or to run alone: its name as `playhouse skills list` shows it, or the path of
    /// its folder, with a `/` (repeatable)
    #[arg(long, value_name = "NAME|DIR")]
    pub(crate) skill: Vec<String>,
    #[command(flatten)]
    pub(crate) world: LiveArguments,
    /// The playbook or plan to begin with [default: the one with the trigger `At the beginning`]
    #[arg(long, value_name = "NAME")]
    pub(crate) playbook: Option<String>,
    /// An argument or a variable, as JSON or text (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = argument)]
    pub(crate) arg: Vec<(Arc<str>, Value)>,
    /// How many times the model may write a new plan for one that failed [default: `max_replans` in playhouse.toml,
    /// or 0]
    #[arg(long, value_name = "N")]
    pub(crate) max_replans: Option<u32>,
    /// The session's id; the session is resumed if it exists, and begun otherwise
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Where to store the session: a `.jsonl` file, or a `.sqlite` or `.db` file for many sessions [default:
    /// $PLAYHOUSE_SESSIONS, or $XDG_STATE_HOME/playhouse/sessions/ID.jsonl]
    #[arg(long, value_name = "PATH")]
    pub(crate) journal: Option<PathBuf>,
    /// Let a debugger attach at this address, such as 127.0.0.1:4711 (port 0: any free port)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) debug_listen: Option<SocketAddr>,
    /// With --session: continue with the current text of the files, from the last line that still exists
    #[arg(long, requires = "session")]
    pub(crate) migrate: bool,
    /// Reload the program when one of its files is saved; a running session keeps its text
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
        return Err(Failure::wrong("--watch is for conversations; run it on a terminal, or remove --watch"));
    }
    Runtime::for_one()?.block_on(run_sessions(console, arguments))
}

/// What is run, and with what.
struct Called {
    files: Vec<PathBuf>,
    arguments: Map,
    /// Skills that come with it.
    skills: Vec<String>,
}

/// What the command line calls. After a skill stand the words of its call; a skill that is chosen runs alone if there is
/// nothing else.
fn called(console: &Console, arguments: &RunArguments) -> Result<Called, Failure> {
    let mut with: Map = arguments.arg.iter().cloned().collect();
    let mut files = arguments.files.clone();
    if let [first, _, ..] = &files[..]
        && let Some(skill) = as_skill(first)
    {
        let words: Vec<_> = files[1..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let known = with.insert(ARGUMENTS.into(), Value::from(words.join(" ")));
        if known.is_some() {
            return Err(Failure::wrong(format!(
                "`--arg {ARGUMENTS}=…` and the words after {} mean the same; remove one of them",
                skill.display()
            )));
        }
        files.truncate(1);
    }
    let mut skills = arguments.skill.clone();
    if files.is_empty() {
        let mut launch = arguments.world.world.launch(console);
        launch.choices.skills = std::mem::take(&mut skills);
        let chosen = launch.skills(None).map_err(|error| launch_failure(console, error))?;
        (files, _) = chosen.of_every_program().map_err(Failure::wrong)?;
    }
    Ok(Called { files, arguments: with, skills })
}

/// The text of the skill that is at this path.
fn as_skill(path: &Path) -> Option<PathBuf> {
    let inside = path.join(FILE_NAME);
    if inside.is_file() { Some(inside) } else { path.ends_with(FILE_NAME).then(|| path.to_owned()) }
}

/// One session, and those that a person begins after it.
async fn run_sessions(console: &Console, arguments: &RunArguments) -> Result<Exit, Failure> {
    let mut input = None;
    let called = called(console, arguments)?;
    let mut watch = arguments.watch.then(|| Watch::new(&called.files, console.color));
    let mut events = None;
    let mut is_first = true;
    let listening = match arguments.debug_listen {
        Some(address) => Some(Listening::open(console, address).await?),
        None => None,
    };
    loop {
        let ready = prepare(console, arguments, &called, is_first, watch.as_mut()).await;
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
    (ready, subject): (Ready, Subject),
    events: Option<&File>,
    can_restart: bool,
    listening: Option<&Listening>,
) -> Result<(Exit, After), Failure> {
    // One file for all sessions of a process.
    let events = events.map(File::try_clone).transpose();
    let events = events.map_err(|cause| Failure::failed(format!("--events: {cause}; close some programs")))?;
    let console = surroundings.console;
    tell(console, &ready.opened().remarks);
    let subject = Subject { can_restart, ..subject };
    let (opened, session) = ready.begin().await;
    let talked = match session {
        Ok(session) => {
            if let Some(listening) = listening {
                listening.show(console, &session, &subject);
            }
            converse(surroundings, &subject, events, session).await
        }
        Err(error) => Err(launch_failure(console, error)),
    };
    if let Some(listening) = listening {
        listening.hide().await;
    }
    opened.close().await;
    talked
}

/// The session that the command line means: one that is kept goes on; else one begins. Only the first one of a process
/// has the id of the command line, and its journal if that is for one session only.
async fn prepare(
    console: &Console,
    arguments: &RunArguments,
    called: &Called,
    is_first: bool,
    watch: Option<&mut Watch>,
) -> Result<(Ready, Subject), Failure> {
    let journal = arguments.journal.as_deref().filter(|path| is_first || !Place::at(path).is_for_one());
    let wanted = Wanted {
        files: called.files.clone(),
        playbook: arguments.playbook.clone(),
        arguments: called.arguments.clone(),
        max_replans: arguments.max_replans,
        session: arguments.session.as_deref().filter(|_| is_first).map(Arc::from),
        place: sessions_place(console, journal)?,
        migrate: arguments.migrate,
    };
    let mut launch = arguments.world.launch(console, false);
    launch.choices.skills.clone_from(&called.skills);
    let Some(watch) = watch else {
        return told(console, launch.prepare(wanted, None).await, arguments.migrate, journal);
    };
    let ready = launch.prepare(wanted, Some(&mut |tools| watch.load(tools))).await;
    if let Ok(Ready { what: Begins::Again(reopened), .. }) = &ready {
        // Only so that it knows what to look at: the session has its own text.
        let _ = watch.load(&inventory(&reopened.opened.world.tools));
    }
    told(console, ready, arguments.migrate, journal)
}

/// What is told of a session that can begin, and about it.
pub(crate) fn told(
    console: &Console,
    ready: Result<Ready, LaunchError>,
    migrate: bool,
    journal: Option<&Path>,
) -> Result<(Ready, Subject), Failure> {
    let mut ready = ready.map_err(|error| launch_failure(console, error))?;
    let is_resumed = match &mut ready.what {
        Begins::Anew(..) => false,
        Begins::Again(reopened) => {
            let (id, changes) = (reopened.begun.session.clone(), reopened.changes.take());
            tell_changes(console, &id, (changes.as_ref(), migrate), &mut reopened.opened.remarks);
            true
        }
    };
    let subject = Subject { is_resumed, ..subject(&ready, journal) };
    Ok((ready, subject))
}

/// Runs a plan that is no file yet: `name` is what it would be called.
pub(crate) async fn run_plan(
    console: &Console,
    launch: &Launch,
    equipment: Equipment,
    (name, plan): (&str, &str),
    arguments: Map,
) -> Result<Exit, Failure> {
    let id = new_id(&SystemClock);
    let address = sessions_place(console, None)?.address(&id)?;
    let text = SourceText { name: name.to_owned(), text: plan.to_owned() };
    let opened = launch.open_on(equipment, Source::Texts(vec![text])).await;
    let opened = Box::new(opened.map_err(|error| launch_failure(console, error))?);
    let options = StartOptions { id, entry: None, arguments };
    let ready = Ready { what: Begins::Anew(opened, options), address };
    let ready = told(console, Ok(ready), false, None)?;
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
    world: &LiveArguments,
    talk: &TalkArguments,
    stored: &Stored<'_>,
    migrate: &[PathBuf],
    signal: Option<Signal>,
) -> Result<Exit, Failure> {
    Runtime::for_one()?.block_on(async {
        let Stored { address, id, is_elsewhere } = *stored;
        let wanted = Reopening { address, id, files: migrate, migrate: !migrate.is_empty() };
        let reopened = world.launch(console, false).reopen(wanted).await;
        let ready =
            reopened.map(|reopened| Ready { what: Begins::Again(Box::new(reopened)), address: address.clone() });
        let journal = is_elsewhere.then(|| PathBuf::from(address.location()));
        let ready = told(console, ready, !migrate.is_empty(), journal.as_deref())?;
        let events = talk.open_events()?;
        let mut input = Input::open(console).await;
        let surroundings = Surroundings { console, arguments: talk, input: &mut input, watch: None, signal };
        Ok(begin(surroundings, ready, events.as_ref(), false, None).await?.0)
    })
}

/// Loads a program; errors in its text end the command, warnings are counted.
pub(crate) fn load(
    console: &Console,
    files: &[PathBuf],
    tools: &ToolInventory,
) -> Result<(ProgramText, Arc<Program>), Failure> {
    let loaded = launch::load(Source::Files(files), tools);
    let (text, program, remark) = loaded.map_err(|error| launch_failure(console, error))?;
    tell(console, remark.as_slice());
    Ok((text, program))
}

fn subject(ready: &Ready, journal: Option<&Path>) -> Subject {
    let (id, opened) = (ready.id(), ready.opened());
    let files: Vec<String> = ready.files().map(|path| path.display().to_string()).collect();
    let (go_on, show) = match journal {
        None => (format!("playhouse sessions resume {id}"), Some(format!("playhouse sessions show {id}"))),
        Some(path) => {
            let path = path.display();
            let go_on = format!("playhouse run {} --session {id} --journal {path}", files.join(" "));
            (go_on, Some(format!("playhouse sessions show {id} --journal {path}")))
        }
    };
    Subject {
        program: opened.program.clone(),
        go_on,
        show,
        is_resumed: false,
        can_restart: false,
        has_tokens: opened.world.llm.kind() == ModelKind::Live,
        asks_model: opened.world.classifier.asks_model(),
        is_plan: ready.is_plan(),
    }
}

fn check_journal_kind(path: &Path) -> Result<(), Failure> {
    if Place::at(path).has_ending() {
        return Ok(());
    }
    Err(Failure::wrong(format!(
        "{}: unknown kind of journal; with --journal, name a `.jsonl` file (one session) or a `.sqlite` or `.db` file \
         (many)",
        path.display()
    )))
}
