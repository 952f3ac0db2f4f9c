//! All routes, in one table: the router, the OpenAPI document and `docs/serving.md` are made of it (spec `serving.md`,
//! section 3).

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Extension, Router};
use serde_json::Value as Json;
use tower_http::cors::{AllowHeaders, CorsLayer};

use crate::serve::http::access::authorize;
use crate::serve::http::access::caller::Role;
use crate::serve::http::agui::{self, input::RunInput};
use crate::serve::http::body::{MAX_BODY, MaxBody, Typed};
use crate::serve::http::guard::guard;
#[cfg(feature = "mcp")]
use crate::serve::http::mcp;
use crate::serve::http::openai::wire::{IGNORED, MAX_BODY as MAX_CONVERSATION};
use crate::serve::http::openai::{chat, models, responses};
use crate::serve::http::relay::relay;
use crate::serve::http::route::{Answer, Route, shape};
use crate::serve::http::server::Server;
use crate::serve::http::{approvals, door, events, messages, nodes, openapi, page, past, programs, sessions, wire};

macro_rules! route {
    ($method:ident $path:literal, $role:expr, $handler:path, $status:literal $answer:expr, $summary:literal
     $(, also: $also_status:literal $also:expr)* $(, body: $body:ty)? $(, query: $query:ty)? $(, limit: $limit:expr)?) => {{
        #[allow(unused_mut, reason = "not every route takes something")]
        let mut route = Route {
            method: Method::$method,
            path: $path,
            role: $role,
            summary: $summary,
            body: None,
            query: None,
            limit: MAX_BODY,
            answers: vec![($status, $answer) $(, ($also_status, $also))*],
            handler: on(MethodFilter::$method, $handler),
        };
        $(route.body = Some(shape::<$body>);)?
        $(route.query = Some(shape::<$query>);)?
        $(route.limit = $limit;)?
        route
    }};
}

