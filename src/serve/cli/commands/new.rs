//! `playhouse new NAME`: a folder to start from.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::serve::cli::machinery::console::{Exit, Failure, put};

const EXAMPLE: &str = "\
Example:
  playhouse new shop";

const PROGRAM: &str = include_str!("first_program/program.md");
const TEST: &str = include_str!("first_program/program.test.md");
const CONFIGURATION: &str = include_str!("first_program/playhouse.toml");

/// Makes a folder with a first program, a test of it and a configuration
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct NewArguments {
    /// The folder; it must not exist
    #[arg(value_name = "NAME")]
    folder: PathBuf,
}

/// Makes the folder and says what can be done with it.
pub(crate) fn new(arguments: &NewArguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let shown = folder.display();
    make_folder(folder)?;
    for (name, text) in [("program.md", PROGRAM), ("program.test.md", TEST), ("playhouse.toml", CONFIGURATION)] {
        write(&folder.join(name), text)?;
    }
    put(&format!(
        "{shown}: program.md, program.test.md, playhouse.toml\n\nNext:\n  \
         playhouse check --explain {shown}/program.md   what is understood of it, line by line\n  \
         playhouse test {shown}                         its conversation, without a model\n  \
         playhouse run {shown}/program.md               with a model that is there, or the one inside\n  \
         playhouse library                              ready-made playbooks to import\n"
    ))?;
    Ok(Exit::Finished)
}

/// Makes a folder that is not there yet.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    std::fs::create_dir(folder).map_err(|cause| {
        Failure::wrong(if cause.kind() == io::ErrorKind::AlreadyExists {
            format!("{shown}: it exists already; choose another name")
        } else {
            format!("{shown}: cannot make the folder: {cause}; check the path")
        })
    })
}

/// Writes a file into it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|cause| cannot_write(path, &cause))
}

/// Why something cannot be made inside of it.
pub(crate) fn cannot_write(path: &Path, cause: &io::Error) -> Failure {
    Failure::failed(format!("{}: cannot write: {cause}; make room, or check the rights", path.display()))
}
