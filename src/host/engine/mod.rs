//! Sessions on a distributed engine, Restate (spec `engine.md`): it decides which of many nodes visits a session, keeps
//! what comes in until it is taken, calls again elsewhere when a node dies, and keeps the journals. What is done next is
//! our machine's matter, as on one machine: the engine knows nothing of playbooks.
//!
//! Nobody outside of this folder knows its name: a server is given [`Engine::keeping`], and serves the engine's calls with
//! [`Engine::serve`].

pub mod admin;

mod colleagues;

mod directory;

mod ingress;

mod ledger;

mod log;

mod store;

mod visit;

mod wire;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use dashmap::DashMap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::graceful::GracefulShutdown;
use restate_sdk::endpoint::{Builder, Endpoint, ServiceOptions};
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::service::IntoServiceDefinition;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::{broadcast, oneshot};
use tokio::time::{sleep, timeout};

use crate::host::engine::colleagues::{Colleagues, News};
use crate::host::engine::directory::Directory;
use crate::host::engine::ingress::{Ingress, Wait, new_id};
use crate::host::engine::ledger::{EngineLedger, KnownTokens};
use crate::host::engine::log::{Log, LogState};
use crate::host::engine::store::LogStore;
use crate::host::engine::visit::{Running, Session};
use crate::host::engine::wire::{Closing, Delivery, Visited, Watching};
use crate::host::journal::JournalError;
use crate::host::journal::record::RecordBody;
use crate::host::journal::store::Store;
use crate::host::ledger::{Ledger, Served};
use crate::host::residents::dispatch::{Added, Dispatch, Receipted, Told, Visit};
use crate::host::residents::error::ResidentError;
use crate::host::residents::{Keeping, Residents};
use crate::host::session::{Receipt, SendError};
use crate::vm::protocol::Timestamp;

/// So long a node is told of what is added to a session without asking again, in milliseconds.
const WATCH: i64 = 600_000;

/// So many batches of records may wait for whoever follows a session.
const BATCHES: usize = 256;

/// A visit may take this long. What is too long within it (a reply, a call) has limits of its own, and a node that is
/// gone is noticed by its connection.
const LONGEST_VISIT: Duration = Duration::from_secs(24 * 3_600);

/// So long calls have to come to their end that have begun when the node ends.
const LAST_CALLS: Duration = Duration::from_secs(30);

/// How a node takes part.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The engine's door for calls: `http://HOST:8080`.
    pub ingress: String,
    /// The address at which the other nodes reach this one: `http://10.0.0.7:7171`.
    pub node: Arc<str>,
    /// What the nodes know each other by.
    pub secret: SecretString,
}

/// A node's part in it.
pub struct Engine {
    ingress: Ingress,
    node: Arc<str>,
    colleagues: Colleagues,
    residents: OnceLock<Weak<Residents>>,
    /// Who follows which session here.
    followers: DashMap<Arc<str>, broadcast::Sender<Added>>,
    /// Who waits for what comes of a delivery.
    waiting: DashMap<Arc<str>, oneshot::Sender<Receipted>>,
    /// The visits that this node is about.
    visiting: DashMap<Arc<str>, Visiting>,
    running: DashMap<Arc<str>, Running>,
    /// The journals that this node has.
    owned: DashMap<Arc<str>, Owned>,
    tokens: KnownTokens,
}

/// What a visit is about.
struct Visiting {
    delivery: Arc<str>,
    reply_to: Option<Arc<str>>,
}

/// A journal that this node has.
#[derive(Clone, Copy)]
struct Owned {
    epoch: u64,
    /// The number of the first record that its visit could have added.
    first: u64,
}

impl Engine {
    /// A node. The engine is asked whether it is there.
    ///
    /// # Errors
    /// An address cannot be used, or the engine cannot be reached.
    pub async fn join(options: EngineOptions) -> Result<Arc<Engine>, JournalError> {
        let EngineOptions { ingress: address, node, secret } = options;
        let wrong = |why: String| {
            JournalError::unavailable(address.clone(), "use", why, "name an address such as http://127.0.0.1:8080")
        };
        let engine = Engine {
            ingress: Ingress::at(&address).map_err(wrong)?,
            node: node.trim_end_matches('/').into(),
            colleagues: Colleagues::with(secret).map_err(wrong)?,
            residents: OnceLock::new(),
            followers: DashMap::new(),
            waiting: DashMap::new(),
            visiting: DashMap::new(),
            running: DashMap::new(),
            owned: DashMap::new(),
            tokens: KnownTokens::default(),
        };
        engine.ingress.is_there().await?;
        Ok(Arc::new(engine))
    }

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

    /// Sees to it that keys are some.
    ///
    /// # Errors
    /// One is none, in words.
    pub fn check_keys(&self, keys: &[String]) -> Result<(), String> {
        with_keys(Endpoint::builder(), keys).map(|_| ())
    }

