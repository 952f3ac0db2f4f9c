//! Sends spans to a collector (OTLP over HTTP) while sessions go on. Nobody waits for it: what does not fit into the queue,
//! or cannot be delivered, is lost, counted, and told once.

use std::net::ToSocketAddrs as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::net;
use crate::otel::options::{Capture, Target};
use crate::otel::spans::{Span, SpanSink};
use crate::otel::wire::encode;
use crate::secrets::Secrets;
use crate::tasks;

/// Spans that may wait to be sent.
const QUEUE: usize = 2_048;

/// Spans of one request.
const BATCH: usize = 512;

/// So long spans wait for others.
const INTERVAL: Duration = Duration::from_secs(5);

/// So long the end may take.
const END: Duration = Duration::from_secs(5);

/// So long a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often a request is made that may succeed another time.
const ATTEMPTS: u32 = 3;

/// How long is waited before the second time; then twice as long.
const DELAY: Duration = Duration::from_millis(500);

/// The longest that a collector may make us wait.
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// See the module.
pub struct Exporter {
    sender: Mutex<Option<mpsc::Sender<Span>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    captures: bool,
    tally: Arc<Tally>,
}

/// What has become of spans.
struct Tally {
    url: String,
    n_taken: AtomicU64,
    n_sent: AtomicU64,
    /// Why the first of those that are lost are; none: nothing is lost.
    lost: watch::Sender<Option<String>>,
}

impl Tally {
    /// Something is lost, for this reason.
    fn lose(&self, reason: impl FnOnce() -> String) {
        self.lost.send_if_modified(|lost| match lost {
            Some(_) => false,
            None => {
                *lost = Some(reason());
                true
            }
        });
    }
}

impl Exporter {
    /// Begins to send what it is given. Nothing is connected before the first span.
    ///
    /// # Errors
    /// A header cannot be sent, or no connection can be prepared.
    pub fn open(target: &Target, secrets: Arc<Secrets>) -> Result<Exporter, String> {
        let headers = headers_of(target, &secrets)?;
        let is_loopback = target.url.host_str().is_some_and(net::is_loopback);
        let client = net::client(target.url.scheme() == "https", is_loopback).timeout(TIMEOUT);
        let client = client.dns_resolver(Arc::new(Lookup));
        let client = client.build().map_err(|error| net::innermost(&error))?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let tally = Arc::new(Tally {
            url: target.url.to_string(),
            n_taken: AtomicU64::new(0),
            n_sent: AtomicU64::new(0),
            lost: watch::Sender::new(None),
        });
        let worker = Worker { client, headers, service: target.service.clone(), secrets, tally: tally.clone() };
        let task = tasks::spawn(worker.work(receiver));
        Ok(Exporter {
            sender: Mutex::new(Some(sender)),
            task: Mutex::new(Some(task)),
            captures: target.capture == Capture::Messages,
            tally,
        })
    }

    /// Comes when something is lost for the first time, and says why; never, if nothing is.
    pub fn first_loss(&self) -> impl Future<Output = Option<String>> + Send + 'static {
        let mut lost = self.tally.lost.subscribe();
        async move { lost.wait_for(Option::is_some).await.ok().and_then(|lost| lost.clone()) }
    }

    /// Sends what is left, for five seconds at most; what was lost in all, in words, if anything was. Once.
    pub async fn close(&self) -> Option<String> {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let abort = task.abort_handle();
        if timeout(END, task).await.is_err() {
            abort.abort();
            self.tally.lose(|| format!("no answer within {} s", END.as_secs()));
        }
        let n_taken = self.tally.n_taken.load(Ordering::Relaxed);
        let n_lost = n_taken.saturating_sub(self.tally.n_sent.load(Ordering::Relaxed));
        let reason = self.tally.lost.borrow().clone()?;
        Some(format!("{n_lost} of {n_taken} spans were not delivered to {}: {reason}", self.tally.url))
    }
}

