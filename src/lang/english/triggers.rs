//! Reads a trigger's text for what it waits for (spec `triggers.md`).
//!
//! When in doubt a trigger is semantic: one that fires on something else than its author meant is worse than one
//! that costs a model call.

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::callables::Meaning;
use crate::english::reading::Surroundings;
use crate::english::words::{Phrase, scan_path};
use crate::expr::{BinaryOperator, Expr, ExprKind, UnaryOperator};
use crate::program::{CallName, TriggerKind, Type, USER_MESSAGE};

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
    let kind = if begins || is_beginning(words.text) {
        TriggerKind::Beginning
    } else if is_list {
        TriggerKind::Semantic
    } else {
        classify(words.trim().without_ticks().trim_end_marks(), around, diagnostics)
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
    if names.is_empty() && !is_list && kind == TriggerKind::Semantic && is_about_user(words) {
        // Each message is an update of it.
        names.push(USER_MESSAGE.into());
    }
    ReadTrigger { kind, names }
}

/// Whether a trigger is about what the user says or does: no other variable can make that true.
fn is_about_user(words: Phrase<'_>) -> bool {
    let words = words.trim().without_ticks();
    let subject = words.strip_any(&WHENS).unwrap_or(words).strip_any(&["the user", "a user"]);
    subject.is_some_and(|rest| {
        // What belongs to the user, or is joined to the sentence, may be anything.
        let joints = ["and", "or", "but", "while"];
        !rest.text.starts_with(['\'', '’']) && joints.iter().all(|joint| rest.find_word(joint).is_none())
    })
}

/// What stands in front of something that comes to be true.
pub(crate) const WHENS: [&str; 5] = ["when", "whenever", "if", "once", "as soon as"];

fn classify(words: Phrase<'_>, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> TriggerKind {
    if let Some(kind) = read_period(words) {
        return kind;
    }
    let rest = words.strip_any(&WHENS);
    if let Some(rest) = rest {
        let rest = rest.without_ticks();
        let read = read_changes(rest).map(TriggerKind::Changes);
        if let Some(kind) = read.or_else(|| read_condition(rest).map(TriggerKind::Condition)) {
            return kind;
        }
    }
    read_silence(words, rest)
        .or_else(|| read_call_trigger(words, rest, around, diagnostics))
        .unwrap_or(TriggerKind::Semantic)
}

/// Whether the whole of `rest` is an expression that would be a condition if it had one meaning only.
pub(crate) fn is_condition_in_doubt(rest: Phrase<'_>) -> bool {
    read_condition(rest).is_none() && read_truth(rest).is_some_and(|expr| is_ambiguous(&expr, rest))
}

/// The whole of `rest` as an expression that is true or false, mentions a variable, and has one meaning only.
fn read_condition(rest: Phrase<'_>) -> Option<Expr> {
    let rest = rest.strip_any(&["the value of", "value of"]).unwrap_or(rest);
    read_truth(rest).filter(|expr| !is_ambiguous(expr, rest))
}

fn read_truth(rest: Phrase<'_>) -> Option<Expr> {
    let expr = rest.condition()?;
    let is_truth = match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Text(_)
        | ExprKind::Range(..)
        | ExprKind::Length(_) => false,
        ExprKind::Unary(operator, _) => *operator == UnaryOperator::Not,
        ExprKind::Binary(operator, ..) => !operator.is_arithmetic(),
        ExprKind::Reference(_) | ExprKind::Test { .. } => true,
    };
    (is_truth && has_reference(&expr)).then_some(expr)
}

