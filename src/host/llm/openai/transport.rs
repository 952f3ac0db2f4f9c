//! Between async-openai and reqwest: one request, one answer, nothing hidden.
//!
//! async-openai's own path retries below our journal, drops the status of an error whose `code` is a number, drops
//! `Retry-After` and all but the outermost text of a broken connection. So our service looks at the answer first,
//! and gives it an event stream that never fails: what goes wrong is the stream's last event.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Response};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use tower_service::Service;

use super::errors::{self, Failure};
use super::server::Server;

/// Of an error's body, so much is read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How long an error's body may take: its status says most of it.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest line of a stream. A reply holds at most 1 MiB, and escapes make six bytes of one at worst.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// The longest stream, framing included: async-openai queues without bound what we have not taken yet.
const MAX_STREAM_BYTES: usize = 256 * 1024 * 1024;

/// So many bytes that have arrived together are handed on together; the parser after us moves them with each line.
const MAX_LINES_BYTES: usize = 4 * 1024;

/// How long the end of an answer may take after `[DONE]`. Mostly it has arrived with it. async-openai stops at
/// `[DONE]`, which would close the connection: the next turn would pay for a new one, with its TLS handshake.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// The pieces of a server that is quicker than this wait for each other: what one of them costs is waking up for it, and
/// nobody reads as fast. Those of a slower server wait for nothing.
const PACE: Duration = Duration::from_millis(1);

/// So many pieces may come too early: a reply that comes in a few large parts waits for nothing.
const N_FREE: u32 = 4;

/// Sends requests.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) http: reqwest::Client,
    pub(super) server: Arc<Server>,
}

impl Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let Transport { http, server } = self.clone();
        Box::pin(async move {
            let request = factory.build().await?;
            let response = http.execute(request).await;
            let response = response.map_err(|error| Failure(errors::end_from_reqwest(&server, error)).into_error())?;
            open(server, response).await.map_err(Failure::into_error)
        })
    }
}

/// Looks at an answer: an event stream, or a failure.
async fn open(server: Arc<Server>, response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if !status.is_success() {
        let headers = response.headers().clone();
        let body = read_at_most(response, MAX_ERROR_BYTES).await;
        return Err(Failure(errors::end_from_status(&server, status, &headers, &body)));
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let content_type = content_type.to_ascii_lowercase();
    if content_type.starts_with("text/html") {
        let body = read_at_most(response, MAX_ERROR_BYTES).await;
        let page = errors::text_of_page(&String::from_utf8_lossy(&body));
        let page = crate::text::shorten(&page, 100);
        let url = &server.shown_url;
        let reason = format!("{url} answers with a web page ({page}), not with a reply; check --base-url");
        return Err(Failure(errors::refused(&reason)));
    }
    let lines = Lines::new(server, Box::pin(response.bytes_stream()));
    let body = if content_type.starts_with("application/json") {
        // The server does not stream, or reports an error with status 200: its whole answer is one event.
        Body::wrap_stream(stream::once(lines.into_single_event()).map(Ok::<_, Infallible>))
    } else {
        Body::wrap_stream(stream::unfold(lines, Lines::next).map(Ok::<_, Infallible>))
    };
    Ok(Response::from(http::Response::new(body)))
}

async fn read_at_most(mut response: Response, max_bytes: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() >= max_bytes {
                break;
            }
        }
    };
    // Too late or broken: what has come is better than nothing.
    let _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, read).await;
    body.truncate(max_bytes);
    body
}

/// An event that says what ended the connection. The empty lines complete what stands before it.
fn transport_event(reason: &str) -> Vec<u8> {
    format!("\n\ndata: {}\n\n", json!({ "playhouse_transport": reason })).into_bytes()
}

/// An answer's bytes, cut after line ends: the parser after it searches an incomplete line again from its
/// beginning with every piece, which makes a long line quadratic, and it panics at a byte order mark.
struct Lines<S> {
    server: Arc<Server>,
    bytes: S,
    /// The beginning of a line that is not complete yet.
    partial: Vec<u8>,
    n_bytes: usize,
    is_over: bool,
    /// Before this nothing more is handed on.
    due: Instant,
    /// So often something came before that, up to [`N_FREE`].
    n_early: u32,
}

