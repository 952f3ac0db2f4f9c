//! A session's events as server-sent events (spec `serving.md`, section 4).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::host::events::{Category, Mark, PublicBody, PublicEvent};
use crate::host::residents::feed::{Heard, Until};
use crate::serve::http::access::caller::{Caller, Role};
use crate::serve::http::body::{PING, Queried, event_stream, ping};
use crate::serve::http::limits::Counted;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{A_COLLEAGUE, OfSession, fault_text, text_of};
use crate::value::Value;

/// Some proxies and browsers hold back the first bytes of an answer.
const PADDING: usize = 2 << 10;

/// Which events are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Show {
    /// All.
    #[default]
    All,
    /// What a conversation needs.
    Speech,
}

/// From where on, and what.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FromMark {
    /// The mark of the last event that was heard.
    after: Option<String>,
    #[serde(default)]
    show: Show,
}

pub(super) async fn events(
    OfSession { server, caller, served }: OfSession,
    Queried(FromMark { after, show }): Queried<FromMark>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let of_header = headers.get("last-event-id").and_then(|mark| mark.to_str().ok()).map(str::to_owned);
    // What the browser sends after a lost connection is newer than the address. Of a mark of another counting it is told
    // that all comes again.
    let unknown = Mark { n: u64::MAX, bytes: 0 };
    let after = of_header.or(after).map(|mark| mark.parse::<Mark>().unwrap_or(unknown));
    let counted = server.limits.stream(&caller)?;
    let heard = server.residents.listen(served, after, Until::Over);
    Ok(server.stream(&caller, heard, show, counted))
}

impl Server {
    /// What somebody hears, as an answer.
    pub(super) fn stream(
        self: &Arc<Server>,
        caller: &Caller,
        heard: mpsc::Receiver<Heard>,
        show: Show,
        counted: Counted,
    ) -> Response {
        self.metrics.streams.fetch_add(1, Ordering::Relaxed);
        // A visitor hears what a conversation needs.
        let show = if caller.role == Role::Visitor { Show::Speech } else { show };
        let telling = Telling { server: self.clone(), caller: caller.clone(), show, heard, _counted: counted };
        let first = Bytes::from(format!(":{}\nretry: 500\n\n", " ".repeat(PADDING)));
        let pieces = stream::unfold((Some(first), telling), |(first, mut telling)| async move {
            let piece = match first {
                Some(first) => first,
                None => telling.next().await?,
            };
            Some((piece, (None, telling)))
        });
        event_stream(pieces)
    }
}

/// One stream.
struct Telling {
    server: Arc<Server>,
    caller: Caller,
    show: Show,
    heard: mpsc::Receiver<Heard>,
    _counted: Counted,
}

impl Telling {
    /// What is sent next.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let Ok(heard) = timeout(PING, self.heard.recv()).await else { return Some(ping()) };
            match heard? {
                Heard::Reset => return Some("event: reset\ndata: {}\n\n".into()),
                Heard::Bye => return Some("event: bye\ndata: {}\n\n".into()),
                Heard::Event(event) => {
                    if let Some(text) = self.text_of(&event) {
                        return Some(text.into());
                    }
                }
            }
        }
    }

    /// The event as it is sent; none: this reader does not hear of it.
    fn text_of(&self, event: &PublicEvent) -> Option<String> {
        let is_speech = event.body.category() == Category::Conversation
            || matches!(
                event.body,
                PublicBody::UserMessage { .. } | PublicBody::StreamCancelled { .. } | PublicBody::ApprovalGiven { .. }
            );
        if self.show == Show::Speech && !is_speech {
            return None;
        }
        let mut json = serde_json::to_value(event).ok()?;
        let members = json.as_object_mut()?;
        members.shift_remove("seq");
        if let Some(mark) = event.mark {
            members.shift_insert(0, "n".to_owned(), mark.n.into());
        }
        members.insert("time".to_owned(), text_of(event.time).into());
        if let PublicBody::ApprovalAsked { by_tool, .. } = &event.body
            && !self.server.may_answer(&self.caller, *by_tool)
        {
            members.insert("question".to_owned(), A_COLLEAGUE.into());
        }
        if let PublicBody::Failed { fault, message } = &event.body {
            members.insert("message".to_owned(), fault_text(fault.can_go_on(), message).into());
        }
        if self.show == Show::Speech
            && let PublicBody::ApprovalGiven { answer, .. } = &event.body
        {
            // Words are for the program, and which colleague it was does not concern the user.
            members.shift_remove("by");
            if !matches!(answer, Value::Bool(_)) {
                members.shift_remove("answer");
            }
        }
        if self.caller.role == Role::Visitor {
            for_visitor(event, members)?;
        }
        let id = event.mark.map(|mark| format!("id: {mark}\n")).unwrap_or_default();
        Some(format!("event: {}\n{id}data: {json}\n\n", event.name))
    }
}

/// A visitor hears what is said to them, and that something is waited for: nothing of how.
#[expect(clippy::wildcard_enum_match_arm, reason = "of what is added later a visitor hears nothing, either")]
fn for_visitor(event: &PublicEvent, members: &mut serde_json::Map<String, Json>) -> Option<()> {
    let keeps: &[&str] = match &event.body {
        PublicBody::SaidDelta { .. } => &["text", "utterance"],
        PublicBody::Said { .. } | PublicBody::UserMessage { .. } => &["text"],
        PublicBody::Waiting { .. } => &["for", "call"],
        PublicBody::ApprovalAsked { .. } => &["call", "question"],
        PublicBody::ApprovalGiven { .. } => &["call", "answer", "refused"],
        PublicBody::SessionStarted { .. }
        | PublicBody::SessionResumed { .. }
        | PublicBody::Finished { .. }
        | PublicBody::Failed { .. } => &[],
        PublicBody::StreamCancelled { .. } => &["withdrawn"],
        _ => return None,
    };
    members
        .retain(|name, _| ["n", "session", "type", "time"].contains(&name.as_str()) || keeps.contains(&name.as_str()));
    Some(())
}
