//! Faults of the interface: problem details (RFC 9457) that name the next step (spec `serving.md`, section 5).

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;

use crate::host::journal::{JournalError, JournalErrorKind};
use crate::host::launch::LaunchError;
use crate::host::residents::error::ResidentError;
use crate::host::session::{Refusal, SendError, SessionError};

/// What is wrong. `kind` is the end of `type`: `urn:playhouse:KIND`.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    kind: &'static str,
    status: StatusCode,
    title: &'static str,
    detail: String,
    errors: Vec<Pointed>,
    /// After how many seconds it may be tried again.
    retry_after: Option<u64>,
}

/// One of several mistakes in a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Pointed {
    /// Where: a JSON pointer.
    pub(crate) pointer: String,
    /// What.
    pub(crate) detail: String,
}

/// The kinds, with their status and their title.
const KINDS: &[(&str, u16, &str)] = &[
    ("bad_request", 400, "The request cannot be understood"),
    ("unauthorized", 401, "This needs a token"),
    ("forbidden", 403, "This is not allowed"),
    ("not_found", 404, "There is no such thing here"),
    ("method_not_allowed", 405, "This cannot be done here"),
    ("conflict", 409, "This does not fit what is there"),
    ("too_large", 413, "This is too large"),
    ("unsupported_media_type", 415, "This is not JSON"),
    ("misdirected", 421, "This server has another name"),
    ("unprocessable", 422, "This cannot be done"),
    ("too_many_requests", 429, "Too many requests"),
    ("internal", 500, "Something went wrong here"),
    ("unavailable", 503, "Not now"),
];

impl Problem {
    fn new(kind: &'static str, detail: impl Into<String>) -> Problem {
        let known = KINDS.iter().find(|(name, ..)| *name == kind);
        let (kind, status, title) = known.copied().unwrap_or(("internal", 500, "Something went wrong here"));
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Problem { kind, status, title, detail: detail.into(), errors: Vec::new(), retry_after: None }
    }

    /// The body or the query is wrong, at these places.
    pub(crate) fn bad(detail: impl Into<String>, errors: Vec<Pointed>) -> Problem {
        Problem { errors, ..Problem::new("bad_request", detail) }
    }

    /// No token, or a wrong one.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Problem {
        Problem::new("unauthorized", detail)
    }

    /// The token is not for this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new("forbidden", detail)
    }

    /// It is not there, or not for this caller to know of.
    pub(crate) fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new("not_found", detail)
    }

    /// The path is there, for another method.
    pub(crate) fn no_method(detail: impl Into<String>) -> Problem {
        Problem::new("method_not_allowed", detail)
    }

    /// Something else is there.
    pub(crate) fn conflict(detail: impl Into<String>) -> Problem {
        Problem::new("conflict", detail)
    }

    /// More bytes than are taken.
    pub(crate) fn too_large(detail: impl Into<String>) -> Problem {
        Problem::new("too_large", detail)
    }

    /// Another type than JSON.
    pub(crate) fn unsupported(detail: impl Into<String>) -> Problem {
        Problem::new("unsupported_media_type", detail)
    }

    /// The request is for another server.
    pub(crate) fn misdirected(detail: impl Into<String>) -> Problem {
        Problem::new("misdirected", detail)
    }

    /// It is understood, and cannot be done.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Problem {
        Problem::new("unprocessable", detail)
    }

    /// More often than is allowed.
    pub(crate) fn too_many(detail: impl Into<String>, seconds: u64) -> Problem {
        Problem { retry_after: Some(seconds.max(1)), ..Problem::new("too_many_requests", detail) }
    }

    /// A mistake of ours, or of the machine.
    pub(crate) fn internal(detail: impl Into<String>) -> Problem {
        Problem::new("internal", detail)
    }

    /// There is no room, or the server is about to end.
    pub(crate) fn unavailable(detail: impl Into<String>, seconds: u64) -> Problem {
        Problem { retry_after: Some(seconds.max(1)), ..Problem::new("unavailable", detail) }
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "<[Pointed]>::is_empty")]
    errors: &'a [Pointed],
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let Problem { kind, status, title, detail, errors, retry_after } = &self;
        if status.is_server_error() {
            tracing::warn!(kind, detail, "a request failed");
        }
        let r#type = format!("urn:playhouse:{kind}");
        let wire = Wire { r#type, title, status: status.as_u16(), detail, errors };
        let mut response = Response::new(Body::from(serde_json::to_vec(&wire).unwrap_or_default()));
        *response.status_mut() = *status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(*seconds));
        }
        if *status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<ResidentError> for Problem {
    fn from(error: ResidentError) -> Problem {
        let text = error.to_string();
        match error {
            ResidentError::NoProgram { .. } | ResidentError::NoSession(_) => Problem::not_found(text),
            ResidentError::Taken(_) => Problem::conflict(text),
            ResidentError::Launch(LaunchError::NoEntry { .. }) => Problem::not_found(text),
            ResidentError::Launch(LaunchError::Journal(error)) | ResidentError::Journal(error) => error.into(),
            ResidentError::Launch(LaunchError::Session(error)) | ResidentError::Session(error) => error.into(),
            ResidentError::Launch(LaunchError::Program { .. }) => Problem::unprocessable(text),
            ResidentError::Launch(
                LaunchError::Config(_)
                | LaunchError::File(_)
                | LaunchError::Equipment(_)
                | LaunchError::Model(_)
                | LaunchError::Gone(_),
            )
            | ResidentError::Ended(_) => Problem::internal(text),
            ResidentError::Send(error) => error.into(),
        }
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Problem {
        let text = error.to_string();
        match error.kind {
            JournalErrorKind::NoSession(_) => Problem::not_found(text),
            JournalErrorKind::SessionId(_) => Problem::unprocessable(text),
            JournalErrorKind::Held(_) | JournalErrorKind::Exists | JournalErrorKind::Fenced => Problem::conflict(text),
            JournalErrorKind::Corrupt { .. }
            | JournalErrorKind::Full { .. }
            | JournalErrorKind::Unavailable { .. }
            | JournalErrorKind::Format { .. }
            | JournalErrorKind::SecretsMissing { .. }
            | JournalErrorKind::Foreign(_)
            | JournalErrorKind::Unsupported(_)
            | JournalErrorKind::OtherSession { .. } => Problem::internal(text),
        }
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Problem {
        let text = error.to_string();
        match error {
            SessionError::Journal(error) => error.into(),
            SessionError::NoPoint(_) | SessionError::Change(_) => Problem::unprocessable(text),
            SessionError::NoSession(_) => Problem::not_found(text),
            SessionError::Open(_) => Problem::conflict(text),
            SessionError::TooMany { .. } | SessionError::Draining => Problem::unavailable(text, 2),
            SessionError::Program(_) | SessionError::Replay { .. } | SessionError::Vanished => Problem::internal(text),
        }
    }
}

impl From<SendError> for Problem {
    fn from(error: SendError) -> Problem {
        match error {
            SendError::Gone(_) => {
                Problem::conflict("the session is over and takes nothing more; begin a new one, or fork it")
            }
            SendError::TooLarge { .. } => Problem::too_large(error.to_string()),
            SendError::Refused(Refusal::AnotherText(_)) => Problem::conflict(error.to_string()),
            SendError::Refused(Refusal::NotAsked(_)) => {
                Problem::conflict(format!("{error}, or it has been answered; GET the session to see what is asked"))
            }
        }
    }
}
