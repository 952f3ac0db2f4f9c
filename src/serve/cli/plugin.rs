//! `playhouse plugin`: for people who write plugins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};

use crate::diagnostic::{Severity, render};
use crate::host::launch::{Choices, Launch};
use crate::host::resource::Resources;
use crate::host::tool::plugin::{Plugin, PluginError, PluginOptions};
use crate::lang::analysis::explain;
use crate::serve::cli::console::{Console, Exit, Failure, count, put};
use crate::serve::cli::plugin_call::{self, CallArguments};
use crate::serve::cli::plugin_new::{self, NewPluginArguments};
use crate::serve::cli::run;
use crate::serve::cli::world::{launch_failure, workshop};
use crate::value::Map;

const EXAMPLES: &str = "\
Examples:
  playhouse plugin new dice
  playhouse plugin check dice --start
  playhouse plugin call dice greet --param '{\"name\": \"Ida\"}'
A program uses it by its front matter: `plugins: {dice: dice}`.";

const CHECK_EXAMPLES: &str = "\
Examples:
  playhouse plugin check dice
  playhouse plugin check dice --start";

/// Makes, checks and calls plugins: folders whose commands programs call
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginArguments {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Subcommand)]
enum PluginCommand {
    New(NewPluginArguments),
    Check(CheckPluginArguments),
    Call(CallArguments),
}

/// Finds what is wrong with a plugin's folder, and shows what can be called of it
#[derive(Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckPluginArguments {
    /// The plugin's folder, with .config/config.yaml
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Also start it, and see whether it lives
    #[arg(long)]
    start: bool,
}

/// Makes, checks or calls a plugin.
pub(crate) fn plugin(console: &Console, arguments: &PluginArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        PluginCommand::New(arguments) => plugin_new::new(arguments),
        PluginCommand::Check(arguments) => check(console, arguments),
        PluginCommand::Call(arguments) => plugin_call::call(console, arguments),
    }
}

fn check(console: &Console, arguments: &CheckPluginArguments) -> Result<Exit, Failure> {
    let Opened { plugin, .. } = open(console, &arguments.folder, Path::new("."), Map::new())?;
    let lines = plugin.tools().iter().map(|tool| {
        let signature = tool.signature();
        let effect: &str = signature.effect.into();
        let summary = &signature.signature.summary;
        let summary = if summary.is_empty() { String::new() } else { format!("  {summary}") };
        format!("{} [{effect}]{summary}\n", explain::signature(&signature.signature))
    });
    put(&lines.collect::<String>())?;
    let started = if arguments.start {
        run::runtime()?.block_on(async {
            let started = plugin.start().await;
            plugin.close().await;
            started
        })
    } else {
        Ok(())
    };
    console.tell(&format!("0 errors, {}\n", count(plugin.warnings.len(), "warning")));
    match started {
        Ok(()) if arguments.start => console.tell("it starts\n"),
        Ok(()) => {}
        Err(error) => return Err(Failure::failed(error.to_string())),
    }
    Ok(Exit::Finished)
}

/// A plugin, and the resources of the configuration, not acquired yet.
pub(crate) struct Opened {
    pub(crate) plugin: Plugin,
    pub(crate) resources: Arc<Resources>,
}

/// Opens a plugin as it is, without its user's copy of its files, and tells what is odd about it.
pub(crate) fn open(console: &Console, folder: &Path, working_directory: &Path, config: Map) -> Result<Opened, Failure> {
    let choices = Choices { working_directory: Some(working_directory.to_owned()), ..Choices::default() };
    let made = Launch::new(workshop(console), choices).for_author(&config);
    let (packages, surroundings, config) = made.map_err(|error| launch_failure(console, error))?;
    let resources = surroundings.resources.clone();
    let folder = folder.to_owned();
    let options = PluginOptions { folder, name: None, instance_id: None, config, runtime: None, surroundings };
    let plugin = Plugin::open(options, &packages).map_err(|error| match error {
        PluginError::Config { findings, sources } => {
            console.tell(&format!("{}\n", render(&findings, &sources, console.color)));
            let n_of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
            let (n_errors, n_warnings) = (n_of(Severity::Error), n_of(Severity::Warning));
            console.tell(&format!("{}, {}\n", count(n_errors, "error"), count(n_warnings, "warning")));
            Failure::Quiet(Exit::Wrong)
        }
        PluginError::Read { .. }
        | PluginError::NoPlugin { .. }
        | PluginError::Runtime { .. }
        | PluginError::Setup { .. } => Failure::wrong(error.to_string()),
    })?;
    for warning in &plugin.warnings {
        console.tell(&format!("{}\n", warning.trim_end()));
    }
    Ok(Opened { plugin, resources })
}
