//! `playhouse plugin`: for people who write plugins.

mod call;
mod new;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use self::call::{CallArguments, Opened, open};
use self::new::NewPluginArguments;

use crate::lang::analysis::explain;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, put};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::value::Map;

const EXAMPLES: &str = "\
Examples:
  playhouse plugin new dice
  playhouse plugin check dice --start
  playhouse plugin call dice add --param '{\"start\": \"2026-05-04\"}'
A program uses the plugin through its front matter: `plugins: {dice: dice}`.";

const CHECK_EXAMPLES: &str = "\
Examples:
  playhouse plugin check dice
  playhouse plugin check dice --start";

/// Makes, checks and calls plugins: folders whose commands programs can call
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

/// Finds problems in a plugin's folder, and shows which of its commands programs can call
#[derive(Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckPluginArguments {
    /// The plugin's folder, with .config/config.yaml
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Also start the plugin, to see whether it does
    #[arg(long)]
    start: bool,
}

/// Makes, checks or calls a plugin.
pub(crate) fn plugin(console: &Console, arguments: &PluginArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        PluginCommand::New(arguments) => new::new(arguments),
        PluginCommand::Check(arguments) => check(console, arguments),
        PluginCommand::Call(arguments) => call::call(console, arguments),
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
        Runtime::for_one()?.block_on(async {
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
        Err(error) => return Err(Failure::failed(error)),
    }
    Ok(Exit::Finished)
}
