//! Which line a bullet means.

use crate::host::llm::TurnAsData;
use crate::host::text::one_line;
use crate::lang::program::{Mode, Playbook, PlaybookId, Program, Step, StepId};
use crate::lang::spelling::nearest;

use super::form::{LineName, NotFound};

/// What a name means in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A line of whichever playbook has this id.
    AnyWithId,
    /// This line.
    Line(PlaybookId, StepId),
    /// This playbook without lines.
    Goal(PlaybookId),
}

/// What a name means.
pub(super) fn find(program: &Program, name: &LineName) -> Result<Found, NotFound> {
    match name {
        LineName::Id(id) => {
            let parts = || id.split('>');
            let is_known = |part: &str| with_lines(program).any(|playbook| playbook.find_step(part).is_some());
            if parts().count() <= 2 && parts().all(is_known) { Ok(Found::AnyWithId) } else { Err(NotFound::NoId) }
        }
        LineName::Text(text) => find_text(program, &one_line(text)),
        LineName::Goal(name) => {
            let named = || program.playbooks.iter().filter(|playbook| *playbook.name == **name);
            match named().find(|playbook| playbook.mode == Mode::Goal) {
                Some(playbook) => Ok(Found::Goal(playbook.id)),
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
fn find_text(program: &Program, text: &str) -> Result<Found, NotFound> {
    let lines = || with_lines(program).flat_map(|playbook| playbook.steps.iter().map(move |line| (playbook, line)));
    let words = |line: &Step| one_line(&line.text);
    let mut found: Vec<_> = lines().filter(|(_, line)| words(line) == text).collect();
    if found.is_empty() && !text.is_empty() {
        found = lines().filter(|(_, line)| words(line).starts_with(text)).collect();
    }
    match found.as_slice() {
        [(playbook, line)] => Ok(Found::Line(playbook.id, line.id)),
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

/// Whether the line in hand of a turn is meant; none: a playbook without lines.
pub(super) fn is_meant(turn: &TurnAsData, name: &LineName, line: Option<StepId>) -> bool {
    let (program, data) = (&turn.program, &turn.data);
    match (find(program, name), line) {
        (Ok(Found::Goal(playbook)), None) => playbook == data.playbook,
        (Ok(Found::Line(playbook, found)), Some(line)) => (playbook, found) == (data.playbook, line),
        (Ok(Found::AnyWithId), Some(line)) => {
            let LineName::Id(id) = name else { return false };
            let is_it = |id: &str| program.playbook(data.playbook).find_step(id) == Some(line);
            match (id.split_once('>'), data.inside) {
                (None, _) => is_it(id),
                (Some((outer, inner)), Some((caller, call))) => {
                    program.playbook(caller).find_step(outer) == Some(call) && is_it(inner)
                }
                (Some(_), None) => false,
            }
        }
        (Ok(_) | Err(_), _) => false,
    }
}

fn with_lines(program: &Program) -> impl Iterator<Item = &Playbook> {
    program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Steps)
}

/// `Playbook:02`.
fn place(playbook: &Playbook, line: &Step) -> String {
    format!("{}:{}", playbook.name, line.label)
}
