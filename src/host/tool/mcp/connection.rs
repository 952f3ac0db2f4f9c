//! One connection to a server, from its beginning to its loss.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::error::{Cause, McpFault, of_start};
use super::flights::Flights;
use super::options::{Generation, McpOptions, Transport};
use super::process::Process;
use super::text;
use super::transport::Watched;
use crate::child::{Run, Witness};
use crate::net;
use crate::tasks;

/// How long a connection over HTTP may take to be accepted.
const CONNECT: Duration = Duration::from_secs(10);

/// How long it takes to see why a process has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long closing may take: a process is given time to end by itself.
const CLOSE: Duration = Duration::from_secs(8);

/// Before the server is asked again to tell of changes.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) flights: Arc<Flights>,
    /// Cancelled when the server has gone.
    pub(super) gone: CancellationToken,
    service: Mutex<Option<RunningService<RoleClient, Client>>>,
    witness: Option<Witness>,
    /// Something went wrong with it: the next call begins another one.
    given_up: AtomicBool,
}

impl Connection {
    /// Connects; `changes` counts what the server says about its tools.
    pub(super) async fn start(options: &McpOptions, changes: &watch::Sender<u64>) -> Result<Connection, Cause> {
        let attempt = async {
            let first = attempt(options, changes, options.generation).await;
            let has_choice =
                options.generation == Generation::Auto && !matches!(options.transport, Transport::Url { .. });
            // There are servers that end when the first message is one that they do not know.
            let (true, Err((McpFault::Exited, _))) = (has_choice, &first) else { return first };
            let server = &*options.name;
            tracing::debug!(server, "it ended at `server/discover`; it is started again with `initialize`");
            attempt(options, changes, Generation::Initialize).await
        };
        match tokio::time::timeout(options.start_timeout, attempt).await {
            Ok(result) => result,
            Err(_) => {
                let seconds = options.start_timeout.as_secs_f64();
                Err((McpFault::TimedOut, format!("did not identify itself within {seconds} s")))
            }
        }
    }

    /// Whether calls can be made on it.
    pub(super) fn is_live(&self) -> bool {
        !(self.given_up.load(Ordering::Relaxed) || self.gone.is_cancelled() || self.peer.is_transport_closed())
    }

    /// Another one is begun for the next call; the calls on this one go on.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Why it was lost, as far as anybody can know.
    pub(super) async fn post_mortem(&self) -> Option<String> {
        let (status, words) = last_words(self.witness.clone()?).await;
        Some(told_end(status?, &words))
    }

    /// Ends it.
    pub(super) async fn close(&self) {
        self.give_up();
        self.gone.cancel();
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            // Whatever becomes of it: dropped, it ends too.
            let _ = service.close_with_timeout(CLOSE).await;
        }
    }

    /// Which version of the protocol is spoken.
    pub(super) fn version(&self) -> ProtocolVersion {
        self.peer.peer_info().map(|info| info.protocol_version.clone()).unwrap_or_default()
    }

    /// In the newer generation a client asks to be told of changes.
    fn listen(&self, changes: watch::Sender<u64>) {
        let tells = self
            .peer
            .peer_info()
            .is_some_and(|info| info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true)));
        if !tells || self.version().has_initialize() {
            return;
        }
        let (peer, gone) = (self.peer.clone(), self.gone.clone());
        tasks::spawn(async move {
            tokio::select! {
                () = gone.cancelled() => {}
                () = listen(&peer, &changes) => {}
            }
        });
    }
}

/// Counts the changes that the server tells of, until it refuses to tell.
async fn listen(peer: &Peer<RoleClient>, changes: &watch::Sender<u64>) {
    loop {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = match peer.listen(filter).await {
            Ok(subscription) => subscription,
            Err(ServiceError::TransportSend(_)) => {
                tokio::time::sleep(LISTEN_AGAIN).await;
                continue;
            }
            Err(error) => {
                tracing::debug!("a server does not report changes: {error}");
                return;
            }
        };
        while let Ok(Some(_)) = subscription.next().await {
            changes.send_modify(|n_changes| *n_changes += 1);
        }
        // What was missed is seen when the list is read again.
        tokio::time::sleep(LISTEN_AGAIN).await;
        changes.send_modify(|n_changes| *n_changes += 1);
    }
}

