//! What the operators of the language do with values (docs/language.md, "What is compared with what"). Comparisons mean
//! what authors mean: a text that is wholly a number compares as that number, a yes or no as a truth. All else that
//! does not fit is a fault.

use std::cmp::Ordering;

use jiff::civil::Date;
use playhouse_lang::expr::{BinaryOperator, read_number};
use playhouse_lang::value::{Bounds, Excess, Value, compare_int_float, is_date};
use unicode_segmentation::UnicodeSegmentation;

use crate::protocol::Tracked;
use crate::variables::fault::EvalFault;

/// Both operands joined by an operator that needs the values of both.
///
/// # Errors
/// Operands that do not fit, a result that is no number, or one that is larger than `bounds`.
pub(crate) fn binary(
    operator: BinaryOperator,
    left: &Tracked,
    right: &Tracked,
    bounds: Bounds,
) -> Result<Value, EvalFault> {
    use BinaryOperator as Op;
    let (a, b) = (left.value(), right.value());
    let order = || compare(left, right);
    match operator {
        Op::Equal => Ok(Value::Bool(equal(a, b))),
        Op::NotEqual => Ok(Value::Bool(!equal(a, b))),
        Op::Less => Ok(Value::Bool(order()?.is_lt())),
        Op::LessOrEqual => Ok(Value::Bool(order()?.is_le())),
        Op::Greater => Ok(Value::Bool(order()?.is_gt())),
        Op::GreaterOrEqual => Ok(Value::Bool(order()?.is_ge())),
        Op::In => contains(right, left).map(Value::Bool),
        Op::Contains => contains(left, right).map(Value::Bool),
        Op::StartsWith | Op::EndsWith => match (a, b) {
            (Value::Str(text), Value::Str(part)) => {
                let is_there =
                    if operator == Op::StartsWith { text.starts_with(&**part) } else { text.ends_with(&**part) };
                Ok(Value::Bool(is_there))
            }
            _ => Err(EvalFault::operands("only a text begins or ends with a text, not {} with {}", left, right)),
        },
        Op::Says => match (a, b) {
            (Value::Str(text), Value::Str(words)) => Ok(Value::Bool(says(text, words))),
            _ => Err(EvalFault::operands("only a text says words, not {} {}", left, right)),
        },
        Op::Add => match (a, b) {
            (Value::Str(a), Value::Str(b)) if a.len() + b.len() > bounds.max_bytes => {
                Err(EvalFault::Excess(Excess::Bytes(bounds.max_bytes)))
            }
            (Value::Str(a), Value::Str(b)) => Ok(Value::from(format!("{a}{b}"))),
            // An item takes a byte of JSON at least.
            (Value::List(a), Value::List(b)) if a.len() + b.len() > bounds.max_bytes => {
                Err(EvalFault::Excess(Excess::Bytes(bounds.max_bytes)))
            }
            (Value::List(a), Value::List(b)) => Ok(Value::list(a.iter().chain(b.iter()).cloned().collect())),
            _ => arithmetic("+", left, right, i64::checked_add, |a, b| a + b),
        },
        Op::Subtract => arithmetic("-", left, right, i64::checked_sub, |a, b| a - b),
        Op::Multiply => arithmetic("*", left, right, i64::checked_mul, |a, b| a * b),
        Op::Divide | Op::Remainder if is_number(a) && is_zero(b) => Err(EvalFault::Number("division by zero")),
        Op::Divide => match (a, b) {
            (Value::Int(a), Value::Int(b)) if a.checked_rem(*b) == Some(0) => Ok(Value::Int(a / b)),
            #[allow(clippy::cast_precision_loss)]
            (Value::Int(a), Value::Int(b)) if *b != -1 => finite(*a as f64 / *b as f64),
            _ => arithmetic("/", left, right, i64::checked_div, |a, b| a / b),
        },
        // The sign is that of the divisor, as in Python.
        Op::Remainder => arithmetic(
            "%",
            left,
            right,
            |a, b| a.checked_rem(b).map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }),
            |a, b| a - b * (a / b).floor(),
        ),
        Op::And | Op::Or => Err(EvalFault::words("`and` and `or` are judged before their operands")),
    }
}

