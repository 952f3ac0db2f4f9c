//! Plugins: components whose commands programs call as `plugin.command` (spec `components.md`).

pub mod process;

use futures_util::future::BoxFuture;

use crate::host::tool::{CallContext, ToolOutcome};
use crate::value::Value;

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
    #[error("needs an answer: {0}")]
    Needs(String),
    /// A person is asked something ([`ToolOutcome::Asks`]).
    #[error("asks: {0}")]
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

/// What performs the commands of a plugin.
pub trait Component: Send + Sync {
    /// Performs a command. The parameter has been checked.
    fn command<'a>(
        &'a self,
        command: &'a str,
        param: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, ComponentError>>;

    /// The end: whatever it holds is let go. No command comes after it.
    fn close(&self) -> BoxFuture<'_, ()>;
}
