//! What stands in one line of a file of cases: values, and what is wrong with it.

use regex::Regex;
use serde::de::IgnoredAny;

use crate::value::Value;

/// A finding about one line.
pub struct Wrong {
    /// Its code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub next: String,
}

/// A finding about one line; `next` says what to do.
pub fn wrong(code: &'static str, message: impl Into<String>, next: impl Into<String>) -> Wrong {
    Wrong { code, message: message.into(), next: next.into() }
}

/// JSON if it is JSON, else text: the rule of `--arg`.
pub fn json_or_text(value: &str) -> Value {
    Value::from_json(value).unwrap_or_else(|_| Value::str(value))
}

/// JSON.
///
/// # Errors
/// It is none.
pub fn json(text: &str) -> Result<Value, Wrong> {
    Value::from_json(text.trim()).map_err(|error| {
        let next = "write JSON, with text in double quotes";
        wrong("bad-json", format!("`{}` is not a JSON value: {error}", text.trim()), next)
    })
}

/// How far the JSON value at the beginning goes.
pub fn json_prefix(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// A regular expression.
///
/// # Errors
/// The text is none.
pub fn regex(source: &str) -> Result<Regex, Wrong> {
    Regex::new(source).map_err(|error| {
        let (message, next) = regex_fault(source, &error);
        wrong("bad-regex", message, next)
    })
}

/// What is wrong with a text that is no regular expression, and what to do about it.
pub fn regex_fault(source: &str, error: &regex::Error) -> (String, &'static str) {
    let cause = error.to_string();
    let cause = cause.lines().last().unwrap_or("").trim_start_matches("error: ");
    let next = "correct it; write a `\\` before a character that has a special meaning";
    (format!("`{source}` is not a regular expression: {cause}"), next)
}
