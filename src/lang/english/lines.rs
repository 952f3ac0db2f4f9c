//! Reads one line of a playbook for what can be known without a model (spec `language.md`, "Steps").
//!
//! When in doubt a line is free text: a line read as something it is not is worse than one that is left to the
//! model. `explicit` is set only where every word of the line was understood.

use std::sync::Arc;

use crate::english::calls::{read_call, read_call_of};
use crate::english::grammar::means::{Change, Means};
use crate::english::grammar::rules::Rule;
use crate::english::grammar::time::says_when;
use crate::english::grammar::{Found, rows};
use crate::english::phrase::{Phrase, end_before};
use crate::english::questions::{read_ask, read_asking};
use crate::english::reading::{Near, Reading, Surroundings};
use crate::english::words::{capitalised, looks_like_name};
use crate::expr::lexer::{scan_curly_quotes, scan_string};
use crate::expr::{BinaryOperator, Expr, ExprKind, bare_text, is_one_of};
use crate::program::{Argument, Returned, StepKind, Target};
use crate::value::{Reference, Value};

/// What follows a word that only joins a line to the one before it, or asks for it: `then`, `please`.
pub(crate) fn strip_lead(line: Phrase<'_>) -> Option<Phrase<'_>> {
    line.strip_any(&["please", "then", "and then", "now", "also", "first", "finally", "next,", "just", "simply"])
}

/// Reads what can stand on a line of its own or after a condition.
pub(super) fn read_action(line: Phrase<'_>, around: Surroundings<'_>) -> Reading {
    let line = line.trim();
    let line = match strip_lead(line) {
        // `Now()` is a call.
        Some(rest) if !rest.is_empty() && !rest.text.starts_with(['(', '.']) => rest.strip_mark(',').unwrap_or(rest),
        _ => line,
    };
    read_return(line, around)
        .or_else(|| read_call(line, None, around))
        .or_else(|| read_call_in_plain_words(line, around))
        .or_else(|| read_title_with_values(line, around))
        .or_else(|| read_asking(line, around))
        .or_else(|| read_rows(line, around))
        .or_else(|| read_ask(line, around))
        .unwrap_or_else(Reading::free)
}

/// The first row of the grammar, but for loops, that the line has a sense by.
fn read_rows(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let mut near = None;
    for found in rows(line, |_| true) {
        match found {
            Found::Row(rule, holes) => {
                if let Some(reading) = read_row(line, rule.means, &holes, around) {
                    return Some(reading);
                }
            }
            Found::Near(rule, hole, place) => {
                near.get_or_insert_with(|| Near::of(rule, hole, place));
            }
        }
    }
    near.map(|near| Reading { near: Some(Box::new(near)), ..Reading::free() })
}

/// What a row says with what stands in its holes; none where it makes no sense with that.
fn read_row(line: Phrase<'_>, means: Means, holes: &[Phrase<'_>], around: Surroundings<'_>) -> Option<Reading> {
    let exact = |kind| Some(Reading::new(kind, true));
    let target = |at: usize| holes.get(at).and_then(|hole| hole.target()).map(|(target, _)| target);
    let set = |target: Target, value: Expr| exact(StepKind::Assign { target, value: Some(value) });
    match means {
        Means::EndProgram => exact(StepKind::End),
        Means::EndPlaybook => exact(StepKind::Return(Returned::Nothing)),
        Means::Break => exact(StepKind::Break),
        Means::Continue => exact(StepKind::Continue),
        Means::ContinueWith => {
            let word = holes.first()?.trim_end_marks().text;
            let word = word.strip_prefix('$').unwrap_or(word);
            let is_round = around.rounds.iter().any(|name| name.eq_ignore_ascii_case(word));
            is_round.then(|| Reading::new(StepKind::Continue, true))
        }
        Means::Assign | Means::SetTo => read_assign(target(0)?, *holes.get(1)?, means == Means::SetTo, around),
        Means::AssignInWords => Some(Reading::new(StepKind::Assign { target: target(0)?, value: None }, false)),
        Means::Store => {
            let (target, value) = (target(1)?, holes.first()?.expr()?);
            // `Put $x in $list`: what a list holds stays in it.
            match line.strip("put").filter(|_| around.held.lists.contains(&target.name)) {
                Some(_) => item_of(target, value, around),
                None => set(target, value),
            }
        }
        Means::Truth => set(target(0)?, holes.get(1)?.condition()?),
        Means::Append | Means::AppendTexts => {
            let items: Vec<Expr> = holes.first()?.listed_values()?.into_iter().map(|(_, value)| value).collect();
            if means == Means::AppendTexts && !items.iter().all(is_text) {
                return None;
            }
            Some(append(target(1)?, items))
        }
        Means::Change(change) => {
            let target = target(0)?;
            let value = changed(&target, change, holes.get(1)?.expr()?);
            set(target, value)
        }
        Means::Put(change) => {
            let (target, value) = (target(1)?, holes.first()?.expr()?);
            let adds = change == Change::Add;
            if adds && is_text(&value) {
                return Some(append(target, vec![value]));
            }
            // What is in it decides whether this is a sum or one more item.
            if adds && matches!(value.kind, ExprKind::Reference(_)) {
                return around.held.lists.contains(&target.name).then(|| item_of(target, value, around))?;
            }
            let value = changed(&target, change, value);
            set(target, value)
        }
        Means::Step(change) => {
            let target = target(0)?;
            let by = if matches!(change, Change::Multiply | Change::Divide) { 2 } else { 1 };
            let by = Expr { kind: ExprKind::Literal(Value::Int(by)), span: target.span };
            let value = changed(&target, change, by);
            set(target, value)
        }
        Means::Percent(change) => {
            let (first, second) = (*holes.first()?, *holes.get(1)?);
            let is_first =
                line.text[first.start() - line.start() + first.text.len()..].trim_start().starts_with(['%', 'p']);
            let (target, percent) = if is_first { (second, first) } else { (first, second) };
            let target = target.target()?.0;
            let value = changed(&target, Change::Multiply, part(percent.expr()?, change)?);
            set(target, value)
        }
        Means::Keep => {
            let (line, target) = (strip_joint(holes.first()?.trim_end_marks()), target(1)?);
            // `What is your name? → $name` asks.
            if line.text.trim_end_matches(['"', '”']).ends_with('?') {
                return Some(Reading::new(StepKind::Ask { targets: vec![target] }, false));
            }
            Some(keep(read_action(line, around), target))
        }
        Means::CallInSentence => {
            let call = *holes.get(1)?;
            // `Find the open $orders of the user with GetOrders($id)`: what is found may be what it is to hold.
            let finds = line.strip_any(&["get", "fetch", "find", "load", "look", "create", "calculate", "compute"]);
            let is_given = |name: &str| call.mentions().iter().any(|mention| *mention.name == *name);
            if finds.is_some() && holes.first()?.mentions().iter().any(|mention| !is_given(mention.name)) {
                return None;
            }
            read_call(call, None, around)
        }
        // A word that is also a playbook's title (`Check the order with Care`) names nothing here.
        Means::CallNamed => {
            let (words, name) = (*holes.first()?, *holes.get(1)?);
            // `Make sure of their id, and read their $profile with GetUser` does more than one thing.
            if words.text.contains([',', '$']) || words.find_word("and").is_some() {
                return None;
            }
            let is_name = looks_like_name(name.text) && !name.text.contains(char::is_whitespace);
            read_call_in_plain_words(name, around).filter(|_| is_name)
        }
        Means::CallWith => read_call_with(*holes.first()?, *holes.get(1)?, around),
        Means::Say => {
            let literal = read_quoted(*holes.first()?)?;
            exact(StepKind::Say { literal: Some(literal) })
        }
        Means::SayValue => {
            let literal = spoken(&holes.first()?.expr()?)?;
            exact(StepKind::Say { literal: Some(literal.into()) })
        }
        // `Greet the guest and ask how you can help` is a question.
        Means::Speak if holes.last().is_some_and(|rest| rest.find_word("ask").is_some()) => None,
        Means::SayInWords | Means::Speak => Some(Reading::new(StepKind::Say { literal: None }, false)),
        Means::Nearly(..) => {
            let read = read_ask(line, around).unwrap_or_else(Reading::free);
            Some(Reading { near: nearly(line), ..read })
        }
        // Where it cannot become two lines.
        Means::SayThenEnd => {
            let said = *holes.first()?;
            let near = two_actions(line, &format!("Say {}", said.text.trim()), end_before(line, said).text);
            Some(Reading { near: Some(Box::new(near)), ..Reading::free() })
        }
        Means::Loop(_) => None,
    }
}

