//! `playhouse skills new NAME`: a skill to start from.

use std::path::PathBuf;

use clap::Args;

use crate::lang::source::skill::{FILE_NAME, Skill};
use crate::serve::cli::commands::new::{make_folder, write};
use crate::serve::cli::machinery::console::{Exit, Failure, finish};
use crate::span::FileId;

const EXAMPLE: &str = "\
Example:
  playhouse skills new skills/tea";

const SKILL: &str = include_str!("first_skill/skill.md");
const TEST: &str = include_str!("first_skill/test.txt");
const TEST_FILE: &str = "SKILL.test.md";

/// Makes a folder with a skill of three steps, and a test of it
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct NewSkillArguments {
    /// The folder; it must not exist yet, and its name becomes the skill's
    #[arg(value_name = "NAME")]
    folder: PathBuf,
}

/// Makes the folder and says what can be done with it.
pub(crate) fn new(arguments: &NewSkillArguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let shown = folder.display();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let text = SKILL.replace("{name}", &name);
    let read = Skill::read(FileId(0), &name, &text);
    if let Some(finding) = read.findings.iter().find(|finding| Skill::is_refused(finding)) {
        return Err(Failure::wrong(format!("{shown}: {}; choose another name", finding.message)));
    }
    make_folder(folder)?;
    write(&folder.join(FILE_NAME), &text)?;
    write(&folder.join(TEST_FILE), &TEST.replace("{name}", &name))?;
    finish(&format!(
        "{shown}: {FILE_NAME}, {TEST_FILE}\n\nNext:\n  \
         playhouse check {shown}   what is understood of it\n  \
         playhouse test {shown}    its conversation, without a model\n  \
         playhouse run {shown}     with a model that is there, or the one inside\n"
    ))
}
