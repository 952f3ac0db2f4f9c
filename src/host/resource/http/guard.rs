//! Which servers may be asked: names, ports, schemes and addresses.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::Url;

use crate::resource::ResourceError;
use crate::resource::http::addresses::{innermost, special};

/// Which servers may be called. Nothing is allowed unless it is named.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    hosts: Vec<AllowedHost>,
    networks: Vec<IpNet>,
    schemes: Vec<String>,
}

#[derive(Clone, Debug)]
struct AllowedHost {
    name: AllowedName,
    port: AllowedPort,
}

#[derive(Clone, Debug)]
enum AllowedName {
    /// This one, as the url crate writes it.
    Exact(String),
    /// All below it; kept with its leading dot.
    Below(String),
    All,
}

#[derive(Clone, Copy, Debug)]
enum AllowedPort {
    /// 80 and 443.
    Usual,
    One(u16),
    All,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no URL.
    #[error("`{url}` is not a URL: {cause}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Another scheme than those allowed.
    #[error("`{scheme}` is not allowed; the resource allows {allowed} (`schemes`)")]
    Scheme {
        /// Which.
        scheme: String,
        /// What is.
        allowed: String,
    },
    /// It holds a user name or a password.
    #[error("a URL with a user name or a password is refused; put keys into the resource's `headers`")]
    UserInfo,
    /// Nobody has named the host or the port.
    #[error("`{host}` is not allowed; whoever configures the resource can add it to its `hosts`")]
    Host {
        /// The host, with its port if that is not the usual one.
        host: Arc<str>,
    },
    /// It is not an address of the open internet.
    #[error("{host} is {what}; whoever configures the resource can add it to its `networks`")]
    Address {
        /// The address, with the name that it was found for.
        host: String,
        /// What it is.
        what: &'static str,
    },
    /// A redirect from `https` to `http`.
    #[error("a redirect leads from https to http, which anybody on the way could read")]
    Downgrade,
}

impl Guard {
    /// Reads what is allowed: hosts (`example.org`, `*.example.org`, `example.org:8080`, `127.0.0.1:*`, `*`), networks
    /// (`127.0.0.0/8`, `::1`), schemes.
    ///
    /// # Errors
    /// One of them is invalid.
    pub fn new(hosts: &[String], networks: &[String], schemes: &[String]) -> Result<Guard, ResourceError> {
        let hosts = hosts.iter().map(|text| allowed_host(text)).collect::<Result<Vec<_>, _>>()?;
        if hosts.is_empty() {
            let advice = "list the servers that may be called, as in `hosts: [\"api.example.org\"]`";
            return Err(ResourceError::new("`hosts` is empty, so no server could be called", advice));
        }
        let networks = networks.iter().map(|text| network(text)).collect::<Result<Vec<_>, _>>()?;
        let unknown = schemes.iter().find(|scheme| !matches!(scheme.as_str(), "http" | "https"));
        if let Some(scheme) = unknown {
            return Err(ResourceError::new(format!("`{scheme}` in `schemes` is unknown"), "write `http` or `https`"));
        }
        Ok(Guard { hosts, networks, schemes: schemes.to_vec() })
    }

    /// Reads a URL and checks all of it that can be checked without asking for addresses.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check(&self, text: &str) -> Result<Url, Refusal> {
        let url =
            Url::parse(text).map_err(|error| Refusal::Url { url: without_user(text), cause: error.to_string() })?;
        self.check_url(&url)?;
        Ok(url)
    }

    /// As [`Guard::check`], for a URL that has been read.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        if !self.schemes.iter().any(|scheme| scheme == url.scheme()) {
            let allowed = self.schemes.join(", ");
            return Err(Refusal::Scheme { scheme: url.scheme().to_owned(), allowed });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::UserInfo);
        }
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        if !self.hosts.iter().any(|allowed| allowed.permits(host, port)) {
            return Err(Refusal::Host { host: shown_host(url).into() });
        }
        // Names are checked when they are resolved; an address is not resolved by anybody.
        match literal(host) {
            Some(address) => self.check_address(address, None),
            None => Ok(()),
        }
    }

    /// Where a redirect leads, which is held to the same rules, and to one more.
    ///
    /// # Errors
    /// Why it is not followed.
    pub fn check_redirect(&self, from: &Url, location: &str) -> Result<Url, Refusal> {
        let next = from.join(location);
        let next = next.map_err(|error| Refusal::Url { url: without_user(location), cause: error.to_string() })?;
        self.check_url(&next)?;
        if from.scheme() == "https" && next.scheme() == "http" {
            return Err(Refusal::Downgrade);
        }
        Ok(next)
    }

    /// Checks an address, which may have been found for a name.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check_address(&self, address: IpAddr, name: Option<&str>) -> Result<(), Refusal> {
        let Some(what) = special(address) else { return Ok(()) };
        let inner = innermost(address);
        if self.networks.iter().any(|network| network.contains(&address) || network.contains(&inner)) {
            return Ok(());
        }
        let host = match name {
            Some(name) => format!("{address} (the address of `{name}`)"),
            None => address.to_string(),
        };
        Err(Refusal::Address { host, what })
    }
}

