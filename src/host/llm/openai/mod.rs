//! Any OpenAI-compatible server, through async-openai with request and chunk types of our own.
//!
//! Read on in the order of the data: `config` says where and what, `wire` what is sent and received, `transport`
//! looks at the answer, `reader` makes a reply of it, `errors` finds the words when there is none.

mod config;
mod errors;
mod reader;
mod server;
mod transport;
mod wire;

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_openai::Client;
use async_openai::error::OpenAIError;
use futures_util::Stream;
use playhouse_vm::protocol::{ReplyEnd, Usage};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use tokio::time::Sleep;

pub use self::config::{OpenAiConfig, OpenAiConfigError, Secret};
use self::reader::ReplyReader;
use self::server::{Endpoint, Server};
use self::transport::Transport;
use self::wire::{Chunk, RequestBody};
use crate::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use crate::net;

/// How long a server may take for its counts after it has said that the reply is complete.
const COUNTS_TIMEOUT: Duration = Duration::from_secs(2);

/// So many bytes that have arrived together are handed on together.
const MAX_PART_BYTES: usize = 16 * 1024;

/// A model on a server.
#[derive(Debug)]
pub struct OpenAi {
    id: Arc<str>,
    server: Arc<Server>,
    /// Made with the first request: it may cost the loading of the system's certificates.
    client: OnceLock<Result<Arc<Client<Endpoint>>, Arc<str>>>,
    /// The same for what is no conversation.
    http: OnceLock<Result<reqwest::Client, Arc<str>>>,
}

