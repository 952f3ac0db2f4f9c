//! Which line of a program a bullet means.

use std::sync::Arc;

use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::one_line;
use crate::files::case_file::mention::LineName;
use crate::program::{Mode, Playbook, PlaybookId, Program, Step, StepId};

/// A name of a bullet that means no line, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No playbook has a line with this id.
    NoId,
    /// No line begins so.
    NoText {
        /// The line whose beginning is most like it, as `Playbook:02 words`.
        nearest: Option<String>,
    },
    /// These lines begin so, as `Playbook:02`.
    Several(Vec<String>),
    /// There is no playbook of this name.
    NoPlaybook {
        /// The one that was probably meant.
        nearest: Option<Arc<str>>,
    },
    /// The playbook has lines, and one of them must be named.
    HasLines,
}

/// What a name means in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundLine {
    /// A line of whichever playbook has this id.
    AnyWithId,
    /// This line.
    Line(PlaybookId, StepId),
    /// This playbook without lines.
    Goal(PlaybookId),
}

/// What a name means.
///
/// # Errors
/// It means no line, or several.
pub fn find_line(program: &Program, name: &LineName) -> Result<FoundLine, NotFound> {
    match name {
        LineName::Id(id) => {
            let parts = || id.split('>');
            let is_known = |part: &str| with_lines(program).any(|playbook| playbook.find_step(part).is_some());
            if parts().count() <= 2 && parts().all(is_known) { Ok(FoundLine::AnyWithId) } else { Err(NotFound::NoId) }
        }
        LineName::Text(text) => find_text(program, &one_line(text)),
        LineName::Goal(name) => {
            let named = || program.playbooks.iter().filter(|playbook| *playbook.name == **name);
            match named().find(|playbook| playbook.mode == Mode::Goal) {
                Some(playbook) => Ok(FoundLine::Goal(playbook.id)),
                None if named().next().is_some() => Err(NotFound::HasLines),
                None => {
                    let names = program.playbooks.iter().map(|playbook| playbook.name.clone());
                    Err(NotFound::NoPlaybook { nearest: nearest(name, names) })
                }
            }
        }
    }
}

/// The line whose whole text this is, else the only one that begins so.
fn find_text(program: &Program, text: &str) -> Result<FoundLine, NotFound> {
    let lines = || with_lines(program).flat_map(|playbook| playbook.steps.iter().map(move |line| (playbook, line)));
    let words = |line: &Step| one_line(&line.text);
    let mut found: Vec<_> = lines().filter(|(_, line)| words(line) == text).collect();
    if found.is_empty() && !text.is_empty() {
        found = lines().filter(|(_, line)| words(line).starts_with(text)).collect();
    }
    match found.as_slice() {
        [(playbook, line)] => Ok(FoundLine::Line(playbook.id, line.id)),
        [] => {
            let n = text.chars().count();
            let beginning = |line: &Step| words(line).chars().take(n).collect::<String>();
            let near = nearest(text, lines().map(|(_, line)| beginning(line)));
            let near = near.and_then(|near| lines().find(|(_, line)| beginning(line) == near));
            let shown = |(playbook, line): (&Playbook, &Step)| format!("{} {}", place(playbook, line), words(line));
            Err(NotFound::NoText { nearest: near.map(shown) })
        }
        several => Err(NotFound::Several(several.iter().map(|(playbook, line)| place(playbook, line)).collect())),
    }
}

fn with_lines(program: &Program) -> impl Iterator<Item = &Playbook> {
    program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Steps)
}

/// `Playbook:02`.
fn place(playbook: &Playbook, line: &Step) -> String {
    format!("{}:{}", playbook.name, line.label)
}
