//! Where requests go.

use std::fmt;

use async_openai::config::Config;
use reqwest::header::HeaderMap;
use secrecy::SecretString;

use crate::llm::openai::config::OpenAiConfig;

/// What all requests of a model share.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) config: OpenAiConfig,
    /// The base URL as it may be shown: without password and query.
    pub(super) shown_url: String,
    pub(super) endpoint: Endpoint,
    /// Whether TLS is needed.
    pub(super) is_secure: bool,
    /// Whether it is this machine, which no proxy can reach for us.
    pub(super) is_loopback: bool,
}

/// Where requests go and with which headers. async-openai's own configuration type reads the environment, and
/// panics at a key that is no header value.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) base_url: String,
    pub(super) headers: HeaderMap,
    /// The trait wants one; the key is in the headers.
    pub(super) no_key: SecretString,
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}
