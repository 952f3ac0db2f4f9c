//! What an item of a list is read as: a line, or a branch and what it does on its own line, each by itself.

use crate::english::grammar::means::Means;
use crate::english::grammar::{Found, rows};
use crate::english::lines::{
    MARKS, read_action, read_call_in_plain_words, read_quoted, strip_filler, strip_separators, two_actions,
};
use crate::english::loops::read_line;
use crate::english::near::{find_near, understood};
use crate::english::phrase::{Phrase, end_before};
use crate::english::reading::{Action, End, ItemReading, Reading, Surroundings};
use crate::expr::{BinaryOperator, Expr, ExprKind, Style, UnaryOperator, is_one_of};
use crate::program::{Arm, Returned, StepKind};

/// How many places of a line are tried as the end of its condition; a bound for hostile lines only.
const MAX_SPLITS: usize = 16;

/// Reads a whole item.
pub(crate) fn read_item<'a>(words: Phrase<'a>, around: Surroundings<'_>) -> ItemReading<'a> {
    let words = words.plain();
    // The words of a playbook's name come first, even if they begin with `If`.
    if let Some(call) = read_call_in_plain_words(words, around) {
        return ItemReading::line(call);
    }
    let words = strip_always(words).unwrap_or(words);
    let mut item = read_words(words, around);
    let action = item.action.as_ref().map(|action| &action.reading);
    let is_known = |reading: &Reading| reading.explicit || reading.near.is_some();
    if !is_known(action.unwrap_or(&item.line)) || !is_known(&item.line) {
        let read = |changed: Phrase<'_>| understood(&read_words(changed, around));
        // What ends after it was understood.
        let end = item.end.as_ref().or_else(|| item.action.as_ref()?.end.as_ref());
        let open = end.map_or(words, |end| words.until(end.before.span().end as usize - words.start()));
        item.line.near = find_near(open, &item, around, read).map(Box::new);
    }
    item
}

fn read_words<'a>(words: Phrase<'a>, around: Surroundings<'_>) -> ItemReading<'a> {
    let mut item = read_branch(words, around).unwrap_or_else(|| read_line(words, around));
    if around.has_children || matches!(item.line.kind, StepKind::Loop(_)) {
        return item;
    }
    for action in [&mut item.action, &mut item.otherwise].into_iter().flatten() {
        if let Some((reading, end)) = split_end(action.words, &action.reading, around) {
            (action.words, action.reading, action.end) = (end.before, reading, Some(end));
        }
    }
    // `Once they agree, thank them and end`: what a line that is no action begins with may be a condition.
    let acts = !matches!(item.line.kind, StepKind::Free | StepKind::Branch { .. }) || words.begins_action();
    match split_end(words, &item.line, around).filter(|(first, _)| acts || first.explicit) {
        Some((reading, end)) if around.is_last => (item.line, item.end) = (reading, Some(end)),
        // As two lines it would give those below it other ids.
        Some((_, end)) if item.line.near.is_none() => {
            item.line.near = Some(Box::new(two_actions(end.words, end.before.text, end.words.text)));
        }
        _ => {}
    }
    item
}

/// What is done, and the end that comes after it: `apologise, then end`, `Say "Bye" and stop`, `End with "Bye"`.
fn split_end<'a>(words: Phrase<'a>, read: &Reading, around: Surroundings<'_>) -> Option<(Reading, End<'a>)> {
    if read.explicit || matches!(read.kind, StepKind::Return(_) | StepKind::Branch { .. }) {
        return None;
    }
    let said = rows(words, |means| means == Means::SayThenEnd).find_map(|found| match found {
        Found::Row(_, holes) => holes.first().copied(),
        Found::Near(..) => None,
    });
    if let Some(before) = said {
        let words = end_before(words, before);
        let reading = read_action(words, around);
        let end = End { before, words, reading };
        return Some((Reading::new(StepKind::Say { literal: Some(read_quoted(before)?) }, true), end));
    }
    let verbs = words.words().filter(|(at, word)| *at > 0 && is_one_of(ENDING_VERBS, word));
    verbs.take(MAX_SPLITS).find_map(|(at, _)| {
        let (before, is_apart) = strip_joint(words.until(at))?;
        let reading = read_action(words.from(at), around);
        let ends = matches!(reading.kind, StepKind::End | StepKind::Return(_) | StepKind::Break) && reading.explicit;
        let first = ends.then(|| read_action(before, around)).filter(|first| may_end_after(before, first, is_apart))?;
        // `Show the bus route and stop`: a word that may be one more thing.
        let may_be_thing = words.from(at).trim_end_marks().words().count() == 1
            && (matches!(first.kind, StepKind::Free)
                || before.strip_any(&["tell", "inform", "show", "give"]).is_some());
        if may_be_thing && !is_apart && !first.explicit {
            return None;
        }
        Some((first, End { before, words: words.from(at), reading }))
    })
}