/// A number with the other sign.
///
/// # Errors
/// No number, or one without an opposite.
pub(crate) fn negate(operand: &Tracked) -> Result<Value, EvalFault> {
    match operand.value() {
        Value::Int(int) => int.checked_neg().map(Value::Int).ok_or(TOO_LARGE),
        Value::Float(float) => Ok(Value::Float(-float)),
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => {
            Err(EvalFault::operand("`-` needs a number, not {}", operand))
        }
    }
}

/// The whole numbers from the first to the last, upwards.
///
/// # Errors
/// What is no whole number, and more numbers than a value may hold.
pub(crate) fn range(first: &Tracked, last: &Tracked, bounds: Bounds) -> Result<Value, EvalFault> {
    let (Some(Value::Int(low)), Some(Value::Int(high))) = (as_number(first.value()), as_number(last.value())) else {
        return Err(EvalFault::operands("it goes from one whole number to another, not from {} to {}", first, last));
    };
    // Each number takes two bytes of JSON at least.
    let n_numbers = high.checked_sub(low).and_then(|n| usize::try_from(n.max(-1) + 1).ok());
    if n_numbers.is_none_or(|n| n > bounds.max_bytes / 2) {
        return Err(EvalFault::Excess(Excess::Bytes(bounds.max_bytes)));
    }
    Ok(Value::list((low..=high).map(Value::Int).collect()))
}

/// How many characters, items or members there are.
///
/// # Errors
/// What has no length.
pub(crate) fn length(operand: &Tracked) -> Result<Value, EvalFault> {
    let n = match operand.value() {
        Value::Str(text) => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(members) => members.len(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            return Err(EvalFault::operand("`length of` needs text, a list or a dict, not {}", operand));
        }
    };
    Ok(Value::Int(i64::try_from(n).unwrap_or(i64::MAX)))
}

/// The text in small letters; of a list each text, since a value is looked for in it.
///
/// # Errors
/// What has no letters.
pub(crate) fn lowercase(operand: &Tracked) -> Result<Value, EvalFault> {
    match operand.value() {
        Value::Str(text) => Ok(Value::from(text.to_lowercase())),
        Value::List(items) => {
            let fold = |item: &Value| {
                if let Value::Str(text) = item { Value::from(text.to_lowercase()) } else { item.clone() }
            };
            Ok(Value::list(items.iter().map(fold).collect()))
        }
        // A number or a truth is the same in any case.
        value @ (Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_)) => Ok(value.clone()),
        Value::Map(_) => Err(EvalFault::operand("only a text is compared with words, not {}", operand)),
    }
}

/// The truth of a condition: a boolean, or a yes or no in words.
///
/// # Errors
/// What is neither.
pub(crate) fn truth(value: &Tracked) -> Result<bool, EvalFault> {
    as_truth(value.value()).ok_or_else(|| EvalFault::operand("a condition must be true or false, not {}", value))
}

/// A boolean, or a text that says one.
pub(crate) fn as_truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Str(text) => match text.trim().to_lowercase().as_str() {
            "yes" | "true" => Some(true),
            "no" | "false" => Some(false),
            _ => None,
        },
        Value::Null | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
    }
}

/// A number, or a text that is wholly one.
fn as_number(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) | Value::Float(_) => Some(value.clone()),
        Value::Str(text) => {
            let text = text.trim();
            let digits = text.strip_prefix('-').unwrap_or(text);
            digits.starts_with(|c: char| c.is_ascii_digit()).then(|| read_number(text)).flatten()
        }
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => None,
    }
}

/// Whether two values are the same to their author: of a number and a text the text counts as a number, of a boolean
/// and a text the text as a yes or no.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(_) | Value::Float(_), Value::Str(_)) | (Value::Str(_), Value::Int(_) | Value::Float(_)) => {
            as_number(a).is_some_and(|a| as_number(b) == Some(a))
        }
        (Value::Bool(truth), text @ Value::Str(_)) | (text @ Value::Str(_), Value::Bool(truth)) => {
            as_truth(text) == Some(*truth)
        }
        _ => a == b,
    }
}

const TOO_LARGE: EvalFault = EvalFault::Number("the result is too large for a number");

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

fn is_zero(value: &Value) -> bool {
    *value == Value::Int(0)
}

