//! What an item of a list is read as: a line, or a branch and what it does on its own line, each by itself.

use crate::english::lines::{
    read_action, read_call_in_plain_words, read_leading_condition, read_line, strip_filler, strip_separators,
};
use crate::english::reading::{Action, ItemReading, Reading, Surroundings};
use crate::english::words::Phrase;
use crate::expr::Expr;
use crate::program::{Arm, StepKind};

/// How many places of a line are tried as the end of its condition; a bound for hostile lines only.
const MAX_SPLITS: usize = 16;

/// Verbs with which an action begins: where one follows a comma, the condition is over.
const VERBS: [&str; 34] = [
    "add",
    "apologise",
    "apologize",
    "ask",
    "call",
    "collect",
    "congratulate",
    "do",
    "end",
    "exit",
    "explain",
    "get",
    "give",
    "go",
    "greet",
    "hand",
    "inform",
    "let",
    "prompt",
    "quit",
    "remind",
    "repeat",
    "request",
    "return",
    "run",
    "say",
    "set",
    "show",
    "stop",
    "tell",
    "thank",
    "wait",
    "welcome",
    "wish",
];

/// Reads a whole item.
pub(crate) fn read_item<'a>(words: Phrase<'a>, around: Surroundings<'_>) -> ItemReading<'a> {
    let words = words.trim().without_ticks();
    // The words of a playbook's name come first, even if they begin with `If`.
    if let Some(call) = read_call_in_plain_words(words, around) {
        return ItemReading::line(call);
    }
    read_branch(words, around).unwrap_or_else(|| ItemReading::line(read_line(words, around)))
}

fn read_branch<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> Option<ItemReading<'a>> {
    if let Some(rest) = line.strip_any(&["else if", "elif", "elseif", "otherwise if", "otherwise, if", "else, if"]) {
        return Some(read_condition(Arm::ElseIf, line, rest, around));
    }
    if let Some(rest) = line.strip("if") {
        // A bare `if` says nothing.
        return (!rest.trim_end_marks().is_empty()).then(|| read_condition(Arm::If, line, rest, around));
    }
    let rest = strip_separators(line.strip_any(&["otherwise", "else"])?);
    // Whether an else arm is explicit depends on the arms above it; the chain decides that.
    let branch = Reading::new(StepKind::Branch { arm: Arm::Else, condition: None }, true);
    if rest.trim_end_marks().is_empty() {
        return Some(ItemReading::line(branch));
    }
    let reading = read_action(rest, around);
    Some(ItemReading { line: branch, action: action(line, rest, reading, around) })
}

fn read_condition<'a>(arm: Arm, line: Phrase<'a>, rest: Phrase<'a>, around: Surroundings<'_>) -> ItemReading<'a> {
    let branch = |condition: Option<Expr>| {
        let explicit = condition.is_some();
        Reading::new(StepKind::Branch { arm, condition }, explicit)
    };
    if let Some((condition, rest)) = read_leading_condition(rest) {
        let behind = strip_separators(rest);
        if behind.trim_end_marks().is_empty() {
            return ItemReading::line(branch(Some(condition)));
        }
        if behind.text.len() < rest.text.len() || rest.is_empty() {
            let reading = read_action(behind, around);
            let goes_on = behind.strip_any(&["and", "or", "but", "unless", "nor", "while", "if", "for"]).is_some()
                || behind.text.starts_with(['"', '\'', '$', '“', '(', '[', '-', '+', '*', '/'])
                || behind.text.starts_with(|c: char| c.is_ascii_digit());
            // `If $x is "a", "b" or "c"`: what follows the comma still belongs to the condition.
            if !(goes_on && matches!(reading.kind, StepKind::Free)) {
                return ItemReading { line: branch(Some(condition)), action: action(line, behind, reading, around) };
            }
        }
    }
    let action = find_action(rest, around).and_then(|(words, reading)| action(line, words, reading, around));
    ItemReading { line: branch(None), action }
}

/// The action as a line of its own; none where it only says that the nested items are what is to be done.
fn action<'a>(line: Phrase<'a>, words: Phrase<'a>, reading: Reading, around: Surroundings<'_>) -> Option<Action<'a>> {
    let is_filler = around.has_children && matches!(reading.kind, StepKind::Free) && is_filler(words);
    let head = line.until(words.start() - line.start());
    (!is_filler).then(|| Action { condition: strip_end_separators(head), words, reading })
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
        let n_bytes = rest.text.trim_end_matches(|c: char| matches!(c, ',' | ':') || c.is_whitespace()).len();
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
    let verb = actions.iter().find(|words| words.strip_any(&VERBS).is_some());
    verb.or(actions.first()).map(|&words| read(words))
}