/// What a line begins with that ends something.
const ENDING_VERBS: &str = "end exit hang stop finish return break quit leave";

/// Without the marks and words that join it to what follows; whether they keep it apart from that; none: nothing joins them.
fn strip_joint(words: Phrase<'_>) -> Option<(Phrase<'_>, bool)> {
    let (mut rest, mut is_apart) = (words.trim(), false);
    loop {
        let marks = rest.text.trim_end_matches([',', ';', '.', '&', '—', '–', ' ']);
        is_apart |= marks.len() < rest.text.len();
        let before = rest.until(marks.len());
        let then = before.strip_end("then");
        is_apart |= then.is_some();
        match then.or_else(|| before.strip_end("and")) {
            Some(next) => rest = next,
            None => return (before.text.len() < words.trim().text.len()).then_some((before, is_apart)),
        }
    }
}

/// Whether an end that follows `before` comes after it, and is no part of it: not so in `Tell them how to save and exit`,
/// `Ask for the start and end`.
fn may_end_after(before: Phrase<'_>, reading: &Reading, is_apart: bool) -> bool {
    const CONDITIONS: &str = "if when whenever once unless until while";
    const CLAUSES: &str = "how whether that what which who can could may might should must will would or between";
    const SOMEBODY: &str = "the them him her a an my our their your this that everyone everybody";
    const BEGINNINGS: &str = "start begin beginning stop";
    if reading.explicit {
        return true;
    }
    let words: Vec<&str> = before.words().map(|(_, word)| word).collect();
    let is_clause = |at: usize| {
        let to = is_one_of("to", words[at]) && !words.get(at + 1).is_some_and(|next| is_one_of(SOMEBODY, next));
        to || is_one_of(CLAUSES, words[at])
    };
    if before.is_empty() || words.iter().any(|word| is_one_of(CONDITIONS, word)) {
        return false;
    }
    let is_one_thing = || {
        (0..words.len()).any(is_clause)
            || words.last().is_some_and(|last| is_one_of(BEGINNINGS, last))
            || matches!(&reading.kind, StepKind::Ask { targets } if targets.is_empty())
    };
    is_apart && !words.iter().any(|word| is_one_of("to how", word)) || !is_one_thing()
}

/// What follows `Always`, with which an author says that a line must be done.
pub(crate) fn strip_always(line: Phrase<'_>) -> Option<Phrase<'_>> {
    line.strip("always").filter(|rest| !rest.trim_end_marks().is_empty())
}

/// What an `If` begins with, and what turns it round.
const IFS: [(&str, bool); 7] = [
    ("only if", true),
    ("but only if", true),
    ("if", true),
    ("in case", true),
    ("provided that", true),
    ("unless", false),
    ("should it be that", true),
];

const ELSE_IFS: [&str; 12] = [
    "else if",
    "elif",
    "elseif",
    "otherwise if",
    "otherwise, if",
    "else, if",
    "or else, if",
    "or else if",
    "or if",
    "but if",
    "if instead",
    "else when",
];

const ELSES: [&str; 8] = [
    "otherwise",
    "or else",
    "else",
    "in all other cases",
    "in any other case",
    "in every other case",
    "in all other situations",
    "if none of these apply",
];

fn read_branch<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> Option<ItemReading<'a>> {
    if let Some(rest) = line.strip_any(&ELSE_IFS) {
        return Some(read_condition(Arm::ElseIf, line, rest, true, around));
    }
    if let Some(rest) = line.strip_any(&ELSES).and_then(after_remark) {
        let rest = strip_separators(rest);
        // Whether an else arm is explicit depends on the arms above it; the chain decides that.
        let branch = Reading::new(StepKind::Branch { arm: Arm::Else, condition: None }, true);
        if rest.trim_end_marks().is_empty() {
            return Some(ItemReading::line(branch));
        }
        let reading = read_action(rest, around);
        return Some(ItemReading::branch(branch, action(line, rest, reading, around), None));
    }
    for (words, holds) in IFS {
        let Some(rest) = line.strip(words).filter(|rest| rest.strip("of").is_none()) else { continue };
        // A bare `if` says nothing.
        return (!rest.trim_end_marks().is_empty()).then(|| read_condition(Arm::If, line, rest, holds, around));
    }
    // `When writing, use short sentences` is no branch; `When $a is 1, …` and `Should $a be 1, …` are.
    for (word, may_be_in_words) in [("when", false), ("should", true)] {
        let Some(rest) = line.strip(word) else { continue };
        let read = read_condition(Arm::If, line, rest, true, around);
        let acts = |action: &Action<'_>| action.reading.explicit || action.words.begins_action();
        let is_branch = read.line.explicit || (may_be_in_words && read.action.as_ref().is_some_and(acts));
        return is_branch.then_some(read);
    }
    read_check(line, around).or_else(|| read_condition_at_end(line, around))
}

