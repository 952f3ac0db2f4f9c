//! `playhouse new NAME`: a folder to start from.

use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::serve::cli::console::{Exit, Failure, put};

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
    match std::fs::create_dir(folder) {
        Ok(()) => {}
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Failure::wrong(format!("{shown}: it exists already; choose another name")));
        }
        Err(cause) => return Err(Failure::wrong(format!("{shown}: cannot make the folder: {cause}; check the path"))),
    }
    for (name, text) in [("program.md", PROGRAM), ("program.test.md", TEST), ("playhouse.toml", CONFIGURATION)] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|cause| {
            Failure::failed(format!("{}: cannot write: {cause}; make room, or check the rights", path.display()))
        })?;
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
