//! Requests about a session that another server on the same store has: they are passed on to it, and its answers come
//! back, streams, too (spec `serving.md`, section 7). One hop: what was passed on is not passed on again.
//!
//! Each server listens on a socket beside the store, which only its owner can open and which has the process' number in
//! its name. The session's lock says which process has it; so no list of servers is kept anywhere.

use std::convert::Infallible;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io, process};

use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::{UnixListener, UnixStream};

use crate::host::tasks;
use crate::serve::http::access::caller::Peer;
use crate::serve::http::openai::id::AnswerId;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;

/// Who has asked the server that passes a request on.
const PEER: HeaderName = HeaderName::from_static("x-playhouse-peer");

/// The request was passed on by another server of the same owner, which has looked at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relayed;

/// The socket of a server; it is removed with this.
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens beside a store. A file of this name is left over: processes that live have other numbers.
    ///
    /// # Errors
    /// There can be no socket there: its path is too long, for example.
    pub(super) fn beside(store: &Path) -> io::Result<Socket> {
        let path = path_of(store, &process::id().to_string());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // For the owner only, from its first moment on.
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(&path);
        rustix::process::umask(before);
        Ok(Socket { listener: listener?, path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // One that is left over is no harm.
        let _ = fs::remove_file(&self.path);
    }
}

fn path_of(store: &Path, process: &str) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{process}.sock"));
    store.with_file_name(name)
}

/// Who has asked, where another server has passed the request on.
pub(super) fn peer_of(headers: &HeaderMap) -> Option<IpAddr> {
    headers.get(PEER)?.to_str().ok()?.parse().ok()
}

/// Passes a request on if another server has its session.
pub(super) async fn relay(
    State(server): State<Arc<Server>>,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let parameters = match parameters {
        Ok(parameters) => parameters,
        Err(error) => return Problem::bad(error.body_text(), Vec::new()).into_response(),
    };
    let id = parameters.iter().find(|(name, _)| *name == "id").map(|(_, id)| session_of(id));
    let is_relayed = request.extensions().get::<Relayed>().is_some();
    let Some(id) = id.filter(|_| !is_relayed) else { return next.run(request).await };
    match holder_of(&server, &id).await {
        None => next.run(request).await,
        Some((holder, stream)) => pass_on_to(&holder, stream, &id, request).await,
    }
}

/// The session that a route's `{id}` means: itself, or the one of a response.
fn session_of(id: &str) -> Arc<str> {
    AnswerId::of_response(id).map_or_else(|| id.into(), |answer| answer.session)
}

/// A request of which only its handler finds out which session it is about: all but its body.
pub(super) struct Unplaced(Parts);

impl<S: Send + Sync> FromRequestParts<S> for Unplaced {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Unplaced, Infallible> {
        Ok(Unplaced(parts.clone()))
    }
}

impl Unplaced {
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// Whether another server has passed it on, which happens once.
    pub(super) fn is_relayed(&self) -> bool {
        self.0.extensions.get::<Relayed>().is_some()
    }

    /// Passes it on to the server that has the session. `body` is what it had as its body.
    pub(super) async fn pass_on(self, server: &Server, id: &Arc<str>, body: &impl Serialize) -> Response {
        let body = match serde_json::to_vec(body) {
            Ok(body) => body,
            Err(error) => {
                return Problem::internal(format!("the request cannot be passed on: {error}")).into_response();
            }
        };
        let Some((holder, stream)) = holder_of(server, id).await else {
            return Problem::unavailable(format!("another process had session {id} just then; ask again"), 1)
                .into_response();
        };
        let mut request = Request::from_parts(self.0, Body::from(body));
        // It is another text of the same body.
        request.headers_mut().remove(header::CONTENT_LENGTH);
        pass_on_to(&holder, stream, id, request).await
    }
}

/// The process that has a session, if another server is that. What is no server, or cannot be reached, is told as what
/// holds the session.
async fn holder_of(server: &Server, id: &Arc<str>) -> Option<(String, UnixStream)> {
    let holder = server.residents.other_holder(id).await?;
    let stream = UnixStream::connect(path_of(server.residents.path()?, &holder)).await.ok()?;
    Some((holder, stream))
}

async fn pass_on_to(holder: &str, stream: UnixStream, id: &str, request: Request) -> Response {
    pass_on(stream, request).await.unwrap_or_else(|error| {
        let detail = format!("process {holder} has session {id} and does not answer: {error}; try again in a moment");
        Problem::unavailable(detail, 1).into_response()
    })
}

async fn pass_on(stream: UnixStream, mut request: Request) -> Result<Response, hyper::Error> {
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer::NOBODY);
    let headers = request.headers_mut();
    headers.remove(header::CONNECTION);
    if let Ok(peer) = HeaderValue::from_str(&peer.0.to_string()) {
        headers.insert(PEER, peer);
    }
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the answer, or when nobody reads that any more.
    tasks::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "what was passed on ends");
        }
    });
    let mut answer = sender.send_request(request).await?.map(Body::new);
    answer.headers_mut().remove(header::CONNECTION);
    Ok(answer)
}
