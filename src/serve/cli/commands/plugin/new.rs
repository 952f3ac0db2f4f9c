//! `playhouse plugin new NAME`: a plugin to start from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::host::tool::plugin::identifier;
use crate::serve::cli::commands::new::{cannot_write, make_folder, write};
use crate::serve::cli::machinery::console::{Exit, Failure, put};

const EXAMPLES: &str = "\
Examples:
  playhouse plugin new dice
  playhouse plugin new clock --language sh";

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
    let (config, file, text, call) = match arguments.language {
        Language::Python => (
            include_str!("first_plugin/config.yaml"),
            "plugin.py",
            include_str!("first_plugin/plugin.py"),
            "greet --param '{\"name\": \"Ida\"}'",
        ),
        Language::Sh => {
            (include_str!("first_plugin/config_sh.yaml"), "plugin.sh", include_str!("first_plugin/plugin.sh"), "today")
        }
    };
    make_folder(folder)?;
    let inside = folder.join(".config");
    std::fs::create_dir(&inside).map_err(|cause| cannot_write(&inside, &cause))?;
    write(&inside.join("config.yaml"), &config.replace("{name}", &name))?;
    write(&folder.join(file), text)?;
    put(&format!(
        "{shown}: .config/config.yaml, {file}\n\nNext:\n  \
         playhouse plugin check {shown} --start   what is understood of it, and whether it starts\n  \
         playhouse plugin call {shown} {call}\n\n\
         A program beside it uses it by its front matter, `plugins: {{{name}: {shown}}}`.\n"
    ))?;
    Ok(Exit::Finished)
}
