//! What a tool answers.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::host::residents::error::ResidentError;
use crate::host::residents::standing::{Fault, Standing, State};
use crate::serve::http::wire::A_COLLEAGUE;

/// Why a tool did nothing: the cause and the next step, for the client's model.
#[derive(Debug)]
pub(super) struct Wrong(pub(super) String);

impl From<ResidentError> for Wrong {
    fn from(error: ResidentError) -> Wrong {
        Wrong(error.to_string())
    }
}

impl Wrong {
    /// As an answer.
    pub(super) fn answer(self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.0)])
    }
}

/// How a session stands, for the client's model.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Told {
    /// The session: `reply` and `wait` want it.
    session: String,
    /// finished, failed, waiting (for the user), approval (a person has to confirm a call) or running.
    status: &'static str,
    /// What the program has said to the user since they last spoke; pass it on.
    said: Vec<String>,
    /// What the program has given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    /// What a person is asked about a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// Why the program failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// What to do now.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Told {
    /// A session that goes on.
    pub(super) fn running(session: &Arc<str>, said: Vec<String>) -> Told {
        let next = format!("The program is still running. Call `wait` with the session {session}.");
        Told {
            session: session.to_string(),
            status: "running",
            said,
            value: None,
            question: None,
            fault: None,
            next: Some(next),
        }
    }

    /// A session that has come to a stop. `may_answer`: the client's model may give a person's answer.
    pub(super) fn stopped(session: &Arc<str>, standing: Standing, said: Vec<String>, may_answer: bool) -> Told {
        let told = Told::running(session, said);
        match standing.state {
            State::Finished => {
                // Without a value the playbook gave back nothing.
                let value = standing.value.map(|value| serde_json::to_value(value).unwrap_or_default());
                Told { status: "finished", value, next: None, ..told }
            }
            State::Failed => {
                let fault = standing.fault.map(|Fault { kind, message }| format!("{kind}: {message}"));
                Told { status: "failed", fault, next: None, ..told }
            }
            State::Waiting => Told {
                status: "waiting",
                next: Some(format!(
                    "The program waits for the user. Ask them, then call `reply` with the session {session} and their \
                     words."
                )),
                ..told
            },
            State::Approval if may_answer => Told {
                status: "approval",
                question: standing.asked.map(|asked| asked.question.to_string()),
                next: Some(format!(
                    "Ask the user this question, then call `reply` with the session {session} and their answer: yes, no, or \
                     words."
                )),
                ..told
            },
            State::Approval => Told {
                status: "approval",
                question: Some(A_COLLEAGUE.to_owned()),
                next: Some(format!("Tell the user. To learn the outcome, call `wait` with the session {session}.")),
                ..told
            },
            State::Speaking | State::Timer | State::Interrupted => told,
        }
    }

    /// As an answer: structured, and the same as text.
    pub(super) fn answer(self) -> CallToolResult {
        let is_failed = self.status == "failed";
        let json = serde_json::to_value(self).unwrap_or_default();
        if is_failed { CallToolResult::structured_error(json) } else { CallToolResult::structured(json) }
    }
}