async fn attempt(
    options: &McpOptions,
    changes: &watch::Sender<u64>,
    generation: Generation,
) -> Result<Connection, Cause> {
    let gone = CancellationToken::new();
    let flights = Arc::new(Flights::default());
    let client = Client {
        flights: flights.clone(),
        changes: changes.clone(),
        gone: gone.clone(),
        secrets: options.secrets.clone(),
    };
    let probes = generation == Generation::Auto;
    let mut witness = None;
    let transport = match &options.transport {
        Transport::Command { command, folder, environment } => {
            let run = Run { command, folder, environment };
            let (process, known) = Process::start(&options.name, run, &options.secrets)?;
            witness = Some(known);
            Watched::new(process, gone.clone(), probes)
        }
        Transport::Url { url, headers } => Watched::new(http_transport(url, headers)?, gone.clone(), false),
        Transport::Stream(dial) => {
            let (incoming, outgoing) =
                dial().await.map_err(|error| (McpFault::NoConnection, format!("cannot be reached: {error}")))?;
            Watched::new(AsyncRwTransport::new_client(incoming, outgoing), gone.clone(), probes)
        }
    };
    let service = match client.serve_with_lifecycle(transport, lifecycle(generation)).await {
        Ok(service) => service,
        Err(error) => return Err(cause(&error, witness).await),
    };
    let connection = Connection {
        peer: service.peer().clone(),
        flights,
        gone,
        service: Mutex::new(Some(service)),
        witness,
        given_up: AtomicBool::new(false),
    };
    connection.listen(changes.clone());
    Ok(connection)
}

/// Why there is no connection; a process that has ended says it best.
async fn cause(error: &ClientInitializeError, witness: Option<Witness>) -> Cause {
    let cause = of_start(error);
    let (McpFault::Exited, Some(witness)) = (cause.0, witness) else { return cause };
    match last_words(witness).await {
        (Some(status), words) => (McpFault::Exited, told_end(status, &words)),
        (None, words) if words.is_empty() => cause,
        (None, words) => (McpFault::Exited, format!("{}; it last wrote: {words}", cause.1)),
    }
}

/// How a process ended, and what it wrote last, fit to be shown.
async fn last_words(mut witness: Witness) -> (Option<ExitStatus>, String) {
    let (status, words) = witness.last_words(LAST_WORDS).await;
    (status, text::lines(&words, usize::MAX))
}

fn told_end(status: ExitStatus, words: &str) -> String {
    // `exit status: 1` and `signal: 9 (SIGKILL)`, as the standard library writes it.
    let end = format!("has ended ({status})");
    if words.is_empty() { end } else { format!("{end}; it last wrote: {words}") }
}

fn lifecycle(generation: Generation) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match generation {
        Generation::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Generation::Initialize => ClientLifecycleMode::Initialize,
        Generation::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

fn http_transport(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<reqwest::Client>, Cause> {
    let wrong = |what: &str| (McpFault::Configuration, format!("has {what}"));
    let uri: http::Uri = url.parse().map_err(|_| wrong("a `url` that is not a URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        return Err(wrong("a `url` that does not begin with http:// or https:// and a host"));
    }
    let mut sent = HashMap::new();
    for (name, value) in headers {
        let Ok(header) = name.parse::<HeaderName>() else {
            return Err(wrong("a name in `headers` that is not a header name"));
        };
        let lowered = header.as_str();
        if matches!(lowered, "accept" | "last-event-id" | "mcp-session-id" | "mcp-protocol-version") {
            return Err(wrong(&format!("`{lowered}` in `headers`, which belongs to the protocol")));
        }
        let Ok(mut value) = HeaderValue::from_str(value) else {
            return Err(wrong(&format!("a value of `{lowered}` in `headers` that is not allowed in a header")));
        };
        value.set_sensitive(true);
        sent.insert(header, value);
    }
    let is_direct = uri.host().is_some_and(net::is_loopback);
    let client = net::client(uri.scheme_str() == Some("https"), is_direct).connect_timeout(CONNECT);
    let client = client.build().map_err(|error| (McpFault::NoConnection, format!("cannot be reached: {error}")))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(sent);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
