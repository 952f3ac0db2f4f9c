//! `playhouse model`: which models there are, and which one a run would have.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::host::config::{CommandLine, Config, Environment, FileConfig, ModelId};
use crate::host::launch::{Choices, Chosen, Launch};
use crate::host::llm::local::{self, FoundServer, PATIENCE_IF_ASKED};
use crate::host::program::load_settings_of;
use crate::lang::program::FrontMatter;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, finish};
use crate::serve::cli::machinery::output::{Format, json_array, table};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::world::{launch_failure, workshop};

const EXAMPLES: &str = "\
Examples:
  playhouse model list
  playhouse model show program.md";

/// Lists the models available without configuration; shows which model a run would use
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelArguments {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Subcommand)]
enum ModelCommand {
    /// Lists the embedded model, and the models of servers that run on this machine
    List {
        /// The output format: a table for people, or a JSON array for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Shows which model a run would use, why, and whether its key is set
    Show {
        /// The program; its front matter and the configuration beside it count
        program: Option<PathBuf>,
        /// The model, as for `run`
        #[arg(long, value_name = "ID")]
        model: Option<String>,
        /// The server, as for `run`
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        /// The configuration file [default: playhouse.toml beside the program, or in the current folder]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// The output format: text for people, or a JSON object for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}

/// Performs one of the commands.
pub(crate) fn model(console: &Console, arguments: &ModelArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        ModelCommand::List { format } => list(console, *format),
        ModelCommand::Show { program, model, base_url, config, format } => {
            let (model, base_url, config) = (model.clone(), base_url.clone(), config.clone());
            show(console, Choices { model, base_url, config, ..Choices::default() }, program.as_ref(), *format)
        }
    }
}

/// The servers of models that run on this machine.
pub(crate) fn found(console: &Console) -> Result<Vec<FoundServer>, Failure> {
    // A mistake elsewhere in the configuration is none of this.
    let environment = Environment { local_ports: console.environment.local_ports.clone(), ..Environment::default() };
    let config =
        Config::resolve(&CommandLine::default(), &FrontMatter::default(), &FileConfig::default(), &environment);
    let servers = config.map_err(Failure::wrong)?.local_servers;
    Ok(Runtime::for_one()?.block_on(async { local::find(&servers, tokio::time::sleep(PATIENCE_IF_ASKED)).await }))
}

fn list(console: &Console, format: Format) -> Result<Exit, Failure> {
    let found = found(console)?;
    let embedded = "built in, no key needed; follows plain lines, and does not judge".to_owned();
    // What `--model` takes, what it is in words, and of a model that was found what `--base-url` takes.
    let mut models = vec![(ModelId::Embedded.to_string(), embedded, None)];
    for server in &found {
        let of_server = |model| (ModelId::OpenAi(model).to_string(), server.name.to_owned(), Some(&*server.base_url));
        models.extend(server.models.iter().cloned().map(of_server));
    }
    finish(&match format {
        Format::Json => {
            // A public interface: fields are added, never changed or removed.
            let told = |(model, title, server)| json!({"model": model, "title": title, "server": server});
            json_array(models.into_iter().map(told))
        }
        Format::Text => table(models.into_iter().map(|(model, title, server)| {
            [model, title, server.map_or(String::new(), |url| format!("--base-url {url}"))]
        })),
    })
}

/// The model that a run would have.
pub(crate) struct ModelOfRun {
    /// What `--model` takes.
    pub(crate) id: String,
    /// Why it is this one, in one line for people.
    pub(crate) reason: String,
    /// The base URL of its server, if it has one.
    pub(crate) server: Option<String>,
    /// Whether there is a key for that server.
    pub(crate) has_key: Option<bool>,
}

/// What a run would choose; `playhouse.toml` is the one beside the program, or in the current folder.
pub(crate) fn choose(console: &Console, choices: Choices, program: Option<&PathBuf>) -> Result<ModelOfRun, Failure> {
    let beside = program.cloned().unwrap_or_else(|| PathBuf::from("program.md"));
    let front_matter = match program {
        Some(program) => load_settings_of(std::slice::from_ref(program), None).map_err(Failure::wrong)?.0,
        None => FrontMatter::default(),
    };
    let launch = Launch::new(workshop(console), choices);
    let chosen = Runtime::for_one()?.block_on(launch.choose_model(&beside, &front_matter));
    let Chosen { config, reason, .. } = chosen.map_err(|error| launch_failure(console, error))?;
    let (id, _) = config.model();
    let server = match id {
        ModelId::OpenAi(name) => Some(config.openai(name).base_url),
        ModelId::Embedded | ModelId::Script(_) | ModelId::Replay(_) => None,
    };
    let has_key = server.as_ref().map(|_| config.openai.api_key.is_some());
    Ok(ModelOfRun { id: id.to_string(), reason: reason.unwrap_or_default(), server, has_key })
}

fn show(console: &Console, choices: Choices, program: Option<&PathBuf>, format: Format) -> Result<Exit, Failure> {
    let ModelOfRun { id, reason, server, has_key } = choose(console, choices, program)?;
    finish(&match (format, server) {
        // A public interface: fields are added, never changed or removed.
        (Format::Json, server) => {
            let shown = json!({"model": id, "reason": reason, "server": server, "has_key": has_key});
            format!("{shown}\n")
        }
        (Format::Text, None) => format!("{reason}\n"),
        (Format::Text, Some(server)) => {
            let key = match has_key {
                Some(true) => "key set (OPENAI_API_KEY)",
                Some(false) | None => "key not set; if the server needs one, set OPENAI_API_KEY",
            };
            format!("{reason}\nserver {server}\n{key}\n")
        }
    })
}