impl OpenAi {
    /// Checks a configuration. Nothing is connected or loaded before the first request.
    pub fn new(config: OpenAiConfig) -> Result<OpenAi, OpenAiConfigError> {
        if config.model.trim().is_empty() {
            return Err(OpenAiConfigError::Model);
        }
        let base_url = config.base_url.trim().trim_end_matches('/');
        let base_url = base_url.strip_suffix("/chat/completions").unwrap_or(base_url).to_owned();
        let unusable = |cause: String| OpenAiConfigError::BaseUrl { url: config.base_url.clone(), cause };
        let url = Url::parse(&base_url).map_err(|error| unusable(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable(format!("its scheme is {:?}, not http or https", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().or(url.fragment()).is_some() {
            let cause = String::from("it holds a user name, a password, a query or a fragment");
            // The password is not to be shown.
            return Err(OpenAiConfigError::BaseUrl { url: String::from("…"), cause });
        }
        let is_loopback = url.host_str().is_some_and(net::is_loopback);
        let headers = headers(&config)?;
        Ok(OpenAi {
            id: Arc::from(format!("openai:{}", config.model)),
            server: Arc::new(Server {
                shown_url: base_url.clone(),
                endpoint: Endpoint { base_url, headers, no_key: SecretString::from("") },
                is_secure: url.scheme() == "https",
                is_loopback,
                config,
            }),
            client: OnceLock::new(),
            http: OnceLock::new(),
        })
    }

    /// The model's name as the server knows it.
    pub(crate) fn name(&self) -> &str {
        &self.server.config.model
    }

    /// The server, for people.
    pub(crate) fn url(&self) -> &str {
        &self.server.shown_url
    }

    /// What the server answers to a request that is no conversation, whole.
    ///
    /// # Errors
    /// It cannot be reached, or refuses; in words that name the next step.
    pub(crate) async fn post(&self, path: &str, body: &serde_json::Value) -> Result<Vec<u8>, String> {
        let server = &self.server;
        let http = self.http.get_or_init(|| build_http(server)).clone().map_err(|cause| cause.to_string())?;
        let request =
            http.post(format!("{}/{path}", server.endpoint.base_url)).headers(server.endpoint.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        let unreachable = |cause: reqwest::Error| {
            let cause = net::innermost(&cause);
            format!("{} cannot be reached: {cause}; start the server, or name it with --base-url", server.shown_url)
        };
        let answer = request.send().await.map_err(unreachable)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let bytes = answer.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return Ok(bytes.to_vec());
        }
        let end = errors::redact(server, errors::end_from_status(server, status, &headers, &bytes));
        match end {
            ReplyEnd::Broken { reason, .. } | ReplyEnd::Refused { reason } => Err(reason.to_string()),
            other @ (ReplyEnd::Complete(_) | ReplyEnd::Closed) => {
                Err(format!("{} answered {status} ({other:?})", server.shown_url))
            }
        }
    }

    fn client(&self) -> Result<Arc<Client<Endpoint>>, Arc<str>> {
        self.client.get_or_init(|| build_client(&self.server)).clone()
    }
}

fn headers(config: &OpenAiConfig) -> Result<HeaderMap, OpenAiConfigError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &config.api_key {
        let value = HeaderValue::from_str(&format!("Bearer {}", key.expose()));
        let mut value = value.map_err(|_| OpenAiConfigError::ApiKey)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in &config.extra_headers {
        let problem = |part| OpenAiConfigError::Header { name: name.clone(), part };
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| problem("name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| problem("value"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

fn build_http(server: &Server) -> Result<reqwest::Client, Arc<str>> {
    let http = net::client(server.is_secure, server.is_loopback)
        .connect_timeout(server.config.connect_timeout)
        .read_timeout(server.config.read_timeout);
    http.build().map_err(|error| {
        format!("no connection to {} can be prepared: {}", server.shown_url, net::innermost(&error)).into()
    })
}

fn build_client(server: &Arc<Server>) -> Result<Arc<Client<Endpoint>>, Arc<str>> {
    let http = build_http(server)?;
    let transport = Transport { http: http.clone(), server: server.clone() };
    // Not `Client::with_config`, which first makes a reqwest client of its own, certificates and all.
    Ok(Arc::new(Client::build(http, server.endpoint.clone()).with_http_service(transport)))
}

impl Llm for OpenAi {
    fn id(&self) -> Arc<str> {
        self.id.clone()
    }

    fn starts_in_think(&self) -> bool {
        self.server.config.starts_in_think()
    }

    fn sampling(&self) -> serde_json::Map<String, serde_json::Value> {
        wire::sampling(&self.server.config)
    }

    fn context_tokens(&self) -> Option<u64> {
        self.server.config.context_tokens
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let state = match self.client() {
            Ok(client) => {
                let server = self.server.clone();
                State::Opening(Box::pin(async move {
                    let body = RequestBody { config: &server.config, request: &request };
                    client.chat().create_stream_byot::<_, Chunk>(&body).await
                }))
            }
            Err(reason) => State::Ending(ReplyEnd::Refused { reason }, None),
        };
        Box::pin(OpenAiReply {
            reader: ReplyReader::new(self.starts_in_think()),
            server: self.server.clone(),
            state,
            part: Vec::new(),
            counts_deadline: None,
        })
    }
}

type ChunkStream = Pin<Box<dyn Stream<Item = Result<Chunk, OpenAIError>> + Send>>;

/// A reply in progress.
struct OpenAiReply {
    server: Arc<Server>,
    reader: ReplyReader,
    state: State,
    /// Bytes that have arrived and are not handed on yet.
    part: Vec<u8>,
    /// Runs once the reply is complete.
    counts_deadline: Option<Pin<Box<Sleep>>>,
}

enum State {
    Opening(Pin<Box<dyn Future<Output = Result<ChunkStream, OpenAIError>> + Send>>),
    Reading(ChunkStream),
    Ending(ReplyEnd, Option<Usage>),
    Over,
}

impl OpenAiReply {
    /// Ends the reply; the connection is let go at once.
    fn end_with(&mut self, end: ReplyEnd) {
        // Whatever think block is open is closed too.
        let _ = self.reader.end(&mut self.part);
        self.state = State::Ending(errors::redact(&self.server, end), self.reader.usage());
    }

    fn end(&mut self) {
        let (end, usage) = self.reader.end(&mut self.part);
        self.state = State::Ending(end, usage);
    }

    fn poll_counts_deadline(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timeout = COUNTS_TIMEOUT.min(self.server.config.read_timeout);
        let deadline = self.counts_deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        deadline.as_mut().poll(context)
    }
}

impl Stream for OpenAiReply {
    type Item = ReplyPart;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ReplyPart>> {
        let this = &mut *self;
        loop {
            match &mut this.state {
                State::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok(chunks) => this.state = State::Reading(chunks),
                    Err(error) => {
                        let end = errors::end_from_openai(&this.server, error);
                        this.end_with(end);
                    }
                },
                State::Reading(chunks) => match chunks.as_mut().poll_next(context) {
                    Poll::Ready(Some(Ok(chunk))) => {
                        if let Err(end) = this.reader.read(chunk, &mut this.part) {
                            this.end_with(end);
                        } else if this.part.len() >= MAX_PART_BYTES {
                            return Poll::Ready(Some(ReplyPart::Bytes(std::mem::take(&mut this.part))));
                        }
                    }
                    Poll::Ready(Some(Err(_))) if this.reader.is_complete() => this.end(),
                    Poll::Ready(Some(Err(error))) => {
                        let end = errors::end_from_openai(&this.server, error);
                        this.end_with(end);
                    }
                    Poll::Ready(None) => this.end(),
                    Poll::Pending if !this.part.is_empty() => {
                        return Poll::Ready(Some(ReplyPart::Bytes(std::mem::take(&mut this.part))));
                    }
                    Poll::Pending if this.reader.is_complete() => {
                        ready!(this.poll_counts_deadline(context));
                        this.end();
                    }
                    Poll::Pending => return Poll::Pending,
                },
                State::Ending(..) if !this.part.is_empty() => {
                    return Poll::Ready(Some(ReplyPart::Bytes(std::mem::take(&mut this.part))));
                }
                State::Ending(..) => {
                    let State::Ending(end, usage) = std::mem::replace(&mut this.state, State::Over) else {
                        return Poll::Ready(None);
                    };
                    return Poll::Ready(Some(ReplyPart::End { end, usage }));
                }
                State::Over => return Poll::Ready(None),
            }
        }
    }
}
