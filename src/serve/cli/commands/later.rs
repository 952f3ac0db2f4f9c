//! Commands that are not there: what this program was built without, and what somebody has misspelt.

use crate::lang::spelling::nearest;
use crate::serve::cli::machinery::console::Failure;

/// The answer to a command that is none of ours.
pub(crate) fn unknown_command(name: &str) -> Failure {
    if cfg!(not(feature = "dap")) && name == "debug" {
        return Failure::wrong(
            "`playhouse debug`: this program was built without its debugger; build it with `--features dap`",
        );
    }
    if cfg!(not(feature = "sqlite")) && name == "index" {
        return Failure::wrong(
            "`playhouse index`: this program was built without indexes of documents; build it with `--features sqlite`",
        );
    }
    if cfg!(not(feature = "lsp")) && name == "lsp" {
        return Failure::wrong(
            "`playhouse lsp`: this program was built without its language server; build it with `--features lsp`",
        );
    }
    if cfg!(not(feature = "serve")) && name == "serve" {
        return Failure::wrong(
            "`playhouse serve`: this program was built without its server; build it with `--features serve`",
        );
    }
    if cfg!(not(all(feature = "mcp", feature = "serve"))) && name == "mcp" {
        return Failure::wrong(
            "`playhouse mcp`: this program was built without its MCP server; build it with `--features mcp,serve`",
        );
    }
    let known = super::command();
    let known = known.get_subcommands().map(clap::Command::get_name);
    match nearest(name, known) {
        Some(close) => Failure::wrong(format!("there is no command `{name}`; did you mean `playhouse {close}`?")),
        None => Failure::wrong(format!("there is no command `{name}`; `playhouse --help` lists the commands")),
    }
}
