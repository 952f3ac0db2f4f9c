//! `playhouse plugin new NAME`: a plugin to start from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::host::tool::plugin::identifier;
use crate::serve::cli::commands::new::{PLUGIN, cannot_write, make_folder, write};
use crate::serve::cli::machinery::console::{Exit, Failure, finish};

const EXAMPLES: &str = "\
Examples:
  playhouse plugin new dice
  playhouse plugin new clock --language sh";

/// The plugin that is written in the shell: its name, its configuration and its code.
const SHELL_PLUGIN: (&str, &str, &str) =
    ("calendar", include_str!("first_plugin/config.yaml"), include_str!("first_plugin/plugin.sh"));

/// Makes a folder with a working plugin
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NewPluginArguments {
    /// The folder; it must not exist yet
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// The language of the plugin
    #[arg(long, value_enum, default_value_t = Language::Python)]
    language: Language,
}

/// What a plugin can be begun in; any other language will do as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// Python 3, its standard library only.
    Python,
    /// The shell: for commands without parameters.
    Sh,
}

/// Makes the folder and says what can be done with it.
pub(crate) fn new(arguments: &NewPluginArguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let shown = folder.display();
    let name = folder.file_name().and_then(|name| identifier(&name.to_string_lossy()));
    let name = name.ok_or_else(|| Failure::wrong(format!("{shown}: a plugin's name needs letters; choose another")))?;
    let ((first_name, config, text), file, call) = match arguments.language {
        Language::Python => (PLUGIN, "plugin.py", "add --param '{\"start\": \"2026-05-04\"}'"),
        Language::Sh => (SHELL_PLUGIN, "plugin.sh", "today"),
    };
    // Its name is the whole value of two keys.
    let config = config.replace(&format!(": {first_name}\n"), &format!(": {name}\n"));
    make_folder(folder)?;
    let inside = folder.join(".config");
    std::fs::create_dir(&inside).map_err(|cause| cannot_write(&inside, &cause))?;
    write(&inside.join("config.yaml"), &config)?;
    write(&folder.join(file), text)?;
    finish(&format!(
        "{shown}: .config/config.yaml, {file}\n\nNext:\n  \
         playhouse plugin check {shown} --start   what is understood of it, and whether it starts\n  \
         playhouse plugin call {shown} {call}\n\n\
         A program beside it uses it by its front matter, `plugins: {{{name}: {shown}}}`.\n"
    ))
}
