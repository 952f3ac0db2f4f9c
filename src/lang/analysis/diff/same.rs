//! Whether two programs are one program: but for what is set aside, as places always are.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::lower::heading::title_words;
use crate::lower::places::Places;
use crate::program::{Agent, Mode, Playbook, Program, Step, Trigger, TriggerIndex};
use crate::span::Span;

/// What makes no difference between two programs.
pub(super) trait SetAside {
    /// A line without it.
    fn line<'a>(&self, line: &'a Step) -> Cow<'a, Step> {
        Cow::Borrowed(line)
    }

    /// A trigger without it.
    fn trigger<'a>(&self, trigger: &'a Trigger) -> Cow<'a, Trigger> {
        Cow::Borrowed(trigger)
    }

    /// A playbook without it. Its lines and triggers are compared by themselves before.
    fn playbook(&self, playbook: &Playbook) -> Playbook;

    /// Any part without it, as it is written out.
    fn written(&self, written: String) -> String {
        written
    }

    /// Whether two programs are one but for this and for places.
    ///
    /// # Errors
    /// Where the first part that differs stands, in the old texts and in the new ones.
    fn is_all_that_differs(&self, old: &Program, new: &Program) -> Result<(), (Span, Span)> {
        for (old, new) in old.agents.iter().zip(&new.agents) {
            // Which triggers an agent has, its playbooks say.
            let alone = |agent: &Agent| Agent { triggers: TriggerIndex::default(), ..agent.clone() };
            self.compare(&alone(old), &alone(new), (old.title_span, new.title_span))?;
        }
        for (old, new) in old.playbooks.iter().zip(&new.playbooks) {
            // Most are what they were, which takes less time to see; and so are most lines of others.
            if without_places(old) == without_places(new) {
                continue;
            }
            for (old, new) in old.steps.iter().zip(&new.steps) {
                if without_places(old) == without_places(new) {
                    continue;
                }
                self.compare(&self.line(old), &self.line(new), (old.span, new.span))?;
            }
            for (old, new) in old.triggers.iter().zip(&new.triggers) {
                self.compare(&self.trigger(old), &self.trigger(new), (old.span, new.span))?;
            }
            // How many lines and triggers there are is left to compare; each of them has been.
            self.compare(&self.playbook(old), &self.playbook(new), (old.title_span, new.title_span))?;
        }
        // What the texts are is what may differ.
        let Program { sources: _, agents, playbooks, plans, called_by_plans, settings, tools, entry } = old;
        let old = (agents.len(), playbooks.len(), plans, called_by_plans, settings, tools, entry);
        let Program { sources: _, agents, playbooks, plans, called_by_plans, settings, tools, entry } = new;
        let new = (agents.len(), playbooks.len(), plans, called_by_plans, settings, tools, entry);
        self.compare(&old, &new, (Span::default(), Span::default()))
    }

    /// Compares two parts with everything in them but places.
    fn compare(&self, old: &impl Debug, new: &impl Debug, places: (Span, Span)) -> Result<(), (Span, Span)> {
        let written = |part: &dyn Debug| self.written(format!("{part:-?}"));
        if written(old) == written(new) { Ok(()) } else { Err(places) }
    }
}

fn without_places<T: Places + Clone>(part: &T) -> T {
    let mut part = part.clone();
    part.for_each_place(&mut |place| *place = Span::default());
    part
}

/// Whether two programs are the same but for places (spec `editors.md`, section 6). How a heading's signature is spaced
/// and which numbers a list in goal mode has, which are counted, not read, make no difference.
///
/// # Errors
/// The place in `old` of the first part that differs.
pub fn same_but_for_places(old: &Program, new: &Program) -> Result<(), Span> {
    Layout.is_all_that_differs(old, new).map_err(|(old, _)| old)
}

/// How a text is laid out.
struct Layout;

impl SetAside for Layout {
    fn playbook(&self, playbook: &Playbook) -> Playbook {
        let mut playbook = playbook.clone();
        playbook.title = title_words(&playbook.title).into();
        if playbook.mode == Mode::Goal {
            let lines: Vec<_> = playbook.description.lines().map(without_number).collect();
            playbook.description = lines.join("\n").into();
        }
        playbook
    }
}

/// A line without the digits of the number that it begins with, if it is an item of a numbered list.
fn without_number(line: &str) -> String {
    let words = line.trim_start();
    let rest = words.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_item = rest.len() < words.len() && rest.starts_with(['.', ')']);
    if is_item { format!("{}{rest}", &line[..line.len() - words.len()]) } else { line.to_owned() }
}