/// `Check if $a is 1; if so, …`: both sides on one line.
fn read_check<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> Option<ItemReading<'a>> {
    let rest = line.strip_any(&["check if", "check whether", "see if", "see whether"])?;
    let after_so = |at: usize| Some((at, rest.from(at).strip_any(&["if so", "if yes"])?));
    let (so, after) = rest.words().find_map(|(at, _)| after_so(at))?;
    let condition = strip_end_separators(rest.until(so)).trim_end_marks().condition()?;
    let (words, otherwise) = split_otherwise(strip_separators(after), around);
    let branch = Reading::new(StepKind::Branch { arm: Arm::If, condition: Some(condition) }, true);
    let action = action(line, words, read_action(words, around), around).filter(|_| !words.is_empty())?;
    Some(ItemReading::branch(branch, Some(action), otherwise))
}

/// What follows a remark in brackets that ends in a mark: `(new patients): ask for $birthday`.
fn after_remark(rest: Phrase<'_>) -> Option<Phrase<'_>> {
    let Some(inside) = rest.strip_bracket() else { return Some(rest) };
    let end = inside.text.find(')')?;
    let (remark, after) = (inside.until(end), inside.from(end + 1).trim());
    let is_remark = !remark.text.contains(['$', '"']) && after.text.starts_with([':', ',']);
    is_remark.then_some(after)
}

/// The longest expression at the beginning, if something that can end a condition follows it.
fn read_leading_condition(rest: Phrase<'_>) -> Option<(Expr, Phrase<'_>)> {
    let whole = rest.leading(Style::Sentence).and_then(|(condition, length)| {
        let behind = rest.from(length).trim();
        let ends = behind.trim_end_marks().is_empty()
            || MARKS.iter().any(|mark| behind.text.starts_with(mark))
            || behind.strip("then").is_some()
            || behind.begins_action();
        ends.then_some((condition, behind))
    });
    // `If $a is 1 - say "one"`: a sign that could belong to the condition, before a verb.
    let apart = || {
        let acts = |at: usize, sign: &str| rest.from(at + sign.len()).trim().begins_action();
        let places = [" - ", " => ", " -> "].iter().filter_map(|sign| Some((rest.text.find(sign)?, sign)));
        let at = places.filter(|(at, sign)| acts(*at, sign)).map(|(at, _)| at).min()?;
        Some((rest.until(at).trim().condition()?, rest.from(at).trim()))
    };
    whole.or_else(apart)
}

/// `Return false if $x is empty`, `Say "Hello." unless $known`: both sides are exact, or it is no branch.
fn read_condition_at_end<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> Option<ItemReading<'a>> {
    let ends = [("if", true), ("unless", false), ("when", true), ("once", true)];
    // Most lines have none of them, and to look for the letters alone costs least.
    let mut ends = ends.into_iter().filter(|(word, _)| line.text.contains(word));
    let (at, holds) = ends.find_map(|(word, holds)| Some((line.find_word(word).filter(|&at| at > 0)?, holds)))?;
    let (head, otherwise) = split_otherwise(line.from(at), around);
    let condition = head.strip_any(&["if", "unless", "when", "once"])?.trim_end_marks().condition()?;
    let words = strip_end_separators(line.until(at));
    let words = words.strip_end("only").map_or(words, strip_end_separators);
    let reading = read_action(words, around);
    let otherwise =
        otherwise.map(|other| Action { reading: instead(&reading.kind, other.words, other.reading), ..other });
    // What is not understood of the other arm may be more of the condition.
    if otherwise.as_ref().is_some_and(|other| !other.reading.explicit) {
        return None;
    }
    let condition = Some(if holds { condition } else { negated(condition) });
    let branch = Reading::new(StepKind::Branch { arm: Arm::If, condition }, true);
    // `Say "Thanks" once $paid is true` may have to wait.
    let waits = head.strip("once").is_some() && !matches!(reading.kind, StepKind::Break | StepKind::Continue);
    let is_sure = !waits && (reading.explicit || !reading.kind.targets().is_empty());
    is_sure.then(|| ItemReading::branch(branch, Some(Action::new(head, words, reading)), otherwise))
}

