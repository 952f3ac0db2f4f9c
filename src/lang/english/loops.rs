//! Reads the loop that a line is, and what each round does on the same line.

use crate::english::grammar::means::{Means, Rounds};
use crate::english::grammar::{Found, begins_loop, rows};
use crate::english::lines::{nearly, read_action, strip_separators};
use crate::english::phrase::{Mention, Phrase};
use crate::english::questions::read_keep_asking;
use crate::english::reading::{Action, ItemReading, Reading, Surroundings};
use crate::english::words::singulars;
use crate::expr::{ACTION_VERBS, Expr, ExprKind, is_one_of, scan_name};
use crate::program::{Loop, StepKind, Target, Type};
use crate::value::{PathStep, Reference, Value};

/// Reads a line that is no branch, with what a loop does on the same line.
pub(super) fn read_line<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> ItemReading<'a> {
    let no_loop = || read_loop_at_end(line, around).unwrap_or_else(|| ItemReading::line(read_action(line, around)));
    if !begins_loop(line) {
        return no_loop();
    }
    let nothing = line.from(line.text.len());
    let whole = read_loop(line, nothing, around);
    if whole.as_ref().is_some_and(|reading| reading.explicit || !around.has_children) {
        return ItemReading::line(whole.unwrap_or_else(Reading::free));
    }
    // What stands after the header is what each round does.
    for at in ends_of_header(line) {
        let rest = strip_separators(line.from(at).trim());
        let rest =
            rest.strip("do").filter(|rest| rest.trim_end_marks().is_empty() || rest.begins_action()).unwrap_or(rest);
        let rest = rest.strip_any(&IN_ORDER).map_or(rest, strip_separators);
        // `$emails, except the first`: not all of them, or not in their order.
        if rest.strip_any(&RESTRICTIONS).is_some() {
            break;
        }
        if rest.trim_end_marks().is_empty() {
            match read_loop(line.until(at).trim(), nothing, around) {
                Some(header) if at + 1 < line.text.trim_end().len() && header.explicit => {
                    return ItemReading::line(header);
                }
                _ => continue,
            }
        }
        let joined = rest.strip("and");
        let inside = Surroundings { has_children: true, ..around };
        let Some(header) = read_loop(line.until(at).trim(), rest, inside).filter(|header| header.explicit) else {
            continue;
        };
        let action = Action::new(line.until(at), joined.unwrap_or(rest), read_action(joined.unwrap_or(rest), around));
        // `For each $x in $a and $b`
        if joined.is_some_and(|rest| !action.reading.explicit && !rest.begins_action()) {
            continue;
        }
        return ItemReading::branch(header, Some(action), None);
    }
    let actions = ends_of_header(line).into_iter().map(|at| (at, strip_separators(line.from(at).trim())));
    let actions = actions.map(|(at, rest)| Action::new(line.until(at), rest, read_action(rest, around)));
    let mut actions = actions.filter(|action| action.words.begins_action() || action.reading.explicit);
    let action = if around.has_children { None } else { actions.next() };
    // `For every item in $stock that is rare, note it`
    let own = || {
        let of_variable = ["in $", "of $", "from $"].iter().any(|words| line.text.contains(words));
        let inside = Surroundings { has_children: true, ..around };
        read_loop(line, nothing, inside).filter(|_| of_variable && action.is_some())
    };
    match read_loop_over_words(line).or(whole).or_else(own) {
        Some(in_words) => {
            let near = nearly(line).filter(|_| action.is_none());
            ItemReading::branch(Reading { near, ..in_words }, action, None)
        }
        None => no_loop(),
    }
}

