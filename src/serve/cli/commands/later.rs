//! Commands that are on their way: they are not in the help text, and say so when they are used.

use crate::lang::spelling::nearest;
use crate::serve::cli::machinery::console::Failure;

/// Commands to come, and what can be done until then.
const COMMANDS: [(&str, &str); 1] =
    [("index", "give the program its texts as files: `LoadFile` reads what lies in the working directory")];

/// The answer to a command that is none of ours.
pub(crate) fn unknown_command(name: &str) -> Failure {
    if let Some((name, advice)) = COMMANDS.iter().find(|(later, _)| *later == name) {
        return Failure::wrong(format!("`playhouse {name}` does not exist yet; {advice}"));
    }
    if cfg!(not(feature = "dap")) && name == "debug" {
        return Failure::wrong(
            "`playhouse debug`: this program was built without its debugger; build it with `--features dap`",
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
        None => Failure::wrong(format!("there is no command `{name}`; `playhouse --help` lists what there is")),
    }
}
