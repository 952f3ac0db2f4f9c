//! Models: one trait, several ways to reach one.
//!
//! A reply is a stream; dropping it closes the connection. A model that fails is an item of that stream, never
//! a Rust error of ours (spec `architecture.md`, invariant 10).

pub mod answer;

pub mod embedded;
pub mod embeddings;
pub mod local;
pub mod openai;
pub mod recorded;
pub mod replay;
pub mod script;
pub(crate) mod script_file;
pub mod written;

use std::pin::Pin;
use std::sync::Arc;

use playhouse_lang::program::{Program, Step};
use playhouse_vm::Machine;
use playhouse_vm::protocol::view::place_name;
use playhouse_vm::protocol::{ChatMessage, Location, ReplyEnd, StartTurn, ToolSignature, TurnData, Usage};
use tokio_stream::Stream;

/// Who asks, which may mean another model id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Purpose {
    /// A turn of a playbook.
    Turn,
    /// A trigger classifier.
    Classifier,
    /// A plan: its conditions, and another one where it has failed.
    Plan,
    /// A model that plays a user.
    User,
    /// A model that judges a run.
    Judge,
    /// A model that reads documents for facts.
    Facts,
}

/// A request to a model.
#[derive(Clone, Debug)]
pub struct LlmRequest {
    /// Who asks.
    pub purpose: Purpose,
    /// System message first, then user and assistant.
    pub messages: Vec<ChatMessage>,
    /// The JSON Schema the reply should keep to, where the model is configured with `constrain`.
    pub schema: Option<Arc<serde_json::Value>>,
    /// The turn as data, for executors that do not read prompts; none for other callers.
    pub turn: Option<Arc<TurnAsData>>,
}

impl LlmRequest {
    /// The request of a turn.
    pub(crate) fn of_turn(machine: &Machine, start: &StartTurn, schema: Option<Arc<serde_json::Value>>) -> LlmRequest {
        let turn =
            TurnAsData { program: machine.program().clone(), tools: machine.tools().clone(), data: start.data.clone() };
        LlmRequest { purpose: Purpose::Turn, messages: start.messages.clone(), schema, turn: Some(Arc::new(turn)) }
    }
}

/// A turn as data, with what its ids and names refer to.
#[derive(Clone, Debug)]
pub struct TurnAsData {
    /// The program.
    pub program: Arc<Program>,
    /// The tools there are.
    pub tools: Arc<[ToolSignature]>,
    /// The turn.
    pub data: TurnData,
}

impl TurnAsData {
    /// The line in hand (`OrderStatus:06`); of a goal the playbook.
    pub fn place(&self) -> String {
        let location = Location::Line { playbook: self.data.playbook, step: self.data.pointer };
        place_name(&self.program, &[], location).unwrap_or_default()
    }

    /// The id of a line as the reply names it: `02`, or `04>02` of a playbook that runs inside line 04.
    pub(crate) fn label(&self, line: &Step) -> String {
        let inside = self.data.inside.map(|(caller, outer)| &self.program.playbook(caller).step(outer).label);
        inside.map_or_else(|| line.label.to_string(), |outer| format!("{outer}>{}", line.label))
    }

    /// A trace line about a line.
    pub(crate) fn trace_line(&self, line: &Step, action: serde_json::Value) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        object.insert("at".to_owned(), self.label(line).into());
        if let serde_json::Value::Object(action) = action {
            object.extend(action);
        }
        serde_json::Value::Object(object)
    }
}

/// One item of a reply. After an [`ReplyPart::End`] the stream is over.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyPart {
    /// Bytes of the reply. A provider's separate reasoning text comes wrapped in `<think>…</think>` lines, with
    /// every `</` inside it written as `<\/`, so that it cannot close the block by itself.
    Bytes(Vec<u8>),
    /// The end, always the last item. A stream that ends without it has broken off.
    End {
        /// How.
        end: ReplyEnd,
        /// What the server counted.
        usage: Option<Usage>,
    },
}

/// What is said of a stream that is over without a [`ReplyPart::End`].
pub(crate) const NO_END: &str = "the stream ended without saying that the reply is complete";

/// All that comes of a request that is refused.
pub(crate) fn refused(reason: impl Into<Arc<str>>) -> ReplyPart {
    ReplyPart::End { end: ReplyEnd::Refused { reason: reason.into() }, usage: None }
}

/// A reply in progress; dropping it closes its connection at once.
pub type ReplyStream = Pin<Box<dyn Stream<Item = ReplyPart> + Send>>;

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// A model, which counts tokens.
    Live,
    /// The guided executor inside the process.
    Embedded,
    /// Replies that somebody has written down, or that were given before.
    Recorded,
}

/// A model.
pub trait Llm: Send + Sync {
    /// The model's id as people write it (`openai:gpt-4.1-mini`, `script:greeting.jsonl`).
    fn id(&self) -> Arc<str>;

    /// What answers: a model, or what stands in for one.
    fn kind(&self) -> ModelKind {
        ModelKind::Live
    }

    /// Whether its replies begin inside a think block (`starts_in_think`).
    fn starts_in_think(&self) -> bool {
        false
    }

    /// What is sent with each request besides messages and schema, and says how the model answers (`temperature`).
    fn sampling(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    /// Tokens that fit into one request, if known.
    fn context_tokens(&self) -> Option<u64> {
        None
    }

    /// Asks. Nothing is retried here: that is the machine's decision and the session's delay.
    fn request(&self, request: LlmRequest) -> ReplyStream;

    /// A request that was answered before this process began (found while a journal was replayed). Scripted
    /// models count it as answered; others have nothing to do.
    fn replayed(&self, request: &LlmRequest) {
        let _ = request;
    }

    /// What is left over when a session ends and should be told to the user: unused script entries.
    fn left_over(&self) -> Vec<LeftOver> {
        Vec::new()
    }
}

impl std::fmt::Debug for dyn Llm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.id())
    }
}

/// A remark on something a scripted model never used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// For people.
    pub message: String,
    /// Whether the run counts as failed because of it.
    pub is_failure: bool,
}

/// Whether asking again may help, after an answer with this HTTP status.
fn status_is_transient(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429) || status >= 500
}

/// The text after the model's thoughts; a reply may begin inside them, and nothing stands after open ones.
pub(crate) fn behind_think(text: &str) -> &str {
    let rest = text.rfind("</think>").map_or(text, |at| &text[at + "</think>".len()..]);
    rest.find("<think>").map_or(rest, |at| &rest[..at])
}
