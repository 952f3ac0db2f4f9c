//! Resources, and the tools on them.

mod guard;
pub(crate) mod http;
mod manager;
mod model;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sql;

use std::sync::Arc;

use playhouse::host::tool::registry::{BegunCall, Registry};
use playhouse::lang::program::{AgentId, PlaybookId};
use playhouse::value::{Map, Origin, Tracked, Value};
use playhouse::vm::protocol::{CallId, CallKind, CallOutcome, EffectClass, FrameId, Location, Place, StartCall};
use tokio_util::sync::CancellationToken;

/// A call of a tool with arguments that a model wrote.
pub(crate) fn begin(
    registry: &Registry,
    name: &str,
    arguments: &[(&str, Value)],
    cancel: CancellationToken,
) -> BegunCall {
    let tracked = |(name, value): &(&str, Value)| (Arc::from(*name), Tracked::new(value.clone(), Origin::MODEL));
    let start = StartCall {
        call: CallId(7),
        attempt: 1,
        kind: CallKind::Tool,
        name: name.into(),
        arguments: arguments.iter().map(tracked).collect(),
        effect: EffectClass::Write,
        answers: Vec::new(),
        place: Place {
            frame: FrameId(1),
            agent: AgentId(0),
            location: Location::Line { playbook: PlaybookId(0), step: None },
            depth: 0,
            turn: None,
        },
    };
    registry.begin(&"s1".into(), &start, cancel)
}

pub(crate) async fn outcome(begun: BegunCall) -> Result<Value, String> {
    match begun.outcome.await.0 {
        CallOutcome::Value { value, .. } => Ok(value),
        CallOutcome::Error(text) => Err(text.to_string()),
        CallOutcome::Needs { question, .. } => Err(format!("needs {question}")),
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