/// Whether English may mean something else than the grammar does.
fn is_ambiguous(expr: &Expr, words: Phrase<'_>) -> bool {
    match &expr.kind {
        // `$a or $b is set` may mean both, and `$a is "x" or $b` may mean that `$a` is one of the two: a variable by
        // itself beside a comparison in words is part of that comparison as likely as not.
        ExprKind::Binary(BinaryOperator::And | BinaryOperator::Or, left, right) => {
            let (before, behind) = (last_operand(left), first_operand(right));
            // Brackets leave no doubt.
            let is_apart = text_of(right, words).starts_with('(') || text_of(left, words).ends_with(')');
            (!is_apart && is_bare(before) && is_in_words(behind, words))
                || (!is_apart && is_bare(behind) && is_in_words(before, words))
                || is_ambiguous(left, words)
                || is_ambiguous(right, words)
        }
        // `$city is in "Berlin"` asks for no part of a text.
        ExprKind::Binary(BinaryOperator::In, _, right) if matches!(right.kind, ExprKind::Literal(_)) => true,
        // `2026-11-22` and `5-10` are no differences.
        ExprKind::Binary(BinaryOperator::Subtract | BinaryOperator::Divide, left, right) => {
            matches!(right.kind, ExprKind::Literal(_)) && !has_reference(left)
        }
        ExprKind::Binary(_, left, right) | ExprKind::Range(left, right) => {
            is_ambiguous(left, words) || is_ambiguous(right, words)
        }
        ExprKind::Unary(_, operand) | ExprKind::Length(operand) | ExprKind::Test { subject: operand, .. } => {
            is_ambiguous(operand, words)
        }
        ExprKind::List(items) | ExprKind::Text(items) => items.iter().any(|item| is_ambiguous(item, words)),
        ExprKind::Map(members) => members.iter().any(|(_, value)| is_ambiguous(value, words)),
        ExprKind::Literal(_) | ExprKind::Reference(_) => false,
    }
}

/// `$a`, `not $a`, `true`: no comparison.
fn is_bare(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Reference(_) | ExprKind::Literal(_) => true,
        ExprKind::Unary(_, operand) => is_bare(operand),
        ExprKind::Binary(..)
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Text(_)
        | ExprKind::Range(..)
        | ExprKind::Length(_)
        | ExprKind::Test { .. } => false,
    }
}

fn has_reference(expr: &Expr) -> bool {
    let mut found = false;
    expr.for_each_reference(&mut |_| found = true);
    found
}

/// What stands at the place of `expr`, a part of `words`.
fn text_of<'a>(expr: &Expr, words: Phrase<'a>) -> &'a str {
    let at = |place: u32| place.saturating_sub(words.span().start) as usize;
    words.text.get(at(expr.span.start)..at(expr.span.end)).unwrap_or("")
}

fn last_operand(expr: &Expr) -> &Expr {
    let mut expr = expr;
    while let ExprKind::Binary(BinaryOperator::And | BinaryOperator::Or, _, right) = &expr.kind {
        expr = right;
    }
    expr
}

fn first_operand(expr: &Expr) -> &Expr {
    let mut expr = expr;
    while let ExprKind::Binary(BinaryOperator::And | BinaryOperator::Or, left, _) = &expr.kind {
        expr = left;
    }
    expr
}

/// Whether it is a comparison in words.
fn is_in_words(expr: &Expr, words: Phrase<'_>) -> bool {
    match &expr.kind {
        ExprKind::Test { .. } => true,
        ExprKind::Unary(_, operand) => is_in_words(operand, words),
        ExprKind::Binary(_, left, right) => {
            let offset = words.span().start;
            let between =
                left.span.end.saturating_sub(offset) as usize..right.span.start.saturating_sub(offset) as usize;
            words.text.get(between).is_some_and(|sign| sign.contains(char::is_alphabetic))
        }
        ExprKind::Literal(_)
        | ExprKind::Reference(_)
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Text(_)
        | ExprKind::Range(..)
        | ExprKind::Length(_) => false,
    }
}

