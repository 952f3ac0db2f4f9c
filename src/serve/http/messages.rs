//! What people do to a session: messages, events from outside, interrupts.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio::time::{Instant, timeout_at};

use crate::host::events::PublicBody;
use crate::host::residents::feed::Heard;
use crate::host::session::{Deed, Receipt};
use crate::serve::http::access::caller::Caller;
use crate::serve::http::body::{Path, Queried, Typed};
use crate::serve::http::events::Show;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{OfSession, SessionWire, check_text};
use crate::vm::protocol::Signal;

/// What the user says.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// The words.
    text: String,
    /// Made by the sender: however often a message with it is sent, it is taken once.
    id: Option<String>,
}

/// How long the answer may take.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waits {
    /// Seconds, from 1 to 60: answers when the session waits again.
    wait: Option<u64>,
}

/// It is taken.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Taken {
    /// What comes of it are the events after this mark.
    mark: String,
    /// It was there already, and nothing comes of it a second time.
    duplicate: bool,
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Said {
    mark: String,
    duplicate: bool,
    /// What the program has said since.
    said: Vec<String>,
    session: SessionWire,
}

/// An event from outside.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutsideEvent {
    /// The name that triggers wait for.
    name: String,
    /// What there is to know of it.
    #[serde(default)]
    data: Json,
    /// Made by the sender: one with it is taken once.
    id: Option<String>,
}

pub(super) async fn send(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Queried(Waits { wait }): Queried<Waits>,
    headers: HeaderMap,
    Typed(Message { text, id: message }): Typed<Message>,
) -> Result<Response, Problem> {
    check_text(&text)?;
    server.limits.message(&caller)?;
    let served = server.find(&caller, &id).await?;
    let deed = Deed::Message { text: text.into(), id: message.map(Arc::from) };
    let wants_events = headers.get(header::ACCEPT).is_some_and(|accept| accept.as_bytes() == b"text/event-stream");
    if wants_events {
        let counted = server.limits.stream(&caller)?;
        let (_, heard) = server.residents.say(&served, &caller.name, deed).await?;
        return Ok(server.stream(&caller, heard, Show::Speech, counted));
    }
    let Some(seconds) = wait else {
        let receipt = server.residents.deliver(&served, &caller.name, deed).await?;
        return Ok((StatusCode::ACCEPTED, Typed(Taken::of(receipt))).into_response());
    };
    let deadline = Instant::now() + Duration::from_secs(seconds.clamp(1, 60));
    let (receipt, mut heard) = server.residents.say(&served, &caller.name, deed).await?;
    let mut said = Vec::new();
    while let Ok(Some(Heard::Event(event))) = timeout_at(deadline, heard.recv()).await {
        if let PublicBody::Said { text } = &event.body {
            said.push(text.to_string());
        }
    }
    let session = server.wire(&caller, server.find(&caller, &id).await?).await?;
    let Taken { mark, duplicate } = Taken::of(receipt);
    Ok(Typed(Said { mark, duplicate, said, session }).into_response())
}

impl Taken {
    fn of(receipt: Receipt) -> Taken {
        Taken { mark: receipt.mark.to_string(), duplicate: receipt.is_repeated }
    }
}

pub(super) async fn event(
    OfSession { server, caller, served }: OfSession,
    Typed(OutsideEvent { name, data, id: event }): Typed<OutsideEvent>,
) -> Result<(StatusCode, Typed<Taken>), Problem> {
    let data = serde_json::from_value(data).map_err(|error| Problem::bad(error.to_string(), Vec::new()))?;
    let signal = Signal::new(&name, data, event.map(Arc::from)).map_err(Problem::unprocessable)?;
    let receipt = server.residents.deliver(&served, &caller.name, Deed::Signal(signal)).await?;
    Ok((StatusCode::ACCEPTED, Typed(Taken::of(receipt))))
}

pub(super) async fn interrupt(
    OfSession { server, caller, served }: OfSession,
) -> Result<(StatusCode, Typed<Taken>), Problem> {
    let receipt = server.residents.deliver(&served, &caller.name, Deed::Interrupt).await?;
    Ok((StatusCode::ACCEPTED, Typed(Taken::of(receipt))))
}
