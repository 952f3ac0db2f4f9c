//! `playhouse new NAME`: a folder to start from.

mod templates;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::serve::cli::machinery::console::{Console, Exit, Failure, finish};
use crate::serve::cli::machinery::output::{answer, table};

pub(crate) use self::templates::PLUGIN;
use self::templates::{CONFIGURATION, File, Template};

const EXAMPLES: &str = "\
Examples:
  playhouse new shop
  playhouse new shop --template form";

/// Makes a folder with a first program, tests of it and a configuration
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NewArguments {
    /// The folder; it must not exist
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// The template [default: support; on a terminal you are asked]
    #[arg(long, value_enum, value_name = "TEMPLATE")]
    template: Option<Template>,
}

/// Makes the folder and says what can be done with it.
pub(crate) fn new(console: &Console, arguments: &NewArguments) -> Result<Exit, Failure> {
    let NewArguments { folder, template } = arguments;
    // Before a person is asked in vain.
    if folder.exists() {
        return Err(exists_already(folder));
    }
    let template = match template {
        Some(template) => *template,
        None if console.is_conversation => choose(console)?,
        None => Template::Support,
    };
    make_folder(folder)?;
    let is_configured = template.files().iter().any(|(path, _)| *path == CONFIGURATION.0);
    let configuration = Some(&CONFIGURATION).filter(|_| !is_configured);
    let files: Vec<&File> = template.files().iter().chain(configuration).collect();
    for (path, text) in &files {
        let path = folder.join(path);
        let inside = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(inside).map_err(|cause| cannot_write(inside, &cause))?;
        write(&path, text)?;
    }
    let shown = folder.display();
    let names: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    finish(&format!(
        "{shown}: {}\n\nNext:\n  \
         cd {shown}\n  \
         playhouse run program.md               with a model that is there, or the one inside\n  \
         playhouse test                         its conversations, without a model\n  \
         playhouse check --explain program.md   what is understood of it, line by line\n  \
         playhouse library                      ready-made playbooks to import\n",
        names.join(", ")
    ))
}

/// Asks a person which template it shall be, until the answer is one of them; Enter alone takes the first.
fn choose(console: &Console) -> Result<Template, Failure> {
    let all = Template::value_variants();
    console.tell(&table((1..).zip(all).map(|(number, template)| {
        let (name, about) = template.named();
        [format!("  {number}"), name, about]
    })));
    loop {
        let Some(given) = answer(console, "Which one? A number or a name [1]:", "--template NAME")? else {
            return Err(Failure::failed("nothing was made"));
        };
        let by_number = || given.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?).copied());
        let chosen = if given.is_empty() { all.first().copied() } else { by_number() };
        if let Some(template) = chosen.or_else(|| Template::from_str(&given, true).ok()) {
            return Ok(template);
        }
        console.tell(&format!("`{given}` is not one of them.\n"));
    }
}

/// Makes a folder that is not there yet.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    std::fs::create_dir(folder).map_err(|cause| {
        if cause.kind() == io::ErrorKind::AlreadyExists {
            return exists_already(folder);
        }
        Failure::wrong(format!("{shown}: cannot make the folder: {cause}; check the path"))
    })
}

fn exists_already(folder: &Path) -> Failure {
    Failure::wrong(format!("{}: it exists already; choose another name", folder.display()))
}

/// Writes a file into it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|cause| cannot_write(path, &cause))
}

/// Why something cannot be made inside of it.
pub(crate) fn cannot_write(path: &Path, cause: &io::Error) -> Failure {
    Failure::failed(format!("{}: cannot write: {cause}; make room, or check the rights", path.display()))
}
