//! What people are told where the files of a session that goes on have another text than the session.

use crate::host::launch::{Level, Remark};
use crate::host::text::cut;
use crate::lang::analysis::diff::changes::ProgramChanges;
use crate::serve::cli::machinery::console::{Console, clean, count};

/// Lines that are told of.
const MAX_LINES: usize = 7;

/// What is told in one of them, in characters.
const MAX_LINE: usize = 200;

/// Tells what is different in the files from what session `session` has, and what becomes of it; `migrates`: it goes on
/// with their text. What is told when the session begins is among `remarks`.
pub(crate) fn tell_changes(
    console: &Console,
    session: &str,
    (changes, migrates): (Option<&ProgramChanges>, bool),
    remarks: &mut Vec<Remark>,
) {
    match (changes, migrates) {
        (None, false) => {}
        (None, true) => remarks.push(note("the program has not changed".to_owned())),
        (Some(changes), true) => remarks.extend(lines(changes).into_iter().map(note)),
        (Some(changes), false) => {
            console.warning(&format!(
                "the program's text has changed since session {session} began; the session continues with the old \
                 text (--migrate: with the new one, from the last line that still exists; without --session, a new \
                 session begins)"
            ));
            for line in lines(changes) {
                console.tell(&format!("  {line}\n"));
            }
        }
    }
}

fn note(text: String) -> Remark {
    Remark { level: Level::Note, code: "changes", text }
}

/// What has changed, line by line; not more than a person reads.
pub(crate) fn lines(changes: &ProgramChanges) -> Vec<String> {
    let text = changes.to_string();
    let n = text.lines().count();
    let mut lines: Vec<String> = text.lines().take(MAX_LINES).map(|line| cut(&clean(line), MAX_LINE)).collect();
    if n > MAX_LINES {
        lines.push(format!("and {}", count(n - MAX_LINES, "other line")));
    }
    lines
}
