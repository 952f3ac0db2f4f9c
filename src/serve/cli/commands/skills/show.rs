//! `playhouse skills show`: all there is to know of a skill before it is trusted.

use clap::Args;

use crate::serve::cli::commands::skills::told::{folder_of, standing_told, trusted, whole};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, finish, put};

/// Shows how a skill is understood: its lines, commands and files, what it asks for, and whether you trust it
#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The skill's name as `playhouse skills list` shows it, or its folder
    #[arg(value_name = "NAME|DIR")]
    skill: String,
}

/// Shows it.
pub(crate) fn show(console: &Console, arguments: &ShowArguments) -> Result<Exit, Failure> {
    let folder = folder_of(console, &arguments.skill)?;
    let (_, trusted) = trusted(console)?;
    let standing = trusted.standing(&folder);
    put(&whole(console, &folder)?)?;
    finish(&clean(&format!("  {}\n", standing_told(&standing))))
}