/// All of them.
#[rustfmt::skip]
pub(super) fn table() -> Vec<Route> {
    use Answer::{Json as J, Nothing, Other};
    use Role::{Admin, Operator, User, Visitor};
    const EVENTS: Answer = Other("text/event-stream");
    #[allow(unused_mut, reason = "there may be no MCP")]
    let mut routes = vec![
        route!(GET "/", None, page::index, 200 Other("text/html"), "Returns the page"),
        route!(GET "/chat/{name}", None, page::chat, 200 Other("text/html"), "Returns the page for people who only chat"),
        route!(GET "/page/{*path}", None, page::asset, 200 Other("text/*"), "Returns a file of the page"),
        route!(GET "/healthz", None, door::healthy, 200 Other("text/plain"), "Says whether the process is running"),
        route!(GET "/readyz", None, door::ready, 200 Other("text/plain"), "Says whether the server accepts sessions: it can write to the store and is not shutting down"),
        route!(GET "/openapi.json", None, document, 200 J(shape::<Json>), "Describes this API (OpenAPI)"),
        route!(GET "/metrics", Some(Admin), door::metrics, 200 Other("text/plain"), "Returns metrics for Prometheus"),
        route!(POST "/api/login", None, door::login, 204 Nothing, "Exchanges a token for the page's cookie", body: door::Login),
        route!(POST "/api/logout", None, door::logout, 204 Nothing, "Deletes the cookie"),
        route!(GET "/api/me", Some(Visitor), door::me, 200 J(shape::<door::Me>), "Says who the caller is, and what they may do"),
        route!(POST "/api/visitors", None, door::visit, 201 J(shape::<door::Visit>), "Makes a token for a visitor of one program, valid for 30 days", body: door::NewVisitor),
        route!(GET "/api/programs", Some(Visitor), programs::list, 200 J(shape::<programs::Programs>), "Lists the programs"),
        route!(GET "/api/programs/{name}", Some(Visitor), programs::show, 200 J(shape::<programs::ProgramWire>), "Returns a program"),
        route!(GET "/api/programs/{name}/source", Some(User), programs::source, 200 J(shape::<programs::SourceWire>), "Returns a program's files, and the place of each line"),
        route!(POST "/api/programs/{name}/reload", Some(Admin), programs::reload, 200 J(shape::<programs::Reloaded>), "Reloads a program's files, for new sessions"),
        route!(GET "/api/sessions", Some(Visitor), sessions::list, 200 J(shape::<sessions::Sessions>), "Lists sessions, newest first; filters: program, state, before, limit, label.KEY", query: sessions::Which),
        route!(POST "/api/sessions", Some(Visitor), sessions::create, 201 J(shape::<wire::SessionWire>), "Starts a session", body: sessions::NewSession),
        route!(PUT "/api/sessions/{id}", Some(User), sessions::create_as, 201 J(shape::<wire::SessionWire>), "Starts a session with this id; a repeated request returns the same session", also: 200 J(shape::<wire::SessionWire>), body: sessions::NewSession),
        route!(GET "/api/sessions/{id}", Some(Visitor), sessions::show, 200 J(shape::<wire::SessionWire>), "Returns a session"),
        route!(DELETE "/api/sessions/{id}", Some(User), sessions::delete, 204 Nothing, "Deletes a session permanently"),
        route!(POST "/api/sessions/{id}/messages", Some(Visitor), messages::send, 202 J(shape::<messages::Taken>), "Sends a message from the user", also: 200 J(shape::<messages::Said>), also: 200 EVENTS, body: messages::Message, query: messages::Waits),
        route!(POST "/api/sessions/{id}/events", Some(Operator), messages::event, 202 J(shape::<messages::Taken>), "Sends an event from outside, for triggers that wait for it", body: messages::OutsideEvent),
        route!(POST "/api/sessions/{id}/interrupt", Some(Visitor), messages::interrupt, 202 J(shape::<messages::Taken>), "Interrupts the session: cancels what it is doing"),
        route!(GET "/api/sessions/{id}/events", Some(Visitor), events::events, 200 EVENTS, "Streams all events after a mark, then new ones as they happen", query: events::FromMark),
        route!(GET "/api/sessions/{id}/state", Some(User), past::state, 200 J(shape::<Json>), "Returns the session's state, now or at an earlier point", query: past::When),
        route!(GET "/api/sessions/{id}/source", Some(User), past::source, 200 J(shape::<programs::SourceWire>), "Returns the text that the session runs, and the place of each line"),
        route!(GET "/api/sessions/{id}/steps", Some(User), past::steps, 200 J(shape::<Json>), "Lists what happened, point by point", query: past::Steps),
        route!(GET "/api/sessions/{id}/why", Some(User), past::reasons, 200 J(shape::<Json>), "Explains why triggers fired or did not", query: past::Trigger),
        route!(GET "/api/sessions/{id}/diff/{other}", Some(User), past::diff, 200 J(shape::<Json>), "Compares the session with another one"),
        route!(GET "/api/sessions/{id}/export", Some(User), past::export, 200 Other("application/jsonl"), "Exports the session's records, with secrets masked"),
        route!(POST "/api/sessions/{id}/fork", Some(Operator), past::fork, 201 J(shape::<wire::SessionWire>), "Forks the session: a new one branches off at a point of this one", body: past::NewFork),
        route!(POST "/api/sessions/{id}/migrate", Some(Admin), past::migrate, 200 J(shape::<wire::SessionWire>), "Moves the session to the current text of a program", body: past::Migration),
        route!(GET "/api/approvals", Some(User), approvals::list, 200 J(shape::<approvals::Approvals>), "Lists the open questions about calls, such as approvals, in all sessions"),
        route!(GET "/v1/models", Some(User), models::list, 200 J(shape::<models::Models>), "OpenAI: lists the programs, each as a model"),
        route!(GET "/v1/models/{id}", Some(User), models::show, 200 J(shape::<models::Model>), "OpenAI: returns a program as a model"),
        route!(POST "/v1/chat/completions", Some(User), chat::complete, 200 J(shape::<Json>), "OpenAI: returns or streams the next answer of a conversation", also: 200 EVENTS, body: chat::ChatRequest, limit: MAX_CONVERSATION),
        route!(POST "/v1/responses", Some(User), responses::create, 200 J(shape::<Json>), "OpenAI: returns the next answer as a response, or streams its events", also: 200 EVENTS, body: responses::ResponseRequest, limit: MAX_CONVERSATION),
        route!(GET "/v1/responses/{id}", Some(User), responses::show, 200 J(shape::<Json>), "OpenAI: returns a response again, or streams its events after a number", also: 200 EVENTS, query: responses::Wanted),
        route!(POST "/v1/responses/{id}/cancel", Some(User), responses::cancel, 200 J(shape::<Json>), "OpenAI: cancels a response"),
        route!(POST "/agui/{program}", Some(User), agui::run, 200 EVENTS, "AG-UI: runs a program; the thread is the session", body: RunInput, limit: MAX_CONVERSATION),
        route!(POST "/api/sessions/{id}/approvals/{call}", Some(Visitor), approvals::answer, 200 J(shape::<approvals::Answered>), "Answers the question about a call, such as an approval", body: approvals::Answer),
    ];
    #[cfg(feature = "mcp")]
    routes.extend([
        route!(POST "/mcp", Some(User), mcp::serve, 200 EVENTS, "MCP: sends a message, and streams what comes of it", also: 202 Nothing),
        route!(GET "/mcp", Some(User), mcp::serve, 200 EVENTS, "MCP: streams messages to an older client outside its requests"),
        route!(DELETE "/mcp", Some(User), mcp::serve, 204 Nothing, "MCP: ends the connection of an older client"),
    ]);
    routes
}