/// `$x changes`, `the value of $x or $y changes`: the names. A part of a value (`$x.a`) cannot be watched.
fn read_changes(rest: Phrase<'_>) -> Option<Vec<Arc<str>>> {
    const CHANGES: [&str; 7] =
        ["changes", "change", "is changed", "is updated", "has changed", "was changed", "was updated"];
    let rest = rest.strip("either").unwrap_or(rest);
    let mut rest = rest.strip_any(&["the value of", "value of"]).unwrap_or(rest);
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    loop {
        let (target, behind) = rest.target()?;
        if target.ty != Type::ANY {
            return None;
        }
        if seen.insert(target.name.clone()) {
            names.push(target.name);
        }
        let behind = behind.trim();
        if CHANGES.iter().any(|words| behind.is(words)) {
            return Some(names);
        }
        // `$x and $y change` may mean both at once.
        let comma = behind.strip_mark(',');
        rest = match comma.unwrap_or(behind).strip("or") {
            Some(next) => next,
            None => comma?,
        };
    }
}

/// How long a time may be that a trigger waits for; longer ones are mistakes, and sums of them would overflow.
const MAX_WAIT_MS: u64 = 366 * 24 * 60 * 60 * 1000;

/// `Every 10 minutes`, `Every hour`.
fn read_period(words: Phrase<'_>) -> Option<TriggerKind> {
    let rest = words.strip("every")?;
    let (period_ms, behind) = match read_unit(rest, true) {
        Some(unit) => unit,
        None => read_time(rest)?,
    };
    behind.is_empty().then_some(TriggerKind::Every { period_ms })
}

/// `After 30 seconds of silence`, `When the user has been silent for 30 seconds`.
fn read_silence(words: Phrase<'_>, rest: Option<Phrase<'_>>) -> Option<TriggerKind> {
    const SILENT: [&str; 8] = [
        "the user has been silent for",
        "the user is silent for",
        "the user stays silent for",
        "the user says nothing for",
        "user has been silent for",
        "user is silent for",
        "there has been silence for",
        "there is silence for",
    ];
    let (after_ms, behind) = match rest.and_then(|rest| rest.strip_any(&SILENT)) {
        Some(time) => read_time(time)?,
        None => {
            let (after_ms, behind) = read_time(words.strip("after")?)?;
            (after_ms, behind.strip("of silence")?)
        }
    };
    behind.is_empty().then_some(TriggerKind::Silence { after_ms })
}

/// `30 seconds`, `two hours`: the time in milliseconds, never 0, and what follows.
fn read_time<'a>(words: Phrase<'a>) -> Option<(u64, Phrase<'a>)> {
    const NUMBERS: [(&str, u64); 16] = [
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("twelve", 12),
        ("fifteen", 15),
        ("twenty", 20),
        ("thirty", 30),
        ("sixty", 60),
        ("ninety", 90),
    ];
    let n_digits = words.text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = if n_digits > 0 {
        (words.text[..n_digits].parse::<u64>().ok()?, words.from(n_digits))
    } else {
        NUMBERS.iter().find_map(|(word, number)| Some((*number, words.strip(word)?)))?
    };
    let (unit_ms, behind) = read_unit(rest.trim(), false)?;
    let time = number.checked_mul(unit_ms).filter(|time| (1..=MAX_WAIT_MS).contains(time))?;
    Some((time, behind))
}

/// A unit of time in milliseconds, and what follows; `single`: only words for one.
fn read_unit<'a>(words: Phrase<'a>, single: bool) -> Option<(u64, Phrase<'a>)> {
    const UNITS: [(&str, &str, u64); 5] = [
        ("second", "seconds", 1000),
        ("minute", "minutes", 60 * 1000),
        ("hour", "hours", 60 * 60 * 1000),
        ("day", "days", 24 * 60 * 60 * 1000),
        ("week", "weeks", 7 * 24 * 60 * 60 * 1000),
    ];
    UNITS.iter().find_map(|(one, many, ms)| {
        let many = if single { None } else { words.strip(many) };
        Some((*ms, many.or_else(|| words.strip(one))?))
    })
}

