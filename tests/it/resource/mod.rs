//! Resources, and the tools on them.

mod guard;
pub(crate) mod http;
mod manager;
mod model;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sql;

use playhouse::host::tool::BegunCall;
use playhouse::host::tool::registry::Registry;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::CallOutcome;
use tokio_util::sync::CancellationToken;

use crate::tool::start;

/// Calls a tool.
pub(crate) fn begin(
    registry: &Registry,
    name: &str,
    arguments: &[(&str, Value)],
    cancel: CancellationToken,
) -> BegunCall {
    registry.begin(&"s1".into(), &start(7, name, arguments), cancel, None, None)
}

pub(crate) async fn outcome(begun: BegunCall) -> Result<Value, String> {
    match begun.outcome.await.0 {
        CallOutcome::Value { value, .. } => Ok(value),
        CallOutcome::Error(text) => Err(text.to_string()),
        CallOutcome::Needs { question, .. } => Err(format!("needs {question}")),
        CallOutcome::Interrupted => Err("interrupted".into()),
    }
}

pub(crate) async fn call(registry: &Registry, name: &str, arguments: &[(&str, Value)]) -> Result<Value, String> {
    outcome(begin(registry, name, arguments, CancellationToken::new())).await
}

/// JSON as a value.
pub(crate) fn json(value: serde_json::Value) -> Value {
    serde_json::from_value(value).unwrap()
}

/// JSON as the arguments of a command.
fn map(value: serde_json::Value) -> Map {
    let Value::Map(members) = json(value) else { panic!("no map") };
    (*members).clone()
}
