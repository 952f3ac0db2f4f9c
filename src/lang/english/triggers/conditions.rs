//! Conditions of triggers: `$attempts > 3`, `$email is provided`, `$order_id changes`.

use std::collections::HashSet;
use std::sync::Arc;

use crate::english::phrase::Phrase;
use crate::english::triggers::wordings::{is_group, strip_group};
use crate::expr::{
    ANY_CASE, BinaryOperator, Expr, ExprKind, LAST_CALL_FAILED, Style, Test, UnaryOperator, expect_condition, is_one_of,
};
use crate::program::{TriggerKind, Type, USER_MESSAGE};
use crate::span::Span;
use crate::value::{Reference, Value};

/// What a trigger waits for that the interpreter judges at each update.
pub(super) fn read_watched(words: Phrase<'_>) -> Option<TriggerKind> {
    if let Some(rest) = words.strip("unless") {
        let kind = ExprKind::Unary(UnaryOperator::Not, Box::new(read_condition(rest)?));
        return Some(TriggerKind::Condition(Expr { kind, span: words.span() }));
    }
    let Some(rest) = strip_when(words).map(Phrase::without_ticks) else {
        let changes = strip_group("on_change", words).and_then(read_one);
        let bare = || read_condition(words).filter(|expr| !is_bare(expr)).map(TriggerKind::Condition);
        return changes.or_else(bare);
    };
    let by_person = || strip_group("person_changes", rest).and_then(read_one);
    // These words are no expression: the condition stands at all of them, not only at the values in them.
    let in_words = || read_said(rest).or_else(|| read_given(rest)).map(|expr| Expr { span: rest.span(), ..expr });
    let condition = || in_words().or_else(|| read_condition(rest));
    let changes = read_changes(rest).map(TriggerKind::Changes).or_else(by_person);
    changes.or_else(|| condition().map(TriggerKind::Condition))
}

