//! Who asks, and what they may do.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::{HeaderMap, request};
use ipnet::IpNet;

use crate::host::ledger::{Filter, Served};
use crate::host::residents::Residents;
use crate::host::residents::error::ResidentError;
use crate::host::residents::offered::Offered;
use crate::host::serve_options::Approvals;
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
    /// Whether it is a service, which says for which of its users it asks.
    pub(crate) forwards: bool,
}

/// Who asks: at first where the connection comes from, then, of a proxy that is trusted, whom it names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// A page of this server has made the request: its `Origin` says so, which no other page can send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfOwnPage;

impl Peer {
    /// Nobody knows.
    pub(crate) const NOBODY: Peer = Peer(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

    /// Of proxies that are trusted, from the last one on the first that is none.
    pub(crate) fn behind(self, headers: &HeaderMap, proxies: &[IpNet]) -> Peer {
        if !self.is_proxy(proxies) {
            return self;
        }
        let named = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let mut named: Vec<&str> = named.flat_map(|value| value.split(',')).collect();
        named.reverse();
        let mut named = named.into_iter().map_while(|address| address.trim().parse().ok().map(Peer));
        named.find(|peer| !peer.is_proxy(proxies)).unwrap_or(self)
    }

    /// Whether it is one of these proxies.
    pub(crate) fn is_proxy(self, proxies: &[IpNet]) -> bool {
        proxies.iter().any(|network| network.contains(&self.0))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Peer, Infallible> {
        Ok(parts.extensions.get::<Peer>().copied().unwrap_or(Peer::NOBODY))
    }
}

impl Caller {
    /// Whoever can reach a server without tokens: it serves this machine only.
    pub(crate) fn anybody() -> Caller {
        Caller { name: "local".into(), role: Role::Admin, program: None, by_cookie: false, forwards: false }
    }

    /// Whether this caller answers a question that a tool asks in the middle of its work, or that the operator has put
    /// before it. Operators do, whoever else does.
    pub(crate) fn may_answer(&self, approvals: Approvals, by_tool: bool) -> bool {
        self.role >= Role::Operator || approvals.let_user(by_tool)
    }

    /// A session that this caller may know of. Of one that they may not it is as if it were not there.
    ///
    /// # Errors
    /// There is none.
    pub(crate) async fn find(&self, residents: &Residents, id: &Arc<str>) -> Result<Served, ResidentError> {
        let served = residents.find(id).await?;
        if self.may_see(&served) { Ok(served) } else { Err(ResidentError::NoSession(id.clone())) }
    }

    /// Whether this caller may know of a session.
    pub(crate) fn may_see(&self, served: &Served) -> bool {
        self.may_have(&served.program) && (self.role >= Role::Operator || served.owner == self.name)
    }

    /// The sessions that this caller may know of ([`Caller::may_see`]).
    pub(crate) fn own(&self) -> Filter {
        let owner = (self.role < Role::Operator).then(|| self.name.clone());
        Filter { program: self.program.clone(), owner, ..Filter::default() }
    }

    /// The programs that they may have.
    pub(crate) fn programs(&self, residents: &Residents) -> Vec<Arc<Offered>> {
        residents.programs().into_iter().filter(|offered| self.may_have(&offered.name)).collect()
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
        caller.ok_or_else(|| Problem::internal("internal error: nothing has identified the caller; please report this"))
    }
}