/// Two actions on one line, each as a line of its own.
pub(super) fn two_actions(place: Phrase<'_>, first: &str, second: &str) -> Near {
    let message = "this line has two actions, so the model does both; give each a line of its own".to_owned();
    let wording = format!("{first}` and below it `{}", capitalised(second));
    Near { place: place.span(), message, wording, repair: None }
}

/// What a line that is left to the model was probably meant to be, by the rows that say that.
pub(super) fn nearly(line: Phrase<'_>) -> Option<Box<Near>> {
    rows(line, |means| matches!(means, Means::Nearly(..))).find_map(|found| {
        let Found::Row(Rule { means: Means::Nearly(why, wording), .. }, _) = found else { return None };
        let (message, wording) = ((*why).to_owned(), (*wording).to_owned());
        Some(Box::new(Near { place: line.span(), message, wording, repair: None }))
    })
}

/// `value` as one more item of a list; a list may be meant to be one, or to give its own items.
fn item_of(target: Target, value: Expr, around: Surroundings<'_>) -> Option<Reading> {
    let holds_list = |reference: &Reference| reference.path.is_empty() && around.held.lists.contains(&reference.name);
    let is_list = matches!(&value.kind, ExprKind::Reference(reference) if holds_list(reference))
        || matches!(value.kind, ExprKind::List(_) | ExprKind::Range(..));
    (!is_list).then(|| append(target, vec![value]))
}

