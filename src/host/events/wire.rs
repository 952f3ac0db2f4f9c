//! Public events as JSON: the words for what is an enum here. A public interface: words are added, never changed.

use std::fmt::Display;
use std::sync::Arc;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::{Origin, Ruling, Update, Wait};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// One change of a variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UpdateWire {
    /// The variable's name.
    pub name: Arc<str>,
    /// Its value before; null if it was not set.
    pub old: Option<Value>,
    /// Its value now.
    pub new: Value,
}

/// A line that is gone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftLineWire {
    /// Where a frame stood: `Playbook:05`.
    pub from: Arc<str>,
    /// The line after which it goes on, or the first one; none: the frame is gone.
    pub to: Option<Arc<str>>,
}

impl UpdateWire {
    /// The wire form of `updates`, in order.
    pub fn of(updates: &[Update]) -> Vec<UpdateWire> {
        let wire = |update: &Update| UpdateWire {
            name: update.name.clone(),
            old: update.old.clone(),
            new: update.new.clone(),
        };
        updates.iter().map(wire).collect()
    }
}

/// An enum as one word.
pub(super) fn word<'a, T, S: Serializer>(value: &'a T, serializer: S) -> Result<S::Ok, S::Error>
where
    &'static str: From<&'a T>,
{
    serializer.serialize_str(<&'static str>::from(value))
}

/// An enum as it is displayed.
pub(super) fn name<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Where a variable is kept.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands references on")]
pub(super) fn scope<S: Serializer>(is_local: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *is_local { "local" } else { "other" })
}

/// Where a value comes from.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands references on")]
pub(super) fn origin<S: Serializer>(origin: &Origin, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(origin.name())
}

/// `verdict`, and `reason` where that alone does not tell.
pub(super) fn ruling<S: Serializer>(ruling: &Ruling, serializer: S) -> Result<S::Ok, S::Error> {
    let (verdict, reason) = ruling_name(ruling);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("verdict", verdict)?;
    if let Some(reason) = reason {
        map.serialize_entry("reason", &reason)?;
    }
    map.end()
}

/// `for`, and the `call` that it is for.
pub(super) fn wait<S: Serializer>(wait: &Wait, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("for", <&'static str>::from(wait))?;
    if let Wait::Approval(call) | Wait::Call(call) = wait {
        map.serialize_entry("call", &call.0)?;
    }
    map.end()
}

/// What came of an evaluation, in one word, and why where that does not tell.
pub fn ruling_name(ruling: &Ruling) -> (&'static str, Option<Arc<str>>) {
    let reason = if let Ruling::Fault(reason) | Ruling::Failed(reason) | Ruling::NotCallable(reason) = ruling {
        Some(reason.clone())
    } else {
        None
    };
    (ruling.into(), reason)
}
