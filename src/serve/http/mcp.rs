//! A server at `/mcp`: streamable HTTP, as rmcp speaks it, after our guard and our tokens.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dashmap::DashMap;
use futures_util::StreamExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::serve::http::access::caller::Caller;
use crate::serve::http::body::MAX_BODY;
use crate::serve::http::server::Server;
use crate::serve::mcp::server::McpServer;

type Service = StreamableHttpService<Arc<McpServer>, LocalSessionManager>;

/// From so many owners on those without connections are forgotten.
const OWNERS: usize = 1_000;

/// The connections of all clients. Those of one owner are not there for another.
pub(super) struct Clients {
    server: Arc<McpServer>,
    /// Those of an owner, and what answers them.
    services: DashMap<Arc<str>, (Arc<LocalSessionManager>, Service)>,
}

impl Clients {
    /// None yet.
    pub(super) fn new(server: &Server) -> Arc<Clients> {
        let mcp = McpServer::new(server.residents.clone(), server.options.approvals, server.cookies.key(), None);
        Arc::new(Clients { server: Arc::new(mcp), services: DashMap::new() })
    }

    fn service(&self, owner: &Arc<str>) -> Service {
        let make = || {
            let server = self.server.clone();
            // The guard has looked at the host and at who has made the request.
            let config = StreamableHttpServerConfig::default()
                .disable_allowed_hosts()
                .disable_allowed_origins()
                .with_max_request_body_bytes(MAX_BODY);
            let connections = Arc::<LocalSessionManager>::default();
            (connections.clone(), StreamableHttpService::new(move || Ok(server.clone()), connections, config))
        };
        if self.services.len() >= OWNERS {
            let has_none =
                |connections: &LocalSessionManager| connections.sessions.try_read().is_ok_and(|all| all.is_empty());
            self.services.retain(|_, (connections, _)| !has_none(connections));
        }
        self.services.entry(owner.clone()).or_insert_with(make).1.clone()
    }
}

/// `/mcp`.
pub(super) async fn serve(
    State(server): State<Arc<Server>>,
    Extension(clients): Extension<Arc<Clients>>,
    caller: Caller,
    request: Request,
) -> Response {
    let counted = match *request.method() {
        Method::GET => server.limits.stream(&caller).map(Some),
        _ => server.limits.message(&caller).map(|()| None),
    };
    let counted = match counted {
        Ok(counted) => counted,
        Err(problem) => return problem.into_response(),
    };
    let is_end = request.method() == Method::DELETE;
    let mut response = clients.service(&caller.name).handle(request).await.map(Body::new);
    if is_end && response.status() == StatusCode::ACCEPTED {
        // There is nothing that comes later; some clients report anything else as a failure.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    if !response.status().is_success() {
        // It says them in words, without a type.
        let kind = response.headers_mut().entry(header::CONTENT_TYPE);
        kind.or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    let Some(counted) = counted else { return response };
    // What a client hears beside its requests ends with the server; answers come to their own end.
    let draining = server.residents.draining().clone().cancelled_owned();
    response.map(|body| {
        Body::from_stream(body.into_data_stream().take_until(draining).map(move |piece| {
            let _ = &counted;
            piece
        }))
    })
}