impl AllowedHost {
    fn permits(&self, host: &str, port: u16) -> bool {
        // A name may end in the dot of the root.
        let host = host.strip_suffix('.').unwrap_or(host);
        let is_named = match &self.name {
            AllowedName::Exact(name) => host == name,
            AllowedName::Below(ending) => host.len() > ending.len() && host.ends_with(ending.as_str()),
            AllowedName::All => true,
        };
        is_named
            && match self.port {
                AllowedPort::Usual => matches!(port, 80 | 443),
                AllowedPort::One(allowed) => port == allowed,
                AllowedPort::All => true,
            }
    }
}

/// A server as messages name it: host and port, nothing of the path or the query, which may hold keys.
pub(super) fn shown_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The address that a host of a URL is, if it is one; the url crate has brought all forms of one into one.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    inside.unwrap_or(host).parse().ok()
}

fn allowed_host(text: &str) -> Result<AllowedHost, ResourceError> {
    let wrong = |cause: &str| {
        let advice = "write a name or an address, with a port if it is not 80 or 443: `api.example.org`, \
                      `*.example.org`, `127.0.0.1:8080`";
        ResourceError::new(format!("`{text}` in `hosts` {cause}"), advice)
    };
    if text.contains("://") || text.contains('/') {
        return Err(wrong("is more than a host"));
    }
    // The colons of an IPv6 address are inside its brackets.
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        Some(_) | None => (text, None),
    };
    let port = match port {
        None => AllowedPort::Usual,
        Some("*") => AllowedPort::All,
        Some(port) => {
            AllowedPort::One(port.parse().ok().filter(|port| *port != 0).ok_or_else(|| wrong("has no port"))?)
        }
    };
    if name == "*" {
        return Ok(AllowedHost { name: AllowedName::All, port });
    }
    let bare = name.strip_prefix("*.").unwrap_or(name);
    let url = Url::parse(&format!("http://{bare}/")).map_err(|_| wrong("is not a host"))?;
    let host = url.host_str().filter(|_| url.username().is_empty() && url.port().is_none());
    let host = host.map(|host| host.strip_suffix('.').unwrap_or(host)).filter(|host| !host.is_empty());
    let host = host.filter(|host| !host.contains('*')).ok_or_else(|| wrong("is not a host"))?;
    let name = match (bare.len() < name.len(), literal(host)) {
        (true, Some(_)) => return Err(wrong("is an address, and an address has no subdomains")),
        (true, None) => AllowedName::Below(format!(".{host}")),
        (false, _) => AllowedName::Exact(host.to_owned()),
    };
    Ok(AllowedHost { name, port })
}

fn network(text: &str) -> Result<IpNet, ResourceError> {
    let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.ok_or_else(|| {
        ResourceError::new(format!("`{text}` in `networks` is not a network"), "write one like `127.0.0.0/8` or `::1`")
    })
}

/// The text of a URL that could not be read, without what may be a password.
fn without_user(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(start), Some(end)) if start < end => format!("{}://…{}", &text[..start], &text[end..]),
        (_, Some(end)) => format!("…{}", &text[end..]),
        (_, None) => text.chars().take(200).collect(),
    }
}
