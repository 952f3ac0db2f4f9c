//! Why there is no server: the cause, and what to do about it.

use std::error::Error;
use std::sync::Arc;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::text;
use super::transport::AnyTransportError;
use crate::net;

/// A server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the MCP server `{server}` {cause}; {advice}")]
pub struct McpError {
    /// Its name.
    pub server: Arc<str>,
    /// What kind of fault.
    pub fault: McpFault,
    /// What happened, in words that go on after its name.
    pub cause: String,
    /// What to do next.
    pub advice: String,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpFault {
    /// What was configured cannot be right.
    Configuration,
    /// There is no such command.
    NoCommand,
    /// The process has ended.
    Exited,
    /// Nobody answers at the address.
    NoConnection,
    /// An HTTP status that is no success.
    Http(u16),
    /// What answers speaks another protocol, or another generation of it.
    NoServer,
    /// It did not answer in time.
    TimedOut,
    /// It refused, or answered with something that is wrong.
    Protocol,
    /// Two of its tools would have the same name.
    Names,
    /// It was started too often.
    TooManyStarts,
    /// It was closed by us.
    Closed,
}

/// What became of a call that has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection was lost, or there was none.
    Lost(String),
    /// The server said no.
    Failed(String),
}

/// A fault and its cause, without the server's name.
pub(super) type Cause = (McpFault, String);

/// Why no connection came to be.
pub(super) fn of_start(error: &ClientInitializeError) -> Cause {
    match error {
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => match of_start(fallback) {
            // The answer to the first question says what kind of server it is.
            (McpFault::Protocol, _) => of_start(discover),
            cause => cause,
        },
        ClientInitializeError::ConnectionClosed(_) => {
            (McpFault::Exited, "closed the connection before it identified itself".to_owned())
        }
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        ClientInitializeError::JsonRpcError(error) => {
            (McpFault::Protocol, format!("refused the connection: {}", text::words(&error.message, text::MAX_ERROR)))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> = server_supported.iter().take(8).map(|version| version.as_str()).collect();
            let versions = text::words(&versions.join(", "), text::MAX_ERROR);
            (McpFault::NoServer, format!("speaks only the versions {versions} of the protocol"))
        }
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            (McpFault::Protocol, "sent something other than an answer to the first message".to_owned())
        }
        ClientInitializeError::NoPreferredProtocolVersion | ClientInitializeError::Cancelled | _ => {
            (McpFault::Protocol, text::words(&error.to_string(), text::MAX_ERROR))
        }
    }
}

/// Why a message could not be sent.
pub(super) fn of_transport(error: &DynamicTransportError) -> Cause {
    let error = error.error.downcast_ref().map_or(error.error.as_ref(), |AnyTransportError(error)| error.as_ref());
    let Some(http) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() else {
        return (McpFault::Exited, format!("cannot be written to: {}", chain(error)));
    };
    match http {
        StreamableHttpError::Client(error) if error.is_timeout() => {
            (McpFault::TimedOut, "did not accept the connection in time".to_owned())
        }
        StreamableHttpError::Client(error) => {
            (McpFault::NoConnection, format!("cannot be reached: {}", innermost(error)))
        }
        StreamableHttpError::HttpStatus(error) => status(error.status),
        StreamableHttpError::AuthRequired(_) => status(401),
        StreamableHttpError::InsufficientScope(_) => status(403),
        StreamableHttpError::SessionExpired => status(404),
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = text::words(kind.as_deref().unwrap_or("nothing"), 100);
            (McpFault::NoServer, format!("answered with {kind}, which is not MCP"))
        }
        StreamableHttpError::UnexpectedServerResponse(words) => match status_in(words) {
            Some(code) => status(code),
            None => {
                let words = text::words(words, text::MAX_ERROR);
                (McpFault::NoServer, format!("answered with something that is not MCP: {words}"))
            }
        },
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            (McpFault::NoServer, format!("answered with more than {max_size} bytes, which is not MCP"))
        }
        StreamableHttpError::Sse(_)
        | StreamableHttpError::Io(_)
        | StreamableHttpError::UnexpectedEndOfStream
        | StreamableHttpError::ServerDoesNotSupportSse
        | StreamableHttpError::ServerDoesNotSupportDeleteSession
        | StreamableHttpError::TokioJoinError(_)
        | StreamableHttpError::Deserialize(_)
        | StreamableHttpError::TransportChannelClosed
        | StreamableHttpError::MissingSessionIdInResponse
        | StreamableHttpError::ReservedHeaderConflict(_)
        | StreamableHttpError::SessionRecoveryTimeout
        | StreamableHttpError::ReinitializationFailed(_)
        | StreamableHttpError::ControlRequestTimeout
        | _ => (McpFault::Protocol, format!("lost the connection: {}", text::words(&chain(error), text::MAX_ERROR))),
    }
}

