//! The tools of a process by name, and the one way to call them: arguments checked, time limited, panics caught.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use indexmap::IndexMap;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::host::tool::{CallContext, Tool, ToolOutcome};
use crate::lang::program::Signature;
use crate::value::{Map, Value};
use crate::vm::protocol::{CallOutcome, StartCall, ToolSignature, Usage};

/// News of a running call that may wait to be read; what does not fit is dropped.
const PROGRESS: usize = 8;

/// A name is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are two tools named `{0}`; rename or leave out one of them")]
pub struct DuplicateTool(pub Arc<str>);

/// The tools there are.
#[derive(Default)]
pub struct Registry {
    tools: IndexMap<Arc<str>, Entry>,
    /// All signatures: one list for all sessions.
    signatures: OnceLock<Arc<[ToolSignature]>>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    signature: ToolSignature,
}

/// What came of a call, and the tokens of a model that it took.
pub type EndedCall = (CallOutcome, Option<Usage>);

/// A call that has been begun; nothing happens before `future` is awaited.
pub struct BegunCall {
    /// Its outcome.
    pub outcome: futures_util::future::BoxFuture<'static, EndedCall>,
    /// Its news.
    pub progress: mpsc::Receiver<Value>,
}

impl Registry {
    /// No tools.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Its name is taken.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let signature = tool.signature();
        let name = signature.signature.name.clone();
        if self.tools.contains_key(&name) {
            return Err(DuplicateTool(name));
        }
        self.tools.insert(name, Entry { tool, signature });
        self.signatures = OnceLock::new();
        Ok(())
    }

    /// Adds a tool in place of the one that has its name, if there is one (a canned tool hides the real one).
    pub fn replace(&mut self, tool: Arc<dyn Tool>) {
        let signature = tool.signature();
        self.tools.insert(signature.signature.name.clone(), Entry { tool, signature });
        self.signatures = OnceLock::new();
    }

    /// The tool named `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// All signatures, in the order the tools were added.
    pub fn signatures(&self) -> Arc<[ToolSignature]> {
        let collect = || self.tools.values().map(|entry| entry.signature.clone()).collect();
        self.signatures.get_or_init(collect).clone()
    }

    /// Tells a tool of a call that began before this process did.
    pub fn replayed(&self, session: &str, call: &StartCall) {
        if let Some(entry) = self.tools.get(&call.name) {
            entry.tool.begun(session, call);
            entry.tool.replayed(session, call);
        }
    }

    /// Begins a call. Whatever goes wrong with it is its outcome.
    pub fn begin(&self, session: &Arc<str>, call: &StartCall, cancel: CancellationToken) -> BegunCall {
        let (sender, progress) = mpsc::channel(PROGRESS);
        let refused = |text: String| async move { failed(text) }.boxed();
        let Some(entry) = self.tools.get(&call.name) else {
            let outcome = refused(format!("there is no tool named `{}` now", call.name));
            return BegunCall { outcome, progress };
        };
        let arguments = match check_arguments(&entry.signature.signature, call.argument_map()) {
            Ok(arguments) => arguments,
            Err(faults) => return BegunCall { outcome: refused(faults), progress },
        };
        entry.tool.begun(session, call);
        let timeout = entry.tool.timeout();
        let context = CallContext {
            session: session.clone(),
            call_id: format!("{session}/{}", call.call.0).into(),
            deadline: Instant::now() + timeout,
            cancel: cancel.clone(),
            progress: sender,
            ask: call.answer.clone(),
        };
        let tool = entry.tool.clone();
        let name = call.name.clone();
        let outcome = async move {
            let deadline = context.deadline;
            let work = AssertUnwindSafe(async { tool.call(context, arguments).await }).catch_unwind();
            match tokio::time::timeout_at(deadline, work).await {
                Ok(Ok(outcome)) => call_outcome(outcome),
                Ok(Err(panic)) => {
                    let cause = panic_text(&*panic);
                    tracing::error!(tool = &*name, "a tool panicked: {cause}");
                    failed(format!("`{name}` failed because of a bug in it: {cause}"))
                }
                Err(_) => {
                    cancel.cancel();
                    tracing::warn!(tool = &*name, ?timeout, "a tool gave no answer in time");
                    let seconds = timeout.as_secs_f64();
                    failed(format!("`{name}` gave no answer within {seconds} s"))
                }
            }
        };
        BegunCall { outcome: outcome.boxed(), progress }
    }
}

/// Checks arguments against a signature and adds the defaults of those left out.
///
/// # Errors
/// All faults together, in words for the program's model.
pub fn check_arguments(signature: &Signature, mut arguments: Map) -> Result<Map, String> {
    let mut faults = Vec::new();
    for name in arguments.keys() {
        if !signature.parameters.iter().any(|parameter| parameter.name == *name) {
            faults.push(format!("there is no parameter `{name}`"));
        }
    }
    for parameter in &signature.parameters {
        match (arguments.get(&parameter.name), &parameter.default) {
            // An explicit null for a parameter that may be left out means that it is left out.
            (Some(Value::Null), Some(default)) if !parameter.ty.accepts(&Value::Null) => {
                arguments.insert(parameter.name.clone(), default.clone());
            }
            (Some(value), _) if !parameter.ty.accepts(value) => {
                faults.push(format!("`{}` must be {}, not {}", parameter.name, parameter.ty, value.kind()));
            }
            (Some(_), _) => {}
            (None, Some(Value::Null)) => {}
            (None, Some(default)) => {
                arguments.insert(parameter.name.clone(), default.clone());
            }
            (None, None) => faults.push(format!("`{}` is missing", parameter.name)),
        }
    }
    if faults.is_empty() {
        return Ok(arguments);
    }
    let parameters: Vec<String> =
        signature.parameters.iter().map(|parameter| format!("{}: {}", parameter.name, parameter.ty)).collect();
    Err(format!("{}; the parameters are {}({})", faults.join("; "), signature.name, parameters.join(", ")))
}

fn call_outcome(outcome: ToolOutcome) -> EndedCall {
    match outcome {
        ToolOutcome::Value(value) => (CallOutcome::Value { value, secret: false }, None),
        ToolOutcome::Secret(value) => (CallOutcome::Value { value, secret: true }, None),
        ToolOutcome::Written { text, usage } => (CallOutcome::Value { value: Value::from(text), secret: false }, usage),
        ToolOutcome::Error(text) => failed(text),
        ToolOutcome::Needs(question) => (CallOutcome::Needs { question: question.into() }, None),
    }
}

fn failed(text: String) -> EndedCall {
    (CallOutcome::Error(text.into()), None)
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
