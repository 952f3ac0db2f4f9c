//! A session's events as a stream that resumes to the byte (spec `serving.md`, section 4).
//!
//! Who attaches is subscribed first; then the records are walked, which gives all events that follow from them with
//! their marks; then comes what the subscription has, from the last mark on. So nothing is lost and nothing comes twice,
//! whatever process tells of it and however the pieces of a reply were joined since.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State as Of};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::host::events::{Category, Mark, PublicBody, PublicEvent};
use crate::host::ledger::Served;
use crate::host::replay::on_thread;
use crate::host::residents::standing::State;
use crate::host::serve_options::Approvals;
use crate::host::session::{Interest, Notice};
use crate::host::travel::{Timeline, history};
use crate::serve::http::access::caller::{Caller, Role};
use crate::serve::http::body::Asked;
use crate::serve::http::limits::Counted;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{A_COLLEAGUE, text_of};
use crate::vm::protocol::Wait;

/// So many events of a session may wait for a slow reader; then the stream ends, and the reader comes back with its mark.
const QUEUE: usize = 1024;

/// So often something is sent on a stream of which nothing is to be told.
const PING: Duration = Duration::from_secs(15);

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
pub(crate) struct From {
    /// The mark of the last event that was heard.
    after: Option<String>,
    #[serde(default)]
    show: Option<Show>,
}

pub(super) async fn events(
    Of(server): Of<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(From { after, show }): Asked<From>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let served = server.find(&caller, &id).await?;
    let of_header = headers.get("last-event-id").and_then(|mark| mark.to_str().ok()).map(str::to_owned);
    let show = show.unwrap_or_default();
    // What the browser sends after a lost connection is newer than the address.
    match of_header.or(after).map(|mark| mark.parse::<Mark>()) {
        None => stream(&server, &caller, served, None, show, false),
        Some(Ok(mark)) => stream(&server, &caller, served, Some(mark), show, false),
        // A mark of another counting: it is told that all comes again.
        Some(Err(_)) => stream(&server, &caller, served, Some(Mark { n: u64::MAX, bytes: 0 }), show, false),
    }
}

/// The events after a mark. `to_wait`: until the session waits for somebody.
pub(super) fn stream(
    server: &Arc<Server>,
    caller: &Caller,
    served: Served,
    after: Option<Mark>,
    show: Show,
    to_wait: bool,
) -> Result<Response, Problem> {
    let counted = server.limits.stream(caller)?;
    server.metrics.streams.fetch_add(1, Ordering::Relaxed);
    let (sender, receiver) = mpsc::channel(16);
    // A visitor hears what a conversation needs.
    let show = if caller.role == Role::Visitor { Show::Speech } else { show };
    let feed =
        Feed { server: server.clone(), caller: caller.clone(), served, show, to_wait, sender, _counted: counted };
    tokio::spawn(feed.run(after));
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receiver).map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// One stream.
struct Feed {
    server: Arc<Server>,
    caller: Caller,
    served: Served,
    show: Show,
    to_wait: bool,
    sender: mpsc::Sender<Bytes>,
    _counted: Counted,
}

/// Why a stream ends.
enum Over {
    /// Nothing more comes.
    Done,
    /// The reader has gone, or is too slow.
    Gone,
    /// The session's task has ended, and another may go on with it.
    TaskEnded,
}

impl Feed {
    async fn run(self, after: Option<Mark>) {
        let padding = format!(":{}\nretry: 500\n\n", " ".repeat(PADDING));
        if self.sender.send(padding.into()).await.is_err() {
            return;
        }
        let mut heard = after;
        loop {
            match self.attach(&mut heard).await {
                Ok(Over::TaskEnded) if !self.server.draining.is_cancelled() => {}
                Ok(Over::TaskEnded) => {
                    let _ = self.sender.send("event: bye\ndata: {}\n\n".into()).await;
                    return;
                }
                Ok(Over::Done | Over::Gone) => return,
                Err(problem) => {
                    // Headers are long gone: whoever reads comes back and is told.
                    tracing::warn!(session = &*self.served.session, ?problem, "a stream ends");
                    return;
                }
            }
        }
    }

