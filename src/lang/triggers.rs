//! Reads a trigger's text for what it waits for (spec `triggers.md`).

use std::sync::Arc;

use crate::lang::trigger_index::TriggerKind;
use crate::lang::words::Words;

/// What was read of a trigger.
pub(crate) struct ReadTrigger {
    pub(crate) kind: TriggerKind,
    /// Names it mentions, in order of mention, each once.
    pub(crate) names: Vec<Arc<str>>,
}

/// Reads `words`, the whole text of a trigger. `begins`: an older tool's numbering says that it is a beginning.
pub(crate) fn read_trigger(words: Words<'_>, begins: bool) -> ReadTrigger {
    let kind = if begins || is_beginning(words.text) { TriggerKind::Beginning } else { TriggerKind::Semantic };
    let mut names: Vec<Arc<str>> = Vec::new();
    for mention in words.mentions() {
        if !names.contains(&mention.name) {
            names.push(mention.name);
        }
    }
    ReadTrigger { kind, names }
}

/// `At the beginning` and its variants.
fn is_beginning(text: &str) -> bool {
    const OF_WHAT: [&str; 9] = [
        "of the program",
        "of program",
        "of the session",
        "of the conversation",
        "of the chat",
        "of the agent",
        "of execution",
        "running",
        "execution",
    ];
    const BEGINNINGS: [&str; 15] = [
        "at the beginning",
        "at the very beginning",
        "at beginning",
        "at the start",
        "at start",
        "at startup",
        "on start",
        "on startup",
        "in the beginning",
        "when the program starts",
        "when program starts",
        "when the program begins",
        "when the agent starts",
        "when agent starts",
        "when the session starts",
    ];
    let text = text.trim().to_lowercase();
    BEGINNINGS.iter().any(|beginning| {
        text.strip_prefix(beginning).map(str::trim_start).is_some_and(|rest| {
            // `At the start of the day` is another matter.
            let rest = OF_WHAT.iter().find_map(|what| rest.strip_prefix(what)).unwrap_or(rest);
            rest.is_empty() || rest.starts_with([',', '.', ':', ';', '(', '-'])
        })
    })
}
