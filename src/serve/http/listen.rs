//! Connections: taken, served, and brought to their end.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::host::tasks;
use crate::serve::http::access::caller::Peer;
use crate::serve::http::problem::Problem;
use crate::serve::http::relay::{Relayed, Socket};
use crate::serve::http::server::Server;
use crate::serve::http::{door, routes};

/// Connections at one time.
const CONNECTIONS: usize = 8_192;

/// So long a request's head may take, and so large it may be.
const HEAD: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 32 << 10;

/// So long a reader may take nothing of an answer.
const WRITE: Duration = Duration::from_secs(30);

/// So often what is counted is tidied, and it is looked whether there are tokens now.
const TIDY: Duration = Duration::from_secs(2);

/// Answers on a listener until something has come to its end before which nothing can be served: that the process runs, and
/// that it is not ready.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve_meanwhile(listener: &TcpListener, until: impl Future<Output = ()>) -> io::Result<()> {
    let same = rustix::io::dup(listener)?;
    let same = TcpListener::from_std(same.into())?;
    let why = "this node cannot serve yet: `playhouse engine register` has not told the engine of it";
    let not_yet = move || async move { Problem::unavailable(why, 1) };
    let router = axum::Router::new().route("/healthz", get(door::healthy)).fallback(not_yet);
    // Whoever asks again on the same connection would hear this for ever.
    let router = router.layer(map_response(|response: Response| async { ([(header::CONNECTION, "close")], response) }));
    tokio::select! {
        served = axum::serve(same, router).into_future() => served,
        () = until => Ok(()),
    }
}

/// Who has connected.
enum Connected {
    /// Somebody, from there.
    Outside(TcpStream, IpAddr),
    /// A server that passes requests on.
    Server(UnixStream),
}

/// The next one on the socket; without a socket nobody ever comes.
async fn next(socket: Option<&Socket>) -> io::Result<UnixStream> {
    match socket {
        Some(socket) => socket.listener.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

impl Server {
    /// Serves until `stop`, then lets replies come to their end, and all sessions go.
    /// `metrics`: where figures are told to whoever asks.
    pub async fn serve(
        self: Arc<Server>,
        listener: TcpListener,
        metrics: Option<TcpListener>,
        stop: impl Future<Output = ()>,
    ) {
        let router = routes::router(self.clone());
        let telling = metrics.map(|listener| {
            let router = routes::router_of_figures(self.clone());
            tasks::spawn(axum::serve(listener, router).into_future())
        });
        let tending = tasks::spawn(self.residents.clone().tend(self.options.idle));
        let tidying = tasks::spawn(self.clone().tidy());
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        let open = TaskTracker::new();
        let socket = self.residents.path().and_then(|path| {
            let warn = |error: &io::Error| {
                tracing::warn!(%error, "other servers on this store cannot pass requests on to this one");
            };
            Socket::beside(path).inspect_err(warn).ok()
        });
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = async {
                let permit = connections.clone().acquire_owned().await;
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted.map(|(stream, peer)| Connected::Outside(stream, peer.ip())),
                    accepted = next(socket.as_ref()) => accepted.map(Connected::Server),
                };
                (accepted, permit)
            };
            let (accepted, permit) = tokio::select! {
                () = &mut stop => break,
                accepted = accepted => accepted,
            };
            match (accepted, permit) {
                (Ok(connected), Ok(permit)) => {
                    let (router, server) = (router.clone(), self.clone());
                    let serving = async move {
                        match connected {
                            Connected::Outside(stream, peer) => {
                                // Pieces of speech are small, and wanted at once.
                                let _ = stream.set_nodelay(true);
                                server.connection(stream, Peer(peer), router).await;
                            }
                            Connected::Server(stream) => {
                                server.connection(stream, Relayed, router).await;
                            }
                        }
                        drop(permit);
                    };
                    open.spawn(serving.boxed());
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
        telling.inspect(JoinHandle::abort);
        self.residents.drain(self.options.grace).await;
        open.close();
        // What is still being sent has been said already.
        let _ = tokio::time::timeout(Duration::from_secs(2), open.wait()).await;
    }

    /// `from` is known of all its requests.
    async fn connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        from: impl Clone + Send + Sync + 'static,
        router: axum::Router,
    ) {
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(WRITE));
        let stream = Box::pin(stream);
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(from.clone());
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
