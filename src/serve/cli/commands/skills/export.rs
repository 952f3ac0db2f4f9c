//! `playhouse skills export`: a playbook as an Agent Skill.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::host::launch::find_entry;
use crate::host::skills::export::{Exported, export as exported, kebab_case};
use crate::lang::program::EntryId;
use crate::lang::source::skill::{FILE_NAME, Skill};
use crate::serve::cli::commands::new::{cannot_write, write};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::world::{launch_failure, whole_program};
use crate::span::FileId;

const EXAMPLES: &str = "\
Examples:
  playhouse skills export shop.md --playbook Refund --out skills/refund
  playhouse skills export shop.md --playbook Refund --out skills/refund --force";

/// Exports a playbook as an Agent Skill, and reports what only an interpreter would enforce
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// The program's file
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// The playbook
    #[arg(long, value_name = "NAME")]
    playbook: String,
    /// The folder to write; its name becomes the skill's
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A file of canned tools, which count as declared (repeatable)
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
    /// Overwrite what is there
    #[arg(long)]
    force: bool,
}

/// Writes the folder.
pub(crate) fn export(console: &Console, arguments: &ExportArguments) -> Result<Exit, Failure> {
    let ExportArguments { program: file, playbook, out, tools, force } = arguments;
    let program = whole_program(console, std::slice::from_ref(file), tools)?;
    let entry = find_entry(&program, playbook).map_err(|error| launch_failure(console, error))?;
    let EntryId::Playbook(id) = entry else {
        return Err(Failure::wrong(format!("--playbook: `{playbook}` is a plan; name a playbook")));
    };
    let playbook = program.playbook(id);
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let Exported { files, lost } = exported(&program, playbook, &name);
    let text = files.get(FILE_NAME).map_or("", String::as_str);
    let read = Skill::read(FileId(0), &name, text);
    if let Some(finding) = read.findings.iter().find(|finding| Skill::is_refused(finding)) {
        let (name, message) = (kebab_case(&playbook.title), &finding.message);
        return Err(Failure::wrong(format!("--out {}: {message}; write `--out {name}`", out.display())));
    }
    if let Some(path) = files.keys().map(|path| out.join(path)).find(|path| path.exists() && !force) {
        return Err(Failure::wrong(format!("{}: it already exists; --force overwrites it", path.display())));
    }
    for (path, text) in files.iter().map(|(path, text)| (out.join(path), text)) {
        let folder = path.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder).map_err(|cause| cannot_write(folder, &cause))?;
        write(&path, text)?;
        put(&format!("{}\n", path.display()))?;
    }
    if !lost.is_empty() {
        console.remark("only an interpreter enforces this; the skill does not have it:");
        lost.iter().for_each(|what| console.remark(&format!("  {what}")));
    }
    Ok(Exit::Finished)
}
