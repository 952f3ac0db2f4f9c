//! Who asks, and what they may do.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request;

use crate::host::ledger::Served;
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
    pub(super) fn anybody() -> Caller {
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
