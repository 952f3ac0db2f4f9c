//! Reads the loop that a line is, and what each round does on the same line.

use crate::english::grammar::rules::{Means, Rounds};
use crate::english::grammar::{Found, begins_loop, rows};
use crate::english::lines::{read_action, strip_separators};
use crate::english::phrase::Phrase;
use crate::english::reading::{Action, ItemReading, Reading, Surroundings};
use crate::expr::{ACTION_VERBS, Expr, ExprKind, is_one_of};
use crate::program::{Loop, StepKind};
use crate::value::Value;

/// Reads a line that is no branch, with what a loop does on the same line.
pub(super) fn read_line<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> ItemReading<'a> {
    if !begins_loop(line) {
        return ItemReading::line(read_action(line, around));
    }
    let whole = read_loop(line, around);
    if whole.as_ref().is_some_and(|reading| reading.explicit || !around.has_children) {
        return ItemReading { line: whole.unwrap_or_else(Reading::free), action: None, otherwise: None };
    }
    // What stands after the header is what each round does.
    for at in ends_of_header(line) {
        let rest = strip_separators(line.from(at).trim());
        let rest =
            rest.strip("do").filter(|rest| rest.trim_end_marks().is_empty() || rest.begins_action()).unwrap_or(rest);
        if rest.trim_end_marks().is_empty() || rest.trim_end_marks().is("in this order") {
            match read_loop(line.until(at).trim(), around) {
                Some(header) if at + 1 < line.text.trim_end().len() && header.explicit => {
                    return ItemReading::line(header);
                }
                _ => continue,
            }
        }
        let inside = Surroundings { has_children: true, ..around };
        let Some(header) = read_loop(line.until(at).trim(), inside).filter(|header| header.explicit) else { continue };
        let action = Action { condition: line.until(at), words: rest, reading: read_action(rest, around) };
        return ItemReading { line: header, action: Some(action), otherwise: None };
    }
    let in_words = read_loop_over_words(line).or(whole);
    ItemReading::line(in_words.unwrap_or_else(|| read_action(line, around)))
}

/// Where the header of a loop may end: before a mark, a dash or a verb.
fn ends_of_header(line: Phrase<'_>) -> Vec<usize> {
    if !line.text.contains(['$', '"']) && line.find_word("times").is_none() {
        return Vec::new();
    }
    let marks = line.text.match_indices([',', ':', '—', '–']).map(|(at, _)| at);
    let verbs = line.words().filter(|(at, word)| *at > 0 && is_one_of(ACTION_VERBS, word));
    let mut ends: Vec<usize> = marks.chain(verbs.map(|(at, _)| at)).collect();
    ends.sort_unstable();
    ends.truncate(MAX_HEADER_ENDS);
    ends
}

/// How many places are tried as the end of a loop's header; a bound for hostile lines only.
const MAX_HEADER_ENDS: usize = 8;

/// The header of a loop. One that is not exact is a loop of the model's only where lines are nested under it.
fn read_loop(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
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

/// `For each $x in the open tickets`: its variable is known, what it goes over is the model's to find.
fn read_loop_over_words(line: Phrase<'_>) -> Option<Reading> {
    let (variable, rest) = line.strip_any(&["for each", "for every", "for all", "for"])?.target()?;
    let of_words = rest.trim().strip_any(&["in", "of", "from"]).is_some();
    of_words.then(|| Reading::new(StepKind::Loop(Loop::ForEach { variable, list: None }), false))
}
