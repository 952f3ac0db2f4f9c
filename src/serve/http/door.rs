//! Coming in: tokens and cookies, visitors, health; and what is said where there is no route, or where one has panicked.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::text::panic_text;
use crate::serve::http::access::caller::{Caller, Peer, Role};
use crate::serve::http::access::{token_of, tokens};
use crate::serve::http::body::Typed;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::text_of;
use crate::vm::protocol::Timestamp;

/// How long a visitor's token is good.
const VISIT: i64 = 30 * 24 * 3_600_000;

/// A token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    token: String,
}

/// Who asks.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Me {
    role: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// Whether this server has tokens; without them everybody who reaches it may do everything.
    auth: bool,
}

/// Whom a visitor wants to talk with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewVisitor {
    program: String,
}

/// A visitor's token.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Visit {
    token: String,
    program: String,
    expires: String,
}

pub(super) async fn login(
    State(server): State<Arc<Server>>,
    peer: Peer,
    headers: HeaderMap,
    Typed(Login { token }): Typed<Login>,
) -> Result<Response, Problem> {
    let hash = tokens::hash(token.trim());
    token_of(&server, peer, hash).await?;
    let cookie = server.cookies.make(&hash, server.residents.now(), &headers);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

pub(super) async fn logout(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, server.cookies.remove(&headers))]).into_response()
}

pub(super) async fn me(State(server): State<Arc<Server>>, caller: Caller) -> Typed<Me> {
    let role: &str = caller.role.into();
    Typed(Me {
        role: role.to_owned(),
        name: caller.name.to_string(),
        program: caller.program.map(|program| program.to_string()),
        auth: server.access.needs_tokens(),
    })
}

pub(super) async fn visit(
    State(server): State<Arc<Server>>,
    peer: Peer,
    Typed(NewVisitor { program }): Typed<NewVisitor>,
) -> Result<Response, Problem> {
    server.residents.check_open()?;
    if !server.options.visitors {
        return Err(Problem::forbidden(
            "this server has no visitors; whoever runs it can allow them with `visitors = true` under [serve] in \
             playhouse.toml",
        ));
    }
    server.residents.program(&program)?;
    server.limits.visitor(peer.0)?;
    let now = server.residents.now();
    let expires = Timestamp(now.0.saturating_add(VISIT));
    let no_random = |error: getrandom::Error| Problem::internal(format!("there are no random numbers: {error}"));
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(no_random)?;
    let name = format!("visitor-{:016x}", u64::from_be_bytes(name));
    let made = tokens::new_token(&name, Role::Visitor, Some(&program), (now, Some(expires)));
    let (token, row) = made.map_err(no_random)?;
    server.residents.ledger().add_token(row).await?;
    Ok((StatusCode::CREATED, Typed(Visit { token, program, expires: text_of(expires) })).into_response())
}

pub(super) async fn healthy() -> &'static str {
    "ok\n"
}

pub(super) async fn ready(State(server): State<Arc<Server>>) -> Result<&'static str, Problem> {
    server.residents.check_open()?;
    let writable = server.residents.ledger().is_writable().await;
    writable.map_err(|error| Problem::unavailable(error.to_string(), 5))?;
    Ok("ready\n")
}

pub(super) async fn metrics(State(server): State<Arc<Server>>) -> impl IntoResponse {
    let text = server.metrics.text(server.residents.sessions().len());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

pub(super) async fn nowhere(uri: Uri) -> Problem {
    Problem::not_found(format!("there is no {}; /openapi.json lists all routes", uri.path()))
}

pub(super) async fn no_method(method: Method, uri: Uri) -> Problem {
    Problem::no_method(format!("{} does not take {method}; /openapi.json lists all routes", uri.path()))
}

/// A panic ends one request and no other.
pub(super) async fn catch(request: Request, next: Next) -> Response {
    let answered = std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answered.unwrap_or_else(|panic| {
        let detail = format!("internal error: {}; please report this", panic_text(&*panic));
        Problem::internal(detail).into_response()
    })
}
