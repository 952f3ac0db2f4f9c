//! What every request must be, whoever sends it, and what every answer says (spec `serving.md`, section 6).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::serve::http::access::caller::{OfOwnPage, Peer};
use crate::serve::http::access::cookie::PROTOCOL;
use crate::serve::http::openai::wire::{in_openai_form, is_openai};
use crate::serve::http::problem::Problem;
use crate::serve::http::relay::{self, Relayed};
use crate::serve::http::server::Server;

/// Names of this machine, whatever its network is.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Lets a request in that is meant for this server, and that no foreign page has made.
pub(super) async fn guard(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let (is_frame, is_openai) = (path.starts_with("/chat/"), is_openai(path));
    let connected = request.extensions().get::<Peer>().copied().unwrap_or(Peer::NOBODY);
    let proxies = &server.options.trusted_proxies;
    let is_relayed = request.extensions().get::<Relayed>().is_some();
    let (peer, checked) = match is_relayed {
        // Another server of ours has looked at it already.
        true => (relay::peer_of(request.headers()).map_or(connected, Peer), Ok(Some(OfOwnPage))),
        false => {
            let (peer, checked) = (connected.behind(request.headers(), proxies), check(&server, &request));
            if !connected.is_proxy(proxies) {
                let headers = request.headers_mut();
                headers.remove(PROTOCOL);
                if let Some(name) = &server.options.user_header {
                    headers.remove(name);
                }
            }
            (peer, checked)
        }
    };
    request.extensions_mut().insert(peer);
    let mut response = match checked {
        Ok(own_page) => {
            own_page.map(|own_page| request.extensions_mut().insert(own_page));
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    if is_openai {
        response = in_openai_form(response);
    }
    server.count(response.status().as_u16());
    protect(&server, response.headers_mut(), is_frame);
    response
}

fn check(server: &Server, request: &Request) -> Result<Option<OfOwnPage>, Problem> {
    let text = |name: HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
    // After DNS rebinding the browser sends the foreign name, and no `Origin` with a GET.
    let host = text(header::HOST).or_else(|| request.uri().authority().map(Authority::as_str)).unwrap_or_default();
    if !server.is_own_host(host) {
        return Err(Problem::misdirected(format!(
            "this server is not {host:?}; use one of its names, or add this one to `hosts` under [serve] in \
             playhouse.toml"
        )));
    }
    let origin = text(header::ORIGIN);
    let is_same = origin.and_then(|origin| origin.split_once("://")).is_some_and(|(_, authority)| authority == host);
    if request.method().is_safe() {
        return Ok(is_same.then_some(OfOwnPage));
    }
    let is_allowed = origin.is_none_or(|origin| is_same || server.options.origins.iter().any(|own| own == origin));
    let site = text(HeaderName::from_static("sec-fetch-site"));
    let is_foreign = !is_same && matches!(site, Some("cross-site" | "same-site")) && !(origin.is_some() && is_allowed);
    match is_allowed && !is_foreign {
        true => Ok(is_same.then_some(OfOwnPage)),
        false => Err(Problem::forbidden(
            "another site made this request; if you trust it, add it to `origins` under [serve] in playhouse.toml",
        )),
    }
}

impl Server {
    /// Whether a `Host` means this server.
    fn is_own_host(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port.parse().ok()),
            _ => (host, None),
        };
        let is_loopback = LOOPBACK.iter().any(|own| name.eq_ignore_ascii_case(own)) && port == Some(self.port);
        let hosts = &self.options.hosts;
        is_loopback || hosts.iter().any(|own| own.eq_ignore_ascii_case(host) || own.eq_ignore_ascii_case(name))
    }
}

/// What browsers are told of every answer.
fn protect(server: &Server, headers: &mut HeaderMap, is_frame: bool) {
    let policy = if is_frame { &server.policies.in_frames } else { &server.policies.elsewhere };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    let mut put = |name: &'static str, value: &'static str| {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    };
    put("x-content-type-options", "nosniff");
    put("referrer-policy", "no-referrer");
    if !is_frame {
        put("cross-origin-opener-policy", "same-origin");
        put("cross-origin-resource-policy", "same-origin");
    }
}
