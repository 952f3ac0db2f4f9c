//! `playhouse sessions`: what is kept, how it stands, and going on with it.

mod check;
mod delete;
mod diff;
mod export;
mod export_test;
pub(super) mod kept;
mod profile;
mod send;
mod travel;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use self::check::{CheckArguments, check};
use self::delete::{DeleteArguments, delete};
use self::diff::DiffArguments;
use self::export::{ExportArguments, export};
use self::kept::{Kept, local, opened, records, time, to_json, waited};
use self::profile::{ProfileArguments, profile};
use self::send::{SendArguments, send};
use self::travel::{ForkArguments, ReplayArguments};

use crate::host::clock::{Clock, SystemClock};
use crate::host::journal::JournalErrorKind;
use crate::host::journal::address::{Address, Place};
use crate::host::stored::{self, StoredState};
use crate::host::why::history;
use crate::serve::cli::commands::run::{Stored, resume};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, finish, put};
use crate::serve::cli::machinery::conversation::TalkArguments;
use crate::serve::cli::machinery::output::{Format, json_array, table};
use crate::serve::cli::machinery::world::{LiveArguments, sessions_place};
use crate::serve::show::{self, why};
use crate::vm::protocol::Outcome;

const EXAMPLES: &str = r#"Examples:
  playhouse sessions list
  playhouse sessions show 20261121-224805-k3f9
  playhouse sessions why 20261121-224805-k3f9 Calm:T1
  playhouse sessions resume 20261121-224805-k3f9
  playhouse sessions send 20261121-224805-k3f9 --event photo_uploaded --data '{"id": 7}'
  playhouse sessions list --journal sessions.sqlite
  playhouse sessions export 20261121-224805-k3f9 --format md --output talk.md
  playhouse sessions profile 20261121-224805-k3f9 --by time
  playhouse sessions delete 20261121-224805-k3f9
  playhouse sessions replay 20261121-224805-k3f9 --to 17
  playhouse sessions fork 20261121-224805-k3f9 --at 17 --set city=Rome
  playhouse sessions diff 20261121-224805-k3f9 20261121-231502-m2rw
  playhouse sessions check --rules desk.rules.md --journal desk.sqlite"#;

