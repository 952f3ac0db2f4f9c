//! `playhouse library [NAME]`: the playbooks that come with the binary, to read and to copy.

use clap::Args;

use crate::host::library::{FILES, SCHEME, find};
use crate::serve::cli::machinery::console::{Exit, Failure, finish};
use crate::serve::cli::machinery::output::table;

const EXAMPLES: &str = "\
Examples:
  playhouse library                   the list
  playhouse library form              the text of playhouse:form
  playhouse library form > form.md    a copy to change, imported as ./form.md";

/// Shows the playbooks that come with Playhouse; a program imports one as `playhouse:NAME`
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LibraryArguments {
    /// The playbook to print, such as form
    name: Option<String>,
}

/// Writes the list, or one text.
pub(crate) fn library(arguments: &LibraryArguments) -> Result<Exit, Failure> {
    match &arguments.name {
        Some(name) => {
            let name = name.strip_prefix(SCHEME).unwrap_or(name);
            let file = find(&format!("{SCHEME}{name}")).map_err(|why| Failure::wrong(format!("{name}: {why}")))?;
            finish(file.text)
        }
        None => finish(&table(FILES.iter().map(|file| [file.path.to_owned(), file.summary.to_owned()]))),
    }
}
