//! Questions about calls, of all sessions, and their answers.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::host::ledger::Filter;
use crate::host::session::{Deed, Refusal, SendError};
use crate::serve::http::access::caller::Caller;
use crate::serve::http::body::{Path, Typed};
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{ApprovalWire, text_of, texts};
use crate::vm::protocol::{CallId, Timestamp};

/// How many sessions are looked at for questions, the newest first.
const LOOK: usize = 10_000;

/// A question that is open.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Open {
    session: String,
    program: String,
    #[serde(flatten)]
    approval: ApprovalWire,
    /// What the user has said last, before the question and since, and nobody has answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    said: Vec<String>,
    /// Since when.
    asked: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Approvals {
    approvals: Vec<Open>,
}

/// An answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// true, false, or words for the tool.
    answer: Json,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Answered {
    answer: Json,
    by: String,
}

pub(super) async fn list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Typed<Approvals>, Problem> {
    let rows = server.residents.ledger().list(Filter { limit: LOOK, ..caller.own() }).await?;
    let mut approvals = Vec::new();
    for served in rows {
        let (standing, _) = server.residents.standing(&served).await?;
        if let Some(asked) = standing.asked.filter(|asked| server.may_answer(&caller, asked.by_tool)) {
            approvals.push(Open {
                session: served.session.to_string(),
                program: served.program.to_string(),
                said: texts(&asked.said),
                approval: server.approval_wire(&caller, asked),
                asked: text_of(Timestamp(standing.last)),
            });
        }
    }
    Ok(Typed(Approvals { approvals }))
}

pub(super) async fn answer(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path((id, call)): Path<(String, u64)>,
    Typed(Answer { answer }): Typed<Answer>,
) -> Result<Typed<Answered>, Problem> {
    if !matches!(answer, Json::Bool(_) | Json::String(_)) {
        return Err(Problem::unprocessable("`answer` is true, false, or words"));
    }
    let served = server.find(&caller, &id).await?;
    let (standing, _) = server.residents.standing(&served).await?;
    match standing.asked.filter(|asked| asked.call == call) {
        None => return Err(SendError::Refused(Refusal::NotAsked(call)).into()),
        Some(asked) if !server.may_answer(&caller, asked.by_tool) => {
            return Err(Problem::forbidden("only an operator may answer this; send a token with the role operator"));
        }
        Some(_) => {}
    }
    let value = serde_json::from_value(answer.clone()).map_err(|error| Problem::bad(error.to_string(), Vec::new()))?;
    server.residents.deliver(&served, &caller.name, Deed::Approve(CallId(call), value)).await?;
    Ok(Typed(Answered { answer, by: caller.name.to_string() }))
}
