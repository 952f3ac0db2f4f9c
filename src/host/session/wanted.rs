//! What a person is waited for, and how a line that they type is given.

use playhouse_lang::value::Value;
use playhouse_vm::protocol::{CallId, Wait};

use crate::session::handle::{SendError, SessionHandle};

/// What the next line of a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It is a message of the user.
    Message,
    /// It answers a tool's question.
    Approval(CallId),
}

impl Wanted {
    /// What ends a wait, if a person can end it.
    pub fn of(wait: &Wait) -> Option<Wanted> {
        match wait {
            Wait::User => Some(Wanted::Message),
            Wait::Approval(call) => Some(Wanted::Approval(*call)),
            Wait::Call(_) | Wait::Reply(_) | Wait::Timer(_) | Wait::Verdict(_) | Wait::Budget => None,
        }
    }

    /// Gives a session the line.
    ///
    /// # Errors
    /// It does not take it.
    pub async fn give(self, handle: &SessionHandle, line: &str) -> Result<(), SendError> {
        match self {
            Wanted::Message => handle.send(line).await,
            Wanted::Approval(call) => Ok(handle.approve(call, approval(line)).await?),
        }
    }
}

/// A person's answer to a tool's question: yes, no, or text for the tool.
pub fn approval(line: &str) -> Value {
    match line.trim().trim_end_matches(['.', '!']).to_lowercase().as_str() {
        "y" | "yes" | "ok" | "okay" => Value::Bool(true),
        "n" | "no" => Value::Bool(false),
        _ => Value::str(line),
    }
}
