//! `playhouse skills trust DIR…`: what stands in a skill now may be used.

use std::path::Path;

use clap::Args;

use crate::host::skills::find::below;
use crate::host::skills::trust::{Contents, Standing};
use crate::lang::source::skill::FILE_NAME;
use crate::serve::cli::commands::skills::told::{folder_of, standing_told, trusted, whole};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, put};
use crate::serve::cli::machinery::output::agree;

const EXAMPLES: &str = "\
Examples:
  playhouse skills trust .claude/skills/pdf-forms
  playhouse skills trust .claude/skills --yes";

/// Shows what skills would do, and trusts them as they are now; if a single byte changes, you are asked again
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrustArguments {
    /// Folders of skills, or folders that contain them
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<String>,
    /// Trust them without asking, because someone has read them
    #[arg(long)]
    yes: bool,
}

/// Asks, and keeps the answer.
pub(crate) fn trust(console: &Console, arguments: &TrustArguments) -> Result<Exit, Failure> {
    for folder in &arguments.folders {
        let path = Path::new(folder);
        let inside = if path.is_dir() { below(path).skills } else { Vec::new() };
        if inside.is_empty() {
            trust_one(console, &folder_of(console, folder)?, arguments.yes)?;
        }
        for skill in inside {
            trust_one(console, &skill.folder, arguments.yes)?;
        }
    }
    Ok(Exit::Finished)
}

fn trust_one(console: &Console, folder: &Path, is_agreed: bool) -> Result<(), Failure> {
    let shown = folder.display();
    let (file, trusted) = trusted(console)?;
    // Before it is shown: what is changed while somebody reads is not trusted.
    let contents = Contents::of(folder)?;
    let files = count(contents.n_files(), "file");
    match trusted.standing(folder) {
        Standing::Trusted => return put(&clean(&format!("{shown}: already trusted ({files})\n"))),
        Standing::Unknown => {}
        standing @ (Standing::Changed(_) | Standing::Refused(_)) => {
            console.tell(&clean(&format!("{shown}: {}\n", standing_told(&standing))));
        }
    }
    if !is_agreed {
        if !console.is_conversation {
            return Err(Failure::wrong(format!(
                "{shown}: nobody is there to ask; read it with `playhouse skills show {shown}`, then run `playhouse \
                 skills trust {shown} --yes`"
            )));
        }
        put(&whole(console, folder)?)?;
        let question = clean(&format!("trust {shown}/{FILE_NAME} and all files beside it ({files})?"));
        agree(console, &question, "--yes", "nothing was trusted")?;
    }
    file.record(folder, contents)?;
    put(&clean(&format!("{shown}: trusted ({files})\n")))
}
