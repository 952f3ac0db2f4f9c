//! `playhouse sessions`: what is kept, how it stands, and going on with it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::host::clock::{Clock, SystemClock, iso_text};
use crate::host::journal::file::{holder, read_file};
use crate::host::session::replay::replay;
use crate::serve::cli::check::Format;
use crate::serve::cli::console::{Console, Exit, Failure, put};
use crate::serve::cli::conversation::TalkArguments;
use crate::serve::cli::run::{Stored, begun, journal_failure, resume, session_failure};
use crate::serve::cli::show::{self, WireView};
use crate::serve::cli::world::{self, WorldArguments};
use crate::vm::protocol::Timestamp;
use crate::vm::view::View;

const EXAMPLES: &str = "\
Examples:
  playhouse sessions list
  playhouse sessions show 20261121-224805-k3f9
  playhouse sessions resume 20261121-224805-k3f9";

/// Lists and shows the sessions that are kept, and goes on with them
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Subcommand)]
enum SessionsCommand {
    /// All sessions, the oldest first
    List {
        /// For whom: a table for people, or an array for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Where a session stands: stack, variables, conversation
    Show {
        /// The session
        id: String,
        /// For whom: text for people, or an object for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Goes on with a session, as `run` does
    Resume(Box<ResumeArguments>),
}

#[derive(Args)]
struct ResumeArguments {
    /// The session
    id: String,
    #[command(flatten)]
    world: WorldArguments,
    #[command(flatten)]
    talk: TalkArguments,
}

/// Performs one of the commands.
pub(crate) fn sessions(console: &Console, arguments: &SessionsArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        SessionsCommand::List { format } => list(console, *format),
        SessionsCommand::Show { id, format } => {
            let session = look_at(&find(console, id)?)?;
            put(&match format {
                Format::Text => session.to_text(),
                Format::Json => json(&session.to_wire()),
            })?;
            Ok(Exit::Finished)
        }
        SessionsCommand::Resume(arguments) => {
            let path = find(console, &arguments.id)?;
            let stored = Stored { path: &path, id: &arguments.id, is_elsewhere: false };
            resume(console, &arguments.world, &arguments.talk, &stored, &[])
        }
    }
}

/// The journal of a session that is there.
fn find(console: &Console, id: &str) -> Result<PathBuf, Failure> {
    let path = world::places(console)?.journal_path(id).map_err(|error| Failure::wrong(error.to_string()))?;
    match path.is_file() {
        true => Ok(path),
        false => {
            Err(Failure::wrong(format!("there is no session {id}; `playhouse sessions list` shows those there are")))
        }
    }
}

/// A session as its journal tells it.
struct Looked {
    id: String,
    program: String,
    model: String,
    started: Timestamp,
    last_event: Timestamp,
    /// Who has it open, if somebody has.
    holder: Option<String>,
    view: View,
}

/// One session in `--format json`; `list` leaves out the view's parts but for its state.
#[derive(Serialize)]
struct WireSession {
    id: String,
    program: String,
    model: String,
    started: String,
    last_event: String,
    open_in_process: Option<String>,
    #[serde(flatten)]
    view: WireView,
}

#[derive(Serialize)]
struct WireListed {
    id: String,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_event: Option<String>,
}

/// Replays a journal, which may be open elsewhere, and looks at the machine.
fn look_at(path: &Path) -> Result<Looked, Failure> {
    let records = read_file(path).map_err(journal_failure)?;
    let begun = begun(&records, path)?;
    let replayed = replay(&records, None).map_err(session_failure)?;
    Ok(Looked {
        id: begun.session.to_string(),
        program: begun.roots.join(", "),
        model: begun.model.to_string(),
        started: replayed.began,
        last_event: replayed.time,
        holder: holder(path),
        view: replayed.machine.view(),
    })
}

impl Looked {
    fn state(&self) -> String {
        match &self.holder {
            Some(_) => format!("open, {}", show::state(&self.view)),
            None => show::state(&self.view),
        }
    }

    fn to_text(&self) -> String {
        let mut text = format!("session {}: {}\n", self.id, self.state());
        text.push_str(&format!("program {}, model {}\n", self.program, self.model));
        text.push_str(&format!("begun {}, last event {}\n", local(self.started), local(self.last_event)));
        if let Some(holder) = self.holder.as_ref().filter(|holder| !holder.is_empty()) {
            text.push_str(&format!("open in process {holder}\n"));
        }
        match &self.view.outcome {
            Some(crate::vm::protocol::Outcome::Done { value }) => {
                text.push_str(&format!("finished with {}\n", value.to_json()));
            }
            Some(crate::vm::protocol::Outcome::Failed(fault)) => {
                text.push_str(&format!("failed: {} ({})\n", fault.message, fault.kind));
            }
            None => {}
        }
        text.push_str(&show::all(&self.view));
        text
    }

    fn to_wire(&self) -> WireSession {
        WireSession {
            id: self.id.clone(),
            program: self.program.clone(),
            model: self.model.clone(),
            started: local(self.started),
            last_event: local(self.last_event),
            open_in_process: self.holder.clone(),
            view: show::to_wire(&self.view),
        }
    }
}

fn list(console: &Console, format: Format) -> Result<Exit, Failure> {
    let places = world::places(console)?;
    let folder = places.sessions_folder().map_err(|error| Failure::wrong(error.to_string()))?;
    let mut listed = Vec::new();
    for path in journals(folder)? {
        let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        listed.push(match look_at(&path) {
            Ok(session) => WireListed {
                id,
                state: session.state(),
                program: Some(session.program),
                started: Some(local(session.started)),
                last_event: Some(local(session.last_event)),
            },
            // One broken journal must not hide the others.
            Err(_) => WireListed {
                state: format!("cannot be read; see `playhouse sessions show {id}`"),
                id,
                program: None,
                started: None,
                last_event: None,
            },
        });
    }
    match format {
        Format::Json => {
            let lines: Vec<String> = listed.iter().map(|session| json(session).trim_end().to_owned()).collect();
            put(&if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) })?;
        }
        Format::Text if listed.is_empty() => console.tell(&format!("no sessions in {}\n", folder.display())),
        Format::Text => put(&table(&listed))?,
    }
    Ok(Exit::Finished)
}

/// Columns as wide as they need to be.
fn table(listed: &[WireListed]) -> String {
    let head = ["ID", "STATE", "STARTED", "LAST EVENT", "PROGRAM"].map(str::to_owned);
    let rows = listed.iter().map(|session| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        [
            session.id.clone(),
            session.state.clone(),
            text(&session.started),
            text(&session.last_event),
            text(&session.program),
        ]
    });
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    let widths = [0, 1, 2, 3, 4].map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The journals of a folder, by name: ids begin with their time.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => {
            return Err(Failure::failed(format!("{}: cannot read: {cause}; make it readable", folder.display())));
        }
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    paths.sort();
    Ok(paths)
}

fn local(time: Timestamp) -> String {
    iso_text(time, &SystemClock.zone())
}

/// One line.
fn json(value: &impl Serialize) -> String {
    // Text, numbers and JSON values: writing them cannot fail.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}
