//! `playhouse serve`: sessions over HTTP, and a page (spec `serving.md`). It keeps no conversation of its own: all that it
//! knows of sessions is in [`crate::host::residents`].

pub mod access;

pub mod options;

mod approvals;

mod body;

mod door;

mod events;

mod guard;

mod limits;

mod messages;

mod metrics;

mod openapi;

mod page;

mod past;

mod problem;

mod programs;

mod routes;

mod sessions;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::host::residents::Residents;
use crate::serve::http::access::cookie::Cookies;
use crate::serve::http::limits::Limits;
use crate::serve::http::metrics::Metrics;
use crate::serve::http::options::Options;

/// Connections at one time.
const CONNECTIONS: usize = 4_096;

/// So long a request's head may take, and so large it may be.
const HEAD: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 32 << 10;

/// Pasts that are walked at one time: each takes a processor.
const WALKS: usize = 4;

/// A server, as its routes see it.
pub struct Server {
    residents: Arc<Residents>,
    options: Options,
    /// Whether callers need a token; else everybody is admin, and the server serves this machine only.
    needs_tokens: bool,
    port: u16,
    cookies: Cookies,
    limits: Limits,
    metrics: Metrics,
    walks: Semaphore,
    draining: CancellationToken,
    frame_ancestors: String,
    import_map_hash: String,
}

impl Server {
    /// A server at an address. `key` signs its cookies.
    pub fn new(
        residents: Arc<Residents>,
        options: Options,
        (address, needs_tokens): (SocketAddr, bool),
        key: [u8; 64],
    ) -> Arc<Server> {
        let frame_ancestors = match options.frame_ancestors.as_slice() {
            [] => "'none'".to_owned(),
            sites => sites.join(" "),
        };
        Arc::new(Server {
            residents,
            options,
            needs_tokens,
            port: address.port(),
            cookies: access::cookies(key),
            limits: Limits::new(),
            metrics: Metrics::default(),
            walks: Semaphore::new(WALKS),
            draining: CancellationToken::new(),
            frame_ancestors,
            import_map_hash: page::import_map_hash(),
        })
    }

    /// Serves until `stop`, then lets replies come to their end, and all sessions go.
    pub async fn serve(self: Arc<Server>, listener: TcpListener, stop: impl Future<Output = ()>) {
        let router = routes::router(self.clone());
        let tending = tokio::spawn(self.residents.clone().tend(self.options.idle()));
        let tidying = tokio::spawn(self.clone().tidy());
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        let open = TaskTracker::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let permit = connections.clone().acquire_owned().await;
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => accepted,
            };
            match (accepted, permit) {
                (Ok((stream, _)), Ok(permit)) => {
                    let (router, server) = (router.clone(), self.clone());
                    open.spawn(async move {
                        server.connection(stream, router).await;
                        drop(permit);
                    });
                }
                (Err(error), _) => {
                    // Too many open files, for example: others may close theirs.
                    tracing::warn!(%error, "a connection cannot be taken");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                (_, Err(_)) => break,
            }
        }
        drop(listener);
        self.draining.cancel();
        tending.abort();
        tidying.abort();
        self.residents.sessions().drain(self.options.grace()).await;
        self.residents.close().await;
        open.close();
        // What is still being sent has been said already.
        let _ = tokio::time::timeout(Duration::from_secs(2), open.wait()).await;
    }

    async fn connection(&self, stream: TcpStream, router: axum::Router) {
        // Pieces of speech are small, and wanted at once.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.draining.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ends");
        }
    }

    async fn tidy(self: Arc<Server>) {
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            self.limits.tidy();
        }
    }

    /// A request was answered.
    fn count(&self, status: u16) {
        let class = usize::from(status / 100).min(5);
        self.metrics.requests[class].fetch_add(1, Ordering::Relaxed);
    }
}
