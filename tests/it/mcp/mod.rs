//! MCP servers: their tools, their questions, their faults, their ends.

mod connections;
mod hostile;
mod questions;
pub(crate) mod server;
mod sessions;
mod third_party;
mod tools;

use std::sync::Arc;

use playhouse::host::tool::BegunCall;
use playhouse::host::tool::mcp::{Generation, McpOptions, McpServer};
use playhouse::host::tool::registry::Registry;
use playhouse::value::Value;
use playhouse::vm::protocol::{CallOutcome, StartCall};
use tokio_util::sync::CancellationToken;

use crate::tool;

/// Both generations of the protocol.
const GENERATIONS: [Generation; 2] = [Generation::Initialize, Generation::Discover];

/// A server's tools in a registry.
struct World {
    server: Arc<McpServer>,
    registry: Arc<Registry>,
}

/// What came of a call.
#[derive(Debug, PartialEq)]
enum Came {
    Value(Value),
    Error(String),
    Asks(String),
}

impl World {
    async fn new(options: McpOptions) -> World {
        let server = McpServer::connect(options).await.unwrap();
        let registry = Arc::new(Registry::new());
        for tool in server.tools().await.unwrap() {
            registry.add(tool).unwrap();
        }
        World { server, registry }
    }

    /// The last of the answers is to a question that this process knows.
    fn begin(&self, call: u64, name: &str, arguments: &str, answer: Option<Value>) -> BegunCall {
        let answers = answer.map(|answer| ("".into(), answer)).into_iter().collect();
        self.begin_answered(&start(call, name, arguments, answers))
    }

    fn begin_answered(&self, start: &StartCall) -> BegunCall {
        self.registry.begin(&"s1".into(), start, CancellationToken::new(), None, None)
    }

    /// A call with arguments as JSON.
    async fn call(&self, name: &str, arguments: &str) -> Came {
        came(self.begin(1, name, arguments, None)).await
    }

    /// The call again, with the answer to its question.
    async fn answer(&self, name: &str, answer: impl Into<Value>) -> Came {
        came(self.begin(1, name, "{}", Some(answer.into()))).await
    }

    fn names(&self) -> Vec<String> {
        self.registry.signatures().iter().map(|it| it.signature.name.to_string()).collect()
    }
}

async fn came(call: BegunCall) -> Came {
    match call.outcome.await.0 {
        CallOutcome::Value { value, .. } => Came::Value(value),
        CallOutcome::Error(text) => Came::Error(text.to_string()),
        CallOutcome::Needs { question, takes_no } => {
            assert!(takes_no, "a no is an answer too");
            Came::Asks(question.to_string())
        }
        CallOutcome::Interrupted => panic!("nobody interrupts it"),
    }
}

fn start(call: u64, name: &str, arguments: &str, answers: Vec<(Arc<str>, Value)>) -> StartCall {
    let Value::Map(arguments) = Value::from_json(arguments).unwrap() else { panic!("{arguments}") };
    let arguments: Vec<(&str, Value)> = arguments.iter().map(|(name, value)| (&**name, value.clone())).collect();
    StartCall { attempt: 1 + u32::try_from(answers.len()).unwrap(), answers, ..tool::start(call, name, &arguments) }
}

fn json(text: &str) -> Came {
    Came::Value(Value::from_json(text).unwrap())
}

fn text(text: &str) -> Came {
    Came::Value(Value::str(text))
}

fn error(text: &str) -> Came {
    Came::Error(text.to_owned())
}