    /// Tells all events after `heard`, until the session's task ends.
    async fn attach(&self, heard: &mut Option<Mark>) -> Result<Over, Problem> {
        let (server, id) = (&self.server, &self.served.session);
        let served = server.residents.find(id).await?;
        let (standing, is_live) = server.residents.standing(&served).await?;
        let mut subscription = None;
        let records = match standing.state.is_over() && !is_live {
            true => server.residents.records(id).await?,
            false => {
                let handle = server.residents.handle(id).await?;
                let Ok(subscribed) = handle.subscribe(Interest::Everything { capacity: QUEUE }).await else {
                    return Ok(Over::TaskEnded);
                };
                subscription = Some(subscribed);
                match handle.records().await {
                    Ok(records) => records?,
                    Err(_) => return Ok(Over::TaskEnded),
                }
            }
        };
        let walk = server.walks.acquire().await.map_err(|_| Problem::internal("the walks are closed"))?;
        let past = on_thread(move || {
            let timeline = Timeline::new(records)?;
            history(&timeline, timeline.end())
        });
        let past = past.await?;
        drop(walk);
        let last = past.iter().rev().find_map(|step| step.event.mark).unwrap_or(Mark { n: 0, bytes: 0 });
        if heard.is_some_and(|mark| mark > last) {
            *heard = None;
            if self.sender.send("event: reset\ndata: {}\n\n".into()).await.is_err() {
                return Ok(Over::Gone);
            }
        }
        for step in past {
            if let Some(over) = self.tell(&step.event, heard).await {
                return Ok(over);
            }
        }
        *heard = Some(heard.map_or(last, |mark| mark.max(last)));
        let Some(mut subscription) = subscription else { return Ok(Over::Done) };
        let draining = &self.server.draining;
        loop {
            // A reply may come to its end before the server does.
            if draining.is_cancelled() && !self.is_speaking().await {
                return Ok(Over::TaskEnded);
            }
            let notice = tokio::select! {
                biased;
                () = self.sender.closed() => return Ok(Over::Gone),
                notice = subscription.next() => notice,
                () = draining.cancelled(), if !draining.is_cancelled() => continue,
                () = tokio::time::sleep(PING) => {
                    if self.sender.send(": ping\n\n".into()).await.is_err() {
                        return Ok(Over::Gone);
                    }
                    continue;
                }
            };
            match notice {
                None => return Ok(Over::TaskEnded),
                // The reader is too slow; it comes back with its mark.
                Some(Notice::Missed(_)) => return Ok(Over::Gone),
                Some(Notice::Event(event)) => {
                    if let Some(over) = self.tell(&event, heard).await {
                        return Ok(over);
                    }
                }
            }
        }
    }

    async fn is_speaking(&self) -> bool {
        let standing = self.server.residents.standing(&self.served).await;
        standing.is_ok_and(|(standing, _)| standing.state == State::Speaking)
    }

    /// Tells an event, if it was not heard; of a piece of speech the part that was not.
    async fn tell(&self, event: &PublicEvent, heard: &mut Option<Mark>) -> Option<Over> {
        let mut cut = None;
        if let (Some(mark), Some(after)) = (event.mark, *heard) {
            if mark <= after {
                return None;
            }
            if let PublicBody::SaidDelta { text, utterance } = &event.body
                && mark.n == after.n
            {
                let begins = mark.bytes.saturating_sub(text.len() as u64);
                let skipped = usize::try_from(after.bytes.saturating_sub(begins)).unwrap_or(usize::MAX);
                let rest = text.get(skipped..).unwrap_or(text).to_owned();
                cut = Some(PublicEvent {
                    body: PublicBody::SaidDelta { text: rest, utterance: *utterance },
                    ..event.clone()
                });
            }
        }
        if let Some(mark) = event.mark {
            *heard = Some(mark);
        }
        let shown = cut.as_ref().unwrap_or(event);
        if let Some(text) = self.text_of(shown)
            && self.sender.send(text.into()).await.is_err()
        {
            return Some(Over::Gone);
        }
        let is_over = matches!(event.body, PublicBody::Finished { .. } | PublicBody::Failed { .. });
        let is_waiting = matches!(event.body, PublicBody::Waiting { on: Wait::User | Wait::Approval(_) });
        (is_over || (is_waiting && self.to_wait)).then_some(Over::Done)
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
        if let PublicBody::ApprovalAsked { by_tool: false, .. } = &event.body
            && self.caller.role < Role::Operator
            && self.server.options.approvals == Approvals::Operator
        {
            members.insert("question".to_owned(), A_COLLEAGUE.into());
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
        PublicBody::ApprovalGiven { .. } => &["call"],
        PublicBody::SessionStarted { .. }
        | PublicBody::SessionResumed { .. }
        | PublicBody::Finished { .. }
        | PublicBody::Failed { .. }
        | PublicBody::StreamCancelled { .. } => &[],
        _ => return None,
    };
    members
        .retain(|name, _| ["n", "session", "type", "time"].contains(&name.as_str()) || keeps.contains(&name.as_str()));
    Some(())
}
