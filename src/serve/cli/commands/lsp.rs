//! `playhouse lsp`: what an editor asks about programs while they are written, over standard input and output.

use clap::Args;
use lsp_server::Connection;

use crate::serve::cli::machinery::console::{Exit, Failure};
use crate::serve::lsp::serve;

const EXAMPLES: &str = "\
An editor starts it, and speaks the Language Server Protocol with it.
What it says of a program is what `check` says: findings, lines, names.";

/// Serves an editor: findings, what a line costs, definitions, completion (Language Server Protocol)
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LspArguments {
    /// Over standard input and output; there is no other way, and editors say so all the same
    #[arg(long)]
    stdio: bool,
}

/// Serves until the editor ends it.
pub(crate) fn lsp(_arguments: &LspArguments) -> Result<Exit, Failure> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection);
    // The writing thread ends when nobody can send any more.
    drop(connection);
    served.map_err(|error| Failure::failed(error.to_string()))?;
    threads.join().map_err(|cause| Failure::failed(format!("standard input: {cause}")))?;
    Ok(Exit::Finished)
}