/// Why a request has no answer.
pub(super) fn of_request(error: &ServiceError) -> Trouble {
    match error {
        ServiceError::McpError(error) => {
            let mut words = text::lines(&error.message, text::MAX_ERROR);
            if let Some(data) = &error.data {
                words.push_str(&format!(" ({})", text::words(&data.to_string(), text::MAX_ERROR)));
            }
            Trouble::Failed(words)
        }
        ServiceError::TransportSend(error) => match of_transport(error) {
            (McpFault::Http(code @ (400 | 401 | 403 | 405..=428 | 430..=499)), words) => {
                Trouble::Failed(format!("{words} ({})", advice(McpFault::Http(code))))
            }
            (_, words) => Trouble::Lost(words),
        },
        ServiceError::TransportClosed => Trouble::Lost("closed the connection".to_owned()),
        ServiceError::Cancelled { .. } => Trouble::Failed("the call was cancelled".to_owned()),
        ServiceError::UnexpectedResponse => {
            Trouble::Failed("the server answered something other than what was asked".to_owned())
        }
        ServiceError::SubscriptionLagged { .. }
        | ServiceError::Timeout { .. }
        | ServiceError::InputRequiredRoundsExceeded { .. }
        | _ => Trouble::Failed(text::words(&error.to_string(), text::MAX_ERROR)),
    }
}

/// What to do about a fault.
pub(super) fn advice(fault: McpFault) -> &'static str {
    match fault {
        McpFault::Configuration | McpFault::Names => "correct its entry under `mcp`",
        McpFault::NoCommand => "install it, or correct `command` and `PATH` in its entry under `mcp`",
        McpFault::Exited => "run its command by hand to see why",
        McpFault::NoConnection => "start it, or correct `url` in its entry under `mcp`",
        McpFault::Http(401 | 403) => "give it an `Authorization` header that it accepts, by `headers`",
        McpFault::Http(404 | 405) | McpFault::NoServer => {
            "check that `url` or `command` is that of an MCP server, and `generation` one that it speaks"
        }
        McpFault::Http(_) => "try again later, or ask those who run it",
        McpFault::TimedOut => "check that it runs, or raise its `start_timeout`",
        McpFault::Protocol => "see its own log, or try another `generation`",
        McpFault::TooManyStarts => "find out why it ends, then try again",
        McpFault::Closed => "start the program again",
    }
}

fn status(code: u16) -> Cause {
    let reason = http::StatusCode::from_u16(code).ok().and_then(|status| status.canonical_reason());
    (McpFault::Http(code), format!("answered with the HTTP status {code} {}", reason.unwrap_or_default()).trim().into())
}

/// The status in `HTTP 404 Not Found: …`, the form in which the transport tells it.
fn status_in(words: &str) -> Option<u16> {
    words.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

/// An error with all its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    net::causes(error).map(ToString::to_string).fold(String::new(), |words, more| match words.as_str() {
        "" => more,
        _ if words.contains(&more) => words,
        _ => format!("{words}: {more}"),
    })
}

/// The last of its causes, without the address (it may hold a key).
fn innermost(error: &reqwest::Error) -> String {
    let cause = net::causes(error).skip(1).last();
    cause.map_or_else(|| "the request failed".to_owned(), |cause| text::words(&cause.to_string(), 300))
}
