//! `playhouse lsp`: what an editor asks about programs while they are written, over standard input and output.

use clap::Args;
use lsp_server::Connection;

use crate::serve::cli::machinery::console::{Exit, Failure};
use crate::serve::lsp::serve;

const EXAMPLES: &str = "\
An editor starts it and talks to it over the Language Server Protocol.
It reports what `check` reports: findings, lines, names.";

/// Serves an editor over the Language Server Protocol: findings, what a line costs, definitions, completion
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LspArguments {
    /// Use standard input and output; there is no other way, but editors pass this option
    #[arg(long)]
    stdio: bool,
}

/// Serves until the editor ends it.
pub(crate) fn lsp(_arguments: &LspArguments) -> Result<Exit, Failure> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection);
    // The writing thread ends when nobody can send any more.
    drop(connection);
    served.map_err(Failure::failed)?;
    threads.join().map_err(|cause| Failure::failed(format!("standard input: {cause}")))?;
    Ok(Exit::Finished)
}