fn arithmetic(
    sign: &str,
    left: &Tracked,
    right: &Tracked,
    on_ints: impl Fn(i64, i64) -> Option<i64>,
    on_floats: impl Fn(f64, f64) -> f64,
) -> Result<Value, EvalFault> {
    #[allow(clippy::cast_precision_loss)]
    match (left.value(), right.value()) {
        (Value::Int(a), Value::Int(b)) => on_ints(*a, *b).map(Value::Int).ok_or(TOO_LARGE),
        (Value::Int(a), Value::Float(b)) => finite(on_floats(*a as f64, *b)),
        (Value::Float(a), Value::Int(b)) => finite(on_floats(*a, *b as f64)),
        (Value::Float(a), Value::Float(b)) => finite(on_floats(*a, *b)),
        _ => Err(EvalFault::operands(format!("`{sign}` cannot join {{}} and {{}}"), left, right)),
    }
}

fn finite(float: f64) -> Result<Value, EvalFault> {
    if float.is_finite() { Ok(Value::Float(float)) } else { Err(TOO_LARGE) }
}

fn compare(left: &Tracked, right: &Tracked) -> Result<Ordering, EvalFault> {
    let order = match (left.value(), right.value()) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Str(a), Value::Str(b)) => match (begins_with_date(a), begins_with_date(b)) {
            (true, false) => return Err(no_date(right)),
            (false, true) => return Err(no_date(left)),
            _ => Some(a.cmp(b)),
        },
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => compare_int_float(*a, *b),
        (Value::Float(a), Value::Int(b)) => compare_int_float(*b, *a).map(Ordering::reverse),
        (Value::Str(_), Value::Int(_) | Value::Float(_)) | (Value::Int(_) | Value::Float(_), Value::Str(_)) => {
            let (Some(a), Some(b)) = (as_number(left.value()), as_number(right.value())) else {
                return Err(not_ordered(left, right));
            };
            return compare(&left.with_value(a), &right.with_value(b));
        }
        _ => None,
    };
    order.ok_or_else(|| not_ordered(left, right))
}

/// Whether the words of `wanted` stand in `text`, whole and one after the other, in any case. What has no words (`?`) stands
/// there as it is.
fn says(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.to_lowercase().replace('’', "'"), wanted.to_lowercase().replace('’', "'"));
    let (said, words) = (words_of(&text), words_of(&wanted));
    if words.is_empty() { text.contains(wanted.trim()) } else { said.windows(words.len()).any(|said| said == words) }
}

/// Its words, with the edges that Unicode has for them. `hurt.Please` lacks a space.
fn words_of(text: &str) -> Vec<&str> {
    text.unicode_words().flat_map(|word| word.split(['.', ':'])).filter(|word| !word.is_empty()).collect()
}

/// Whether it begins with a date, after which a time may come: `2026-10-29`, `2026-10-29T09:30`.
fn begins_with_date(text: &str) -> bool {
    text.get(..10).is_some_and(is_date) && matches!(text.as_bytes().get(10), None | Some(b'T' | b' '))
}

/// Why a text that is no date does not come before or after a date. `30.09.2026` can only be one day.
fn no_date(text: &Tracked) -> EvalFault {
    let iso = || {
        let parts: Vec<i16> =
            text.value().as_str()?.trim().split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let [day, month, year] = parts[..] else { return None };
        Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok().filter(|_| year > 999)
    };
    let how = match iso().filter(|_| !text.is_secret()) {
        Some(date) => format!("write it as {date}"),
        None => "a date is written as 2026-10-29".to_owned(),
    };
    EvalFault::operand(format!("{{}} is not a date; {how}"), text)
}

fn not_ordered(left: &Tracked, right: &Tracked) -> EvalFault {
    EvalFault::operands("only two numbers or two strings have an order, not {} and {}", left, right)
}

fn contains(container: &Tracked, element: &Tracked) -> Result<bool, EvalFault> {
    match (container.value(), element.value()) {
        (Value::List(items), element) => Ok(items.iter().any(|item| equal(item, element))),
        (Value::Map(members), Value::Str(key)) => Ok(members.contains_key(&**key)),
        (Value::Str(text), Value::Str(part)) => Ok(text.contains(&**part)),
        _ => Err(EvalFault::operands("{} cannot contain {}", container, element)),
    }
}
