//! Commands that are not there: what this program was built without, and what somebody has misspelt.

use crate::lang::spelling::nearest;
use crate::serve::cli::machinery::console::Failure;

/// What can be left out of a build: the command, whether it is there, what it needs, and the features that bring it.
const PARTS: [(&str, bool, &str, &str); 5] = [
    ("debug", cfg!(feature = "dap"), "its debugger", "dap"),
    ("index", cfg!(feature = "sqlite"), "indexes of documents", "sqlite"),
    ("lsp", cfg!(feature = "lsp"), "its language server", "lsp"),
    ("serve", cfg!(feature = "serve"), "its server", "serve"),
    ("mcp", cfg!(all(feature = "mcp", feature = "serve")), "its MCP server", "mcp,serve"),
];

/// The answer to a command that is none of ours.
pub(crate) fn unknown_command(name: &str) -> Failure {
    if let Some((_, _, part, features)) = PARTS.iter().find(|(command, is_there, ..)| *command == name && !is_there) {
        return Failure::wrong(format!(
            "`playhouse {name}`: this program was built without {part}; build it with `--features {features}`"
        ));
    }
    let known = super::command();
    let hint = match nearest(name, known.get_subcommands().map(clap::Command::get_name)) {
        Some(close) => format!("did you mean `playhouse {close}`?"),
        None => "`playhouse --help` lists the commands".to_owned(),
    };
    Failure::wrong(format!("there is no command `{name}`; {hint}"))
}
