//! HTTP clients and TLS as all of us set them up, and why a connection failed.

use std::error::Error;
use std::iter::successors;
use std::net::IpAddr;

use reqwest::{Client, ClientBuilder};

/// A client for servers that somebody has named: it follows no redirect, which would carry keys and contents to a host
/// that nobody has named. Without `is_secure` nothing is encrypted; with `is_direct` no proxy is asked.
pub(crate) fn client(is_secure: bool, is_direct: bool) -> ClientBuilder {
    provide_tls();
    let mut builder = Client::builder()
        .user_agent(concat!("playhouse/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none());
    if !is_secure {
        // Without this the system's certificates are read and parsed for nothing.
        builder = builder.tls_certs_only([]);
    }
    if is_direct { builder.no_proxy() } else { builder }
}

/// Makes sure that rustls has something to encrypt with.
pub(crate) fn provide_tls() {
    // An error says that a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Whether a host, as a URL has it, is this machine, which no proxy can reach for us.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// An error, then what caused it, then what caused that.
pub(crate) fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}

/// The last cause says what happened; those around it only that something did.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}
