//! Tools: one trait, a registry, time-outs.
//!
//! A tool that fails is an event for the program; a tool that panics is an error of that call
//! (spec `architecture.md`, invariant 10).

pub mod arguments;

pub mod policy;

pub mod recorded;

pub mod registry;

pub mod builtin;

pub mod canned;

pub mod function;

pub mod generate;

pub mod generation;

pub mod plugin;

pub mod retrieval;

pub mod http;

#[cfg(feature = "mcp")]
pub mod mcp;
pub mod sql;

pub mod workspace;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EndedCall, StartCall, ToolSignature, Usage};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::llm::Llm;
use crate::otel::context::TraceParent;
use crate::secrets::Secrets;
use crate::tool::arguments::check_arguments;

pub use crate::tool::arguments::ArgumentFault;

/// What a call is given besides its arguments.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The session's id.
    pub session: Arc<str>,
    /// The call's key: session id and call number. The same for every attempt of one call, so a tool that keeps
    /// it does its work once.
    pub call_id: Arc<str>,
    /// When the call will be given up.
    pub deadline: Instant,
    /// Cancelled when nobody wants the result any more.
    pub cancel: CancellationToken,
    /// For news while the call runs; sending never waits, what does not fit is dropped.
    pub progress: mpsc::Sender<Value>,
    /// A person's answer to the question an earlier attempt of this call asked ([`ToolOutcome::Needs`],
    /// [`ToolOutcome::Asks`]).
    pub ask: Option<Value>,
    /// All questions of earlier attempts with their answers, in order; `ask` is the last answer. A tool that keeps what
    /// it was doing needs only the last; after a restart nothing is kept.
    pub answers: Vec<(Arc<str>, Value)>,
    /// The session's model; none: whoever calls has no session.
    pub llm: Option<Arc<dyn Llm>>,
    /// The span that the call is a part of, for whoever works on it elsewhere (W3C Trace Context).
    pub trace: Option<TraceParent>,
    /// The folder of the skill that makes the call, relative to where the process is, or absolute; none: no skill does.
    pub skill: Option<Arc<Path>>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// Its result.
    Value(Value),
    /// A result that is shown to nobody but the program.
    Secret(Value),
    /// It failed, in words for the program's model.
    Error(String),
    /// It could not be done now, and perhaps can be in a moment: a server that cannot be reached, a process that has
    /// died. The registry tries again if that is safe ([`policy::ToolPolicy::retries`]); else as [`ToolOutcome::Error`].
    Unavailable(String),
    /// A result that a model wrote, and the tokens it took.
    Written {
        /// The model's words.
        text: String,
        /// What the server counted.
        usage: Option<Usage>,
    },
    /// A person must agree first; the call is then made again with the answer, also after a restart. A "no" refuses
    /// the call, and the tool hears nothing more of it.
    Needs(String),
    /// A person is asked something; the call is then made again with the answer, whatever it is, also after a restart.
    Asks(String),
}

/// A call in progress.
pub type ToolFuture<'a> = BoxFuture<'a, ToolOutcome>;

/// A call that has been begun; nothing happens before `future` is awaited.
pub struct BegunCall {
    /// Its outcome.
    pub outcome: BoxFuture<'static, EndedCall>,
    /// Its news.
    pub progress: mpsc::Receiver<Value>,
    /// What must not be seen in its news: the secret values among its arguments. (Its outcome has been seen to.)
    pub hidden: Arc<Secrets>,
}

/// A tool.
pub trait Tool: Send + Sync {
    /// Its name, parameters, summary and effect class; the JSON Schema of its arguments if it has a
    /// [`Tool::check`] of its own.
    fn signature(&self) -> ToolSignature;

    /// Looks at the arguments before the call is made, and puts in the defaults of those left out.
    ///
    /// # Errors
    /// All that is wrong with them, together.
    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        check_arguments(&self.signature().signature, arguments)
    }

    /// The fields of what it gives back, as far as they are declared; none: they are not known.
    fn fields(&self) -> Option<Vec<Arc<str>>> {
        None
    }

    /// How long a call may take, with all its attempts.
    fn timeout(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// How many calls may run at a time, of all sessions of the process; none: any number.
    fn concurrency(&self) -> Option<usize> {
        None
    }

    /// Whether what it answers is kept where a run is recorded: not what is written down already, nor what the session's
    /// model says, whose replies are kept themselves.
    fn is_recorded(&self) -> bool {
        true
    }

    /// A call of this tool begins, or began before this process did (found while a journal was replayed). Comes in
    /// the order of the calls and before [`Tool::call`]; canned tools choose their answers by it, so that a resumed
    /// session goes on in order. Others have nothing to do.
    fn begun(&self, session: &str, call: &StartCall) {
        let _ = (session, call);
    }

    /// A call of this tool was made before this process began. A tool that asks the session's model tells it, so that
    /// scripted replies go on in order.
    fn replayed(&self, call: &StartCall, llm: &dyn Llm) {
        let _ = (call, llm);
    }

    /// Calls it. The arguments have passed [`Tool::check`].
    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_>;
}
