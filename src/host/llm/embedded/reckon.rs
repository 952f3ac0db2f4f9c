//! Values in words: `the sum of $a and $b`, `one more than $n`, `an empty list`.

use crate::lang::expr::{BinaryOperator, Expr, ExprKind, parse};
use crate::span::{FileId, Span};
use crate::value::{Reference, Value};

use super::english::{find, strip, strip_any, unquoted, without_end, words};
use super::numbers::numbers;
use super::scope::Scope;

/// What a text comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Worth {
    /// The value of a variable, as it is.
    Reference(Reference),
    /// A value.
    Value(Value),
}

impl Worth {
    /// The value itself.
    pub(super) fn value(&self, scope: &Scope) -> Option<Value> {
        match self {
            Worth::Value(value) => Some(value.clone()),
            Worth::Reference(reference) => {
                use super::wording::Values;
                scope.value(&reference.name)?.at(&reference.path).ok().cloned()
            }
        }
    }
}

/// How deep words may be nested.
const MAX_DEPTH: usize = 8;

/// What a text comes to; none: it is not arithmetic, or something of it is not there.
pub(super) fn worth(text: &str, scope: &Scope) -> Option<Worth> {
    if let Some(quoted) = unquoted(text) {
        return Some(Worth::Value(Value::str(quoted)));
    }
    let expr = read(text, 0)?;
    let value = scope.eval(&expr).ok()?;
    Some(match expr.kind {
        ExprKind::Reference(reference) => Worth::Reference(reference),
        ExprKind::Literal(_)
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Text(_)
        | ExprKind::Range(..)
        | ExprKind::Length(_)
        | ExprKind::Test { .. } => Worth::Value(value),
    })
}

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::new(FileId(0), 0, 0) }
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    expr(ExprKind::Binary(operator, Box::new(left), Box::new(right)))
}

/// Operators between two values, as people write them.
const BETWEEN: [(&str, BinaryOperator); 11] = [
    ("plus", BinaryOperator::Add),
    ("increased by", BinaryOperator::Add),
    ("minus", BinaryOperator::Subtract),
    ("reduced by", BinaryOperator::Subtract),
    ("decreased by", BinaryOperator::Subtract),
    ("less", BinaryOperator::Subtract),
    ("times", BinaryOperator::Multiply),
    ("multiplied by", BinaryOperator::Multiply),
    ("divided by", BinaryOperator::Divide),
    ("modulo", BinaryOperator::Remainder),
    ("mod", BinaryOperator::Remainder),
];

/// Operators before two values.
const BEFORE: [(&str, &[&str], BinaryOperator); 6] = [
    ("sum of", &["and"], BinaryOperator::Add),
    ("total of", &["and"], BinaryOperator::Add),
    ("difference between", &["and"], BinaryOperator::Subtract),
    ("difference of", &["and"], BinaryOperator::Subtract),
    ("product of", &["and"], BinaryOperator::Multiply),
    ("remainder of", &["divided by", "by"], BinaryOperator::Remainder),
];

fn read(text: &str, depth: usize) -> Option<Expr> {
    let text = without_end(text);
    if depth > MAX_DEPTH || text.is_empty() {
        return None;
    }
    if let Some(constant) = constant(text) {
        return Some(expr(ExprKind::Literal(constant)));
    }
    let looks_exact = text.contains(['$', '[', '{']) || text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if looks_exact && let Ok(expr) = parse(text, FileId(0), 0) {
        return Some(expr);
    }
    let counted = strip(text, "the").unwrap_or(text);
    if let Some(whole) = strip_any(
        counted,
        &["length of", "number of items in", "number of entries in", "number of elements in", "count of"],
    ) {
        return Some(expr(ExprKind::Length(Box::new(read(whole, depth + 1)?))));
    }
    let text = strip_any(
        text,
        &["what is", "the result of", "the value of", "the same as", "the number", "the same value as", "that is"],
    )
    .unwrap_or(text);
    let bare = strip(text, "the").unwrap_or(text);
    for (phrase, separators, operator) in BEFORE {
        if let Some(operands) = strip(bare, phrase) {
            let (start, end) = separators.iter().find_map(|separator| find(operands, separator))?;
            let (left, right) = (read(&operands[..start], depth + 1)?, read(&operands[end..], depth + 1)?);
            return Some(binary(operator, left, right));
        }
    }
    for (phrase, factor) in [("twice", 2), ("double", 2), ("three times", 3)] {
        if let Some(rest) = strip(bare, phrase) {
            return Some(binary(
                BinaryOperator::Multiply,
                read(rest, depth + 1)?,
                expr(ExprKind::Literal(Value::Int(factor))),
            ));
        }
    }
    if let Some(rest) = strip_any(bare, &["half of", "half"]) {
        return Some(binary(BinaryOperator::Divide, read(rest, depth + 1)?, expr(ExprKind::Literal(Value::Int(2)))));
    }
    // `3 less than $n` begins with what is taken away.
    for (phrase, operator) in [
        ("more than", BinaryOperator::Add),
        ("less than", BinaryOperator::Subtract),
        ("fewer than", BinaryOperator::Subtract),
    ] {
        if let Some((start, end)) = find(text, phrase) {
            return Some(binary(operator, read(&text[end..], depth + 1)?, read(&text[..start], depth + 1)?));
        }
    }
    for (phrase, operator) in BETWEEN {
        if let Some((start, end)) = find(text, phrase).filter(|(start, _)| *start > 0) {
            return Some(binary(operator, read(&text[..start], depth + 1)?, read(&text[end..], depth + 1)?));
        }
    }
    if text.contains('$') {
        return parse(text, FileId(0), 0).ok();
    }
    // A number in words and nothing else.
    match (numbers(text).as_slice(), words(text).len()) {
        ([number], 1..=4) if is_number_only(text) => Some(expr(ExprKind::Literal(number.clone()))),
        _ => None,
    }
}

fn is_number_only(text: &str) -> bool {
    words(text).iter().all(|word| {
        word.split('-').all(|part| {
            ["and", "a", "hundred", "thousand", "million", "dozen"].contains(&part.to_lowercase().as_str())
                || !numbers(part).is_empty()
        })
    })
}

fn constant(text: &str) -> Option<Value> {
    Some(match text.to_lowercase().as_str() {
        "true" | "yes" => Value::Bool(true),
        "false" | "no" => Value::Bool(false),
        "null" | "none" | "nothing" | "unknown" => Value::Null,
        "an empty list" | "empty list" | "the empty list" => Value::list(Vec::new()),
        "an empty dict" | "an empty map" | "an empty object" => Value::map(crate::value::Map::new()),
        "empty" | "an empty string" | "an empty text" | "empty text" | "the empty string" => Value::str(""),
        _ => return None,
    })
}

/// A value that is given by plain words: `done`, `in progress`.
pub(super) fn plain_words(text: &str) -> Option<Value> {
    const STARTS: [&str; 24] = [
        "the", "a", "an", "their", "its", "it", "his", "her", "what", "whatever", "which", "how", "that", "this",
        "whether", "all", "any", "some", "your", "them", "one", "who", "where", "when",
    ];
    let text = without_end(text);
    let all = words(text);
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || c == ' ' || c == '_' || c == '-');
    let begins_otherwise = all.first().is_some_and(|first| super::english::is_one_of(first, &STARTS));
    (is_plain && !begins_otherwise && (1..=2).contains(&all.len())).then(|| Value::str(text))
}
