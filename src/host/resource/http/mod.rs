//! An HTTP client as a resource. It asks only the servers that its configuration names, and of those only the
//! addresses that may be asked, at every step of a redirect.

mod addresses;
pub mod guard;
pub mod resolver;
mod response;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use playhouse_lang::value::Value;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde::Deserialize;

use crate::keys::{count, pairs, seconds, texts};
use crate::net;
use crate::resource::http::guard::{Guard, Refusal, shown_host};
use crate::resource::http::resolver::{GuardedResolver, Resolver, SystemResolver};
use crate::resource::{Label, Resource, ResourceError};
use crate::secrets::Secrets;

/// The configuration of an HTTP client.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// The servers that may be called; without any, no request is possible ([`Guard::new`]).
    #[serde(deserialize_with = "texts")]
    pub hosts: Vec<String>,
    /// Networks whose addresses may be called although they are not on the open internet.
    #[serde(deserialize_with = "texts")]
    pub networks: Vec<String>,
    /// `http`, `https` or both.
    #[serde(deserialize_with = "texts")]
    pub schemes: Vec<String>,
    /// Headers of every request, as long as no redirect has led to another server. Their values are never shown.
    #[serde(deserialize_with = "pairs")]
    pub headers: Vec<(String, String)>,
    /// How long a request may take, redirects and body included.
    #[serde(deserialize_with = "seconds")]
    pub timeout: Duration,
    /// The most bytes that a body may have.
    #[serde(deserialize_with = "count")]
    pub max_bytes: usize,
    /// How many redirects are followed.
    pub max_redirects: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        HttpConfig {
            hosts: Vec::new(),
            networks: Vec::new(),
            schemes: vec!["http".to_owned(), "https".to_owned()],
            headers: Vec::new(),
            timeout: Duration::from_secs(30),
            max_bytes: 1 << 20,
            max_redirects: 5,
        }
    }
}

/// An HTTP client with its guard.
pub struct Http {
    label: Label,
    guard: Arc<Guard>,
    resolver: Arc<dyn Resolver>,
    headers: HeaderMap,
    config: HttpConfig,
    /// What takes secrets out of all that servers say.
    secrets: Arc<Secrets>,
    client: Mutex<Option<Client>>,
}

/// A request as a tool makes it.
pub struct HttpRequest {
    /// `GET` or `POST`.
    pub method: Method,
    /// Where.
    pub url: String,
    /// The caller's headers.
    pub headers: HeaderMap,
    /// What is sent.
    pub body: Vec<u8>,
}

