//! Sessions on a distributed engine, Restate (spec `engine.md`): it decides which of many nodes visits a session, keeps
//! what comes in until it is taken, calls again elsewhere when a node dies, and keeps the journals. What is done next is
//! our machine's matter, as on one machine: the engine knows nothing of playbooks.
//!
//! Nobody outside of this folder knows its name: a server is given [`Engine::keeping`], and serves the engine's calls with
//! [`Engine::serve`].

pub mod admin;

mod colleagues;

mod directory;

pub mod import;

mod ingress;

mod ledger;

mod log;

pub mod log_state;

mod node;

mod store;

mod tokens;

mod visit;

pub mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::graceful::GracefulShutdown;
use restate_sdk::endpoint::{Builder, Endpoint, ServiceOptions};
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::service::IntoServiceDefinition;
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::time::{sleep, timeout};

use crate::engine::directory::Directory;
use crate::engine::ledger::EngineLedger;
use crate::engine::log::Log;
use crate::engine::store::LogStore;
use crate::engine::visit::Session;
use crate::journal::store::Store;
use crate::ledger::Ledger;
use crate::residents::dispatch::{Added, Dispatch, Told, Visit};
use crate::residents::error::ResidentError;
use crate::residents::{Keeping, Residents};
use crate::session::Receipt;
use crate::tasks;

pub use crate::engine::node::{Engine, EngineOptions};

/// A visit may take this long. What is too long within it (a reply, a call) has limits of its own, and a node that is
/// gone is noticed by its connection.
const LONGEST_VISIT: Duration = Duration::from_secs(24 * 3_600);

/// So long calls have to come to their end that have begun when the node ends.
const LAST_CALLS: Duration = Duration::from_secs(30);

impl Engine {
    /// Where a server's sessions are kept, and who decides which server has them.
    pub fn keeping(self: &Arc<Self>) -> Keeping {
        Keeping {
            store: self.store(),
            ledger: self.ledger(),
            path: None,
            dispatch: Some(Arc::new(Node { engine: self.clone() })),
        }
    }

    /// What is kept beside the journals.
    pub fn ledger(self: &Arc<Self>) -> Arc<dyn Ledger> {
        Arc::new(EngineLedger { engine: self.clone() })
    }

    /// All sessions in the engine.
    pub fn store(self: &Arc<Self>) -> Arc<dyn Store> {
        Arc::new(LogStore { engine: self.clone() })
    }

    /// Checks that keys are valid.
    ///
    /// # Errors
    /// One is invalid; in words.
    pub fn check_keys(keys: &[String]) -> Result<(), String> {
        with_keys(Endpoint::builder(), keys).map(|_| ())
    }

    /// Serves the engine's calls until `stop`. With keys, only those of an engine that has one of them. Without residents
    /// this node keeps sessions and visits none: other nodes do.
    ///
    /// # Errors
    /// A key is invalid; in words.
    pub async fn serve(
        self: Arc<Self>,
        residents: Option<&Arc<Residents>>,
        listener: TcpListener,
        keys: &[String],
        stop: impl Future<Output = ()>,
    ) -> Result<(), String> {
        if let Some(residents) = residents {
            // Once: a node has one server.
            let _ = self.residents.set(Arc::downgrade(residents));
        }
        let visits = ServiceOptions::new()
            .journal_retention(Duration::ZERO)
            .inactivity_timeout(LONGEST_VISIT)
            .abort_timeout(LONGEST_VISIT)
            .retry_policy_initial_interval(Duration::from_millis(200))
            .retry_policy_exponentiation_factor(2.0)
            .retry_policy_max_interval(Duration::from_secs(10))
            .retry_policy_max_attempts(70)
            .retry_policy_pause_on_max_attempts();
        // Nothing of it is read there later, and what is asked twice is asked within seconds.
        let calls = || {
            let brief = ServiceOptions::new().journal_retention(Duration::ZERO);
            // Somebody waits: a call that a dying node has lost is soon made at another one.
            let brief = brief.retry_policy_initial_interval(Duration::from_millis(50));
            let brief = brief.retry_policy_exponentiation_factor(2.0).retry_policy_max_interval(Duration::from_secs(2));
            brief.idempotency_retention(Duration::from_secs(60))
        };
        let session = Session { engine: self.clone() };
        let endpoint = Endpoint::builder()
            .bind(session.into_service_definition().options(visits))
            .bind(Log { room: self.room }.into_service_definition().options(calls()))
            .bind(Directory.into_service_definition().options(calls()));
        serve_endpoint(with_keys(endpoint, keys)?.build(), listener, stop).await;
        Ok(())
    }
}

/// Serves calls until `stop`, then lets those come to their end that have begun.
async fn serve_endpoint(endpoint: Endpoint, listener: TcpListener, stop: impl Future<Output = ()>) {
    let endpoint = HyperEndpoint::new(endpoint);
    let open = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                // What is sent is small, and wanted at once.
                let _ = stream.set_nodelay(true);
                let connection = http2::Builder::new(TokioExecutor::new());
                let connection = open.watch(connection.serve_connection(TokioIo::new(stream), endpoint.clone()));
                tasks::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection from the engine ended");
                    }
                });
            }
            Err(error) => {
                // Too many open files, for example: others may close theirs.
                tracing::warn!(%error, "a connection from the engine cannot be accepted");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    // What comes from here on is refused, and goes to another node.
    drop(listener);
    let _ = timeout(LAST_CALLS, open.shutdown()).await;
}

fn with_keys(endpoint: Builder, keys: &[String]) -> Result<Builder, String> {
    keys.iter()
        .try_fold(endpoint, |endpoint, key| endpoint.identity_key(key).map_err(|error| format!("{key}: {error}")))
}

/// A node, as its server sees it.
struct Node {
    engine: Arc<Engine>,
}

impl Dispatch for Node {
    fn hand_in(
        &self,
        session: Arc<str>,
        visit: Visit,
        held_by: Option<Arc<str>>,
    ) -> BoxFuture<'static, Result<Receipt, ResidentError>> {
        self.engine.clone().hand_in(session, visit, held_by).boxed()
    }

    fn follow(
        &self,
        session: Arc<str>,
        stays: bool,
    ) -> BoxFuture<'static, Result<broadcast::Receiver<Added>, ResidentError>> {
        self.engine.clone().follow(session, stays).boxed()
    }

    fn first_record(&self, session: &str) -> u64 {
        self.engine.owned.get(session).map_or(u64::MAX, |owned| owned.first)
    }

    fn take(&self, told: Told) {
        let Told { added, receipts } = told;
        added.into_iter().for_each(|(session, records)| self.engine.added(&session, records.into()));
        receipts.into_iter().for_each(|(delivery, receipt)| self.engine.receipted(&delivery, receipt));
    }

    fn is_colleague(&self, secret: &str) -> bool {
        self.engine.colleagues.is_secret(secret)
    }
}

/// Listens where the engine calls a node; several nodes of one machine may listen at the same address.
///
/// # Errors
/// It is taken by somebody else, for example.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(1024)
}
