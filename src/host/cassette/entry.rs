//! What a cassette holds: replies of models, outcomes of calls.

use std::sync::Arc;

use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{ReplyEnd, Usage};

use crate::cassette::key::{Digest, Message, canonical};

/// One answer, in the order in which they were asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Of a model.
    Request(Request),
    /// Of a tool.
    Call(Call),
}

/// What a model was asked, and what it answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What it is found by, together with `run` and `n`.
    pub key: Digest,
    /// The run of the case, from 1.
    pub run: u32,
    /// How often the same had been asked in that run, from 1.
    pub n: u32,
    /// Who asked.
    pub purpose: Arc<str>,
    /// The line that was in hand (`OrderStatus:06`); none: no turn asked.
    pub at: Option<Arc<str>>,
    /// What was asked.
    pub messages: Vec<Message>,
    /// What was answered.
    pub reply: Reply,
}

/// A model's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its text, as far as it was read.
    pub text: String,
    /// How it ended; [`ReplyEnd::Closed`]: we had read enough.
    pub end: ReplyEnd,
    /// What the server counted.
    pub usage: Option<Usage>,
    /// From the request to the end, in milliseconds.
    pub ms: u64,
}

/// A call of a tool, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: Arc<str>,
    /// By parameter name; secret ones are masked.
    pub arguments: Map,
    /// The run of the case, from 1.
    pub run: u32,
    /// How often the same call had been made in that run, from 1.
    pub n: u32,
    /// What came of it.
    pub outcome: Outcome,
    /// Tokens of a model that it took.
    pub usage: Option<Usage>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its result.
    Value(Value),
    /// Its result is secret: the argument of this name stands for it.
    Secret(Arc<str>),
    /// It failed.
    Error(Arc<str>),
    /// A person is asked something.
    Needs {
        /// What.
        question: Arc<str>,
        /// Whether "no" is an answer like any other.
        takes_no: bool,
    },
    /// It was ended before it had an outcome.
    Closed,
}

impl Entry {
    /// What the entry is found by.
    pub(super) fn place(&self) -> (String, u32, u32) {
        match self {
            Entry::Request(request) => (request.key.as_str().to_owned(), request.run, request.n),
            Entry::Call(call) => (called(&call.name, &call.arguments), call.run, call.n),
        }
    }

    /// Says how often the same has been asked.
    pub(super) fn count(&mut self, times: u32) {
        match self {
            Entry::Request(Request { n, .. }) | Entry::Call(Call { n, .. }) => *n = times,
        }
    }
}

/// What a call is found by: name and arguments.
pub(super) fn called(name: &str, arguments: &Map) -> String {
    format!("{name}({})", canonical(&serde_json::to_value(arguments).unwrap_or_default()))
}