/// An answer, whatever its status.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// Its headers, in lower case; without `set-cookie`, as there are no cookies.
    pub headers: Value,
    /// Its body: what JSON says if that is its type, text if it is text, else `{base64, mime_type}`.
    pub body: Value,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// It will not be asked, whoever asks.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// A redirect leads to what will not be asked.
    #[error("`{from}` redirects to an address that is refused: {refusal}")]
    RedirectRefused {
        /// The server that redirects.
        from: String,
        /// Why its redirect is not followed.
        refusal: Refusal,
    },
    /// It cannot be asked now, and perhaps can be in a moment.
    #[error("{0}")]
    Unavailable(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Http {
    /// Checks a configuration. Nothing is connected before the first request.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(label: Label, config: &HttpConfig) -> Result<Http, ResourceError> {
        Http::with_resolver(label, config, Arc::new(SystemResolver))
    }

    /// As [`Http::new`], with another way from names to addresses.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn with_resolver(
        label: Label,
        config: &HttpConfig,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Http, ResourceError> {
        let guard = Guard::new(&config.hosts, &config.networks, &config.schemes)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &config.headers {
            let wrong = |part: &str| {
                let cause = format!("the {part} of the header `{name}` cannot be sent");
                ResourceError::new(cause, "correct it in `headers`")
            };
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(Http {
            label,
            guard: Arc::new(guard),
            resolver,
            headers,
            config: config.clone(),
            secrets: Arc::default(),
            client: Mutex::default(),
        })
    }

    /// The same client, which takes secrets out of all that servers say: one may send back what it was sent.
    #[must_use]
    pub fn masked(self, secrets: Arc<Secrets>) -> Http {
        Http { secrets, ..self }
    }

    /// Whether every request has this header, so that a caller may not set it.
    pub fn sets_header(&self, name: &HeaderName) -> bool {
        self.headers.contains_key(name)
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        self.config.timeout
    }

    /// Asks, follows redirects, and reads the answer. Dropping the future closes the connection.
    ///
    /// # Errors
    /// Why there is no answer. The text names the server, and no value of a header.
    pub async fn request(&self, request: HttpRequest) -> Result<HttpAnswer, HttpError> {
        let url = self.guard.check(&request.url)?;
        let host = shown_host(&url);
        match tokio::time::timeout(self.config.timeout, self.follow(request, url)).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::Unavailable(format!(
                "`{host}` did not answer within {} s (`timeout` of the resource)",
                self.config.timeout.as_secs_f64()
            ))),
        }
    }

    async fn follow(&self, request: HttpRequest, mut url: Url) -> Result<HttpAnswer, HttpError> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let client = client.ok_or_else(|| HttpError::Failed("the HTTP client is not ready".to_owned()))?;
        let HttpRequest { mut method, headers: mut own, mut body, .. } = request;
        let mut configured = Some(&self.headers);
        for _ in 0..=self.config.max_redirects {
            // The fragment is the caller's business.
            url.set_fragment(None);
            let mut headers = own.clone();
            for (name, value) in configured.into_iter().flatten() {
                headers.insert(name.clone(), value.clone());
            }
            if method == Method::POST && body.is_empty() {
                // RFC 9110, 8.6; some servers insist.
                headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            }
            let sent = client.request(method.clone(), url.clone()).headers(headers).body(body.clone()).send().await;
            let response = sent.map_err(|error| explain(&url, &error))?;
            let Some(next) = self.redirect(&url, &response)? else {
                return self.read(&url, response).await;
            };
            if next.origin() != url.origin() {
                // Whatever proves who asks was meant for the first server, and does not come back if another one
                // redirects there.
                configured = None;
                own = own.into_iter().filter_map(|(name, value)| Some((name.filter(is_harmless)?, value))).collect();
            }
            let status = response.status();
            let becomes_get = status == StatusCode::SEE_OTHER
                || (method == Method::POST && matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND));
            if becomes_get && method != Method::GET {
                method = Method::GET;
                body = Vec::new();
                own.remove(CONTENT_TYPE);
            }
            url = next;
        }
        let max = self.config.max_redirects;
        Err(HttpError::Failed(format!(
            "`{}` redirects again after {max} redirects (`max_redirects` of the resource)",
            shown_host(&url)
        )))
    }

    /// Where a response leads, if that is allowed; none: it is the answer.
    fn redirect(&self, url: &Url, response: &Response) -> Result<Option<Url>, HttpError> {
        let is_redirect = matches!(
            response.status(),
            StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT
        );
        let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else { return Ok(None) };
        let location = String::from_utf8_lossy(location.as_bytes());
        let next = self.guard.check_redirect(url, &location);
        next.map(Some).map_err(|refusal| HttpError::RedirectRefused { from: shown_host(url), refusal })
    }

    async fn read(&self, url: &Url, mut response: Response) -> Result<HttpAnswer, HttpError> {
        let too_large = || {
            let max = self.config.max_bytes;
            let host = shown_host(url);
            HttpError::Failed(format!(
                "the answer of `{host}` is larger than {max} bytes (`max_bytes` of the resource)"
            ))
        };
        if response.content_length().is_some_and(|length| length > self.config.max_bytes as u64) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| explain(url, &error))? {
            if bytes.len() + chunk.len() > self.config.max_bytes {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(HttpAnswer {
            status: response.status().as_u16(),
            headers: self.secrets.mask_value(response::headers(response.headers())),
            body: self.secrets.mask_value(response::body(response.headers(), bytes)),
        })
    }

    fn build(&self) -> Result<Client, String> {
        let resolver = GuardedResolver { resolver: self.resolver.clone(), guard: self.guard.clone() };
        // A proxy of the environment would be asked in place of the address that was checked.
        let needs_certificates = self.config.schemes.iter().any(|scheme| scheme == "https");
        let builder = net::client(needs_certificates, true).connect_timeout(self.config.timeout);
        builder.dns_resolver(Arc::new(resolver)).referer(false).build().map_err(|error| net::innermost(&error))
    }
}

impl Resource for Http {
    fn kind(&self) -> &str {
        "http"
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            let client = self.build().map_err(|cause| {
                let advice = "check the certificates of this system, or allow only `http` in `schemes`";
                ResourceError::new(format!("no HTTP client can be created: {cause}"), advice)
            })?;
            *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Box::pin(std::future::ready(()))
    }
}

/// Whether a caller's header goes along to another server. Of others nobody knows what they prove.
fn is_harmless(name: &HeaderName) -> bool {
    matches!(name.as_str(), "accept" | "accept-language" | "content-type" | "idempotency-key")
}

fn explain(url: &Url, error: &reqwest::Error) -> HttpError {
    let host = shown_host(url);
    if let Some(refusal) = net::causes(error).find_map(|cause| cause.downcast_ref::<Refusal>()) {
        return HttpError::Refused(refusal.clone());
    }
    let cause = net::innermost(error);
    if error.is_timeout() || error.is_connect() {
        return HttpError::Unavailable(format!("`{host}` cannot be reached: {cause}"));
    }
    if error.is_builder() {
        return HttpError::Failed(format!("the request to `{host}` cannot be sent: {cause}"));
    }
    HttpError::Unavailable(format!("the connection to `{host}` broke: {cause}"))
}
