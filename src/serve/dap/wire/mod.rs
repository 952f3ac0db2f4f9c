//! The messages of the protocol as they stand on the wire: the parts of it that we speak, under its names.
//!
//! Reading is lenient: fields that are missing have the protocol's defaults, unknown ones are passed over.

mod arguments;
mod bodies;

pub(crate) use self::arguments::*;
pub use self::arguments::{AttachArguments, LaunchArguments, OneOrMore};
pub(crate) use self::bodies::*;

use std::fmt::Display;

use serde::Deserialize;
use serde_json::{Value as Json, json};

/// A message of the client. It answers nothing of ours, for we ask nothing.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Request {
    /// Its number.
    #[serde(default)]
    pub(crate) seq: i64,
    /// `request`.
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    /// What is wanted.
    #[serde(default)]
    pub(crate) command: String,
    /// In which way.
    #[serde(default)]
    pub(crate) arguments: Json,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What kind of thing.
    pub(crate) kind: RefusalKind,
    /// Place, cause, next step.
    pub(crate) text: String,
}

/// Kinds of refusals; the numbers are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// A request that we do not know.
    Unknown = 1,
    /// Arguments that cannot be read.
    Arguments = 2,
    /// Not now: the order of requests, or no program.
    State = 3,
    /// The program cannot be started or reached.
    Program = 4,
    /// An expression without a value, or a value that cannot be set.
    Value = 5,
    /// A frame, a variable or a source that is not there any more.
    Gone = 6,
}

impl RefusalKind {
    /// A refusal of this kind.
    pub(crate) fn told(self, text: impl Display) -> Refusal {
        Refusal { kind: self, text: text.to_string() }
    }
}

impl Refusal {
    /// What an answer holds where something went wrong. What a person waits for is shown; what an editor asks by itself
    /// is not. What is in the text is data, also where it has braces.
    pub(crate) fn to_body(&self) -> Json {
        let is_shown = matches!(self.kind, RefusalKind::Program | RefusalKind::State);
        let id = self.kind as u32;
        json!({"error": {"id": id, "format": "{text}", "variables": {"text": self.text}, "showUser": is_shown}})
    }
}
