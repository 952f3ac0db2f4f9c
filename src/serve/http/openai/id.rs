//! Ids of answers: which session has given it, and after which mark.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::host::events::Mark;
use crate::serve::http::answers::live::Started;

/// What comes before session and mark in the id of a response.
const RESPONSE: &str = "resp_";

/// `SESSION.MARK`.
pub(crate) struct AnswerId {
    pub(crate) session: Arc<str>,
    pub(crate) began: Mark,
}

impl Display for AnswerId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.session, self.began)
    }
}

impl AnswerId {
    pub(super) fn of(started: &Started) -> AnswerId {
        AnswerId { session: started.served.session.clone(), began: started.began }
    }

    /// That of a response, if it is one.
    pub(crate) fn of_response(id: &str) -> Option<AnswerId> {
        let (session, began) = id.strip_prefix(RESPONSE)?.rsplit_once('.')?;
        Some(AnswerId { session: session.into(), began: began.parse().ok()? })
    }

    pub(super) fn chat(&self) -> String {
        format!("chatcmpl-{self}")
    }

    pub(super) fn response(&self) -> String {
        format!("{RESPONSE}{self}")
    }

    /// The message in a response.
    pub(super) fn message(&self) -> String {
        format!("msg_{self}")
    }
}