/// `Say "Toot!" three times`, `Ask for $code until $code is 7`: both sides are exact, or it is no loop.
fn read_loop_at_end<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> Option<ItemReading<'a>> {
    if around.has_children {
        return None;
    }
    let line = line.trim_end_marks();
    let ends_in_times = line.strip_end("times").or_else(|| line.strip_end("twice")).is_some();
    // Most lines have neither, and to look for the letters alone costs least.
    if !ends_in_times && !AT_END.iter().any(|words| line.text.contains(words)) {
        return None;
    }
    let inside = Surroundings { has_children: true, ..around };
    let mut places: Vec<usize> = line.words().map(|(at, _)| at).filter(|at| *at > 0).collect();
    if ends_in_times {
        // A number and `times`, or `twice`.
        places.drain(..places.len().saturating_sub(2));
    } else {
        places.retain(|at| line.from(*at).strip_any(&AT_END).is_some());
        places.truncate(MAX_HEADER_ENDS);
    }
    places.into_iter().find_map(|at| {
        let (before, end) = (line.until(at).trim(), line.from(at));
        let header = read_loop(end, before, inside).filter(|header| header.explicit)?;
        let reading = read_keep_asking(before).unwrap_or_else(|| read_action(before, around));
        let is_sure = match &reading.kind {
            // It is asked until its answer is right, not so many times.
            StepKind::Ask { targets } => !ends_in_times && !targets.is_empty(),
            StepKind::Say { .. } | StepKind::Call(_) | StepKind::Assign { .. } => reading.explicit,
            // What ends something ends more than this loop, or nothing: `Continue until $x is 5`.
            StepKind::Return(_) | StepKind::End | StepKind::Break | StepKind::Continue => false,
            StepKind::Branch { .. } | StepKind::Loop(_) | StepKind::Free | StepKind::Gone(_) => false,
        };
        is_sure.then(|| ItemReading::branch(header, Some(Action::new(end, before, reading)), None))
    })
}

/// What the header of a loop begins with that stands after what each round does.
const AT_END: [&str; 3] = ["for each", "for every", "until"];

/// What stands after a list of which not all is gone through, or not in its order, or not to its end.
const RESTRICTIONS: [&str; 37] = [
    "except",
    "but",
    "excluding",
    "apart from",
    "other than",
    "in",
    "reversed",
    "backwards",
    "starting",
    "beginning",
    "oldest",
    "newest",
    "latest",
    "earliest",
    "highest",
    "lowest",
    "largest",
    "smallest",
    "most",
    "best",
    "sorted",
    "ordered",
    "up to",
    "at most",
    "max",
    "maximum",
    "no more than",
    "only",
    "limited",
    "that",
    "where",
    "which",
    "until",
    "till",
    "while",
    "as long as",
    "unless",
];

/// What stands there and says what a loop does anyway.
const IN_ORDER: [&str; 7] =
    ["in this order", "in order", "in that order", "one by one", "one at a time", "one after the other", "in turn"];

/// Where the header of a loop may end: before a mark, a dash or a verb.
fn ends_of_header(line: Phrase<'_>) -> Vec<usize> {
    if !line.text.contains(['$', '"']) && line.find_word("times").is_none() {
        return Vec::new();
    }
    let marks = line.text.match_indices([',', ':', '—', '–']).map(|(at, _)| at);
    let verbs = line.words().filter(|(at, word)| *at > 0 && (is_one_of(ACTION_VERBS, word) || is_one_of("and", word)));
    let mut ends: Vec<usize> = marks.chain(verbs.map(|(at, _)| at)).collect();
    ends.sort_unstable();
    ends.truncate(MAX_HEADER_ENDS);
    ends
}

/// How many places are tried as the end of a loop's header; a bound for hostile lines only.
const MAX_HEADER_ENDS: usize = 8;

