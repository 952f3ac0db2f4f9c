//! What a client can open: parts of frames, members of values, rows of words.

use std::sync::Arc;

use crate::value::{PathStep, Value};
use crate::vm::protocol::{FrameId, Tracked};

/// What can be opened.
#[derive(Clone, Debug)]
pub(super) enum List {
    /// Part of a frame.
    Scope(FrameId, ScopeKind),
    /// The members of a value.
    Value(Box<Inner>),
    /// Rows that are words, one below the other.
    Rows(Vec<Row>),
}

/// A value inside of another one, or a whole one.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    pub(super) value: Tracked,
    /// The variable it is in, if it is in one.
    pub(super) owner: Option<Owner>,
    /// How it is written in an expression, if it can be.
    pub(super) name: Option<String>,
}

/// Where a value is kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owner {
    /// The frame; none: among the agent's others.
    pub(crate) frame: Option<FrameId>,
    /// The agent.
    pub(crate) agent: Arc<str>,
    /// The variable.
    pub(crate) name: Arc<str>,
    /// The way into its value.
    pub(crate) path: Vec<PathStep>,
}

/// The parts of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Own,
    Below,
    Others,
    Queue,
    Triggers,
    Chat,
    Counters,
}

/// A row of a list.
pub(super) enum Entry {
    Value(String, Inner),
    Row(Row),
}

/// Something that is no value of the program.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) kind: Option<String>,
    pub(super) list: Option<List>,
}

/// How many members a client can be shown of a value, and what they are called; none of what has none, and of a secret.
pub(super) fn members_of(value: &Tracked) -> Option<(&'static str, usize)> {
    match value.value() {
        _ if value.is_secret() => None,
        Value::List(items) => Some(("indexedVariables", items.len())),
        Value::Map(members) => Some(("namedVariables", members.len())),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => None,
    }
}
