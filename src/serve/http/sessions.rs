//! Sessions: begun, listed, looked at, deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::host::clock::iso_text;
use crate::host::events::Mark;
use crate::host::ledger::{Served, Wanted};
use crate::host::residents::Beginning;
use crate::host::residents::standing::{Asked as Question, Fault, Standing, State as Stands};
use crate::host::session::Deed;
use crate::serve::http::Server;
use crate::serve::http::access::{Caller, Role};
use crate::serve::http::body::{Asked, Typed};
use crate::serve::http::limits::VISITOR_SESSIONS;
use crate::serve::http::options::Approvals;
use crate::serve::http::problem::{Pointed, Problem};
use crate::value::{Map, Value};
use crate::vm::protocol::Timestamp;

/// The most sessions of a page.
const PAGE: usize = 200;

/// A session that is to begin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// The program's name.
    program: String,
    /// The playbook or plan to begin with; none: the program's entry.
    playbook: Option<String>,
    /// Its arguments, or variables.
    #[serde(default)]
    arguments: BTreeMap<String, Json>,
    /// What the user says first.
    message: Option<String>,
    /// Words of the caller's own, by which sessions can be found.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

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
    /// Names and values, in order; not for those who may not answer.
    args: Vec<(String, Json)>,
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

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Sessions {
    sessions: Vec<SessionWire>,
    /// What `before` of the next page is.
    next: Option<String>,
}

/// What somebody reads whom a question does not concern.
pub(crate) const A_COLLEAGUE: &str = "A colleague has to confirm this.";

impl Server {
    /// Whether this caller answers this question: what the operator has put before a call is for operators, what a tool
    /// asks in the middle of its work is for whoever talks.
    pub(super) fn may_answer(&self, caller: &Caller, question: &Question) -> bool {
        caller.role >= Role::Operator || question.by_tool || self.options.approvals == Approvals::User
    }

    /// A session that this caller may know of.
    pub(super) async fn find(&self, caller: &Caller, id: &str) -> Result<Served, Problem> {
        let id: Arc<str> = id.into();
        let served = self.residents.find(&id).await?;
        match caller.may_see(&served) {
            true => Ok(served),
            // As if it were not there.
            false => Err(crate::host::residents::error::ResidentError::NoSession(id).into()),
        }
    }

    /// A session as this caller sees it.
    pub(super) async fn wire(&self, caller: &Caller, served: Served) -> Result<SessionWire, Problem> {
        let (standing, live) = self.residents.standing(&served).await?;
        Ok(self.wire_of(caller, served, standing, live))
    }

    fn wire_of(&self, caller: &Caller, served: Served, standing: Standing, live: bool) -> SessionWire {
        let Standing { state, asked, mark, last, value, fault, tokens, cost } = standing;
        let word: &str = state.into();
        let sees_all = caller.role >= Role::User;
        let forked = served.forked.as_deref().and_then(|from| from.split_once('@'));
        SessionWire {
            id: served.session.to_string(),
            program: served.program.to_string(),
            version: served.version.to_string(),
            state: word.to_owned(),
            approval: asked.map(|asked| self.approval_wire(caller, asked)),
            mark: mark.to_string(),
            created: text_of(served.created),
            last: text_of(Timestamp(last)),
            labels: serde_json::from_str(&served.labels).unwrap_or_default(),
            owner: served.owner.to_string(),
            live,
            forked_from: forked.map(|(session, point)| ForkedWire { session: session.into(), point: point.into() }),
            value: value.filter(|_| sees_all).map(|value| json_of(&value)),
            fault: fault.map(|Fault { kind, message }| FaultWire {
                kind,
                message: if sees_all { message.to_string() } else { "something went wrong".to_owned() },
            }),
            tokens,
            cost: cost.filter(|_| sees_all),
        }
    }

    /// A question as this caller may read it.
    pub(super) fn approval_wire(&self, caller: &Caller, asked: Question) -> ApprovalWire {
        let may = self.may_answer(caller, &asked);
        let Question { call, tool, question, args, by_tool: _ } = asked;
        let args = args.into_iter().filter(|_| may).map(|(name, value)| (name.to_string(), json_of(&value)));
        ApprovalWire {
            call,
            tool: may.then(|| tool.to_string()),
            question: if may { question.to_string() } else { A_COLLEAGUE.to_owned() },
            args: args.collect(),
        }
    }
}

/// A value as JSON.
pub(super) fn json_of(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// RFC 3339, in UTC.
pub(super) fn text_of(time: Timestamp) -> String {
    iso_text(time, &jiff::tz::TimeZone::UTC)
}

pub(super) async fn create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Typed(new): Typed<NewSession>,
) -> Result<Response, Problem> {
    begin(&server, &caller, None, new).await
}

pub(super) async fn create_as(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Typed(new): Typed<NewSession>,
) -> Result<Response, Problem> {
    begin(&server, &caller, Some(id.into()), new).await
}

