//! `playhouse completions SHELL`.

use clap::Args;
use clap_complete::Shell;

use crate::serve::cli::machinery::console::{Exit, Failure, finish};

const EXAMPLE: &str = "\
Example:
  playhouse completions bash > ~/.local/share/bash-completion/completions/playhouse";

/// Prints a completion script for a shell
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Writes the script.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::command(), "playhouse", &mut script);
    finish(&String::from_utf8_lossy(&script))
}