/// What is done in the other arm, where only its value stands there: `Return 1 if $x is empty, otherwise 2`.
fn instead(done: &StepKind, words: Phrase<'_>, reading: Reading) -> Reading {
    // A text by itself is said elsewhere; here it is the value.
    let is_value = !reading.explicit || matches!(reading.kind, StepKind::Say { .. });
    let Some(value) = words.trim_end_marks().expr().filter(|_| is_value) else { return reading };
    if let StepKind::Return(_) = done {
        return Reading::new(StepKind::Return(Returned::Value(value)), true);
    }
    let StepKind::Assign { target, .. } = done else { return reading };
    Reading::new(StepKind::Assign { target: target.clone(), value: Some(value) }, true)
}

/// A condition turned round: that of an `Unless`.
fn negated(condition: Expr) -> Expr {
    let span = condition.span;
    let kind = if let ExprKind::Binary(BinaryOperator::Equal, left, right) = condition.kind {
        ExprKind::Binary(BinaryOperator::NotEqual, left, right)
    } else if let ExprKind::Test { subject, test, negated } = condition.kind {
        ExprKind::Test { subject, test, negated: !negated }
    } else {
        ExprKind::Unary(UnaryOperator::Not, Box::new(condition))
    };
    Expr { kind, span }
}

/// Reads what follows an `If` (`holds`) or an `Unless`.
fn read_condition<'a>(
    arm: Arm,
    line: Phrase<'a>,
    rest: Phrase<'a>,
    holds: bool,
    around: Surroundings<'_>,
) -> ItemReading<'a> {
    let branch = |condition: Option<Expr>| {
        let explicit = condition.is_some();
        let condition = condition.map(|condition| if holds { condition } else { negated(condition) });
        Reading::new(StepKind::Branch { arm, condition }, explicit)
    };
    let rest = rest.strip_mark(',').unwrap_or(rest);
    if let Some((condition, rest)) = read_leading_condition(rest) {
        let behind = strip_separators(rest);
        if behind.trim_end_marks().is_empty() {
            return ItemReading::line(branch(Some(condition)));
        }
        let begins_action = behind.begins_action();
        if behind.text.len() < rest.text.len() || rest.is_empty() || begins_action {
            let (words, otherwise) = split_otherwise(behind, around);
            let reading = read_action(words, around);
            let goes_on = words.strip_any(&["and", "or", "but", "unless", "nor", "while", "if", "for"]).is_some()
                || words.text.starts_with(['"', '\'', '$', '“', '(', '[', '-', '+', '*', '/'])
                || words.text.starts_with(|c: char| c.is_ascii_digit());
            // `If $x is "a", "b" or "c"`: what follows the comma still belongs to the condition.
            if !(goes_on && !reading.explicit && matches!(reading.kind, StepKind::Free | StepKind::Say { .. })) {
                let action = action(line, words, reading, around);
                return ItemReading::branch(branch(Some(condition)), action, otherwise);
            }
        }
    }
    let (rest, otherwise) = split_otherwise(rest, around);
    let action = find_action(rest, around).and_then(|(words, reading)| action(line, words, reading, around));
    let otherwise = otherwise.filter(|_| action.is_some());
    ItemReading::branch(branch(None), action, otherwise)
}

