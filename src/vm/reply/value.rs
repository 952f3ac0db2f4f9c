//! Values inside an object that is closed.

use std::borrow::Cow;

use playhouse_lang::value::{JsonFault, Value};

use super::speech::HALF_SURROGATE;
use super::types::ReadFaultKind;

/// Reads the JSON text of one value. A key twice is an error at any depth.
pub(super) fn read_value(text: &str) -> Result<Value, (ReadFaultKind, String)> {
    Value::from_strict_json(text).map_err(|fault| match fault {
        JsonFault::KeyTwice(key) => {
            (ReadFaultKind::DuplicateKey, format!("the key `{key}` appears twice in one object"))
        }
        JsonFault::NoJson(error) => (ReadFaultKind::Json, json_message(&error)),
    })
}

/// The string whose JSON text is `raw`; `None` if that is none.
pub(super) fn text_of(raw: &str) -> serde_json::Result<Option<Cow<'_, str>>> {
    let Some(inner) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return Ok(None) };
    if inner.contains('\\') { serde_json::from_str(raw).map(Some) } else { Ok(Some(Cow::Borrowed(inner))) }
}

/// serde_json's words without its line and column, which count from the value's beginning.
pub(super) fn json_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    if message.contains("surrogate") || message.contains("hex escape") {
        return HALF_SURROGATE.to_owned();
    }
    message.split(" at line ").next().unwrap_or(&message).to_owned()
}
