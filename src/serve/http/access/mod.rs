//! Who may what (spec `serving.md`, section 2).

pub(crate) mod caller;
pub mod cookie;
pub mod tokens;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::host::ledger::TokenRow;
use crate::serve::http::access::caller::{Caller, OfOwnPage, Peer};
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;

pub use crate::serve::http::access::caller::Role;

/// Finds out who asks, and lets nobody in who may not.
pub(super) async fn authorize(
    State((server, least)): State<(Arc<Server>, Role)>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer::NOBODY);
    let is_own_page = request.extensions().get::<OfOwnPage>().is_some();
    match identify(&server, peer, request.headers()).await {
        // What a browser sends by itself is no sign that somebody wants it.
        Ok(caller) if caller.by_cookie && !request.method().is_safe() && !is_own_page => {
            let detail = "with a cookie, only the server's own page may change something; send a token instead";
            Problem::forbidden(detail).into_response()
        }
        Ok(caller) if caller.role >= least => {
            if let Err(problem) = server.limits.request(&caller) {
                return problem.into_response();
            }
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Ok(caller) => {
            let (has, needs): (&str, &str) = (caller.role.into(), least.into());
            let detail = format!("this needs a token with the role {needs}, but {} has the role {has}", caller.name);
            Problem::forbidden(detail).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

/// Whom a proxy names that has asked for a password itself; the guard has taken the header from all others. What a browser
/// shows the proxy it sends by itself, as a cookie.
fn named_by_proxy(headers: &HeaderMap, name: &str) -> Option<Caller> {
    let user = headers.get(name)?.to_str().ok().map(str::trim).filter(|user| !user.is_empty())?;
    // Not to be taken for somebody with a token.
    Some(Caller {
        name: format!("sso:{user}").into(),
        role: Role::User,
        program: None,
        by_cookie: true,
        forwards: false,
    })
}

/// Whose token it is.
pub(super) async fn identify(server: &Server, peer: Peer, headers: &HeaderMap) -> Result<Caller, Problem> {
    if !server.access.needs_tokens() {
        return Ok(Caller::anybody());
    }
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    if bearer.is_none()
        && let Some(caller) = server.options.user_header.as_ref().and_then(|name| named_by_proxy(headers, name))
    {
        return Ok(caller);
    }
    let by_cookie = bearer.is_none();
    let hash = match bearer {
        Some((_, token)) => Some(tokens::hash(token.trim())),
        None => server.cookies.read(headers, server.residents.now()),
    };
    let none = "send a token as `Authorization: Bearer TOKEN`; `playhouse serve token new NAME --role user` makes one";
    let hash = hash.ok_or_else(|| Problem::unauthorized(none))?;
    let token = token_of(server, peer, hash).await?;
    let role = token.role.parse().map_err(|_| Problem::internal("this version does not know the token's role"))?;
    Ok(Caller { name: token.name, role, program: token.program, by_cookie, forwards: token.forwards })
}

/// The token with this hash, if its time is not over.
pub(super) async fn token_of(server: &Server, peer: Peer, hash: [u8; 32]) -> Result<TokenRow, Problem> {
    let found = server.residents.ledger().token(hash).await?;
    if let Some(token) = found.filter(|token| token.expires.is_none_or(|end| end > server.residents.now())) {
        return Ok(token);
    }
    server.limits.wrong_token(peer.0)?;
    Err(Problem::unauthorized("this token is unknown here, or has expired; ask for another one"))
}
