//! `playhouse sandbox-exec`: how Playhouse starts itself to confine a command. Nobody types it.

use std::ffi::OsString;

use clap::Args;

use crate::host::sandbox::REFUSED;
use crate::host::sandbox::exec::become_command;
use crate::serve::cli::machinery::console::{Exit, Failure};

/// Becomes a command that is confined (for Playhouse itself)
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct SandboxExecArguments {
    /// What it may do
    #[arg(long)]
    policy: String,
    /// The command
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Becomes the command.
pub(super) fn sandbox_exec(arguments: &SandboxExecArguments) -> Result<Exit, Failure> {
    let fault = become_command(&arguments.policy, &arguments.command);
    Err(Failure::failed(format!("{REFUSED}{fault}")))
}