/// What follows the word that stands in front of something that comes to be true.
pub(crate) fn strip_when(words: Phrase<'_>) -> Option<Phrase<'_>> {
    strip_group("when", words)
}

/// The variable that `rest` is: its changes.
fn read_one(rest: Phrase<'_>) -> Option<TriggerKind> {
    let (target, behind) = rest.target()?;
    (behind.is_empty() && target.ty == Type::ANY).then(|| TriggerKind::Changes(vec![target.name]))
}

/// `the user says "stop" or "quit"`, `the message contains "refund"`: a condition about the last message.
fn read_said(rest: Phrase<'_>) -> Option<Expr> {
    let said = |group, operator| Some((strip_group(group, rest)?, operator));
    let (mut rest, operator) = said("says_exactly", BinaryOperator::Equal)
        .or_else(|| said("says_words", BinaryOperator::Says))
        .or_else(|| said("person_mentions", BinaryOperator::Contains))
        .or_else(|| said("message_mentions", BinaryOperator::Contains))?;
    let mut texts: Vec<Expr> = Vec::new();
    let any_case = loop {
        let (text, length) = rest.leading_operand()?;
        if !matches!(&text.kind, ExprKind::Literal(Value::Str(_))) {
            return None;
        }
        texts.push(text);
        rest = rest.from(length).trim();
        if rest.is_empty() {
            break false;
        }
        if rest.strip_mark(',').unwrap_or(rest).strip_any(ANY_CASE).is_some_and(Phrase::is_empty) {
            break true;
        }
        rest = rest.strip_joint("or")?;
    };
    // `says` minds no capital letters anyway.
    let lowers = any_case && operator != BinaryOperator::Says;
    let cased = |side: Expr| match lowers {
        true => {
            let span = side.span;
            Expr { kind: ExprKind::Unary(UnaryOperator::Lowercase, Box::new(side)), span }
        }
        false => side,
    };
    let said = texts.into_iter().map(|text| {
        let message = Reference { name: USER_MESSAGE.into(), path: Vec::new() };
        let message = Expr { kind: ExprKind::Reference(message), span: text.span };
        binary(operator, cased(message), cased(text))
    });
    said.reduce(|before, one| binary(BinaryOperator::Or, before, one))
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    let span = Span { end: right.span.end, ..left.span };
    Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
}

/// `the user has provided $email`, `we know $name and $email`.
fn read_given(rest: Phrase<'_>) -> Option<Expr> {
    let given = |group, negated| Some((strip_group(group, rest)?, negated));
    let (values, negated) = given("person_gives", false)
        .or_else(|| given("we_know", false))
        .or_else(|| given("person_has_not_given", true))?;
    let values = values.strip_end("yet").unwrap_or(values).listed_values()?;
    if negated && values.len() > 1 {
        return None;
    }
    let mut tests = values.into_iter().map(|(_, subject)| {
        let is_variable = matches!(subject.kind, ExprKind::Reference(_));
        let span = subject.span;
        let kind = ExprKind::Test { subject: Box::new(subject), test: Test::Provided, negated };
        is_variable.then_some(Expr { kind, span })
    });
    let first = tests.next()??;
    tests.try_fold(first, |before, test| Some(binary(BinaryOperator::And, before, test?)))
}

/// What a trigger in words is that says nearly what a condition could say.
pub(crate) enum NearCondition {
    /// This wording is a condition.
    Wording(String),
    /// It can be read in two ways; what to write.
    Ambiguous(String),
}

/// The wording near to a trigger in words that would be a condition, or why none is.
pub(crate) fn near_condition(text: &str) -> Option<NearCondition> {
    /// `When the number of new $orders is 3`: so many words in front still say nothing else.
    const MAX_IN_FRONT: usize = 6;
    let words = Phrase::by_itself(text).trim().trim_end_marks();
    let rest = strip_when(words).unwrap_or(words);
    if read_condition(rest).is_none() && read_truth(rest).is_some_and(|expr| is_ambiguous(&expr, rest)) {
        let mut names: Vec<String> = rest.mentions().iter().map(|mention| format!("`${}`", mention.name)).collect();
        names.dedup();
        return Some(NearCondition::Ambiguous(match &names[..] {
            [name] => {
                let name = name.trim_matches('`');
                format!("it can be read in two ways; these cannot: `When {name} is \"text\"`, `When {name} > 3`")
            }
            _ => format!("it can be read in two ways; write a separate comparison for each of {}", names.join(", ")),
        }));
    }
    if !text.contains('$') {
        return without_dollar(rest).map(|wording| NearCondition::Wording(format!("When {wording}")));
    }
    let (before, condition) = (rest.until(rest.text.find('$')?), rest.from(rest.text.find('$')?));
    let says_more =
        |(_, word): (usize, &str)| is_one_of("and or but while unless because if that which not never", word);
    if text.contains('\n') || before.words().count() > MAX_IN_FRONT || before.words().any(says_more) {
        return None;
    }
    let (_, length) = condition.leading(Style::Sentence)?;
    let (condition, behind) = (condition.until(length).trim(), condition.from(length).trim());
    // A unit, or what is done then.
    let goes_on = !behind.is_empty() && !behind.text.starts_with([',', '%']) && behind.words().count() != 1;
    if goes_on || behind.text.contains('$') || read_condition(condition).is_none_or(|expr| is_bare(last_operand(&expr)))
    {
        return None;
    }
    Some(NearCondition::Wording(format!("When {}", condition.text)))
}

/// `x > 3`: the condition that it is with a `$`.
fn without_dollar(rest: Phrase<'_>) -> Option<String> {
    let name = rest.first_word().filter(|word| word.starts_with(char::is_alphabetic))?;
    let compares = rest.from(name.len()).trim().text.starts_with(['<', '>', '=', '!']);
    let wording = compares.then(|| format!("${}", rest.text))?;
    read_condition(Phrase::by_itself(&wording))?;
    Some(wording)
}

/// The whole of `rest` as an expression that is true or false, mentions a variable, and has one meaning only.
fn read_condition(rest: Phrase<'_>) -> Option<Expr> {
    let rest = rest.strip_any(&["the value of", "value of", "the number of"]).unwrap_or(rest);
    let rest = rest.strip_end("yet").unwrap_or(rest);
    read_truth(rest).filter(|expr| !is_ambiguous(expr, rest))
}

fn read_truth(rest: Phrase<'_>) -> Option<Expr> {
    rest.condition().filter(|expr| expect_condition(expr).is_ok() && has_reference(expr))
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
    if let ExprKind::Unary(_, operand) = &expr.kind {
        return is_bare(operand);
    }
    matches!(expr.kind, ExprKind::Reference(_) | ExprKind::Literal(_))
}

fn has_reference(expr: &Expr) -> bool {
    let (mut found, mut asks_for_call) = (false, false);
    // No update tells that a call has failed; a trigger on calls does.
    expr.for_each_reference(&mut |reference| {
        found = true;
        asks_for_call |= *reference.name == *LAST_CALL_FAILED;
    });
    found && !asks_for_call
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
    if let ExprKind::Unary(_, operand) = &expr.kind {
        return is_in_words(operand, words);
    }
    let ExprKind::Binary(_, left, right) = &expr.kind else { return matches!(expr.kind, ExprKind::Test { .. }) };
    let at = |place: u32| place.saturating_sub(words.span().start) as usize;
    let between = words.text.get(at(left.span.end)..at(right.span.start));
    between.is_some_and(|sign| sign.contains(char::is_alphabetic))
}

/// `$x changes`, `the value of $x or $y changes`: the names. A part of a value (`$x.a`) cannot be watched.
fn read_changes(rest: Phrase<'_>) -> Option<Vec<Arc<str>>> {
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
        if is_group("change", behind) {
            return Some(names);
        }
        // `$x and $y change` may mean both at once.
        rest = behind.strip_joint("or")?;
    }
}