/// Lists, shows and resumes stored sessions
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SessionsArguments {
    /// Where the sessions are stored: a `.sqlite` or `.db` file, a `.jsonl` file, or a folder of these [default:
    /// $PLAYHOUSE_SESSIONS, or $XDG_STATE_HOME/playhouse/sessions]
    #[arg(long, value_name = "PATH", global = true)]
    journal: Option<PathBuf>,
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Subcommand)]
enum SessionsCommand {
    /// Lists all sessions, oldest first
    List {
        /// The output format: a table for people, or a JSON array for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Shows where a session is now: stack, variables, conversation
    Show {
        /// The session's id
        id: String,
        /// The output format: text for people, or a JSON object for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Shows why a trigger fired or did not: every evaluation, oldest first
    Why {
        /// The session's id
        id: String,
        /// The trigger: its name (Playbook:T1), its playbook's name, or its words; the beginning is enough [default:
        /// all]
        trigger: Option<String>,
        /// The output format: text for people, or JSON for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Resumes a session, as `run` does
    Resume(Box<ResumeArguments>),
    /// Sends a session an event from outside, and runs it until it waits again
    Send(Box<SendArguments>),
    /// Shows everything that happened in a session, or where it was at an earlier point
    Replay(ReplayArguments),
    /// Makes a new session that branches off from another at an earlier point
    Fork(ForkArguments),
    /// Shows how two sessions differ: how far they are the same, what each did then, and the variables
    Diff(DiffArguments),
    /// Exports a session: a journal, text for people, events for programs, or a test with its recording
    Export(ExportArguments),
    /// Shows what sessions spent, by playbook and line: tokens, time, cost
    Profile(ProfileArguments),
    /// Checks sessions against rules: how many keep each rule, and where one was broken
    Check(CheckArguments),
    /// Deletes sessions permanently
    Delete(DeleteArguments),
}

#[derive(Args)]
struct ResumeArguments {
    /// The session's id
    id: String,
    /// Continue with the program in these files, from the last line that still exists
    #[arg(long, value_name = "FILE", num_args = 1..)]
    migrate: Vec<PathBuf>,
    #[command(flatten)]
    world: LiveArguments,
    #[command(flatten)]
    talk: TalkArguments,
}

/// Performs one of the commands.
pub(crate) fn sessions(console: &Console, arguments: &SessionsArguments) -> Result<Exit, Failure> {
    let kept = Kept::at(console, arguments.journal.as_deref())?;
    match &arguments.command {
        SessionsCommand::List { format } => list(console, &kept.place, *format),
        SessionsCommand::Show { id, format } => show(&kept.find(id)?, *format),
        SessionsCommand::Why { id, trigger, format } => why(&kept.find(id)?, trigger.as_deref(), *format),
        SessionsCommand::Resume(arguments) => {
            let address = kept.find(&arguments.id)?;
            let stored = Stored { address: &address, id: &arguments.id, is_elsewhere: !kept.is_default };
            resume(console, &arguments.world, &arguments.talk, &stored, &arguments.migrate, None)
        }
        SessionsCommand::Send(arguments) => send(console, &kept, arguments),
        SessionsCommand::Replay(arguments) => travel::replay(&kept, arguments),
        SessionsCommand::Fork(arguments) => travel::fork(console, &kept, arguments),
        SessionsCommand::Diff(arguments) => diff::diff(&kept, arguments),
        SessionsCommand::Export(arguments) => export(console, &kept.find(&arguments.id)?, arguments),
        SessionsCommand::Profile(arguments) => profile(console, &kept, arguments),
        SessionsCommand::Check(arguments) => check(console, &kept, arguments),
        SessionsCommand::Delete(arguments) => delete(console, &kept, arguments),
    }
}

impl Kept {
    /// What is kept at `given`, else where the environment says.
    pub(crate) fn at(console: &Console, given: Option<&Path>) -> Result<Kept, Failure> {
        Ok(Kept { place: sessions_place(console, given)?, is_default: given.is_none() })
    }

    /// The journal of a session that is there.
    pub(crate) fn find(&self, id: &str) -> Result<Address, Failure> {
        waited(self.place.find(id))?.map_err(|error| {
            if self.is_default && matches!(error.kind, JournalErrorKind::NoSession(_)) {
                return Failure::wrong(format!(
                    "there is no session {id}; `playhouse sessions list` shows all sessions"
                ));
            }
            error.into()
        })
    }
}

fn show(address: &Address, format: Format) -> Result<Exit, Failure> {
    let opened = opened(address)?;
    let view = opened.replayed.machine.view();
    let stored = waited(opened.describe(address))?;
    if format == Format::Json {
        let mut told = to_json(&stored);
        told["model"] = json!(opened.begun.model);
        show::merge(&mut told, show::to_json(&view, &show::state(&view)));
        return finish(&format!("{told}\n"));
    }
    let mut text = format!("session {}: {}\n", address.session(), show::state(&view));
    text.push_str(&format!("program {}, model {}\n", opened.begun.roots.join(", "), opened.begun.model));
    text.push_str(&format!("begun {}, last event {}\n", local(stored.started), local(stored.last)));
    if let StoredState::Open(process) = &stored.state {
        text.push_str(&format!("open in another process (process id {process})\n"));
    }
    match &view.outcome {
        Some(Outcome::Done { value }) => text.push_str(&format!("finished with {}\n", value.shown().to_json())),
        Some(Outcome::Failed(fault)) => text.push_str(&format!("failed: {} ({})\n", fault.message, fault.kind)),
        None => {}
    }
    text.push_str(&show::all(&view, opened.replayed.machine.program()));
    finish(&text)
}

fn why(address: &Address, trigger: Option<&str>, format: Format) -> Result<Exit, Failure> {
    let records = records(address)?;
    let history = history(&records)?;
    let zone = SystemClock.zone();
    let answer = match format {
        Format::Text => why::answer(&history, trigger, &zone),
        Format::Json => why::answer_json(&history, trigger, &zone),
    };
    finish(&answer.map_err(Failure::wrong)?)
}

fn list(console: &Console, place: &Place, format: Format) -> Result<Exit, Failure> {
    let stored = waited(stored::list(place))??;
    match format {
        Format::Json => put(&json_array(stored.iter().map(to_json)))?,
        Format::Text if stored.is_empty() => console.tell(&format!("no sessions in {}\n", place.path().display())),
        Format::Text => {
            let head = ["ID", "STATE", "STARTED", "LAST EVENT", "PROGRAM"].map(str::to_owned);
            let rows = stored.iter().map(|session| {
                // To the second, without the zone: it is the reader's own.
                let short = |at| time(session, at).unwrap_or_default().chars().take(19).collect::<String>();
                let [started, last] = [session.started, session.last].map(|at| short(at).replace('T', " "));
                [session.id.to_string(), session.state.name().to_owned(), started, last, session.program.to_string()]
            });
            put(&table(std::iter::once(head).chain(rows)))?;
        }
    }
    Ok(Exit::Finished)
}
