//! Matches a trigger's text with a pattern of the table of wordings.

use crate::english::triggers::time::{read_beat, read_time, read_unit};
use crate::english::triggers::wordings::GROUPS;
use crate::english::words::{Phrase, scan_path};
use crate::expr::{Expr, ExprKind, scan_name};

/// What was read where a pattern has a place for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found<'a> {
    /// A time in milliseconds, never 0.
    pub(super) ms: Option<u64>,
    /// The name of a playbook or tool, or words that may be one.
    pub(super) call: Option<Phrase<'a>>,
    /// The name of an event from outside.
    pub(super) signal: Option<Phrase<'a>>,
}

/// What goes on with a pattern: whether what follows fits, too.
type Then<'t, 'a> = &'t mut dyn FnMut(Phrase<'a>, Found<'a>) -> bool;

/// What is found in `words` if the whole of it fits `pattern`.
pub(super) fn match_whole<'a>(pattern: &str, words: Phrase<'a>) -> Option<Found<'a>> {
    let mut whole = None;
    matches(pattern, words, Found::default(), &mut |rest, found| {
        whole = rest.is_empty().then_some(found);
        whole.is_some()
    });
    whole
}

/// What follows `pattern`, if `words` begins so.
pub(super) fn strip_pattern<'a>(pattern: &str, words: Phrase<'a>) -> Option<Phrase<'a>> {
    let mut behind = None;
    matches(pattern, words, Found::default(), &mut |rest, _| {
        behind = Some(rest);
        true
    });
    behind
}

/// Whether `words` begins with `pattern`, and what follows fits `then`.
fn matches<'a>(pattern: &str, words: Phrase<'a>, found: Found<'a>, then: Then<'_, 'a>) -> bool {
    let (element, rest) = pattern.split_once(' ').unwrap_or((pattern, ""));
    let mut go_on =
        |behind, found| if rest.is_empty() { then(behind, found) } else { matches(rest, behind, found, then) };
    if element == "..." {
        let is_over = words.is_empty() || words.text.starts_with([',', '.', ':', ';', '(', '-']);
        return is_over && go_on(words.from(words.text.len()), found);
    }
    if element == "*" {
        return go_on(words.from(words.text.len()), found);
    }
    let choices = element.strip_suffix('?').unwrap_or(element);
    choices.split('|').any(|choice| matches_choice(choice, words, found, &mut go_on))
        || (choices.len() < element.len() && go_on(words, found))
}

fn matches_choice<'a>(choice: &str, words: Phrase<'a>, found: Found<'a>, then: Then<'_, 'a>) -> bool {
    let Some(slot) = choice.strip_prefix('{').and_then(|slot| slot.strip_suffix('}')) else {
        return strip_words(choice, words).is_some_and(|behind| then(behind, found));
    };
    let mut with_time = |(ms, behind): (u64, Phrase<'a>)| then(behind, Found { ms: Some(ms), ..found });
    match slot {
        "time" => read_time(words).is_some_and(with_time),
        "unit" => read_unit(words, true).is_some_and(with_time),
        "number" => {
            let n_digits = words.text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
            n_digits > 0 && then(words.from(n_digits).trim(), found)
        }
        "beat" => read_beat(words).is_some_and(&mut with_time),
        "call" => calls(words).any(|(call, behind)| then(behind, Found { call: Some(call), ..found })),
        "event" => {
            read_event(words).is_some_and(|(event, behind)| then(behind, Found { signal: Some(event), ..found }))
        }
        "plain_event" => read_event(words)
            .filter(|(event, _)| event.text.contains('_') || words.text.starts_with('`'))
            .is_some_and(|(event, behind)| then(behind, Found { signal: Some(event), call: Some(event), ..found })),
        group => match GROUPS.iter().find(|(name, _)| *name == group) {
            Some((_, pattern)) => matches(pattern, words, found, then),
            None => false,
        },
    }
}

/// What follows `choice`, whose words have `_` between them. An apostrophe may be curly.
fn strip_words<'a>(choice: &str, words: Phrase<'a>) -> Option<Phrase<'a>> {
    choice.split('_').try_fold(words, |rest, word| {
        rest.strip(word).or_else(|| word.contains('\'').then(|| rest.strip(&word.replace('\'', "’"))).flatten())
    })
}

/// The name of an event, perhaps in backticks or quotation marks, and what follows.
fn read_event(words: Phrase<'_>) -> Option<(Phrase<'_>, Phrase<'_>)> {
    let mark = words.text.chars().next().filter(|first| matches!(first, '`' | '"'));
    let name = if mark.is_some() { words.from(1) } else { words };
    let (name, behind) = (name.until(scan_name(name.text)), name.from(scan_name(name.text)));
    let behind = match mark {
        Some(mark) => behind.text.starts_with(mark).then(|| behind.from(1))?,
        None => behind,
    };
    (!name.is_empty() && !behind.text.starts_with(['.', '(', '-', '\''])).then(|| (name, behind.trim()))
}

/// What may be the name of something that can be called, with what follows: an identifier, or so many words.
fn calls<'a>(words: Phrase<'a>) -> impl Iterator<Item = (Phrase<'a>, Phrase<'a>)> {
    const MAX_WORDS: usize = 8;
    let spaces = words.text.match_indices(char::is_whitespace).map(|(at, _)| at).chain([words.text.len()]);
    let ends = spaces.filter(move |at| !words.text[..*at].ends_with(char::is_whitespace) && *at > 0);
    let plain = ends.take(MAX_WORDS).map(move |at| (words.until(at), words.from(at).trim()));
    read_callable(words).into_iter().chain(plain)
}

/// `GetOrder`, `` `GetOrder` ``, `GetOrder()`, `GetOrder($id)` at the beginning, and what follows.
fn read_callable<'a>(words: Phrase<'a>) -> Option<(Phrase<'a>, Phrase<'a>)> {
    if let Some(title) = words.text.strip_prefix('"').and_then(|rest| rest.split('"').next())
        && title.len() + 1 < words.text.len()
    {
        return Some((words.from(1).until(title.len()), words.from(title.len() + 2).trim()));
    }
    let ticked = words.text.starts_with('`');
    let name = if ticked { words.from(1) } else { words };
    let length = scan_path(name.text);
    let (name, mut behind) = (name.until(length), name.from(length));
    if length == 0 {
        return None;
    }
    if let Some(inside) = behind.strip_bracket() {
        let (arguments, end) = inside.arguments()?;
        // A call with one certain value is not every call.
        let is_any = |value: &Expr| matches!(value.kind, ExprKind::Reference(_));
        if !arguments.iter().all(|(_, value)| is_any(value)) {
            return None;
        }
        behind = inside.from(end);
    }
    if ticked {
        behind = behind.text.starts_with('`').then(|| behind.from(1))?;
    }
    Some((name, behind.trim()))
}