/// What a value is multiplied by that grows or shrinks by `percent`: `0.9`, `1 + $rate / 100`.
fn part(percent: Expr, change: Change) -> Option<Expr> {
    let (span, grows) = (percent.span, change == Change::Add);
    let literal = |value: Value| Expr { kind: ExprKind::Literal(value), span };
    let of = |number: f64| Some(literal(Value::Float((if grows { 100.0 + number } else { 100.0 - number }) / 100.0)));
    if let ExprKind::Literal(Value::Int(number)) = &percent.kind {
        return of(*number as f64);
    }
    if let ExprKind::Literal(Value::Float(number)) = &percent.kind {
        return of(*number);
    }
    let hundred = Box::new(literal(Value::Int(100)));
    let share = Expr { kind: ExprKind::Binary(BinaryOperator::Divide, Box::new(percent), hundred), span };
    let operator = if grows { BinaryOperator::Add } else { BinaryOperator::Subtract };
    let kind = ExprKind::Binary(operator, Box::new(literal(Value::Int(1))), Box::new(share));
    Some(Expr { kind, span })
}

/// What is said of a value: `$x`, `"Total: " + $total`.
fn spoken(value: &Expr) -> Option<String> {
    if let ExprKind::Text(pieces) = &value.kind {
        return Some(pieces.iter().map(Expr::as_piece).collect());
    }
    // Two numbers would be added; a text with something is one text.
    if let ExprKind::Binary(BinaryOperator::Add, left, right) = &value.kind
        && (is_text(left) || is_text(right))
    {
        return Some(spoken(left)? + &spoken(right)?);
    }
    let is_piece = matches!(value.kind, ExprKind::Reference(_) | ExprKind::Literal(Value::Str(_)));
    is_piece.then(|| value.as_piece())
}

fn is_text(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Literal(Value::Str(_)) | ExprKind::Text(_))
}

