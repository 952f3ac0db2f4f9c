//! `playhouse doctor`: what is there, what is missing, and what can be done about it. It looks, and changes nothing.

use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::{Access, access};
use serde_json::{Value as Json, json};

use crate::host::child::find_program;
use crate::host::config::{EMBEDDED_REASON, FileConfig, child_environment};
use crate::host::launch::Choices;
use crate::host::llm::local::FoundServer;
use crate::host::llm::openai::OpenAiConfig;
use crate::host::sandbox::{Available, Sandbox};
use crate::host::skills::options::SandboxKind;
use crate::serve::cli::commands::model::{ModelOfRun, choose, found};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, put};
use crate::serve::cli::machinery::output::{Format, json_array, table};
use crate::serve::cli::machinery::world::sessions_place;

const EXAMPLE: &str = "\
Example:
  playhouse doctor";

/// Shows what is there, what is missing, and what to do about it: models, keys, folders, editors, configuration
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DoctorArguments {
    /// For whom: a line for each thing for people, or an array for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The features of a build (`Cargo.toml`), and whether this one has them.
const FEATURES: [(&str, bool); 9] = [
    ("cli", cfg!(feature = "cli")),
    ("dap", cfg!(feature = "dap")),
    ("lsp", cfg!(feature = "lsp")),
    ("mcp", cfg!(feature = "mcp")),
    ("otel", cfg!(feature = "otel")),
    ("postgres", cfg!(feature = "postgres")),
    ("restate", cfg!(feature = "restate")),
    ("serve", cfg!(feature = "serve")),
    ("sqlite", cfg!(feature = "sqlite")),
];

/// Editors that `editors/README.md` has settings for, by their programs.
const EDITORS: [(&str, &str); 6] =
    [("code", "VS Code"), ("nvim", "Neovim"), ("emacs", "Emacs"), ("hx", "Helix"), ("zed", "Zed"), ("kak", "Kakoune")];

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum State {
    /// It is there.
    Ok,
    /// It is not, and that is no fault.
    Absent,
    /// A run fails because of it.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    state: State,
    topic: &'static str,
    /// How it stands, in words.
    told: String,
    /// What can be done; empty: nothing need be.
    next: String,
}

impl Finding {
    fn new(state: State, topic: &'static str, told: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { state, topic, told: told.into(), next: next.into() }
    }

    /// A line for people: the mark, what it is about, and the rest.
    fn row(&self) -> [String; 3] {
        let mark = match self.state {
            State::Ok => "ok",
            State::Absent => "-",
            State::Broken => "!",
        };
        let end = if self.next.is_empty() { String::new() } else { format!("; {}", self.next) };
        [mark.to_owned(), self.topic.to_owned(), format!("{}{end}", self.told)]
    }

    /// The same for programs. A public interface: fields are added, never changed or removed.
    fn json(&self) -> Json {
        let state: &str = self.state.into();
        let next = Some(&self.next).filter(|next| !next.is_empty());
        json!({"topic": self.topic, "state": state, "told": self.told, "next": next})
    }
}

/// Looks at everything, and tells it.
pub(crate) fn doctor(console: &Console, arguments: &DoctorArguments) -> Result<Exit, Failure> {
    let environment = child_environment();
    let program = |name: &str| find_program(name, &environment);
    let file = FileConfig::find(None, Some(Path::new("program.md")));
    let confines = file.as_ref().map(|file| file.skills.sandbox).unwrap_or_default();
    let mut findings = vec![binary(), state_folder(console)];
    findings.extend(sessions(console));
    findings.push(servers(console)?);
    findings.push(key(console));
    let told = file.map(|file| file.path).map_err(|error| error.to_string());
    let is_read = told.is_ok();
    findings.push(configuration(told));
    findings.push(if is_read { model(console)? } else { unknown_model() });
    findings.push(language("Python", program("python3"), "plugins in Python need `python3` in PATH"));
    let otherwise = "plugins in JavaScript and MCP servers from npm need `node` in PATH";
    findings.push(language("Node", program("node"), otherwise));
    findings.push(editors(&program));
    let sandbox = Sandbox::new(confines, console.environment.executable.clone(), environment.clone());
    findings.push(confinement(confines, sandbox.available()));
    put(&match arguments.format {
        Format::Json => json_array(findings.iter().map(Finding::json)),
        Format::Text => table(findings.iter().map(Finding::row)),
    })?;
    let is_broken = findings.iter().any(|finding| finding.state == State::Broken);
    Ok(if is_broken { Exit::Failed } else { Exit::Finished })
}

fn binary() -> Finding {
    let named = |is_wanted: bool| {
        let names = FEATURES.iter().filter(|(_, is_there)| *is_there == is_wanted).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (with, without) = (named(true), named(false));
    let without = if without.is_empty() { String::new() } else { format!("; without {without}") };
    Finding::new(State::Ok, "playhouse", format!("{} with {with}{without}", env!("CARGO_PKG_VERSION")), "")
}

fn state_folder(console: &Console) -> Finding {
    let topic = "state";
    let Some(folder) = console.environment.state_home.as_ref().map(|home| home.join("playhouse")) else {
        let told = "neither XDG_STATE_HOME nor HOME is set, so there is no place for sessions";
        return Finding::new(State::Broken, topic, told, "set one of them");
    };
    written_to(topic, &folder, false, "make it writable, or name another folder in XDG_STATE_HOME")
}

/// Where sessions are kept, if that is not the state folder.
fn sessions(console: &Console) -> Option<Finding> {
    console.environment.sessions.as_ref()?;
    let place = sessions_place(console, None).ok()?;
    Some(written_to("sessions", place.path(), place.has_ending(), "name another place in PLAYHOUSE_SESSIONS"))
}

/// Whether something can be written at this path, or made there. `may_be_file`: else it is a folder.
fn written_to(topic: &'static str, path: &Path, may_be_file: bool, otherwise: &str) -> Finding {
    let shown = path.display();
    let here = |folder: &'_ Path| if folder == Path::new("") { PathBuf::from(".") } else { folder.to_owned() };
    // What is not there yet is made in the nearest folder that is.
    let nearest = path.ancestors().map(here).find(|nearest| nearest.exists()).unwrap_or_else(|| PathBuf::from("."));
    let fault = if nearest.is_dir() {
        access(&nearest, Access::WRITE_OK | Access::EXEC_OK).err().map(|cause| cause.to_string())
    } else if nearest == path && may_be_file {
        access(&nearest, Access::WRITE_OK).err().map(|cause| cause.to_string())
    } else {
        Some(format!("{} is not a folder", nearest.display()))
    };
    match fault {
        None => Finding::new(State::Ok, topic, format!("{shown} can be written"), ""),
        Some(fault) => Finding::new(State::Broken, topic, format!("{shown} cannot be written: {fault}"), otherwise),
    }
}

fn servers(console: &Console) -> Result<Finding, Failure> {
    let topic = "servers";
    let found = match found(console) {
        Ok(found) => found,
        Err(failure) => return broken(topic, failure),
    };
    if found.is_empty() {
        let next = "start Ollama, LM Studio or llama.cpp, and a run on a terminal finds it";
        return Ok(Finding::new(State::Absent, topic, "no model server answers on this machine", next));
    }
    let told = found.iter().map(|FoundServer { name, base_url, models, .. }| {
        format!("{name} at {base_url} ({})", count(models.len(), "model"))
    });
    let told = told.collect::<Vec<_>>().join(", ");
    Ok(Finding::new(State::Ok, topic, told, "`playhouse model list` shows their models"))
}

/// What cannot be looked at, with what is told of that.
fn broken(topic: &'static str, failure: Failure) -> Result<Finding, Failure> {
    match failure {
        Failure::Told { message, .. } => Ok(Finding::new(State::Broken, topic, message, "")),
        quiet @ Failure::Quiet(_) => Err(quiet),
    }
}

fn key(console: &Console) -> Finding {
    if console.environment.api_key.is_some() {
        return Finding::new(State::Ok, "key", "OPENAI_API_KEY is set", "");
    }
    Finding::new(State::Absent, "key", "OPENAI_API_KEY is not set", "set it if your model server needs a key")
}

/// `file` is the path of the configuration in this folder, empty if there is none, or what is wrong with it.
fn configuration(file: Result<PathBuf, String>) -> Finding {
    let topic = "playhouse.toml";
    match file {
        Ok(path) if path.as_os_str().is_empty() => {
            let next = "docs/configuration.md lists its keys";
            Finding::new(State::Absent, topic, "none in this folder, and none is needed", next)
        }
        Ok(_) => Finding::new(State::Ok, topic, "the one in this folder is valid", ""),
        Err(fault) => Finding::new(State::Broken, topic, fault, ""),
    }
}

fn unknown_model() -> Finding {
    Finding::new(State::Absent, "model", "unknown until playhouse.toml is fixed", "")
}

fn model(console: &Console) -> Result<Finding, Failure> {
    let topic = "model";
    let ModelOfRun { reason, server, has_key, .. } = match choose(console, Choices::default(), None) {
        Ok(chosen) => chosen,
        Err(failure) => return broken(topic, failure),
    };
    let told = reason.strip_prefix("model ").unwrap_or(&reason);
    Ok(match server {
        // The one server that is known to need a key.
        Some(server) if has_key == Some(false) && server == OpenAiConfig::new("").base_url => {
            let next = "set OPENAI_API_KEY, or name your server in OPENAI_BASE_URL";
            Finding::new(State::Absent, topic, format!("{told}, on {server}, which needs a key"), next)
        }
        Some(server) => Finding::new(State::Ok, topic, format!("{told}, on {server}"), ""),
        // Its own advice is to ask here.
        None if reason == EMBEDDED_REASON => {
            let told = "embedded: built in, no key needed";
            let next = "for a language model start Ollama, LM Studio or llama.cpp, set OPENAI_API_KEY, or name one with \
                        --model and --base-url";
            Finding::new(State::Ok, topic, told, next)
        }
        None => Finding::new(State::Ok, topic, told, ""),
    })
}

fn language(topic: &'static str, found: Option<PathBuf>, otherwise: &str) -> Finding {
    match found {
        Some(path) => Finding::new(State::Ok, topic, path.display().to_string(), ""),
        None => Finding::new(State::Absent, topic, "not found", otherwise),
    }
}

fn editors(program: &dyn Fn(&str) -> Option<PathBuf>) -> Finding {
    let found = EDITORS.iter().filter(|(name, _)| program(name).is_some()).map(|(_, title)| *title);
    let found = found.collect::<Vec<_>>().join(", ");
    if found.is_empty() {
        let told = "none of those with settings for playbooks was found";
        return Finding::new(State::Absent, "editors", told, "editors/README.md lists them");
    }
    Finding::new(State::Ok, "editors", found, "editors/README.md has their settings")
}

fn confinement(kind: SandboxKind, available: Available) -> Finding {
    let topic = "sandbox";
    let means = match kind {
        SandboxKind::Bwrap => "bubblewrap",
        SandboxKind::System | SandboxKind::None if cfg!(target_os = "macos") => "`sandbox-exec`",
        SandboxKind::System | SandboxKind::None => "Landlock and seccomp",
    };
    match available {
        Available::Confined(lacks) => {
            Finding::new(State::Ok, topic, format!("commands of skills are confined by {means}"), lacks.join("; "))
        }
        Available::Unconfined(why) => {
            let told = format!("commands of skills are not confined, so you are asked before each one: {why}");
            Finding::new(State::Absent, topic, told, "")
        }
    }
}
