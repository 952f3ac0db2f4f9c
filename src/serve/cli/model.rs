//! `playhouse model`: which models there are, and which one a run would have.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::host::config::{CommandLine, Config, Environment, FileConfig, ModelId};
use crate::host::launch::{Choices, Chosen, Launch};
use crate::host::llm::local::{self, PATIENCE_IF_ASKED};
use crate::host::program::load_settings_of;
use crate::lang::program::FrontMatter;
use crate::serve::cli::check::Format;
use crate::serve::cli::console::{Console, Exit, Failure, put};
use crate::serve::cli::run::runtime;
use crate::serve::cli::world::{launch_failure, workshop};

const EXAMPLES: &str = "\
Examples:
  playhouse model list
  playhouse model show program.md";

/// Lists the models that are there without configuration; shows which model a run would have
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelArguments {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Subcommand)]
enum ModelCommand {
    /// The one inside, and those of servers that run on this machine
    List {
        /// For whom: a table for people, or an array for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Which model a run would have, and why; its key
    Show {
        /// The program: its front matter and the configuration beside it count
        program: Option<PathBuf>,
        /// The model, as for `run`
        #[arg(long, value_name = "ID")]
        model: Option<String>,
        /// The server, as for `run`
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        /// The configuration [default: playhouse.toml beside the program, or in the current folder]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// For whom: text for people, or an object for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}

/// Performs one of the commands.
pub(crate) fn model(console: &Console, arguments: &ModelArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        ModelCommand::List { format } => list(console, *format),
        ModelCommand::Show { program, model, base_url, config, format } => {
            let choices = Choices {
                model: model.clone(),
                base_url: base_url.clone(),
                config: config.clone(),
                ..Choices::default()
            };
            show(console, choices, program.as_ref(), *format)
        }
    }
}

/// What is known of a model in `list --format json`. A public interface: fields are added, never changed or removed.
#[derive(Serialize)]
struct WireModel {
    /// What `--model` takes.
    model: String,
    /// What it is, in words.
    title: String,
    /// Of a model that was found: what `--base-url` takes.
    server: Option<String>,
}

fn list(console: &Console, format: Format) -> Result<Exit, Failure> {
    // A mistake elsewhere in the configuration is none of this.
    let environment = Environment { local_ports: console.environment.local_ports.clone(), ..Environment::default() };
    let config =
        Config::resolve(&CommandLine::default(), &FrontMatter::default(), &FileConfig::default(), &environment);
    let servers = config.map_err(|error| Failure::wrong(error.to_string()))?.local_servers;
    let found = runtime()?.block_on(async { local::find(&servers, tokio::time::sleep(PATIENCE_IF_ASKED)).await });
    let mut models = vec![WireModel {
        model: ModelId::Embedded.to_string(),
        title: "a guided executor inside the program, no key needed".to_owned(),
        server: None,
    }];
    for server in found {
        models.extend(server.models.into_iter().map(|model| WireModel {
            model: ModelId::OpenAi(model).to_string(),
            title: server.name.to_owned(),
            server: Some(server.base_url.clone()),
        }));
    }
    match format {
        Format::Json => {
            let lines: Vec<String> = models.iter().map(json).collect();
            put(&format!("[\n{}\n]\n", lines.join(",\n")))?;
        }
        Format::Text => {
            let base_url = |model: &WireModel| model.server.as_ref().map(|url| format!("--base-url {url}"));
            let rows = models
                .iter()
                .map(|model| [model.model.clone(), model.title.clone(), base_url(model).unwrap_or_default()]);
            put(&table(&rows.collect::<Vec<_>>()))?;
        }
    }
    Ok(Exit::Finished)
}

/// Columns as wide as they need to be.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| format!("{cell:width$}", width = width(column)));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// What a run would choose; `playhouse.toml` is the one beside the program, or in the current folder.
fn choose(console: &Console, choices: Choices, program: Option<&PathBuf>) -> Result<Chosen, Failure> {
    let beside = program.cloned().unwrap_or_else(|| PathBuf::from("program.md"));
    let front_matter = match program {
        Some(program) => {
            load_settings_of(std::slice::from_ref(program)).map_err(|error| Failure::wrong(error.to_string()))?.0
        }
        None => FrontMatter::default(),
    };
    let launch = Launch::new(workshop(console), choices);
    let chosen = runtime()?.block_on(launch.choose_model(&beside, &front_matter));
    chosen.map_err(|error| launch_failure(console, error))
}

/// What `show --format json` writes. A public interface: fields are added, never changed or removed.
#[derive(Serialize)]
struct WireShown {
    /// The model's id.
    model: String,
    /// Why it is this one.
    reason: String,
    /// Of an `openai:` model: its server.
    server: Option<String>,
    /// Of an `openai:` model: whether there is a key.
    has_key: Option<bool>,
}

fn show(console: &Console, choices: Choices, program: Option<&PathBuf>, format: Format) -> Result<Exit, Failure> {
    let Chosen { config, reason, .. } = choose(console, choices, program)?;
    let (id, _) = config.model();
    let server = match id {
        ModelId::OpenAi(name) => Some(config.openai(name).base_url),
        ModelId::Embedded | ModelId::Script(_) | ModelId::Replay(_) => None,
    };
    let shown = WireShown {
        has_key: server.as_ref().map(|_| config.api_key.is_some()),
        server,
        model: id.to_string(),
        reason: reason.unwrap_or_default(),
    };
    put(&match format {
        Format::Json => json(&shown) + "\n",
        Format::Text => text(&shown),
    })?;
    Ok(Exit::Finished)
}

fn text(shown: &WireShown) -> String {
    let mut text = format!("{}\n", shown.reason);
    if let Some(server) = &shown.server {
        text.push_str(&format!("server {server}\n"));
        text.push_str(match shown.has_key {
            Some(true) => "key set (OPENAI_API_KEY)\n",
            Some(false) | None => "key not set; a server that wants one gets it from OPENAI_API_KEY\n",
        });
    }
    text
}

/// One line, without its end.
fn json(value: &impl Serialize) -> String {
    // Text, numbers and truths: writing them cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