/// What stands before `, otherwise …` or `; else …` on the same line, and that as an arm of its own.
fn split_otherwise<'a>(words: Phrase<'a>, around: Surroundings<'_>) -> (Phrase<'a>, Option<Action<'a>>) {
    let ends_before = |at: usize| words.text[..at].trim_end().ends_with([',', ';', '.', '—', '–']);
    // `then End else Say "x"`: without a mark each side must be an action, and one of them exact.
    let parts_actions = |at: usize, length: usize| {
        let (before, after) = (words.until(at).trim(), strip_separators(words.from(at + length).trim()));
        let before = before.find_word("then").map_or(before, |then| before.from(then + "then".len()).trim());
        let acts = |words: Phrase<'_>| (words.begins_action(), read_action(words, around).explicit);
        let ((begins, exact), (other_begins, other_exact)) = (acts(before), acts(after));
        (begins || exact) && (other_begins || other_exact) && (exact || other_exact)
    };
    let arms = words.words().filter_map(|(at, _)| {
        let length = ["otherwise", "else", "if not"].iter().find(|arm| words.from(at).strip(arm).is_some())?.len();
        Some((at, length))
    });
    let ends = |&(at, length): &(usize, usize)| ends_before(at) || parts_actions(at, length);
    let Some((at, length)) = arms.take(MAX_SPLITS).find(ends).filter(|_| !around.has_children) else {
        return (words, None);
    };
    let rest = strip_separators(words.from(at + length).trim());
    if rest.trim_end_marks().is_empty() || rest.strip("if").is_some() {
        return (words, None);
    }
    let before = words.until(words.text[..at].trim_end_matches([',', ';', '.', '—', '–', ' ']).len());
    let condition = words.from(at).until(length);
    (before, Some(Action::new(condition, rest, read_action(rest, around))))
}

/// The action as a line of its own; none where it only says that the nested items are what is to be done.
fn action<'a>(line: Phrase<'a>, words: Phrase<'a>, reading: Reading, around: Surroundings<'_>) -> Option<Action<'a>> {
    let is_filler = around.has_children && matches!(reading.kind, StepKind::Free) && is_filler(words);
    let head = line.until(words.start() - line.start());
    (!is_filler).then(|| Action::new(strip_end_separators(head), words, reading))
}

/// `do the following:`, `proceed as follows`.
fn is_filler(words: Phrase<'_>) -> bool {
    const VERBS: [&str; 10] =
        ["please", "do", "follow", "take", "perform", "execute", "carry out", "go through", "proceed", "continue"];
    let mut rest = words.trim_end_marks();
    while let Some(next) = rest.strip_any(&VERBS) {
        rest = next;
    }
    let rest = rest.strip("with").unwrap_or(rest);
    rest.is("as follows") || rest.is("like this") || strip_filler(rest).is_empty()
}

/// Without the marks and the `then` between a condition and what follows it.
fn strip_end_separators(words: Phrase<'_>) -> Phrase<'_> {
    let mut rest = words;
    loop {
        let n_bytes = rest
            .text
            .trim_end_matches(|c: char| matches!(c, ',' | ':' | ';' | '—' | '–' | '→' | '-') || c.is_whitespace())
            .len();
        rest = rest.until(n_bytes);
        match rest.words().last() {
            Some((at, word)) if word.eq_ignore_ascii_case("then") && at + word.len() == n_bytes => {
                rest = rest.until(at)
            }
            _ => return rest,
        }
    }
}

/// The action after a condition in words: whatever can be read after a comma, a colon or `then`; else the words
/// after one of them, best those that begin with a verb, unless items are nested under it.
fn find_action<'a>(rest: Phrase<'a>, around: Surroundings<'_>) -> Option<(Phrase<'a>, Reading)> {
    // A type after a variable and a number with a comma in it are no end of a condition.
    let is_end = |at: usize| !rest.text[at..].starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_lowercase());
    let marks = rest.text.match_indices([',', ':']).map(|(at, _)| at + 1).filter(|&at| is_end(at));
    let mut splits: Vec<usize> = marks.take(MAX_SPLITS).collect();
    splits.extend(rest.find_word("then").map(|at| at + "then".len()));
    splits.sort_unstable();
    let actions: Vec<Phrase<'a>> = splits
        .into_iter()
        .map(|at| strip_separators(rest.from(at).trim()))
        .filter(|words| !words.trim_end_marks().is_empty())
        .collect();
    let read = |words: Phrase<'a>| (words, read_action(words, around));
    let known = actions.iter().map(|&words| read(words)).find(|(_, reading)| !matches!(reading.kind, StepKind::Free));
    if known.is_some() || around.has_children || rest.text.ends_with(':') {
        return known;
    }
    let verb = actions.iter().find(|words| words.begins_action());
    verb.or(actions.first()).map(|&words| read(words))
}
