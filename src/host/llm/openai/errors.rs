//! Failures of a server -> the end of a reply, in words that name the next step.

use std::sync::Arc;
use std::time::Duration;

use async_openai::error::OpenAIError;
use playhouse_vm::protocol::ReplyEnd;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::server::Server;
use crate::llm::status_is_transient;
use crate::net;
use crate::text::one_line;
use crate::text::shorten;

/// So much of a server's words is shown.
const SHOWN_CHARACTERS: usize = 400;

/// The end of a reply on its way through async-openai's error type.
#[derive(Debug, thiserror::Error)]
#[error("the model's server failed: {0:?}")]
pub(super) struct Failure(pub(super) ReplyEnd);

impl Failure {
    pub(super) fn into_error(self) -> OpenAIError {
        OpenAIError::Boxed(Box::new(self))
    }
}

pub(super) fn broken(reason: &str) -> ReplyEnd {
    ReplyEnd::Broken { reason: Arc::from(reason), retry_after_ms: None }
}

pub(super) fn refused(reason: &str) -> ReplyEnd {
    ReplyEnd::Refused { reason: Arc::from(reason) }
}

/// An answer that is no success.
pub(super) fn end_from_status(server: &Server, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ReplyEnd {
    let body = String::from_utf8_lossy(body);
    let details = Details::from_body(&body);
    let mut reason = format!("{} answered {status}", server.shown_url);
    if !details.message.is_empty() {
        reason.push_str(": ");
        // Before it is shortened: half a key would not be found again.
        reason.push_str(&shorten(&server.config.redact(&details.message), SHOWN_CHARACTERS));
    }
    if status_is_transient(status.as_u16()) && !details.is_quota() {
        return ReplyEnd::Broken { reason: Arc::from(reason), retry_after_ms: retry_after_ms(headers) };
    }
    let next_step = next_step(server, status, &details, headers);
    refused(&format!("{reason}; {next_step}"))
}

fn next_step(server: &Server, status: StatusCode, details: &Details, headers: &HeaderMap) -> String {
    let has_key = server.config.api_key.is_some();
    let text = match status.as_u16() {
        _ if details.is_quota() => "check the plan and the billing of the account, or use another key",
        _ if details.is_too_long() => "the conversation is too long for this model: set `context_tokens`",
        300..=399 => {
            let location = headers.get("location").and_then(|location| location.to_str().ok());
            return match location {
                Some(location) => format!("it points to {location}: set --base-url to where it moved"),
                None => String::from("check --base-url"),
            };
        }
        401 if has_key => "the key was not accepted: check OPENAI_API_KEY, and that it belongs to --base-url",
        401 => "set OPENAI_API_KEY",
        402 => "check the billing of the account",
        403 if has_key => "check that this key may use the model (--model)",
        403 => "set OPENAI_API_KEY",
        404 => "check --model, and --base-url (it ends before /chat/completions, most often in /v1)",
        405 => "check --base-url (it ends before /chat/completions, most often in /v1)",
        _ => "check --model and the configured fields (temperature, max_tokens, constrain, extra body)",
    };
    text.to_owned()
}

/// An `error` object in a stream that had begun.
pub(super) fn end_from_event(error: &Value) -> ReplyEnd {
    let details = Details::from_error(error);
    let mut reason = String::from("the server reports an error in the stream");
    if let Some(kind) = details.kinds.first() {
        reason.push_str(&format!(" ({kind})"));
    }
    if !details.message.is_empty() {
        reason.push_str(": ");
        reason.push_str(&shorten(&details.message, SHOWN_CHARACTERS));
    }
    if details.is_lasting() { refused(&reason) } else { broken(&reason) }
}

/// The same end with our secrets blackened.
pub(super) fn redact(server: &Server, end: ReplyEnd) -> ReplyEnd {
    let redact = |reason: Arc<str>| Arc::from(server.config.redact(&reason));
    match end {
        ReplyEnd::Broken { reason, retry_after_ms } => ReplyEnd::Broken { reason: redact(reason), retry_after_ms },
        ReplyEnd::Refused { reason } => ReplyEnd::Refused { reason: redact(reason) },
        ReplyEnd::Complete(_) | ReplyEnd::Closed => end,
    }
}

/// An error before or beside an answer.
pub(super) fn end_from_openai(server: &Server, error: OpenAIError) -> ReplyEnd {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<Failure>() {
            Ok(failure) => failure.0,
            Err(error) => broken(&format!("{}: {error}", server.shown_url)),
        },
        OpenAIError::Reqwest(error) => end_from_reqwest(server, error),
        OpenAIError::JSONDeserialize(error, text) => {
            let text = server.config.redact(&text);
            let text = shorten(&text, SHOWN_CHARACTERS);
            broken(&format!("a piece of the stream is not JSON ({error}): {text}"))
        }
        OpenAIError::StreamError(error) => broken(&format!("the stream is malformed: {error}")),
        OpenAIError::ApiError(error) => broken(&format!("{} answered {error}", server.shown_url)),
        OpenAIError::InvalidArgument(reason)
        | OpenAIError::FileSaveError(reason)
        | OpenAIError::FileReadError(reason) => refused(&format!("the request cannot be sent: {reason}")),
    }
}

