//! Whether two programs are one program whose text is laid out in two ways.

use std::fmt::Debug;

use crate::lower::heading::title_words;
use crate::program::{Agent, Mode, Playbook, Program, TriggerIndex};
use crate::span::Span;

/// Whether two programs are the same but for places (spec `editors.md`, section 6). How a heading's signature is spaced
/// and which numbers a list in goal mode has, which are counted, not read, make no difference.
///
/// # Errors
/// The place in `old` of the first part that differs.
pub fn same_but_for_places(old: &Program, new: &Program) -> Result<(), Span> {
    for (old, new) in old.agents.iter().zip(&new.agents) {
        // Which triggers an agent has, its playbooks say.
        let alone = |agent: &Agent| Agent { triggers: TriggerIndex::default(), ..agent.clone() };
        check(&alone(old), &alone(new), old.title_span)?;
    }
    for (old, new) in old.playbooks.iter().zip(&new.playbooks) {
        for (old, new) in old.steps.iter().zip(&new.steps) {
            check(old, new, old.span)?;
        }
        for (old, new) in old.triggers.iter().zip(&new.triggers) {
            check(old, new, old.span)?;
        }
        check(&without_layout(old), &without_layout(new), old.title_span)?;
    }
    let rest = |program: &Program| {
        // What the texts are is what may differ.
        let Program { sources: _, agents, playbooks, plans, called_by_plans, settings, tools, entry } = program;
        written(&(agents.len(), playbooks.len(), plans, called_by_plans, settings, tools, entry))
    };
    check(&rest(old), &rest(new), Span::default())
}

fn check(old: &impl Debug, new: &impl Debug, place: Span) -> Result<(), Span> {
    if written(old) == written(new) { Ok(()) } else { Err(place) }
}

/// A value with everything in it but places.
fn written(value: &impl Debug) -> String {
    format!("{value:-?}")
}

fn without_layout(playbook: &Playbook) -> Playbook {
    let mut playbook = playbook.clone();
    playbook.title = title_words(&playbook.title).into();
    if playbook.mode == Mode::Goal {
        playbook.description = playbook.description.lines().map(without_number).collect::<Vec<_>>().join("\n").into();
    }
    playbook
}

/// A line without the digits of the number that it begins with, if it is an item of a numbered list.
fn without_number(line: &str) -> String {
    let words = line.trim_start();
    let rest = words.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_item = rest.len() < words.len() && rest.starts_with(['.', ')']);
    if is_item { format!("{}{rest}", &line[..line.len() - words.len()]) } else { line.to_owned() }
}
