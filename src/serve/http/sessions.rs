//! Sessions: begun, listed, looked at, deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::host::ledger::Filter;
use crate::host::residents::Beginning;
use crate::host::residents::standing::State as Stands;
use crate::host::session::Deed;
use crate::serve::http::access::caller::{Caller, Role};
use crate::serve::http::body::{Path, Queried, Typed};
use crate::serve::http::limits::VISITOR_SESSIONS;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{OfSession, SessionWire, check_text};
use crate::value::Map;

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

/// Which sessions are wanted.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Which {
    /// Those of this program.
    program: Option<String>,
    /// Those that stand so.
    state: Option<String>,
    /// Those that began before this one.
    before: Option<Arc<str>>,
    /// At most so many, and no more than 200.
    // Beside flattened fields serde reads no numbers out of a query.
    #[schemars(with = "Option<u64>")]
    limit: Option<String>,
    /// `label.KEY`: those with this label.
    #[serde(flatten)]
    rest: BTreeMap<String, String>,
}

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Sessions {
    sessions: Vec<SessionWire>,
    /// What `before` of the next page is.
    next: Option<String>,
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
    let NewSession { program, playbook, arguments, message, labels } = new;
    if !caller.may_have(&program) {
        return Err(Problem::forbidden(format!("{}'s token is for another program", caller.name)));
    }
    if caller.role == Role::Visitor {
        let own = Filter { limit: VISITOR_SESSIONS, ..caller.own() };
        if server.residents.ledger().list(own).await?.len() >= VISITOR_SESSIONS {
            return Err(Problem::too_many(format!("a visitor has at most {VISITOR_SESSIONS} sessions"), 3600));
        }
    }
    if let Some(text) = &message {
        check_text(text)?;
    }
    let arguments: Map = arguments
        .into_iter()
        .map(|(name, value)| Ok((Arc::from(name), serde_json::from_value(value)?)))
        .collect::<Result<_, serde_json::Error>>()
        .map_err(|error| Problem::bad(format!("an argument is not a value: {error}"), Vec::new()))?;
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
        let deed = Deed::Message { text: text.into(), id: None };
        server.residents.deliver(&served, &caller.name, deed).await?;
    }
    let place = format!("/api/sessions/{}", served.session);
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let wire = server.wire(caller, served).await?;
    Ok((status, [(header::LOCATION, place)], Typed(wire)).into_response())
}

pub(super) async fn list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Queried(Which { program, state, before, limit, rest }): Queried<Which>,
) -> Result<Typed<Sessions>, Problem> {
    let wrong = |key: &str, value: &str, detail: &str| Problem::bad(format!("`{key}={value}`: {detail}"), Vec::new());
    let states = "a state is speaking, waiting, approval, timer, finished, failed or interrupted";
    let state = state.map(|state| state.parse::<Stands>().map_err(|_| wrong("state", &state, states))).transpose()?;
    let numbers = "this is a number from 1 to 200";
    let limit = limit.map(|limit| limit.parse::<usize>().map_err(|_| wrong("limit", &limit, numbers))).transpose()?;
    let limit = limit.unwrap_or(50).clamp(1, PAGE);
    let fields = "the fields are program, state, before, limit and label.KEY";
    let mut wanted_labels = Vec::new();
    for (key, value) in &rest {
        let label = key.strip_prefix("label.").ok_or_else(|| wrong(key, value, fields))?;
        wanted_labels.push((label, value));
    }
    let mut sessions = Vec::new();
    if program.as_deref().is_some_and(|program| !caller.may_have(program)) {
        return Ok(Typed(Sessions { sessions, next: None }));
    }
    let mut filter = Filter { limit: PAGE, before, ..caller.own() };
    filter.program = program.map(Arc::from).or(filter.program);
    // Those that do not fit are passed over, page by page.
    loop {
        let rows = server.residents.ledger().list(filter.clone()).await?;
        let is_last = rows.len() < PAGE;
        for served in rows {
            filter.before = Some(served.session.clone());
            let own: BTreeMap<String, String> = serde_json::from_str(&served.labels).unwrap_or_default();
            if !wanted_labels.iter().all(|(key, value)| own.get(*key) == Some(*value)) {
                continue;
            }
            let (standing, live) = server.residents.standing(&served).await?;
            if state.is_none_or(|state| state == standing.state) {
                sessions.push(server.wire_of(&caller, served, standing, live));
            }
            if sessions.len() == limit {
                return Ok(Typed(Sessions { sessions, next: filter.before.map(|id| id.to_string()) }));
            }
        }
        if is_last {
            return Ok(Typed(Sessions { sessions, next: None }));
        }
    }
}

pub(super) async fn show(OfSession { server, caller, served }: OfSession) -> Result<Typed<SessionWire>, Problem> {
    Ok(Typed(server.wire(&caller, served).await?))
}

pub(super) async fn delete(OfSession { server, caller, served }: OfSession) -> Result<StatusCode, Problem> {
    if served.owner != caller.name && caller.role < Role::Admin {
        return Err(Problem::forbidden("only its owner or an admin may delete a session"));
    }
    server.residents.delete(&served.session).await?;
    Ok(StatusCode::NO_CONTENT)
}