impl<S, B> Lines<S>
where
    S: Stream<Item = reqwest::Result<B>> + Unpin,
    B: AsRef<[u8]>,
{
    fn new(server: Arc<Server>, bytes: S) -> Lines<S> {
        let due = Instant::now();
        Lines { server, bytes, partial: Vec::new(), n_bytes: 0, is_over: false, due, n_early: 0 }
    }

    async fn next(mut self) -> Option<(Vec<u8>, Self)> {
        while !self.is_over {
            // Of a quick server the next pieces are not looked at before it is time. One that has become slow loses
            // nothing by it: its pieces come later than that.
            if self.n_early == N_FREE {
                sleep_until(self.due).await;
            }
            let first = self.bytes.next().await;
            if self.n_early < N_FREE && self.due > Instant::now() {
                self.n_early += 1;
            }
            let lines = self.take_all(first).await;
            if let Some(done) = done_position(&lines) {
                self.drain().await;
                return Some((lines[..done].to_vec(), self));
            }
            if !lines.is_empty() {
                return Some((lines, self));
            }
        }
        None
    }

    /// What has come by now, beginning with a first piece.
    async fn take_all(&mut self, first: Option<reqwest::Result<B>>) -> Vec<u8> {
        let mut lines = self.take(first);
        while lines.len() < MAX_LINES_BYTES {
            let next = if self.is_over { None } else { self.arrived().await };
            let Some(next) = next else {
                self.due = Instant::now() + PACE;
                break;
            };
            lines.extend(self.take(next));
        }
        lines
    }

    /// What comes next, if it is here. The connection is some other task's, which hands on one piece each time it runs.
    async fn arrived(&mut self) -> Option<Option<reqwest::Result<B>>> {
        let here = self.bytes.next().now_or_never();
        if here.is_some() {
            return here;
        }
        let mut has_yielded = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut has_yielded, true) {
                return Poll::Ready(());
            }
            // Not the runtime's own way of yielding, which asks the system for news first.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        self.bytes.next().now_or_never()
    }

    /// What has come: as complete lines, as far as they are.
    fn take(&mut self, bytes: Option<reqwest::Result<B>>) -> Vec<u8> {
        match bytes {
            Some(Ok(bytes)) => self.push(bytes.as_ref()),
            Some(Err(error)) => {
                self.is_over = true;
                transport_event(&errors::reason_from_reqwest(&self.server, error))
            }
            None => {
                // Some servers leave out the last line end.
                self.is_over = true;
                let mut last = std::mem::take(&mut self.partial);
                last.extend_from_slice(b"\n\n");
                last
            }
        }
    }

    /// Takes bytes in, gives complete lines out.
    fn push(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        if self.n_bytes == 0 {
            bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        }
        self.n_bytes += bytes.len();
        let mut lines = Vec::new();
        match bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(last) => {
                lines = std::mem::take(&mut self.partial);
                lines.extend_from_slice(&bytes[..=last]);
                self.partial.extend_from_slice(&bytes[last + 1..]);
            }
            None => self.partial.extend_from_slice(bytes),
        }
        if self.partial.len() > MAX_LINE_BYTES || self.n_bytes > MAX_STREAM_BYTES {
            self.is_over = true;
            let what = if self.n_bytes > MAX_STREAM_BYTES { "a stream" } else { "a line" };
            let mebibytes = if self.n_bytes > MAX_STREAM_BYTES { MAX_STREAM_BYTES } else { MAX_LINE_BYTES } >> 20;
            let reason = format!("{} sent {what} of more than {mebibytes} MiB", self.server.shown_url);
            lines.extend(transport_event(&reason));
        }
        lines
    }

    /// Reads the answer to its end.
    async fn drain(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, async { while let Some(Ok(_)) = self.bytes.next().await {} }).await;
    }

    /// The whole answer, which is a JSON text, as one event.
    async fn into_single_event(mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(bytes) = self.bytes.next().await {
            match bytes {
                Ok(bytes) => all.extend_from_slice(bytes.as_ref()),
                Err(error) => return transport_event(&errors::reason_from_reqwest(&self.server, error)),
            }
            if all.len() > MAX_LINE_BYTES {
                return transport_event(&format!("{} sent too long an answer", self.server.shown_url));
            }
        }
        // Written anew, because a line break would end the event.
        match serde_json::from_slice::<Value>(&all) {
            Ok(value) => format!("data: {value}\n\n").into_bytes(),
            Err(error) => transport_event(&format!("{} sent no JSON: {error}", self.server.shown_url)),
        }
    }
}

/// Where the line `data: [DONE]` begins.
fn done_position(lines: &[u8]) -> Option<usize> {
    const MARK: &[u8] = b"[DONE]";
    let mut begin = 0;
    for line in lines.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        if let Some(data) = line.strip_prefix(b"data:")
            && data.trim_ascii() == MARK
        {
            return Some(begin);
        }
        begin += line.len();
    }
    None
}
