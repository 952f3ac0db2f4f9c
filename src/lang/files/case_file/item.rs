//! What stands in one line of a file of cases: values, and what is wrong with it.

use crate::value::Value;

/// A finding about one line.
pub(crate) struct Wrong {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) next: String,
}

pub(crate) fn wrong(code: &'static str, message: impl Into<String>, next: impl Into<String>) -> Wrong {
    Wrong { code, message: message.into(), next: next.into() }
}

/// JSON if it is JSON, else text: the rule of `--arg`.
pub(crate) fn json_or_text(value: &str) -> Value {
    Value::from_json(value).unwrap_or_else(|_| Value::str(value))
}

pub(crate) fn json(text: &str) -> Result<Value, Wrong> {
    Value::from_json(text.trim()).map_err(|error| {
        let next = "write JSON; text stands in double quotes";
        wrong("bad-json", format!("`{}` is no JSON value: {error}", text.trim()), next)
    })
}
