//! What people are told when the files of a session's program are not what it began with.

use std::path::PathBuf;

use crate::host::journal::record::Begun;
use crate::host::program::load_files;
use crate::host::program_changes::changes;
use crate::lang::program::{Program, Signature};
use crate::serve::cli::console::{Console, Failure, clean, count};
use crate::serve::cli::run::begun_text;

/// Files that are told of.
const MAX_FILES: usize = 7;

/// What is told of one of them, in characters.
const MAX_LINE: usize = 200;

/// Tells what is different in the files from what the session began with, which was `program`, if anything is. They are
/// compared by their texts: they may have moved. Without `files` those are looked at that it began with, if they are
/// there.
///
/// # Errors
/// One of `files` cannot be read.
pub(crate) fn tell_changes(
    console: &Console,
    begun: &Begun,
    program: &Program,
    files: &[PathBuf],
) -> Result<(), Failure> {
    let signatures: Vec<Signature> = begun.tools.iter().map(|tool| tool.to_tool().signature).collect();
    let own: Vec<PathBuf> = begun.roots.iter().map(|root| PathBuf::from(&**root)).collect();
    let loaded = match files {
        // Nobody has asked for these: the session needs none of them.
        [] if !own.iter().all(|path| path.is_file()) => return Ok(()),
        [] => load_files(&own, &signatures).ok(),
        files => Some(load_files(files, &signatures).map_err(|error| Failure::wrong(error.to_string()))?),
    };
    let Some((text, loaded)) = loaded else { return Ok(()) };
    let changes = changes((&begun_text(begun), program), (&text, &loaded.program));
    if changes.is_empty() {
        return Ok(());
    }
    console.warning(&format!(
        "the program's text has changed since session {} began; the session goes on with the old text (run without \
         --session for the new one)",
        begun.session
    ));
    for change in changes.iter().take(MAX_FILES) {
        console.tell(&format!("  {}\n", cut(&clean(&change.to_string()))));
    }
    if changes.len() > MAX_FILES {
        console.tell(&format!("  and {}\n", count(changes.len() - MAX_FILES, "other file")));
    }
    Ok(())
}

fn cut(line: &str) -> String {
    if line.chars().count() <= MAX_LINE {
        return line.to_owned();
    }
    line.chars().take(MAX_LINE).chain(['…']).collect()
}
