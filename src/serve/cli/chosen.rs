//! Which model a run has: the one that was chosen, or one that is found on this machine.

use crate::host::config::{CommandLine, Config, ConfigError, Environment, FileConfig, Search};
use crate::host::llm::local::{self, FoundServer, PATIENCE, PATIENCE_IF_ASKED};
use crate::lang::program::FrontMatter;
use crate::serve::cli::console::Console;

/// What is said where `--model auto` finds nothing.
const NOT_FOUND: &str = "model embedded: a small guided executor, as no server of models answers on this machine (asked \
                         were Ollama, LM Studio and llama.cpp); start one, or name a model as in --model openai:NAME";

/// A configuration whose model is sure.
pub(crate) struct Chosen {
    /// All layers together.
    pub(crate) config: Config,
    /// Why the model is this one, in one line for people.
    pub(crate) reason: String,
    /// The server, where it was found and not configured.
    pub(crate) found: Option<String>,
}

/// Puts the layers together and looks on this machine, if nobody has chosen a model or `auto` says so.
///
/// # Errors
/// As for [`Config::resolve`].
pub(crate) async fn choose(
    console: &Console,
    command_line: &CommandLine,
    front_matter: &FrontMatter,
    file: &FileConfig,
) -> Result<Chosen, ConfigError> {
    let config = Config::resolve(command_line, front_matter, file, &console.environment)?;
    let reason = config.model().1.to_owned();
    let patience = match config.search {
        Search::OnTerminal if console.is_conversation && console.is_watched => Some(PATIENCE),
        Search::OnTerminal | Search::Never => None,
        Search::Always => Some(PATIENCE_IF_ASKED),
    };
    let found = match patience {
        Some(patience) => local::find(&config.local_servers, tokio::time::sleep(patience)).await,
        None => Vec::new(),
    };
    let Some((server, model)) = first(&found) else {
        let reason = if config.search == Search::Always { NOT_FOUND.to_owned() } else { reason };
        return Ok(Chosen { config, reason, found: None });
    };
    let id = format!("openai:{model}");
    let FoundServer { name, base_url, .. } = server;
    let reason = format!(
        "model {id}, found in {name} at {base_url}; --model openai:NAME --base-url {base_url} takes another, --model \
         embedded the one inside, --model auto looks for one without a terminal, too"
    );
    let config = at_server(console, command_line, front_matter, file, &id, base_url)?;
    Ok(Chosen { config, reason, found: Some(base_url.clone()) })
}

fn first(found: &[FoundServer]) -> Option<(&FoundServer, &str)> {
    found.iter().find_map(|server| Some((server, server.models.first()?.as_str())))
}

/// The same layers with a model of a server that was found. Keys and headers are meant for another one, so it gets none.
pub(crate) fn at_server(
    console: &Console,
    command_line: &CommandLine,
    front_matter: &FrontMatter,
    file: &FileConfig,
    id: &str,
    base_url: &str,
) -> Result<Config, ConfigError> {
    let command_line =
        CommandLine { model: Some(id.to_owned()), base_url: Some(base_url.to_owned()), ..command_line.clone() };
    let environment = Environment { api_key: None, ..console.environment.clone() };
    let mut config = Config::resolve(&command_line, front_matter, file, &environment)?;
    config.extra_headers.clear();
    Ok(config)
}