/// `/openapi.json`.
async fn document() -> Response {
    Typed(openapi::make(&table())).into_response()
}

/// The table as Markdown, for `docs/serving.md`.
pub fn as_markdown() -> String {
    let row = |Route { method, path, role, summary, .. }: &Route| {
        let who = role.map_or("anybody", Into::into);
        format!("| `{method} {path}` | {who} | {summary} |\n")
    };
    let rows: String = table().iter().map(row).collect();
    format!("| route | who | does |\n| --- | --- | --- |\n{rows}")
}

/// `/metrics` alone.
pub(super) fn router_of_figures(server: Arc<Server>) -> Router {
    Router::new().route("/metrics", on(MethodFilter::GET, door::metrics)).with_state(server)
}

/// The router.
pub(super) fn router(server: Arc<Server>) -> Router {
    let mut router = Router::new();
    for Route { path, role, handler, limit, .. } in table() {
        let handler: MethodRouter<Arc<Server>> =
            handler.layer((DefaultBodyLimit::max(limit), Extension(MaxBody(limit))));
        let is_about_one = path.starts_with("/api/sessions/{id}") || path.starts_with("/v1/responses/{id}");
        let handler = if is_about_one { handler.layer(from_fn_with_state(server.clone(), relay)) } else { handler };
        let handler = match role {
            Some(role) => handler.layer(from_fn_with_state((server.clone(), role), authorize)),
            None => handler,
        };
        router = router.route(path, handler);
    }
    let origins = server.options.origins.iter().filter_map(|origin| origin.parse().ok());
    let foreign_pages = CorsLayer::new()
        .allow_origin(origins.collect::<Vec<HeaderValue>>())
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        // Clients of other protocols send headers of many names.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            header::ETAG,
            header::LOCATION,
            header::RETRY_AFTER,
            HeaderName::from_static("mcp-session-id"),
            IGNORED,
        ]);
    #[cfg(feature = "mcp")]
    let router = router.layer(Extension(mcp::Clients::new(&server)));
    let router = router
        .fallback(door::nowhere)
        .method_not_allowed_fallback(door::no_method)
        .layer(from_fn(door::catch))
        .layer(foreign_pages)
        .layer(from_fn_with_state(server.clone(), guard))
        .with_state(server.clone());
    match server.residents.dispatch() {
        // They ask for it by an address, which the guard would not know.
        Some(dispatch) => router.merge(nodes::router(server.clone(), dispatch)),
        None => router,
    }
}
