//! A server on standard input and output, for the program that has started it.

use std::sync::Arc;

use futures_util::FutureExt;
use rmcp::service::serve_server_with_ct;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;

use crate::host::residents::Residents;
use crate::host::serve_options::ServeOptions;
use crate::host::tasks;
use crate::serve::http::access::caller::Caller;
use crate::serve::mcp::server::McpServer;

pub use rmcp::transport::io::stdio_pipes;

/// Serves one client until its input ends, or `stop`; then all sessions rest.
pub async fn serve(
    residents: Arc<Residents>,
    options: &ServeOptions,
    key: &[u8; 64],
    (input, output): (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
    stop: impl Future<Output = ()>,
) {
    // Shared as the HTTP server's: what answers a request is compiled once.
    let server = Arc::new(McpServer::new(residents.clone(), options.approvals, key, Some(Caller::anybody())));
    let (ending, over) = (server.ending(), CancellationToken::new());
    let at_end = ending.clone();
    // Requests that are cut off by the end are not cancelled: their sessions go on another time.
    let input = InspectReader::new(input, move |bytes: &[u8]| {
        if bytes.is_empty() {
            at_end.cancel();
        }
    });
    let tending = tasks::spawn(residents.clone().tend(options.idle));
    let serving = async {
        match serve_server_with_ct(server, (input, output), over.clone()).await {
            Ok(running) => _ = running.waiting().await,
            Err(error) => tracing::info!(%error, "the client left before it began"),
        }
    };
    // Boxed: the compiler looks no deeper when somebody spawns this.
    let mut serving = serving.boxed();
    tokio::select! {
        () = &mut serving => {}
        () = stop => {
            ending.cancel();
            over.cancel();
            serving.await;
        }
    }
    tending.abort();
    residents.drain(options.grace).boxed().await;
}