pub(super) fn end_from_reqwest(server: &Server, error: reqwest::Error) -> ReplyEnd {
    if error.is_builder() {
        return refused(&format!("the request to {} cannot be sent: {error}", server.shown_url));
    }
    let reason = reason_from_reqwest(server, error);
    // An unknown certificate is still unknown the next time.
    if reason.contains("certificate") {
        return refused(&format!("{reason}; check --base-url, or add the certificate to the system's"));
    }
    broken(&reason)
}

/// What ended a connection, or kept it from being made.
pub(super) fn reason_from_reqwest(server: &Server, error: reqwest::Error) -> String {
    let url = &server.shown_url;
    let config = &server.config;
    if error.is_timeout() && error.is_connect() {
        return format!("no connection to {url} within {}; check --base-url", seconds(config.connect_timeout));
    }
    if error.is_timeout() {
        return format!("{url} sent nothing for {}", seconds(config.read_timeout));
    }
    let is_dns = error.is_dns();
    let is_connect = error.is_connect();
    // The outer errors say no more than "error sending request"; what happened is the innermost.
    let error = error.without_url();
    let cause = net::innermost(&error);
    if is_dns {
        format!("the host of {url} is not found: {cause}; check --base-url")
    } else if is_connect {
        format!("no connection to {url}: {cause}; check --base-url, and that the server runs")
    } else {
        format!("the connection to {url} broke: {cause}")
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

/// What a server says about its error, in any of the usual shapes.
#[derive(Default)]
struct Details {
    message: String,
    /// `type` and `code`, in lower case; a number too.
    kinds: Vec<String>,
}

impl Details {
    fn from_body(body: &str) -> Details {
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(list)) => list.first().map_or_else(Details::default, Details::from_outer),
            Ok(value) => Details::from_outer(&value),
            Err(_) => Details { message: text_of_page(body), ..Details::default() },
        }
    }

    /// `{"error": …}`, or the error itself.
    fn from_outer(value: &Value) -> Details {
        Details::from_error(value.get("error").filter(|error| !error.is_null()).unwrap_or(value))
    }

    fn from_error(error: &Value) -> Details {
        let Value::Object(object) = error else {
            return Details {
                message: error.as_str().map_or_else(|| error.to_string(), str::to_owned),
                ..Details::default()
            };
        };
        let message = ["message", "detail", "error", "msg"].iter().find_map(|key| object.get(*key));
        let message = match message {
            Some(Value::String(message)) => message.clone(),
            Some(other) => other.to_string(),
            None if object.is_empty() => String::new(),
            None => error.to_string(),
        };
        let kinds = ["code", "type", "status"].iter().filter_map(|key| match object.get(*key)? {
            Value::String(kind) => Some(kind.to_lowercase()),
            Value::Number(kind) => Some(kind.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        });
        Details { message, kinds: kinds.collect() }
    }

    fn has_kind(&self, names: &[&str]) -> bool {
        self.kinds.iter().any(|kind| names.contains(&kind.as_str()))
    }

    /// The account is used up: a 429 that no waiting heals.
    fn is_quota(&self) -> bool {
        self.has_kind(&["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"])
    }

    fn is_too_long(&self) -> bool {
        self.has_kind(&["context_length_exceeded", "exceed_context_size_error"])
    }

    /// Whether the same request would fail again.
    fn is_lasting(&self) -> bool {
        if self.is_quota() || self.is_too_long() {
            return true;
        }
        let status =
            self.kinds.iter().find_map(|kind| kind.parse::<u16>().ok().filter(|code| (400..600).contains(code)));
        match status {
            Some(status) => !status_is_transient(status),
            None => self.has_kind(&[
                "authentication_error",
                "billing_error",
                "content_filter",
                "content_policy_violation",
                "invalid_api_key",
                "invalid_prompt",
                "invalid_request_error",
                "model_not_found",
                "not_found_error",
                "permission_error",
            ]),
        }
    }
}

/// The text of a page that is no JSON: of HTML the title, else what stands between the tags.
pub(super) fn text_of_page(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let text = if let (Some(begin), Some(end)) = (lower.find("<title>"), lower.find("</title>"))
        && begin + "<title>".len() <= end
    {
        page[begin + "<title>".len()..end].to_owned()
    } else if lower.trim_start().starts_with('<') {
        let pieces = page.split('<').filter_map(|piece| piece.split_once('>'));
        pieces.map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    } else {
        page.to_owned()
    };
    one_line(&text)
}

/// How long a server asks us to wait. A date is taken relative to the answer's own `Date`, so that neither our
/// clock nor its offset matters.
fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    if let Some(ms) = text("retry-after-ms").and_then(number) {
        return Some(ms.ceil() as u64);
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(after) {
        return Some((seconds * 1000.0).ceil() as u64);
    }
    let until = jiff::fmt::rfc2822::parse(after).ok()?.timestamp();
    let now = jiff::fmt::rfc2822::parse(text(DATE.as_str())?).ok()?.timestamp();
    Some(u64::try_from(until.as_millisecond() - now.as_millisecond()).unwrap_or(0))
}
