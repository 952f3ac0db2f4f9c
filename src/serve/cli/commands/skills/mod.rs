//! `playhouse skills`: which Agent Skills there are, what stands in them, whether they are trusted.

pub(super) mod check;
mod export;
mod list;
mod new;
mod show;
mod told;
mod trust;

use clap::{Args, Subcommand};

use self::export::ExportArguments;
use self::list::ListArguments;
use self::new::NewSkillArguments;
use self::show::ShowArguments;
use self::trust::TrustArguments;
use crate::serve::cli::machinery::console::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  playhouse skills list                        those in the folders where programs keep skills
  playhouse skills show pdf-forms
  playhouse skills trust .claude/skills/pdf-forms
  playhouse skills new tea
  playhouse skills export shop.md --playbook Refund --out skills/refund
A program uses a skill through its front matter: `skills: [pdf-forms]`.";

/// Lists, shows, trusts, makes and exports Agent Skills
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SkillsArguments {
    #[command(subcommand)]
    command: SkillsCommand,
}

#[derive(Subcommand)]
enum SkillsCommand {
    List(ListArguments),
    Show(ShowArguments),
    Trust(TrustArguments),
    New(NewSkillArguments),
    Export(ExportArguments),
}

/// Performs one of them.
pub(crate) fn skills(console: &Console, arguments: &SkillsArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        SkillsCommand::List(arguments) => list::list(console, arguments),
        SkillsCommand::Show(arguments) => show::show(console, arguments),
        SkillsCommand::Trust(arguments) => trust::trust(console, arguments),
        SkillsCommand::New(arguments) => new::new(arguments),
        SkillsCommand::Export(arguments) => export::export(console, arguments),
    }
}
