//! A transport that tells when it has ended, and does not wait for a server that never answers `server/discover`.

use std::error::Error;
use std::future::pending;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long a server may take to answer `server/discover` before it is taken for one that does not know it.
const PROBE: Duration = Duration::from_secs(5);

/// A transport of whatever kind: what the client does with one is compiled once.
trait AnyTransport: Send {
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), AnyTransportError>>;
    fn receive(&mut self) -> BoxFuture<'_, Option<ServerJsonRpcMessage>>;
    fn close(&mut self) -> BoxFuture<'_, Result<(), AnyTransportError>>;
}

/// What went wrong with a transport, whichever it is.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct AnyTransportError(pub(super) Box<dyn Error + Send + Sync>);

impl<T: Transport<RoleClient>> AnyTransport for T {
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), AnyTransportError>> {
        Transport::send(self, message).map_err(|error| AnyTransportError(error.into())).boxed()
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<ServerJsonRpcMessage>> {
        Transport::receive(self).boxed()
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), AnyTransportError>> {
        Transport::close(self).map_err(|error| AnyTransportError(error.into())).boxed()
    }
}

/// See the module.
pub(super) struct Watched {
    inner: Box<dyn AnyTransport>,
    gone: CancellationToken,
    /// Whether an unanswered `server/discover` is answered for the server.
    probes: bool,
    waiting: Option<(RequestId, Instant)>,
    /// Answered for the server; its own answer comes too late.
    given_up: Option<RequestId>,
}

impl Watched {
    /// `gone` is cancelled when the server has gone.
    pub(super) fn new(inner: impl Transport<RoleClient> + 'static, gone: CancellationToken, probes: bool) -> Watched {
        Watched { inner: Box::new(inner), gone, probes, waiting: None, given_up: None }
    }
}

impl Transport<RoleClient> for Watched {
    type Error = AnyTransportError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if self.probes
            && let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::DiscoverRequest(_) = &request.request
        {
            self.waiting = Some((request.id.clone(), Instant::now() + PROBE));
        }
        self.inner.send(message)
    }

    // Nothing is lost when this is dropped half way: what it waits for can be waited for again.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let too_late = async {
                match &self.waiting {
                    Some((_, deadline)) => sleep_until(*deadline).await,
                    None => pending().await,
                }
            };
            let message = tokio::select! {
                message = self.inner.receive() => message,
                () = too_late => {
                    let (id, _) = self.waiting.take()?;
                    self.given_up = Some(id.clone());
                    let error = ErrorData::method_not_found::<rmcp::model::DiscoverRequestMethod>();
                    return Some(ServerJsonRpcMessage::error(error, Some(id)));
                }
            };
            let Some(message) = message else {
                self.gone.cancel();
                return None;
            };
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            if answered.is_some() {
                self.waiting = None;
                if answered == self.given_up.as_ref() {
                    continue;
                }
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.gone.cancel();
        self.inner.close().await
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}
