//! `playhouse man FOLDER`: the manual, for those who make packages.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::new::cannot_write;
use crate::serve::cli::machinery::console::{Exit, Failure};

/// Writes the manual, one page for each command, into a folder (for packages)
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct ManArguments {
    /// The folder; it is made if it does not exist
    folder: PathBuf,
}

/// Writes the pages.
pub(super) fn man(arguments: &ManArguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|cause| cannot_write(folder, &cause))?;
    // Each command with subcommands would have a page `…-help`, too.
    let mut command = super::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder)?;
    Ok(Exit::Finished)
}

/// Writes the page of a command, and those of the commands below it.
fn write_pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, folder)?;
    }
    // An empty date would be left out, and what comes after it would be taken for the date.
    let page = Man::new(command.clone().after_help(None::<&'static str>))
        .date(" ")
        .source(concat!("playhouse ", env!("CARGO_PKG_VERSION")))
        .manual("Playhouse");
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)
        .and_then(|()| command.get_after_help().map_or(Ok(()), |help| notes(&help.to_string()).to_writer(&mut text)))
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|cause| cannot_write(&path, &cause))
}

/// What `--help` shows below the options, mostly examples. Their lines are kept as they are, which `Man` does not do.
fn notes(help: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [if help.starts_with("Example") { "EXAMPLES" } else { "NOTES" }]);
    section.control("nf", []);
    for line in help.lines().filter(|line| !["Example:", "Examples:"].contains(line)) {
        section.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    section.control("fi", []);
    section
}
