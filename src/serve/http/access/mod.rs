//! Who may what (spec `serving.md`, section 2).

pub(crate) mod cookie;

pub mod tokens;

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderMap, Method, header, request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::host::ledger::Served;
use crate::serve::http::Server;
use crate::serve::http::access::cookie::Cookies;
use crate::serve::http::problem::Problem;

/// What somebody may do; each may what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// Talks in own sessions of one program, and hears their speech.
    Visitor,
    /// Sees the state of own sessions, too.
    User,
    /// Sees all sessions, their past, forks them, and answers what calls of tools need.
    Operator,
    /// Deletes, reloads and migrates.
    Admin,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// A token's name.
    pub(crate) name: Arc<str>,
    /// What it may do.
    pub(crate) role: Role,
    /// The only program that it is for.
    pub(crate) program: Option<Arc<str>>,
    /// Whether it came by a cookie, which a browser sends by itself.
    pub(crate) by_cookie: bool,
}

impl Caller {
    /// Whoever can reach a server without tokens: it serves this machine only.
    fn anybody() -> Caller {
        Caller { name: "local".into(), role: Role::Admin, program: None, by_cookie: false }
    }

    /// Whether this caller may know of a session. Of one that they may not there is none.
    pub(crate) fn may_see(&self, served: &Served) -> bool {
        self.role >= Role::Operator || served.owner == self.name
    }

    /// Whether they may have a program.
    pub(crate) fn may_have(&self, program: &str) -> bool {
        self.program.as_deref().is_none_or(|own| own == program)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Caller, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.ok_or_else(|| Problem::internal("nobody has looked who asks; please report this"))
    }
}

/// Finds out who asks, and lets nobody in who may not.
pub(super) async fn authorize(
    State((server, least)): State<(Arc<Server>, Role)>,
    mut request: Request,
    next: Next,
) -> Response {
    match identify(&server, request.headers()).await {
        // What a browser sends by itself is no sign that somebody wants it.
        Ok(caller) if caller.by_cookie && changes(request.method()) && !is_same_origin(request.headers()) => {
            let detail = "with a cookie only the server's own page changes something; send a token";
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
            let detail = format!("this needs a token with the role {needs}, and {} has the role {has}", caller.name);
            Problem::forbidden(detail).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

fn changes(method: &Method) -> bool {
    *method != Method::GET && *method != Method::HEAD
}

/// Whether a page of this server has made the request.
pub(super) fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, authority)| Some(authority) == text(header::HOST))
}

/// Whose token it is.
pub(super) async fn identify(server: &Server, headers: &HeaderMap) -> Result<Caller, Problem> {
    if !server.needs_tokens {
        return Ok(Caller::anybody());
    }
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    let by_cookie = bearer.is_none();
    let hash = match bearer {
        Some((_, token)) => Some(tokens::hash(token.trim())),
        None => headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .find_map(|cookies| server.cookies.read(cookies, server.residents.now())),
    };
    let none = "send a token as `Authorization: Bearer TOKEN`; `playhouse serve token new NAME --role user` makes one";
    let hash = hash.ok_or_else(|| Problem::unauthorized(none))?;
    let found = server.residents.ledger().token(hash).await?;
    let found = found.filter(|token| token.expires.is_none_or(|expires| expires > server.residents.now()));
    let Some(token) = found else {
        server.limits.wrong_token()?;
        return Err(Problem::unauthorized("this token is not known here, or its time is over; ask for another one"));
    };
    let role = token.role.parse().map_err(|_| Problem::internal("the token's role is not known to this version"))?;
    Ok(Caller { name: token.name, role, program: token.program, by_cookie })
}

/// The cookies of this server.
pub(super) fn cookies(key: [u8; 64]) -> Cookies {
    Cookies::new(key)
}