async fn begin(
    server: &Arc<Server>,
    caller: &Caller,
    id: Option<Arc<str>>,
    new: NewSession,
) -> Result<Response, Problem> {
    server.check_open()?;
    let NewSession { program, playbook, arguments, message, labels } = new;
    if !caller.may_have(&program) {
        return Err(Problem::forbidden(format!("{}'s token is for another program", caller.name)));
    }
    if caller.role == Role::Visitor {
        let own = Wanted { owner: Some(caller.name.clone()), limit: VISITOR_SESSIONS, ..Wanted::default() };
        if server.residents.ledger().list(own).await?.len() >= VISITOR_SESSIONS {
            return Err(Problem::too_many(format!("a visitor has at most {VISITOR_SESSIONS} sessions"), 3600));
        }
    }
    if let Some(text) = &message {
        super::messages::check_text(text)?;
    }
    let arguments: Map = arguments
        .into_iter()
        .map(|(name, value)| Ok((Arc::from(name), serde_json::from_value(value)?)))
        .collect::<Result<_, serde_json::Error>>()
        .map_err(|error| Problem::bad(format!("an argument is no value: {error}"), Vec::new()))?;
    let beginning = Beginning {
        program: program.as_str().into(),
        id,
        playbook,
        arguments,
        owner: caller.name.clone(),
        labels: serde_json::to_string(&labels).unwrap_or_default(),
    };
    let (served, is_new) = server.residents.begin(beginning).await?;
    if let (Some(text), true) = (message, is_new) {
        let handle = server.residents.handle(&served.session).await?.on_behalf_of(caller.name.clone());
        handle.deliver(Deed::Message { text: text.into(), id: None }).await?;
    }
    let place = format!("/api/sessions/{}", served.session);
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let wire = server.wire(caller, served).await?;
    Ok((status, [(header::LOCATION, place)], Typed(wire)).into_response())
}

pub(super) async fn list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Asked(which): Asked<BTreeMap<String, String>>,
) -> Result<Typed<Sessions>, Problem> {
    let (mut program, mut state, mut before, mut limit, mut wanted_labels) = (None, None, None, 50, Vec::new());
    for (key, value) in &which {
        let wrong = |detail: &str| {
            Problem::bad(detail, vec![Pointed { pointer: key.clone(), detail: format!("{value:?} is not that") }])
        };
        match (key.as_str(), key.strip_prefix("label.")) {
            ("program", _) => program = Some(value.clone()),
            ("state", _) => {
                let states = "`state` is speaking, waiting, approval, timer, finished, failed or interrupted";
                state = Some(value.parse::<Stands>().map_err(|_| wrong(states))?);
            }
            ("before", _) => before = Some(Arc::from(value.as_str())),
            ("limit", _) => {
                let n: usize = value.parse().map_err(|_| wrong("`limit` is a number from 1 to 200"))?;
                limit = n.clamp(1, PAGE);
            }
            (_, Some(label)) => wanted_labels.push((label, value)),
            (_, None) => return Err(wrong("the fields are program, state, before, limit and label.KEY")),
        }
    }
    let owner = (caller.role < Role::Operator).then(|| caller.name.clone());
    let mut sessions = Vec::new();
    // Those that do not fit are passed over, page by page.
    loop {
        let wanted = Wanted {
            program: program.as_deref().map(Arc::from),
            owner: owner.clone(),
            before: before.clone(),
            limit: PAGE,
        };
        let rows = server.residents.ledger().list(wanted).await?;
        let is_last = rows.len() < PAGE;
        for served in rows {
            before = Some(served.session.clone());
            let own: BTreeMap<String, String> = serde_json::from_str(&served.labels).unwrap_or_default();
            if !wanted_labels.iter().all(|(key, value)| own.get(*key) == Some(*value)) {
                continue;
            }
            let (standing, live) = server.residents.standing(&served).await?;
            if state.is_none_or(|state| state == standing.state) {
                sessions.push(server.wire_of(&caller, served, standing, live));
            }
            if sessions.len() == limit {
                return Ok(Typed(Sessions { sessions, next: before.map(|id| id.to_string()) }));
            }
        }
        if is_last {
            return Ok(Typed(Sessions { sessions, next: None }));
        }
    }
}

pub(super) async fn show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Typed<SessionWire>, Problem> {
    let served = server.find(&caller, &id).await?;
    Ok(Typed(server.wire(&caller, served).await?))
}

pub(super) async fn delete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let served = server.find(&caller, &id).await?;
    if served.owner != caller.name && caller.role < Role::Admin {
        return Err(Problem::forbidden("only its owner and an admin delete a session"));
    }
    server.residents.delete(&served.session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A session's mark as a header's value.
pub(super) fn etag(mark: Mark) -> String {
    format!("\"{mark}\"")
}