/// Where a callable's name stands in a sentence: after some words, in front of some others.
struct CallPattern {
    before: &'static str,
    behind: &'static str,
    /// Whether `When` or its like stands in front of it all.
    when: bool,
    kind: fn(CallName) -> TriggerKind,
}

impl CallPattern {
    /// The name in `words`, the whole text, or in `rest`, what follows its `When`, if the text has this pattern.
    fn name_in<'a>(&self, words: Phrase<'a>, rest: Option<Phrase<'a>>) -> Option<Phrase<'a>> {
        let sentence = if self.when { rest? } else { words };
        let from_name = if self.before.is_empty() { sentence } else { sentence.strip(self.before)? };
        let (name, behind) = read_callable(from_name)?;
        let fits = if self.behind.is_empty() { behind.is_empty() } else { behind.is(self.behind) };
        fits.then_some(name)
    }
}

const fn pattern(
    when: bool,
    before: &'static str,
    behind: &'static str,
    kind: fn(CallName) -> TriggerKind,
) -> CallPattern {
    CallPattern { before, behind, when, kind }
}

const CALL_PATTERNS: [CallPattern; 14] = [
    pattern(false, "before calling", "", TriggerKind::BeforeCall),
    pattern(false, "before a call of", "", TriggerKind::BeforeCall),
    pattern(false, "before", "is called", TriggerKind::BeforeCall),
    pattern(false, "after calling", "", TriggerKind::AfterCall),
    pattern(false, "after a call of", "", TriggerKind::AfterCall),
    pattern(false, "after", "is called", TriggerKind::AfterCall),
    pattern(false, "after", "has been called", TriggerKind::AfterCall),
    pattern(false, "after", "returns", TriggerKind::AfterCall),
    pattern(false, "after", "has returned", TriggerKind::AfterCall),
    pattern(true, "calling", "fails", TriggerKind::CallFails),
    pattern(true, "a call of", "fails", TriggerKind::CallFails),
    pattern(true, "", "fails", TriggerKind::CallFails),
    pattern(true, "", "returns an error", TriggerKind::CallFails),
    pattern(true, "", "returns", TriggerKind::AfterCall),
];

/// `Before calling X`, `After X returns`, `When X fails`, where X can be called.
fn read_call_trigger(
    words: Phrase<'_>,
    rest: Option<Phrase<'_>>,
    around: Surroundings<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<TriggerKind> {
    for pattern in &CALL_PATTERNS {
        let Some(name) = pattern.name_in(words, rest) else { continue };
        let playbook = match around.names.resolve(around.agent, name.text) {
            Meaning::Playbook(id) => Some(id),
            // What cannot be run yet can still be named.
            Meaning::Tool(_) | Meaning::Later => None,
            Meaning::Private(_) | Meaning::Builtin(_) | Meaning::Unknown => {
                diagnostics.extend(unknown_callable(name, around));
                return None;
            }
        };
        // The plain name says all of a playbook of the same agent.
        let own = playbook.map(|id| around.names.playbook(id)).filter(|playbook| playbook.agent == around.agent);
        let name = own.map_or(name.text, |playbook| playbook.name);
        return Some((pattern.kind)(CallName { name: name.into(), playbook }));
    }
    None
}

/// `GetOrder`, `` `GetOrder` ``, `GetOrder()`, `GetOrder($id)` at the beginning, and what follows.
fn read_callable<'a>(words: Phrase<'a>) -> Option<(Phrase<'a>, Phrase<'a>)> {
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
        let is_any = |(_, value): &(Option<Arc<str>>, Expr)| matches!(value.kind, ExprKind::Reference(_));
        if !arguments.iter().all(is_any) {
            return None;
        }
        behind = inside.from(end);
    }
    if ticked {
        behind = behind.text.starts_with('`').then(|| behind.from(1))?;
    }
    Some((name, behind.trim()))
}

/// A word that is no name (`When payment fails`) needs no warning, unless it is nearly one.
fn unknown_callable(name: Phrase<'_>, around: Surroundings<'_>) -> Option<Diagnostic> {
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