/// The header of a loop. One that is not exact is a loop of the model's only where lines are nested under it; `rest` is
/// what each round does on the same line.
fn read_loop(line: Phrase<'_>, rest: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let line = line.trim().trim_end_marks();
    let line = line.until(line.text.trim_end_matches([',', ' ']).len());
    let (exact, holds) = (around.has_children, around.has_children);
    let number = |count: i64, at: Phrase<'_>| Expr { kind: ExprKind::Literal(Value::Int(count)), span: at.span() };
    let count = |hole: &Phrase<'_>| hole.expr();
    for found in rows(line, |means| matches!(means, Means::Loop(_))) {
        let Found::Row(rule, holes) = found else { continue };
        let Means::Loop(rounds) = rule.means else { continue };
        let hole = |at: usize| holes.get(at).copied();
        let (header, explicit) = match rounds {
            Rounds::ForEach | Rounds::Over => {
                let (variable, list) =
                    if rounds == Rounds::ForEach { (hole(0)?, hole(1)?) } else { (hole(1)?, hole(0)?) };
                (Loop::ForEach { variable: variable.target()?.0, list: Some(list.expr()?) }, exact)
            }
            Rounds::ForEachNamed => {
                let (name, list) = (hole(0)?.trim(), hole(1)?.expr()?);
                let is_name = scan_name(name.text) == name.text.len();
                if !is_name || !matches!(list.kind, ExprKind::Reference(_)) {
                    continue;
                }
                let variable = Target { name: name.text.into(), ty: Type::ANY, span: name.span() };
                (Loop::ForEach { variable, list: Some(list) }, exact)
            }
            Rounds::Each => {
                let list = hole(0)?.expr()?;
                let Some(variable) = variable_of(&list, [rest, around.nested]) else { continue };
                (Loop::ForEach { variable, list: Some(list) }, exact)
            }
            Rounds::ForEachOf => {
                // `For each $x in $l, say "{$x}"`: a word before a value is what is done.
                let listed = hole(1)?.listed_values().filter(|items| items.iter().all(|(word, _)| word.is_none()));
                let items: Vec<Expr> = listed.into_iter().flatten().map(|(_, item)| item).collect();
                if items.len() < 2 {
                    continue;
                }
                let list = Expr { kind: ExprKind::List(items), span: hole(1)?.span() };
                (Loop::ForEach { variable: hole(0)?.target()?.0, list: Some(list) }, exact)
            }
            Rounds::Range => {
                let (low, high) = (hole(1)?.expr()?, hole(2)?.expr()?);
                let span = low.span.to(high.span);
                let list = Expr { kind: ExprKind::Range(Box::new(low), Box::new(high)), span };
                (Loop::ForEach { variable: hole(0)?.target()?.0, list: Some(list) }, exact)
            }
            Rounds::Count => (Loop::Repeat { count: Some(count(&hole(0)?)?) }, exact),
            Rounds::Times(n) => (Loop::Repeat { count: Some(number(n, line)) }, exact),
            Rounds::AtMost if holds => (Loop::Until { condition: None, at_most: Some(count(&hole(0)?)?) }, false),
            Rounds::InWords if holds => (Loop::Repeat { count: None }, false),
            Rounds::UntilAtMost | Rounds::AtMostUntil => {
                let is_first = rounds == Rounds::UntilAtMost;
                let (condition, most) = if is_first { (hole(0)?, hole(1)?) } else { (hole(1)?, hole(0)?) };
                let (condition, at_most) = (condition.condition(), Some(count(&most)?));
                if condition.is_none() && !holds {
                    continue;
                }
                let is_exact = exact && condition.is_some();
                (Loop::Until { condition, at_most }, is_exact)
            }
            Rounds::Until => match hole(0)?.condition() {
                Some(condition) => (Loop::Until { condition: Some(condition), at_most: None }, exact),
                None if holds => (Loop::Until { condition: None, at_most: None }, false),
                None => continue,
            },
            Rounds::While => match hole(0)?.condition() {
                Some(condition) => (Loop::While { condition: Some(condition) }, exact),
                None if holds => (Loop::While { condition: None }, false),
                None => continue,
            },
            Rounds::Forever | Rounds::Own if holds => (Loop::While { condition: None }, false),
            Rounds::AtMost | Rounds::InWords | Rounds::Forever | Rounds::Own => continue,
        };
        return Some(Reading::new(StepKind::Loop(header), explicit));
    }
    None
}

/// What one item of a list may be called, by the name of what holds it.
pub(crate) fn names_of_items(list: &Expr) -> Vec<String> {
    let ExprKind::Reference(Reference { name, path }) = &list.kind else { return Vec::new() };
    match path.last() {
        Some(PathStep::Member(member)) => singulars(member),
        Some(PathStep::Index(_)) => Vec::new(),
        None => singulars(name),
    }
}

/// The variable of a loop that names none: what is done uses what an item of its list is called. It stands where it is
/// used first.
fn variable_of(list: &Expr, done: [Phrase<'_>; 2]) -> Option<Target> {
    let names = names_of_items(list);
    let mentions = done.into_iter().flat_map(Phrase::mentions);
    mentions.into_iter().find(|mention| names.iter().any(|name| **name == *mention.name)).map(Mention::into_target)
}

/// `For each $x in the open tickets`: its variable is known, what it goes over is the model's to find.
fn read_loop_over_words(line: Phrase<'_>) -> Option<Reading> {
    let (variable, rest) = line.strip_any(&["for each", "for every", "for all", "for"])?.target()?;
    let of_words = rest.trim().strip_any(&["in", "of", "from"]).is_some();
    of_words.then(|| Reading::new(StepKind::Loop(Loop::ForEach { variable, list: None }), false))
}