/// Without the `and` or comma at the end that joined it to what follows.
fn strip_joint(words: Phrase<'_>) -> Phrase<'_> {
    words.until(words.text.trim_end_matches([',', ' ']).len())
}

/// What a line does, with the variable that keeps what comes of it.
fn keep(done: Reading, target: Target) -> Reading {
    match done {
        Reading { kind: StepKind::Call(mut call), explicit, near } => {
            call.result = Some(target);
            Reading { kind: StepKind::Call(call), explicit, near }
        }
        Reading { kind: StepKind::Ask { mut targets }, .. } => {
            targets.retain(|known| known.name != target.name);
            targets.push(target);
            Reading::new(StepKind::Ask { targets }, false)
        }
        _ => Reading::new(StepKind::Assign { target, value: None }, false),
    }
}

/// `target` with more items: `$x + ["a"]`.
fn append(target: Target, items: Vec<Expr>) -> Reading {
    let span = items.first().map_or(target.span, |first| first.span);
    let value = changed(&target, Change::Add, Expr { kind: ExprKind::List(items), span });
    Reading::new(StepKind::Assign { target, value: Some(value) }, true)
}

/// `target` as it is after a change: `$x + 5`. A text is an item more of a list.
fn changed(target: &Target, change: Change, by: Expr) -> Expr {
    let operator = match change {
        Change::Add => BinaryOperator::Add,
        Change::Subtract => BinaryOperator::Subtract,
        Change::Multiply => BinaryOperator::Multiply,
        Change::Divide => BinaryOperator::Divide,
    };
    let span = target.span.to(by.span);
    let reference = Reference { name: target.name.clone(), path: Vec::new() };
    let before = Expr { kind: ExprKind::Reference(reference), span: target.span };
    Expr { kind: ExprKind::Binary(operator, Box::new(before), Box::new(by)), span }
}

/// `GetOrder with $id and $name`: a call whose arguments are values, or words.
fn read_call_with(callee: Phrase<'_>, arguments: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let mut call = read_call_of(callee, around)?;
    let listed = arguments.trim_end_marks().listed_values();
    let argument = |(word, value): (Option<&str>, Expr)| Argument {
        name: word.filter(|word| around.names.has_parameter(around.agent, &call.callee, word)).map(Into::into),
        value,
    };
    call.arguments = listed.map(|values| values.into_iter().map(argument).collect());
    Some(Reading::call(call))
}

/// A title with its arguments after it: `Load the account $number`, `Handle complaint: $request`.
fn read_title_with_values(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let at = line.text.find(['$', ':'])?;
    let title = line.until(at).trim();
    let title = ["with", "for"].iter().find_map(|word| title.strip_end(word)).unwrap_or(title);
    let values = line.from(at);
    let values = values.strip_mark(':').unwrap_or(values);
    // `Count the $what` speaks of a thing.
    if ["the", "a", "an", "my", "their", "this"].iter().any(|word| title.strip_end(word).is_some()) {
        return None;
    }
    around.names.in_plain_words(around.agent, title.text)?;
    read_call_with(title, values, around).filter(|reading| reading.explicit)
}

pub(super) fn read_call_in_plain_words(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    read_call_of(line, around).map(Reading::call)
}

/// What stands between a condition and what is done.
pub(super) const MARKS: [&str; 10] = [",", ":", ";", "—", "–", "- ", "→", "=>", "->", "⇒"];

pub(super) fn strip_separators(mut rest: Phrase<'_>) -> Phrase<'_> {
    loop {
        let mark = MARKS.iter().find_map(|mark| rest.text.strip_prefix(mark).map(|_| rest.from(mark.len()).trim()));
        match mark.or_else(|| rest.strip_any(&["then", "please"])) {
            Some(next) => rest = next,
            None => return rest,
        }
    }
}

/// What follows words that only point to the nested items.
pub(super) fn strip_filler(rest: Phrase<'_>) -> Phrase<'_> {
    let fillers = [
        "all of the following steps",
        "the following steps",
        "the following lines",
        "the following",
        "the steps below",
        "these steps",
        "these lines",
        "this",
        "that",
    ];
    rest.strip_any(&fillers).unwrap_or(rest)
}

fn read_return(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    // `RET` is the older project's; in small letters it is no word of the language.
    let given = || {
        let behind = || line.strip_any(&["give", "hand"])?.trim_end_marks().strip_end("back");
        let rest = line.strip_any(&["give back", "hand back"]).or_else(behind)?;
        rest.trim_end_marks().expr().is_some().then_some(rest)
    };
    let old = || line.strip("ret").filter(|_| line.text.starts_with("RET"));
    let rest = line.strip("return").or_else(old).or_else(given)?;
    let returned = |returned, explicit| Some(Reading::new(StepKind::Return(returned), explicit));
    let rest = rest.strip_mark(':').or_else(|| rest.strip("with")).unwrap_or(rest);
    let value = rest.trim_end_marks().without_ticks();
    let value = value.text.strip_suffix(" to the caller").map_or(value, |head| value.until(head.len()));
    if value.is_empty() || value.is("nothing") || value.is("to the caller") || value.is("to caller") {
        return returned(Returned::Nothing, !around.has_children);
    }
    let value = value.strip("to the caller with").unwrap_or(value);
    // `Return to step 2` goes somewhere, it gives nothing back.
    if value.strip("to").is_some() {
        return None;
    }
    let value = without_remark(value);
    if let Some(expr) = exact_value(value) {
        let is_truth = |name: &&Arc<str>| around.held.truths.contains(*name);
        // Two values that `and` joins are two for people, unless they are true or false.
        if let Some(names) = joined_names(&expr).filter(|names| names.len() > 1 && !names.iter().all(is_truth)) {
            let list: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
            let message = "`and` gives one value back that is true or false; two values are a list".to_owned();
            let wording = format!("Return [{}]", list.join(", "));
            let near = Near { place: value.span(), message, wording, repair: None };
            let kind = StepKind::Return(Returned::Words);
            return Some(Reading { kind, explicit: false, near: Some(Box::new(near)) });
        }
        return returned(Returned::Value(expr), !around.has_children);
    }
    let call = value.strip_any(&["the result of", "result of", "what", "the outcome of"]).unwrap_or(value);
    let call = call.strip_end("gives").or_else(|| call.strip_end("returns")).unwrap_or(call);
    let is_call = |reading: &Reading| matches!(reading.kind, StepKind::Call(_));
    let called = read_call(call, None, around).filter(is_call).or_else(|| read_call_in_plain_words(call, around));
    if let Some(Reading { kind: StepKind::Call(call), explicit, .. }) = called {
        return returned(Returned::Call(call), explicit && !around.has_children);
    }
    returned(Returned::Words, false)
}

/// Without a remark in brackets at its end: `"declined" (no exceptions)`.
fn without_remark(value: Phrase<'_>) -> Phrase<'_> {
    const CONDITIONS: &str = "if unless when only or and but else otherwise not";
    let split = value.text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    let Some((before, inside)) = split else { return value };
    let remark = value.from(before.len() + 2).until(inside.len());
    let is_remark = !inside.contains(['$', '"', '(']) && !remark.words().any(|(_, word)| is_one_of(CONDITIONS, word));
    let before = value.until(before.len()).trim();
    if is_remark && before.expr().is_some() { before } else { value }
}

/// The variables that `and` joins, or the one that stands there, if nothing else does.
fn joined_names(value: &Expr) -> Option<Vec<&Arc<str>>> {
    if let ExprKind::Binary(BinaryOperator::And, left, right) = &value.kind {
        return Some([joined_names(left)?, joined_names(right)?].concat());
    }
    let ExprKind::Reference(reference) = &value.kind else { return None };
    reference.path.is_empty().then(|| vec![&reference.name])
}

/// A value that is said exactly: an expression, `yes` or `no`, `whether $x is 3`.
fn exact_value(value: Phrase<'_>) -> Option<Expr> {
    let truth = || {
        let truth = value.is("yes").then_some(true).or_else(|| value.is("no").then_some(false))?;
        Some(Expr { kind: ExprKind::Literal(Value::Bool(truth)), span: value.span() })
    };
    // What holds the list is the list.
    let held = || {
        let held = value.strip_any(&["the list of", "the list", "the value of"])?.expr()?;
        matches!(held.kind, ExprKind::Reference(_)).then_some(held)
    };
    let empty = || {
        let empty = value.strip_any(&["an empty", "the empty", "empty"])?;
        let kind = match (empty.is("list"), empty.is("text")) {
            (true, _) => ExprKind::List(Vec::new()),
            (_, true) => ExprKind::Literal(Value::from("")),
            _ => return None,
        };
        Some(Expr { kind, span: value.span() })
    };
    value.expr().or_else(truth).or_else(held).or_else(empty).or_else(|| value.strip("whether")?.condition())
}

/// The value that a variable gets, in whatever form.
fn read_assign(target: Target, value: Phrase<'_>, in_words: bool, around: Surroundings<'_>) -> Option<Reading> {
    // `$a == 3` assigns nothing.
    if value.text.starts_with('=') {
        return None;
    }
    let value = value.trim_end_marks();
    if let Some(expr) = exact_value(value) {
        return Some(Reading::new(StepKind::Assign { target, value: Some(expr) }, true));
    }
    let called = value.strip_any(&["the result of", "result of", "the result from"]).unwrap_or(value);
    if let Some(reading) = read_call(called, Some(target.clone()), around) {
        return Some(reading);
    }
    if let Some(mut call) = read_call_of(called, around) {
        call.result = Some(target);
        return Some(Reading::call(call));
    }
    // `$name = ask the user for their name` asks.
    if let Some(Reading { kind: StepKind::Ask { mut targets }, .. }) = read_ask(value, around) {
        targets.retain(|known| known.name != target.name);
        targets.insert(0, target);
        return Some(Reading::new(StepKind::Ask { targets }, false));
    }
    // Words without quotes are a text here as after `is`, but for a time, which is another one when it is said.
    if let Some(text) = bare_text(value.text).filter(|_| in_words && !says_when(value)) {
        let literal = Expr { kind: ExprKind::Literal(Value::from(text)), span: value.span() };
        return Some(Reading::new(StepKind::Assign { target, value: Some(literal) }, true));
    }
    Some(Reading::new(StepKind::Assign { target, value: None }, false))
}

/// The content of a text in straight or typographic quotes, if nothing else stands there. A line break in it is
/// a space, as everywhere in Markdown.
pub(crate) fn read_quoted(words: Phrase<'_>) -> Option<Arc<str>> {
    let text = words.text;
    let unwrapped = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let one_line = if text.contains(['\n', '\r']) { &unwrapped } else { text };
    let straight = || one_line.starts_with(['"', '\'']).then(|| scan_string(one_line)).flatten();
    let (content, length) = match scan_curly_quotes(one_line) {
        Some((content, length)) => (content.to_owned(), length),
        None => straight()?,
    };
    (length == one_line.len()).then(|| content.into())
}
