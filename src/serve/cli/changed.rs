//! The files of a session that goes on: whether their text is the session's, and what people are told if it is not.

use std::path::PathBuf;

use crate::host::program::{ProgramText, load_files};
use crate::lang::diff::changes::ProgramChanges;
use crate::lang::program::{Program, Signature};
use crate::serve::cli::console::{Console, Failure, clean, count};

/// Lines that are told of.
const MAX_LINES: usize = 7;

/// What is told in one of them, in characters.
const MAX_LINE: usize = 200;

/// The files that are given with a session that goes on.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    /// None: those that the session began with are looked at, if they are there.
    pub(crate) files: &'a [PathBuf],
    /// The session is to go on with their text.
    pub(crate) migrate: bool,
}

impl Given<'_> {
    /// What is different in the files from what the session has; none: nothing. They are compared by their texts: they
    /// may have moved.
    ///
    /// # Errors
    /// One of the files that were given cannot be read.
    pub(crate) fn changes(
        self,
        (text, program): (&ProgramText, &Program),
        signatures: &[Signature],
    ) -> Result<Option<ProgramChanges>, Failure> {
        let own: Vec<PathBuf> = text.roots.iter().map(|root| PathBuf::from(&**root)).collect();
        let loaded = match self.files {
            // Nobody has asked for these: the session needs none of them.
            [] if !own.iter().all(|path| path.is_file()) => return Ok(None),
            [] => load_files(&own, signatures).ok(),
            files => Some(load_files(files, signatures).map_err(|error| Failure::wrong(error.to_string()))?),
        };
        let Some((now, loaded)) = loaded else { return Ok(None) };
        let is_same = now.files.len() == text.files.len()
            && now.files.iter().zip(&text.files).all(|(now, before)| now.text == before.text);
        Ok((!is_same).then(|| ProgramChanges::new(program, &loaded.program)))
    }

    /// Tells what has changed, and what becomes of it; `remarks` are told when the session begins.
    pub(crate) fn tell(
        self,
        console: &Console,
        session: &str,
        changes: Option<&ProgramChanges>,
        remarks: &mut Vec<String>,
    ) {
        match (changes, self.migrate) {
            (None, false) => {}
            (None, true) => remarks.push("the program has not changed".to_owned()),
            (Some(changes), true) => remarks.extend(lines(changes)),
            (Some(changes), false) => {
                console.warning(&format!(
                    "the program's text has changed since session {session} began; the session goes on with the old \
                     text (--migrate: with the new one, from the last line that still exists; without --session a new \
                     session begins)"
                ));
                for line in lines(changes) {
                    console.tell(&format!("  {line}\n"));
                }
            }
        }
    }
}

/// What has changed, line by line; not more than a person reads.
pub(crate) fn lines(changes: &ProgramChanges) -> Vec<String> {
    let text = changes.to_string();
    let n = text.lines().count();
    let mut lines: Vec<String> = text.lines().take(MAX_LINES).map(|line| cut(&clean(line))).collect();
    if n > MAX_LINES {
        lines.push(format!("and {}", count(n - MAX_LINES, "other line")));
    }
    lines
}

fn cut(line: &str) -> String {
    if line.chars().count() <= MAX_LINE {
        return line.to_owned();
    }
    line.chars().take(MAX_LINE).chain(['…']).collect()
}
