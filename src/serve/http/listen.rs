//! Connections: taken, served, and brought to their end.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::serve::http::access::caller::Peer;
use crate::serve::http::routes;
use crate::serve::http::server::Server;

/// Connections at one time.
const CONNECTIONS: usize = 4_096;

/// So long a request's head may take, and so large it may be.
const HEAD: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 32 << 10;

/// So often what is counted is tidied, and it is looked whether there are tokens now.
const TIDY: Duration = Duration::from_secs(2);

impl Server {
    /// Serves until `stop`, then lets replies come to their end, and all sessions go.
    pub async fn serve(self: Arc<Server>, listener: TcpListener, stop: impl Future<Output = ()>) {
        let router = routes::router(self.clone());
        let tending = tokio::spawn(self.residents.clone().tend(self.options.idle));
        let tidying = tokio::spawn(self.clone().tidy());
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        let open = TaskTracker::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = async {
                let permit = connections.clone().acquire_owned().await;
                (listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                () = &mut stop => break,
                accepted = accepted => accepted,
            };
            match (accepted, permit) {
                (Ok((stream, peer)), Ok(permit)) => {
                    let (router, server) = (router.clone(), self.clone());
                    open.spawn(async move {
                        server.connection(stream, peer.ip(), router).await;
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
        tending.abort();
        tidying.abort();
        self.residents.drain(self.options.grace).await;
        open.close();
        // What is still being sent has been said already.
        let _ = tokio::time::timeout(Duration::from_secs(2), open.wait()).await;
    }

    async fn connection(&self, stream: TcpStream, peer: IpAddr, router: axum::Router) {
        // Pieces of speech are small, and wanted at once.
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            router.clone().call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.residents.draining().cancelled() => {
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
            tokio::time::sleep(TIDY).await;
            self.limits.tidy();
            if let Err(error) = self.access.look(self.residents.ledger()).await {
                tracing::warn!(%error, "tokens cannot be looked for");
            }
        }
    }
}