    /// Serves the engine's calls until `stop`. With keys, only those of an engine that has one of them.
    ///
    /// # Errors
    /// A key is none, in words.
    pub async fn serve(
        self: Arc<Self>,
        residents: &Arc<Residents>,
        listener: TcpListener,
        keys: &[String],
        stop: impl Future<Output = ()>,
    ) -> Result<(), String> {
        // Once: a node has one server.
        let _ = self.residents.set(Arc::downgrade(residents));
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
            brief.idempotency_retention(Duration::from_secs(60))
        };
        let session = Session { engine: self.clone() };
        let endpoint = Endpoint::builder()
            .bind(session.into_service_definition().options(visits))
            .bind(Log.into_service_definition().options(calls()))
            .bind(Directory.into_service_definition().options(calls()));
        serve_endpoint(with_keys(endpoint, keys)?.build(), listener, stop).await;
        Ok(())
    }

    fn residents(&self) -> Option<Arc<Residents>> {
        self.residents.get().and_then(Weak::upgrade)
    }

    async fn state_of(&self, session: &str) -> Result<LogState, JournalError> {
        self.ingress.call(("Log", session, "state"), None::<&()>, None, Wait::Briefly).await
    }

    async fn close(&self, session: &str, closing: Closing) -> Result<Option<Served>, JournalError> {
        self.owned.remove_if(session, |_, owned| owned.epoch == closing.epoch);
        self.ingress.call(("Log", session, "close"), Some(&closing), None, Wait::Briefly).await
    }

    /// Tells a node something, which may be this one.
    fn tell(&self, node: &Arc<str>, news: News) {
        if *node != self.node {
            return self.colleagues.tell(node, news);
        }
        match news {
            News::Added(session, records) => self.added(&session, records),
            News::Receipt(delivery, receipt) => self.receipted(&delivery, receipt),
        }
    }

    fn added(&self, session: &str, records: Arc<[crate::host::journal::record::Record]>) {
        let follower = self.followers.get(session).map(|follower| follower.clone());
        if follower.is_some_and(|follower| follower.send(Added { records }).is_err()) {
            self.followers.remove_if(session, |_, follower| follower.receiver_count() == 0);
        }
    }

    fn receipted(&self, delivery: &str, receipt: Receipted) {
        if let Some((_, waiting)) = self.waiting.remove(delivery) {
            // Whoever waited may have gone.
            let _ = waiting.send(receipt);
        }
    }

    async fn hand_in(
        self: Arc<Self>,
        session: Arc<str>,
        visit: Visit,
        held_by: Option<Arc<str>>,
    ) -> Result<Receipt, ResidentError> {
        if let (Some(node), Visit::Do(body)) = (held_by, &visit)
            && let Some(receipt) = self.do_at(&node, &session, body).await
        {
            return receipt.into();
        }
        let id = new_id();
        let (sender, receipt) = oneshot::channel();
        self.waiting.insert(id.clone(), sender);
        let delivery = Delivery { id: id.clone(), visit, reply_to: Some(self.node.clone()) };
        let call =
            self.ingress.call(("Session", &session, "deliver"), Some(&delivery), Some(&id), Wait::AsLongAsItTakes);
        // What comes first: the node that has the visit says that it is done, or the visit has come to its end.
        let visited = tokio::select! {
            Ok(receipt) = receipt => receipt,
            visited = call => visited.map(|visited: Visited| visited.receipt).inspect_err(|_| {
                self.waiting.remove(&id);
            })?,
        };
        self.waiting.remove(&id);
        visited.into()
    }

    /// Has the node do it that has the session at this moment; none: it has it no more.
    async fn do_at(&self, node: &Arc<str>, session: &str, wanted: &RecordBody) -> Option<Receipted> {
        let receipt = match *node == self.node {
            true => self.residents()?.do_here(session, wanted.clone()).await.into(),
            false => self.colleagues.ask(node, session, wanted).await.ok()?,
        };
        (!matches!(receipt, Receipted::Refused(SendError::Gone(_)))).then_some(receipt)
    }

    async fn follow(
        self: Arc<Self>,
        session: Arc<str>,
        stays: bool,
    ) -> Result<broadcast::Receiver<Added>, ResidentError> {
        let follower = self.followers.entry(session.clone());
        let added = follower.or_insert_with(|| broadcast::channel(BATCHES).0).subscribe();
        if stays {
            let now = self.residents().map_or(Timestamp(0), |residents| residents.now()).0;
            let watching = Watching { node: self.node.clone(), now, until: now.saturating_add(WATCH) };
            let watch = self.ingress.call(("Log", &session, "watch"), Some(&watching), None, Wait::Briefly);
            let _: bool = watch.await?;
        }
        Ok(added)
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
                tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection of the engine ends");
                    }
                });
            }
            Err(error) => {
                // Too many open files, for example: others may close theirs.
                tracing::warn!(%error, "a connection of the engine cannot be taken");
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
