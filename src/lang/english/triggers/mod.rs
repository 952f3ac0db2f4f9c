//! Reads a trigger's text for what it waits for (spec `triggers.md`).
//!
//! When in doubt a trigger is semantic: one that fires on something else than its author meant is worse than one
//! that costs a model call.

pub(crate) mod conditions;
mod patterns;
mod time;
pub(crate) mod topics;
mod wordings;

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::callables::Meaning;
use crate::english::reading::Surroundings;
use crate::english::triggers::conditions::read_watched;
use crate::english::triggers::patterns::{Found, match_whole};
use crate::english::triggers::wordings::{NEAR, WORDINGS, Waits};
use crate::english::words::{Phrase, scan_path, without_emphasis};
use crate::program::{CallName, TriggerKind};

/// What was read of a trigger.
pub(crate) struct ReadTrigger {
    pub(crate) kind: TriggerKind,
    /// Names it mentions, in order of mention, each once.
    pub(crate) names: Vec<Arc<str>>,
}

/// Reads `words`, the whole text of a trigger. `begins`: an older tool's numbering says that it is a beginning.
/// `is_list`: items are nested under its first line, so `words` has no places in the file.
pub(crate) fn read_trigger(
    words: Phrase<'_>,
    begins: bool,
    is_list: bool,
    around: Surroundings<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> ReadTrigger {
    let text = without_emphasis(words.text);
    let words = Phrase::at(&text, words.span());
    let words = if is_list { words.trim() } else { words.plain() };
    let kind = if begins || is_beginning(words) {
        TriggerKind::Beginning
    } else if is_list {
        TriggerKind::Semantic
    } else {
        classify(words.trim_end_marks(), around, diagnostics)
    };
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    let mut add = |name: &Arc<str>| {
        if seen.insert(name.clone()) {
            names.push(name.clone());
        }
    };
    if let TriggerKind::Condition(expr) = &kind {
        // A `$` in a quoted text is no variable.
        expr.for_each_reference(&mut |reference| add(&reference.name));
    } else {
        words.mentions().iter().for_each(|mention| add(&mention.name));
    }
    ReadTrigger { kind, names }
}

fn is_beginning(words: Phrase<'_>) -> bool {
    let beginnings = WORDINGS.iter().filter(|wording| wording.waits == Waits::Beginning);
    beginnings.into_iter().any(|wording| match_whole(wording.pattern, words).is_some())
}

/// The wordings of the table by themselves: a text that each reads.
pub fn examples() -> impl Iterator<Item = &'static str> {
    WORDINGS.iter().map(|wording| wording.example)
}

fn classify(words: Phrase<'_>, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> TriggerKind {
    if let Some(kind) = read_watched(words) {
        return kind;
    }
    let fits = WORDINGS.iter().filter(|wording| wording.waits != Waits::Beginning);
    let mut fits = fits.filter_map(|wording| Some((wording.waits, match_whole(wording.pattern, words)?)));
    if let Some(kind) = fits.find_map(|(waits, found)| kind_of(waits, found, around, diagnostics)) {
        return kind;
    }
    let is_callable = |call: Phrase<'_>| around.names.is_callable(around.agent, call.text);
    let near = |pattern| match_whole(pattern, words).is_some_and(|found| found.call.is_none_or(is_callable));
    if let Some((_, note)) = NEAR.iter().find(|(pattern, _)| near(pattern)) {
        let message = "no trigger waits for this, so it is judged by the classifier";
        diagnostics.push(Diagnostic::warning("nearly-understood", words.span(), message).with_note(*note));
    }
    TriggerKind::Semantic
}

/// What a row of the table means with what was found in it; none: what is called there is unknown.
fn kind_of(
    waits: Waits,
    found: Found<'_>,
    around: Surroundings<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<TriggerKind> {
    let mut call = || read_call(found.call?, around, diagnostics);
    Some(match waits {
        Waits::Beginning => TriggerKind::Beginning,
        Waits::Silence => TriggerKind::Silence { after_ms: found.ms? },
        Waits::Period => TriggerKind::Every { period_ms: found.ms? },
        Waits::BeforeCall => TriggerKind::BeforeCall(call()?),
        Waits::AfterCall => TriggerKind::AfterCall(call()?),
        Waits::CallFails => TriggerKind::CallFails(Some(call()?)),
        Waits::AnyCallFails => TriggerKind::CallFails(None),
        // What is not said to be an event may be a call.
        Waits::Signal if found.call.is_some_and(|call| around.names.is_callable(around.agent, call.text)) => {
            return None;
        }
        Waits::Signal => TriggerKind::Signal(found.signal?.text.into()),
    })
}

/// The playbook or tool that a trigger names, also by the words of its title.
fn read_call(name: Phrase<'_>, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<CallName> {
    let playbook = match around.names.resolve(around.agent, name.text) {
        Meaning::Playbook(id) => Some(id),
        // What cannot be run yet can still be named.
        Meaning::Tool(_) | Meaning::Later => None,
        Meaning::Private(_) | Meaning::Builtin(_) | Meaning::Unknown => {
            match around.names.in_plain_words(around.agent, name.text) {
                Some(playbook) => Some(playbook.id),
                None => {
                    diagnostics.extend(unknown_callable(name, around));
                    return None;
                }
            }
        }
    };
    // The plain name says all of a playbook of the same agent.
    let own = playbook.map(|id| around.names.playbook(id)).filter(|playbook| playbook.agent == around.agent);
    Some(CallName { name: own.map_or(name.text, |playbook| playbook.name).into(), playbook })
}

/// A word that is no name (`When payment fails`) needs no warning, unless it is nearly one.
fn unknown_callable(name: Phrase<'_>, around: Surroundings<'_>) -> Option<Diagnostic> {
    if scan_path(name.text) != name.text.len() {
        return None;
    }
    let near = around.names.nearest(around.agent, name.text);
    let looks_like_a_name =
        name.text.contains(['_', '.']) || name.text.chars().skip(1).any(|character| character.is_uppercase());
    if near.is_none() && !looks_like_a_name {
        return None;
    }
    let message = format!("nothing is called `{}`, so this trigger is judged by the classifier", name.text);
    let warning = Diagnostic::warning("unknown-trigger-call", name.span(), message);
    Some(match near {
        Some(near) => warning.with_fix(format!("write `{near}`"), name.span(), near),
        None => warning.with_note("name a playbook of this agent, a public one of another, or a configured tool"),
    })
}
