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

impl Pointed {
    /// What is wrong where.
    pub(crate) fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Pointed {
        Pointed { pointer: pointer.into(), detail: detail.into() }
    }
}

/// A kind: the end of its type, its status and its title.
type Kind = (&'static str, StatusCode, &'static str);

impl Problem {
    /// The end of its type.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// The answer's status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong, and what to do about it.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The mistakes in the body.
    pub(crate) fn errors(&self) -> &[Pointed] {
        &self.errors
    }

    /// It is about these places of the body.
    #[must_use]
    pub(crate) fn at(self, errors: Vec<Pointed>) -> Problem {
        Problem { errors, ..self }
    }

    fn new((kind, status, title): Kind, detail: impl Into<String>) -> Problem {
        Problem { kind, status, title, detail: detail.into(), errors: Vec::new(), retry_after: None }
    }

    /// The body or the query is wrong, at these places.
    pub(crate) fn bad(detail: impl Into<String>, errors: Vec<Pointed>) -> Problem {
        Problem {
            errors,
            ..Problem::new(("bad_request", StatusCode::BAD_REQUEST, "The request cannot be understood"), detail)
        }
    }

    /// No token, or a wrong one.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Problem {
        Problem::new(("unauthorized", StatusCode::UNAUTHORIZED, "This needs a token"), detail)
    }

    /// The token is not for this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(("forbidden", StatusCode::FORBIDDEN, "This is not allowed"), detail)
    }

    /// It is not there, or not for this caller to know of.
    pub(crate) fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(("not_found", StatusCode::NOT_FOUND, "There is no such thing here"), detail)
    }

    /// The path is there, for another method.
    pub(crate) fn no_method(detail: impl Into<String>) -> Problem {
        Problem::new(("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED, "This cannot be done here"), detail)
    }

    /// Something else is there.
    pub(crate) fn conflict(detail: impl Into<String>) -> Problem {
        Problem::new(("conflict", StatusCode::CONFLICT, "This conflicts with the current state"), detail)
    }

    /// More bytes than are taken.
    pub(crate) fn too_large(detail: impl Into<String>) -> Problem {
        Problem::new(("too_large", StatusCode::PAYLOAD_TOO_LARGE, "This is too large"), detail)
    }

    /// Another type than JSON.
    pub(crate) fn unsupported(detail: impl Into<String>) -> Problem {
        Problem::new(("unsupported_media_type", StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is not JSON"), detail)
    }

    /// The request is for another server.
    pub(crate) fn misdirected(detail: impl Into<String>) -> Problem {
        Problem::new(("misdirected", StatusCode::MISDIRECTED_REQUEST, "This server has another name"), detail)
    }

    /// It is understood, and cannot be done.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Problem {
        Problem::new(("unprocessable", StatusCode::UNPROCESSABLE_ENTITY, "This cannot be done"), detail)
    }

    /// More often than is allowed.
    pub(crate) fn too_many(detail: impl Into<String>, seconds: u64) -> Problem {
        Problem {
            retry_after: Some(seconds.max(1)),
            ..Problem::new(("too_many_requests", StatusCode::TOO_MANY_REQUESTS, "Too many requests"), detail)
        }
    }

    /// A mistake of ours, or of the machine.
    pub(crate) fn internal(detail: impl Into<String>) -> Problem {
        Problem::new(("internal", StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong here"), detail)
    }

    /// There is no room, or the server is about to end.
    pub(crate) fn unavailable(detail: impl Into<String>, seconds: u64) -> Problem {
        Problem {
            retry_after: Some(seconds.max(1)),
            ..Problem::new(("unavailable", StatusCode::SERVICE_UNAVAILABLE, "Not now"), detail)
        }
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
        // An interface with a form of its own for faults makes it of this.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<ResidentError> for Problem {
    fn from(error: ResidentError) -> Problem {
        let text = error.to_string();
        match error {
            ResidentError::NoProgram { .. } | ResidentError::NoSession(_) => Problem::not_found(text),
            ResidentError::Taken(_) | ResidentError::Elsewhere(_) => Problem::conflict(text),
            ResidentError::TooBusy(_) => Problem::unavailable(text, 1),
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
            ) => Problem::internal(text),
            ResidentError::Ended(error) => match &*error {
                SessionError::Journal(error) => of_journal(&error.kind, text),
                SessionError::NoSession(_)
                | SessionError::Change(_)
                | SessionError::Program(_)
                | SessionError::Replay { .. }
                | SessionError::NoPoint(_)
                | SessionError::TooMany { .. }
                | SessionError::Open(_)
                | SessionError::Draining
                | SessionError::Vanished => Problem::internal(text),
            },
            ResidentError::Send(error) => error.into(),
        }
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Problem {
        let text = error.to_string();
        of_journal(&error.kind, text)
    }
}

fn of_journal(kind: &JournalErrorKind, text: String) -> Problem {
    match kind {
        JournalErrorKind::NoSession(_) => Problem::not_found(text),
        JournalErrorKind::SessionId(_) => Problem::unprocessable(text),
        JournalErrorKind::Unavailable { .. } => Problem::unavailable(text, 5),
        // Whoever asks again comes to the process that has it.
        JournalErrorKind::Fenced => Problem::unavailable(text, 1),
        JournalErrorKind::Held(_) | JournalErrorKind::Exists => Problem::conflict(text),
        JournalErrorKind::Corrupt { .. }
        | JournalErrorKind::Full { .. }
        | JournalErrorKind::Format { .. }
        | JournalErrorKind::SecretsMissing { .. }
        | JournalErrorKind::Foreign(_)
        | JournalErrorKind::Unsupported(_)
        | JournalErrorKind::OtherSession { .. } => Problem::internal(text),
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
            SendError::Gone(_) => Problem::conflict("the session is over; begin a new one, or fork it"),
            SendError::TooLarge { .. } => Problem::too_large(error.to_string()),
            SendError::Busy | SendError::Refused(Refusal::TooManyWait) => Problem::unavailable(error.to_string(), 2),
            SendError::Refused(Refusal::AnotherText(_)) => Problem::conflict(error.to_string()),
            SendError::Refused(Refusal::NotAsked(_)) => {
                Problem::conflict(format!("{error}, or it has been answered; GET the session to see what is asked"))
            }
        }
    }
}
