//! Sessions as callers see them, and what several routes have in common.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::host::clock::iso_text;
use crate::host::events::Mark;
use crate::host::ledger::Served;
use crate::host::residents::standing::{Asked as Question, Standing};
use crate::serve::http::access::caller::{Caller, Role};
use crate::serve::http::body::Path;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::value::Value;
use crate::vm::protocol::Timestamp;

/// The most bytes of a message.
const MAX_TEXT: usize = 64 << 10;

/// What somebody reads whom a question does not concern.
pub(crate) const A_COLLEAGUE: &str = "A colleague has to confirm this.";

/// A session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionWire {
    id: String,
    program: String,
    /// `sha256:…` of the text it has.
    version: String,
    /// speaking, waiting, approval, timer, finished, failed or interrupted.
    state: String,
    /// What a person is asked.
    approval: Option<ApprovalWire>,
    /// What the user has said that the program has not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
    /// Of the last event: where a stream can begin.
    mark: String,
    created: String,
    last: String,
    labels: Json,
    owner: String,
    /// Whether a process has it in memory.
    live: bool,
    forked_from: Option<ForkedWire>,
    /// What a program that is over has given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<FaultWire>,
    tokens: u64,
    cost: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ApprovalWire {
    call: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    question: String,
    /// Names, values and where those come from, in order; not for those who may not answer.
    args: Vec<(String, Json, String)>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ForkedWire {
    session: String,
    point: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FaultWire {
    kind: String,
    message: String,
}

/// A request about the session with the `{id}` of its path, which its caller may know of.
pub(super) struct OfSession {
    pub(super) server: Arc<Server>,
    pub(super) caller: Caller,
    pub(super) served: Served,
}

impl FromRequestParts<Arc<Server>> for OfSession {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<OfSession, Problem> {
        let caller = Caller::from_request_parts(parts, server).await?;
        let Path(id) = Path::<String>::from_request_parts(parts, server).await?;
        let served = server.find(&caller, &id).await?;
        Ok(OfSession { server: server.clone(), caller, served })
    }
}

impl Server {
    /// [`Caller::may_answer`], as this server is configured.
    pub(super) fn may_answer(&self, caller: &Caller, by_tool: bool) -> bool {
        caller.may_answer(self.options.approvals, by_tool)
    }

    /// A session that this caller may know of.
    pub(super) async fn find(&self, caller: &Caller, id: &str) -> Result<Served, Problem> {
        Ok(caller.find(&self.residents, &id.into()).await?)
    }

    /// A session as this caller sees it.
    pub(super) async fn wire(&self, caller: &Caller, served: Served) -> Result<SessionWire, Problem> {
        let (standing, live) = self.residents.standing(&served).await?;
        Ok(self.wire_of(caller, served, standing, live))
    }

    pub(super) fn wire_of(&self, caller: &Caller, served: Served, standing: Standing, live: bool) -> SessionWire {
        let Standing { state, asked, unread, mark, last, value, fault, tokens, cost } = standing;
        let word: &str = state.into();
        let sees_all = caller.role >= Role::User;
        let forked = served.forked.as_deref().and_then(|from| from.split_once('@'));
        SessionWire {
            id: served.session.to_string(),
            program: served.program.to_string(),
            version: served.version.to_string(),
            state: word.to_owned(),
            approval: asked.map(|asked| self.approval_wire(caller, asked)),
            unread: texts(&unread),
            mark: mark.to_string(),
            created: text_of(served.created),
            last: text_of(Timestamp(last)),
            labels: serde_json::from_str(&served.labels).unwrap_or_default(),
            owner: served.owner.to_string(),
            live,
            forked_from: forked.map(|(session, point)| ForkedWire { session: session.into(), point: point.into() }),
            value: value.filter(|_| sees_all).map(|value| json_of(&value)),
            fault: fault.map(|fault| FaultWire {
                message: fault_text(fault.can_go_on(), if sees_all { &fault.message } else { "something went wrong" }),
                kind: fault.kind,
            }),
            tokens,
            cost: cost.filter(|_| sees_all),
        }
    }

    /// A question as this caller may read it.
    pub(super) fn approval_wire(&self, caller: &Caller, asked: Question) -> ApprovalWire {
        let may = self.may_answer(caller, asked.by_tool);
        let Question { call, tool, question, args, by_tool: _, said: _ } = asked;
        let args = args.into_iter().filter(|_| may);
        let args = args.map(|(name, value, origin)| (name.to_string(), json_of(&value), origin));
        ApprovalWire {
            call,
            tool: may.then(|| tool.to_string()),
            question: if may { question.to_string() } else { A_COLLEAGUE.to_owned() },
            args: args.collect(),
        }
    }
}

/// Messages as JSON has them.
pub(super) fn texts(messages: &[Arc<str>]) -> Vec<String> {
    messages.iter().map(ToString::to_string).collect()
}

/// A failure with what a client can do about it.
pub(super) fn fault_text(can_go_on: bool, message: &str) -> String {
    if can_go_on { format!("{message}; send a message, and the model is asked again") } else { message.to_owned() }
}

/// A value as JSON.
pub(super) fn json_of(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// RFC 3339, in UTC.
pub(super) fn text_of(time: Timestamp) -> String {
    iso_text(time, &jiff::tz::TimeZone::UTC)
}

/// Whether a text can be a message.
pub(super) fn check_text(text: &str) -> Result<(), Problem> {
    match text.len() {
        n if n > MAX_TEXT => Err(Problem::too_large(format!(
            "the text has {n} bytes, but the limit is {MAX_TEXT}; put it into a file that a tool can read"
        ))),
        _ if text.trim().is_empty() => Err(Problem::unprocessable("the text is empty; say something")),
        _ => Ok(()),
    }
}

/// A session's mark as a header's value.
pub(super) fn etag(mark: Mark) -> String {
    format!("\"{mark}\"")
}
