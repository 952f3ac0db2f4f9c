//! What a user can set for an OpenAI-compatible server.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::secrets::Secrets;

/// The public API of OpenAI.
const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// Names of models (anywhere in the name, lower case) whose chat template opens the think block itself, so that
/// the reply begins inside it.
const STARTS_IN_THINK: &[&str] = &["deepseek-r1", "qwq", "thinking-2507"];

/// A server, a model, and what is sent with each request.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// The URL before `/chat/completions`.
    pub base_url: String,
    /// Sent as a bearer token; none for servers that want no key.
    pub api_key: Option<Secret>,
    /// The model's name as the server knows it.
    pub model: String,
    /// Sent if set: reasoning models refuse it.
    pub temperature: Option<f64>,
    /// Sent if set.
    pub max_tokens: Option<u64>,
    /// Further fields of the request. They win over our own (null removes one), but for `model`, `messages` and
    /// `stream`.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// Further headers; they win over our own.
    pub extra_headers: Vec<(String, String)>,
    /// Whether the schema of a request is sent as `response_format`.
    pub constrain: bool,
    /// Whether replies begin inside a think block; none: by the model's name.
    pub starts_in_think: Option<bool>,
    /// Tokens that fit into one request, if known.
    pub context_tokens: Option<u64>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long the server may be silent, also before its first byte (a long prompt on a small machine takes its
    /// time). There is no limit for a whole reply.
    pub read_timeout: Duration,
}

/// A key. It is shown nowhere.
#[derive(Clone)]
pub struct Secret(SecretString);

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenAiConfigError {
    /// The base URL is none.
    #[error("base URL {url:?} cannot be used: {cause}; write one such as http://127.0.0.1:8080/v1")]
    BaseUrl {
        /// As configured.
        url: String,
        /// What is wrong.
        cause: String,
    },
    /// The key holds characters no HTTP header may hold.
    #[error("the API key holds a line break or another character that no key has; check OPENAI_API_KEY")]
    ApiKey,
    /// A further header is none.
    #[error("extra header {name:?} cannot be used: its {part} holds characters that HTTP does not allow")]
    Header {
        /// The header's name.
        name: String,
        /// `name` or `value`.
        part: &'static str,
    },
    /// The model's name is empty.
    #[error("no model name; write it after `openai:`, as in `--model openai:gpt-4.1-mini`")]
    Model,
}

impl OpenAiConfig {
    /// A model of OpenAI, with default settings.
    pub fn new(model: impl Into<String>) -> OpenAiConfig {
        OpenAiConfig {
            base_url: String::from(DEFAULT_BASE_URL),
            api_key: None,
            model: model.into(),
            temperature: None,
            max_tokens: None,
            extra_body: serde_json::Map::new(),
            extra_headers: Vec::new(),
            constrain: false,
            starts_in_think: None,
            context_tokens: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(120),
        }
    }

    pub(super) fn starts_in_think(&self) -> bool {
        self.starts_in_think.unwrap_or_else(|| {
            let model = self.model.to_lowercase();
            STARTS_IN_THINK.iter().any(|name| model.contains(name))
        })
    }

    /// A server's text with all our secrets blackened: some servers quote what they were sent.
    pub(super) fn redact(&self, text: &str) -> String {
        let key = self.api_key.iter().map(Secret::expose);
        let headers = self.extra_headers.iter().map(|(_, value)| value.as_str());
        // Short values are no secrets, and would blacken half of the text.
        let secrets = key.chain(headers).filter(|secret| secret.len() >= 8);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[redacted]"))
    }
}

impl Secret {
    /// A key.
    pub fn new(key: impl Into<String>) -> Secret {
        Secret(SecretString::from(key.into()))
    }

    /// Has it masked wherever something is.
    pub fn hide(&self, secrets: &Secrets) {
        secrets.add(self.expose());
    }

    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

// By hand: headers carry keys too (`api-key`), so only their names are shown.
impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header_names: Vec<&str> = self.extra_headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OpenAiConfig")
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("temperature", &self.temperature)
            .field("max_tokens", &self.max_tokens)
            .field("extra_body", &self.extra_body)
            .field("extra_headers", &header_names)
            .field("constrain", &self.constrain)
            .field("starts_in_think", &self.starts_in_think)
            .field("context_tokens", &self.context_tokens)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_timeout", &self.read_timeout)
            .finish_non_exhaustive()
    }
}
