//! A plan out of what was written around it: prose, a fence (spec `plans.md`, 1.1).
//!
//! Takes the first list that begins with an object, is whole, and has a `seq_no` in one of its objects; lists of other
//! objects only if there is none. What is left of a broken plan is none: the branch of a condition must never run in
//! place of the plan around it. Every part of the text is read a bounded number of times.

use crate::diagnostic::Diagnostic;
use crate::plan::json::reader::read;
use crate::plan::json::tree::{Document, Member};
use crate::plan::wording::shown;
use crate::span::{FileId, Span};

/// Finds and reads the plan in `text`. What is returned beside it is wrong with its JSON.
pub(crate) fn extract(file: FileId, text: &str) -> (Option<Document<'_>>, Vec<Diagnostic>) {
    let mut broken_plan = None;
    let mut broken = None;
    let mut n_broken = 0;
    let mut other_list = None;
    let mut from = 0;
    while let Some(open) = next_candidate(text, from) {
        from = open + 1;
        if is_branch(text, open) || (broken_plan.is_some() && !stands_alone(text, open)) {
            continue;
        }
        let reading = read(file, text, open);
        from = from.max(reading.resume);
        let is_plan = reading.document.root().items().any(|item| item.mentions("seq_no"));
        match reading.fault {
            None if is_plan => return whole(reading.document),
            None => _ = other_list.get_or_insert(reading.document),
            Some(fault) if is_plan => _ = broken_plan.get_or_insert(fault),
            Some(fault) => {
                broken.get_or_insert(fault);
                n_broken += 1;
            }
        }
    }
    if let Some(fault) = broken_plan {
        return (None, vec![*fault]);
    }
    if let Some(document) = other_list {
        return whole(document);
    }
    let beginning = beginning(text);
    if text[beginning..].starts_with('[') {
        let reading = read(file, text, beginning);
        return reading.fault.map_or_else(|| whole(reading.document), |fault| (None, vec![*fault]));
    }
    let fault = broken.filter(|_| n_broken == 1).map(|fault| *fault);
    (None, vec![fault.unwrap_or_else(|| nothing_found(file, text, beginning))])
}

fn whole(document: Document<'_>) -> (Option<Document<'_>>, Vec<Diagnostic>) {
    let twice = |(member, first): &(Member<'_>, Span)| {
        let message = format!("the key `{}` appears twice", shown(member.key));
        Diagnostic::error("plan-duplicate-key", member.key_span, message).with_place(*first, "first here")
    };
    let duplicates = document.duplicates().iter().map(twice).collect();
    (Some(document), duplicates)
}

/// The next `[` with a `{` after it.
fn next_candidate(text: &str, mut from: usize) -> Option<usize> {
    loop {
        let open = from + text.get(from..)?.find('[')?;
        let behind = text[open + 1..].trim_start_matches([' ', '\t', '\n', '\r']);
        if behind.starts_with('{') {
            return Some(open);
        }
        from = text.len() - behind.len();
    }
}

/// Whether the list at `open` is a branch of a condition, whatever there is of the condition.
fn is_branch(text: &str, open: usize) -> bool {
    let before = text[..open].trim_end().strip_suffix(':').map_or("", str::trim_end);
    before.ends_with("\"true_branch\"") || before.ends_with("\"false_branch\"")
}

/// Whether the list at `open` begins its line and nothing before it makes it a part of other JSON.
fn stands_alone(text: &str, open: usize) -> bool {
    let line = text[..open].trim_end_matches([' ', '\t']);
    let before = line.trim_end();
    let is_value = before.strip_suffix(':').is_some_and(|key| key.trim_end().ends_with('"'));
    (line.is_empty() || line.ends_with('\n')) && !before.ends_with([',', '[', '{', '=', '|', '"']) && !is_value
}

/// Where the text begins, after white space and the line that opens a fence.
fn beginning(text: &str) -> usize {
    let trimmed = text.trim_start();
    let inside = match trimmed.strip_prefix("```").and_then(|fence| fence.split_once('\n')) {
        Some((_, inside)) => inside.trim_start(),
        None => trimmed,
    };
    text.len() - inside.len()
}

fn nothing_found(file: FileId, text: &str, beginning: usize) -> Diagnostic {
    let line = text[beginning..].lines().next().unwrap_or("").trim_end();
    let span = Span::new(file, beginning, beginning + line.len());
    let error = Diagnostic::error("plan-not-found", span, "there is no JSON array of instructions in this text");
    error.with_note("a plan looks like this: [{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {…}}, …]")
}
