//! What performs the commands of a plugin.

use futures_util::future::BoxFuture;
use playhouse_lang::value::Value;

use crate::tool::{CallContext, ToolOutcome};

/// Why a command gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComponentError {
    /// It failed, in words for the program's model.
    #[error("{0}")]
    Failed(String),
    /// It could not be done now, and perhaps can be in a moment.
    #[error("{0}")]
    Unavailable(String),
    /// A person must agree first ([`ToolOutcome::Needs`]).
    #[error("a person must agree first: {0}")]
    Needs(String),
    /// A person is asked something ([`ToolOutcome::Asks`]).
    #[error("a person is asked: {0}")]
    Asks(String),
}

impl From<ComponentError> for ToolOutcome {
    fn from(error: ComponentError) -> ToolOutcome {
        match error {
            ComponentError::Failed(text) => ToolOutcome::Error(text),
            ComponentError::Unavailable(text) => ToolOutcome::Unavailable(text),
            ComponentError::Needs(question) => ToolOutcome::Needs(question),
            ComponentError::Asks(question) => ToolOutcome::Asks(question),
        }
    }
}

/// A command that is being performed.
pub type Performing<'a> = BoxFuture<'a, Result<Value, ComponentError>>;

/// What performs the commands of a plugin.
pub trait Component: Send + Sync {
    /// Performs a command. Its parameter has been checked; null is none.
    fn command<'a>(&'a self, command: &'a str, param: Value, context: &'a CallContext) -> Performing<'a>;

    /// Makes sure that it could perform commands now: for people who want to know before the first one.
    fn start(&self) -> BoxFuture<'_, Result<(), ComponentError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// How many commands it performs at a time; none: any number.
    fn concurrency(&self) -> Option<usize> {
        None
    }

    /// The end: whatever it holds is let go. No command comes after it.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// After its end, what it wrote last for its author and nobody else: a process, to standard error.
    fn last_words(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::ready(String::new()))
    }
}
