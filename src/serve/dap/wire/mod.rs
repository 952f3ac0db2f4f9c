//! The messages of the protocol as they stand on the wire: the parts of it that we speak, under its names.
//!
//! Reading is lenient: fields that are missing have the protocol's defaults, unknown ones are passed over.

mod arguments;

mod bodies;

pub(crate) use self::arguments::*;
pub use self::arguments::{AttachArguments, LaunchArguments, OneOrMore};
pub(crate) use self::bodies::*;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

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

/// The answer to a request.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Response {
    pub(crate) seq: i64,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) request_seq: i64,
    pub(crate) success: bool,
    pub(crate) command: String,
    /// Why not: the text that [`ErrorBody`] has, or a word of the protocol's (`cancelled`, `notStopped`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) body: Json,
}

/// Something has happened.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Event {
    pub(crate) seq: i64,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) event: &'static str,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) body: Json,
}

/// What an answer holds where something went wrong.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErrorBody {
    pub(crate) error: ErrorMessage,
}

/// Why, for people.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorMessage {
    /// What kind of thing.
    pub(crate) id: u32,
    /// `{text}`: what is in the text is data, also where it has braces.
    pub(crate) format: &'static str,
    pub(crate) variables: ErrorVariables,
    /// Whether a person should see it now.
    pub(crate) show_user: bool,
}

/// What stands in the format.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErrorVariables {
    pub(crate) text: String,
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

impl Refusal {
    /// A refusal of this kind.
    pub(crate) fn new(kind: RefusalKind, text: impl Into<String>) -> Refusal {
        Refusal { kind, text: text.into() }
    }

    /// Its form on the wire. What a person waits for is shown; what an editor asks by itself is not.
    pub(crate) fn to_body(&self) -> ErrorBody {
        let show_user = match self.kind {
            RefusalKind::Program | RefusalKind::State => true,
            RefusalKind::Unknown | RefusalKind::Arguments | RefusalKind::Value | RefusalKind::Gone => false,
        };
        let variables = ErrorVariables { text: self.text.clone() };
        ErrorBody { error: ErrorMessage { id: self.kind as u32, format: "{text}", variables, show_user } }
    }
}