impl SpanSink for Exporter {
    fn captures_messages(&self) -> bool {
        self.captures
    }

    fn take(&self, spans: Vec<Span>) {
        self.tally.n_taken.fetch_add(spans.len() as u64, Ordering::Relaxed);
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_taken = |span| sender.as_ref().is_some_and(|sender| sender.try_send(span).is_ok());
        if spans.into_iter().map(is_taken).filter(|is_taken| !is_taken).count() > 0 {
            self.tally.lose(|| format!("they came faster than they could be sent (more than {QUEUE} waited)"));
        }
    }
}

fn headers_of(target: &Target, secrets: &Secrets) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
    for (name, value) in &target.headers {
        secrets.add(value);
        let wrong = |part: &str| format!("the {part} of the header `{name}` cannot be sent; correct it in `headers`");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Looks names up on threads that the end of the process does not wait for: a name server may take its time.
struct Lookup;

impl Resolve for Lookup {
    fn resolve(&self, name: Name) -> Resolving {
        let (sender, found) = oneshot::channel();
        std::thread::spawn(move || {
            let found = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
            // Whoever asked may have gone.
            let _ = sender.send(found);
        });
        Box::pin(async move { Ok(Box::new(found.await??.into_iter()) as Addrs) })
    }
}

/// What sends.
struct Worker {
    client: Client,
    headers: HeaderMap,
    service: Option<String>,
    secrets: Arc<Secrets>,
    tally: Arc<Tally>,
}

/// Why a request has brought nothing.
struct Failure {
    reason: String,
    /// After how long another one may; none: none will.
    again_after: Option<Duration>,
}

impl Worker {
    /// Sends what comes until nobody can give anything any more.
    async fn work(self, mut receiver: mpsc::Receiver<Span>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let is_open = fill(&mut receiver, &mut batch).await;
            if !batch.is_empty() {
                self.send(&batch).await;
                batch.clear();
            }
            if !is_open {
                return;
            }
        }
    }

    async fn send(&self, spans: &[Span]) {
        let body = encode(spans, self.service.as_deref(), &self.secrets);
        for attempt in 1..=ATTEMPTS {
            let Failure { reason, again_after } = match self.post(body.clone()).await {
                Ok(()) => {
                    self.tally.n_sent.fetch_add(spans.len() as u64, Ordering::Relaxed);
                    return;
                }
                Err(failure) => failure,
            };
            match again_after.filter(|_| attempt < ATTEMPTS) {
                Some(asked) => sleep(asked.max(DELAY * attempt).min(LONGEST_DELAY)).await,
                None => {
                    tracing::warn!(n_spans = spans.len(), "spans are lost: {reason}");
                    self.tally.lose(|| reason);
                    return;
                }
            }
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), Failure> {
        let request = self.client.post(&self.tally.url).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| {
            let reason = if error.is_timeout() { "no answer in time".to_owned() } else { net::innermost(&error) };
            Failure { reason: self.secrets.mask_text(&reason), again_after: Some(Duration::ZERO) }
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        // What may be sent again (OTLP specification, "Failures").
        let is_transient = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        let asked = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
        let again_after = is_transient.then(|| asked.map_or(Duration::ZERO, Duration::from_secs));
        let hint = if status == StatusCode::NOT_FOUND { "; check the path of the URL" } else { "" };
        Err(Failure { reason: format!("it answers {status}{hint}"), again_after })
    }
}

/// Waits for a span, then for others until there are enough of them or some time has passed. False: nothing comes any
/// more.
async fn fill(receiver: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) -> bool {
    if receiver.recv_many(batch, BATCH).await == 0 {
        return false;
    }
    let deadline = Instant::now() + INTERVAL;
    while batch.len() < BATCH {
        let room = BATCH - batch.len();
        match timeout_at(deadline, receiver.recv_many(batch, room)).await {
            Ok(0) => return false,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    true
}
