//! What the servers tell each other that share their sessions: what was written, and what came of what was handed in
//! (spec `engine.md`, "Doors"). For them alone: they have a secret.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use crate::host::journal::record::RecordBody;
use crate::host::residents::dispatch::{Dispatch, NODE_HEADER, Receipted, Told};
use crate::serve::http::body::Typed;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;

/// So large may what is told be: a log's blocks are smaller than this.
const MOST: usize = 64 << 20;

/// The routes of a server that is one of many.
pub(super) fn router(server: Arc<Server>, dispatch: &Arc<dyn Dispatch>) -> Router {
    Router::new()
        .route("/nodes/told", post(told))
        .route("/nodes/do", post(perform))
        .layer(DefaultBodyLimit::max(MOST))
        .layer(from_fn_with_state(dispatch.clone(), admit))
        .with_state(server)
}

/// Lets the other servers in.
async fn admit(State(dispatch): State<Arc<dyn Dispatch>>, request: Request, next: Next) -> Response {
    let secret = request.headers().get(NODE_HEADER).and_then(|secret| secret.to_str().ok());
    if secret.is_some_and(|secret| dispatch.is_colleague(secret)) {
        return next.run(request).await;
    }
    let detail =
        "this is for the other nodes, which have the same secret; set the same PLAYHOUSE_NODE_SECRET on all of them";
    Problem::forbidden(detail).into_response()
}

async fn told(State(server): State<Arc<Server>>, body: Bytes) -> Result<StatusCode, Problem> {
    let told: Told = parse(&body)?;
    if let Some(dispatch) = server.residents.dispatch() {
        dispatch.take(told);
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Does something to a session that is live here.
async fn perform(State(server): State<Arc<Server>>, body: Bytes) -> Result<Response, Problem> {
    let (session, wanted): (String, RecordBody) = parse(&body)?;
    let receipt = Receipted::from(server.residents.do_here(&session, wanted).await);
    Ok(Typed(receipt).into_response())
}

fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        Problem::bad(format!("this is not what nodes of this version tell each other: {error}"), Vec::new())
    })
}
