//! `POST /v1/responses` (Open Responses): the answers of sessions as responses that can be taken up again. A response's id
//! says which session gives it and after which mark; what it is made of is in the session's journal.
//!
//! The number of an event tells how many bytes were said before it, so that a stream that is taken up after any number
//! goes on with the next byte, whatever process tells of it and however the pieces of a reply were joined since.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::time::timeout;

use crate::host::ledger::answers::KeptAnswer;
use crate::host::residents::standing::State as Stands;
use crate::host::session::Deed;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::answers::key::Key;
use crate::serve::http::answers::live::{Ending, Hearing, Piece, Start, Started, Told, Usage};
use crate::serve::http::body::{PING, Path, Queried, Typed, event_stream, ping};
use crate::serve::http::limits::Counted;
use crate::serve::http::openai::history::begin;
use crate::serve::http::openai::id::AnswerId;
use crate::serve::http::openai::request::{Place, Request, started};
use crate::serve::http::openai::wire::{Conversation, Ignored, Playhouse, Said};
use crate::serve::http::problem::{Pointed, Problem};
use crate::serve::http::relay::Unplaced;
use crate::serve::http::server::Server;

/// The numbers of a response's events: before its text, and how many come after it.
const BEFORE: u64 = 3;

/// A conversation that is to go on.
#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct ResponseRequest {
    /// The program.
    model: String,
    /// What the user says, or the conversation.
    input: Json,
    /// Goes on after this response.
    previous_response_id: Option<String>,
    /// Goes on with this conversation, as a response has named it.
    conversation: Option<Json>,
    /// Whether the response comes in pieces.
    stream: Option<bool>,
    /// Whether it is answered at once that it has begun.
    background: Option<bool>,
    /// `session_id`: the client's id of the conversation.
    metadata: Option<Json>,
    /// What has no effect.
    #[serde(flatten)]
    rest: BTreeMap<String, Json>,
}

/// How a response is wanted.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Wanted {
    /// Whether it comes in pieces.
    stream: Option<bool>,
    /// Only events with a higher number.
    starting_after: Option<u64>,
}

/// What a response says of what was asked for.
#[derive(Clone, Default)]
struct About {
    model: String,
    previous: Option<String>,
    metadata: Json,
    in_background: bool,
}

impl About {
    /// Of a response that is there: what was asked for is not kept.
    fn of(kept: &KeptAnswer) -> About {
        About { model: kept.served.program.to_string(), metadata: json!({}), ..About::default() }
    }
}

pub(crate) async fn create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    incoming: Unplaced,
    Typed(request): Typed<ResponseRequest>,
) -> Result<Response, Problem> {
    let ResponseRequest { model, input, previous_response_id, conversation: named, metadata, rest, .. } = &request;
    let offered = server.model(&caller, model)?;
    let headers = incoming.headers();
    let mut ignored = Ignored::of(rest);
    let conversation = read(input, &mut ignored)?;
    let (wants_stream, in_background) = (request.stream.unwrap_or(false), request.background.unwrap_or(false));
    let named = named.as_ref().filter(|named| !named.is_null());
    let new = || begin(&caller, headers, model).then(&conversation.before);
    let (place, history) = match (previous_response_id, named) {
        (Some(_), Some(_)) => {
            let detail = "it is another way to say where to continue; remove one of them";
            return Err(wrong("/conversation", "`previous_response_id` is given, too", detail));
        }
        (Some(id), None) => {
            let kept = server.kept(&caller, id, "/previous_response_id").await?;
            let history = Key::kept(kept.answer.key);
            (Place::After(Box::new(kept)), history)
        }
        (None, Some(named)) => {
            let id = named.as_str().or_else(|| named.get("id")?.as_str()).unwrap_or_default();
            let served = server.find(&caller, id.strip_prefix("conv_").unwrap_or(id)).await?;
            let last = server.residents.ledger().answer(served.session.clone(), None).await?;
            let history = last.map_or_else(|| new().then([&*served.session]), |last| Key::kept(last.answer.key));
            (Place::In(Box::new(served)), history)
        }
        (None, None) => (Place::History, new()),
    };
    if let Some(served) = place.served()
        && served.program != offered.name
    {
        let detail = format!("this conversation is with {}", served.program);
        return Err(wrong("/model", "another program cannot continue a conversation", &detail));
    }
    let about = About {
        model: model.clone(),
        previous: previous_response_id.clone(),
        metadata: metadata.clone().filter(Json::is_object).unwrap_or_else(|| json!({})),
        in_background,
    };
    let counted = if wants_stream { Some(server.limits.stream(&caller)?) } else { None };
    let mut hearing = server.answer(
        &caller,
        Request {
            in_background,
            ..Request::of(&incoming, offered.name.clone(), conversation, (place, history), metadata.as_ref())
        },
    )?;
    let started = match hearing.started().await? {
        Start::Here(started) => started,
        Start::Elsewhere(session) => return Ok(incoming.pass_on(&server, &session, &request).await),
    };
    let response = match counted {
        Some(counted) => streamed(hearing, started, about, None, counted),
        None if in_background => Typed(response_of(&started, &about, "", Status::Running)).into_response(),
        None => whole(hearing, &started, &about).await?,
    };
    Ok(ignored.tell(response))
}

pub(crate) async fn show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Queried(Wanted { stream, starting_after }): Queried<Wanted>,
) -> Result<Response, Problem> {
    let kept = server.kept(&caller, &id, "").await?;
    let about = About::of(&kept);
    if stream.unwrap_or(false) {
        let counted = server.limits.stream(&caller)?;
        let (hearing, started) = server.again(&caller, kept);
        return Ok(streamed(hearing, started, about, starting_after, counted));
    }
    let (standing, _) = server.residents.standing(&kept.served).await?;
    if kept.answer.ended.is_none() && kept.is_last && standing.state == Stands::Speaking {
        let said = server.answers.so_far(&kept.served.session, kept.answer.began).unwrap_or_default();
        let started = started(&kept.answer, &kept.served);
        return Ok(Typed(response_of(&started, &about, &said, Status::Running)).into_response());
    }
    let (hearing, started) = server.again(&caller, kept);
    whole(hearing, &started, &about).await
}

pub(crate) async fn cancel(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let kept = server.kept(&caller, &id, "").await?;
    let about = About::of(&kept);
    if kept.answer.ended.is_none() && kept.is_last {
        server.residents.deliver(&kept.served, &caller.name, Deed::Interrupt).await?;
    }
    let (hearing, started) = server.again(&caller, kept);
    whole(hearing, &started, &about).await
}

fn wrong(pointer: &str, what: &str, detail: &str) -> Problem {
    Problem::bad(what, vec![Pointed::new(pointer, detail)])
}

/// What the user says: a text, or items of which those that are messages count.
fn read(input: &Json, ignored: &mut Ignored) -> Result<Conversation, Problem> {
    match input {
        Json::String(text) => Ok(Conversation { after: vec![text.trim().to_owned()], ..Conversation::default() }),
        Json::Array(items) => {
            let mut said = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let text = |name: &str| item.get(name).and_then(Json::as_str);
                match (text("type").unwrap_or("message"), text("role")) {
                    ("message", Some(role)) => said.push(Said {
                        role,
                        content: item.get("content").unwrap_or(&Json::Null),
                        pointer: format!("/input/{index}"),
                    }),
                    (kind, _) => ignored.add(&format!("input.{kind}")),
                }
            }
            Conversation::of(said, ignored)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {
            Err(wrong("/input", "there is nothing to answer", "this is a string, or an array of messages"))
        }
    }
}

impl Server {
    /// The answer that a response's id means.
    async fn kept(&self, caller: &Caller, id: &str, pointer: &str) -> Result<KeptAnswer, Problem> {
        let none = || {
            let at = vec![Pointed::new(pointer, "ids are given by responses")];
            Problem::not_found(format!("there is no response {id:?} here; it may have been deleted with its session"))
                .at(if pointer.is_empty() { Vec::new() } else { at })
        };
        let AnswerId { session, began } = AnswerId::of_response(id).ok_or_else(none)?;
        let served = self.find(caller, &session).await.map_err(|_| none())?;
        self.residents.ledger().answer(served.session, Some(began)).await?.ok_or_else(none)
    }
}

/// How a response stands.
enum Status<'a> {
    Running,
    Ended(&'a Ending),
}

impl Status<'_> {
    fn word(&self) -> &'static str {
        match self {
            Status::Running => "in_progress",
            Status::Ended(ending) if ending.failure.is_some() => "failed",
            Status::Ended(ending) if ending.is_cancelled => "cancelled",
            Status::Ended(_) => "completed",
        }
    }
}

fn usage_of(usage: Usage) -> Json {
    let Usage { prompt, cached, completion } = usage;
    json!({
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    })
}

/// The text of a response.
fn part_of(text: &str) -> Json {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// The only item of a response: what was said.
fn item_of(started: &Started, text: &str, status: &Status<'_>) -> Json {
    let word = match status {
        Status::Running => "in_progress",
        Status::Ended(ending) if ending.failure.is_none() && !ending.is_cancelled => "completed",
        Status::Ended(_) => "incomplete",
    };
    json!({
        "id": AnswerId::of(started).message(),
        "type": "message",
        "role": "assistant",
        "status": word,
        "content": if matches!(status, Status::Running) && text.is_empty() { json!([]) } else { json!([part_of(text)]) },
    })
}

fn response_of(started: &Started, about: &About, text: &str, status: Status<'_>) -> Json {
    let (usage, failure, playhouse) = match &status {
        Status::Running => (Json::Null, None, Json::Null),
        Status::Ended(ending) => {
            (usage_of(ending.usage), ending.failure.clone(), json!(Playhouse::of(started, ending)))
        }
    };
    let output = match &status {
        Status::Running if text.is_empty() => json!([]),
        Status::Running | Status::Ended(_) => json!([item_of(started, text, &status)]),
    };
    json!({
        "id": AnswerId::of(started).response(),
        "object": "response",
        "created_at": started.created,
        "status": status.word(),
        "background": about.in_background,
        "error": failure.map(|message| json!({"code": "server_error", "message": message})),
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "model": about.model,
        "output": output,
        "parallel_tool_calls": false,
        "previous_response_id": about.previous,
        "conversation": {"id": format!("conv_{}", started.served.session)},
        "temperature": null,
        "text": {"format": {"type": "text"}},
        "tool_choice": "none",
        "tools": [],
        "top_p": null,
        "truncation": "disabled",
        "usage": usage,
        "metadata": about.metadata,
        "playhouse": playhouse,
    })
}

async fn whole(mut hearing: Hearing, started: &Started, about: &About) -> Result<Response, Problem> {
    let (speech, _, ending) = hearing.rest().await;
    Ok(Typed(response_of(started, about, &speech, Status::Ended(&ending?))).into_response())
}

/// A response in pieces.
struct Events {
    hearing: Hearing,
    started: Started,
    about: About,
    /// What was said so far.
    said: String,
    /// The number of the last event that the client has.
    after: Option<u64>,
    is_begun: bool,
    is_over: bool,
    _counted: Counted,
}

fn streamed(hearing: Hearing, started: Started, about: About, after: Option<u64>, counted: Counted) -> Response {
    let said = String::new();
    let events = Events { hearing, started, about, said, after, is_begun: false, is_over: false, _counted: counted };
    event_stream(unfold(events, |mut events| async move { events.next().await.map(|bytes| (bytes, events)) }))
}

impl Events {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.is_begun {
            self.is_begun = true;
            return Some(self.begin().into());
        }
        if self.is_over {
            return None;
        }
        loop {
            return Some(match timeout(PING, self.hearing.next()).await {
                Err(_) => ping(),
                Ok(Told::Piece(Piece::Speech(text))) => self.say(&text).into(),
                // A response has no place for lines.
                Ok(Told::Piece(Piece::Step(_))) => continue,
                Ok(Told::End(ending)) => {
                    self.is_over = true;
                    ending.map_or_else(|problem| self.lose(&problem), |ending| self.end(&ending)).into()
                }
            });
        }
    }

    /// An event, if the client has it not yet.
    fn event(&self, number: u64, kind: &str, what: Json) -> String {
        if self.after.is_some_and(|after| number <= after) {
            return String::new();
        }
        let mut json = json!({"type": kind, "sequence_number": number});
        if let (Some(all), Json::Object(what)) = (json.as_object_mut(), what) {
            all.extend(what);
        }
        format!("event: {kind}\ndata: {json}\n\n")
    }

    fn begin(&self) -> String {
        let response = || json!({"response": response_of(&self.started, &self.about, "", Status::Running)});
        let item = json!({"output_index": 0, "item": item_of(&self.started, "", &Status::Running)});
        let part = self.of_part(json!({"part": part_of("")}));
        let text = [
            self.event(0, "response.created", response()),
            self.event(1, "response.in_progress", response()),
            self.event(2, "response.output_item.added", item),
            self.event(BEFORE, "response.content_part.added", part),
        ]
        .concat();
        // Something must be sent, or the client waits for the answer's head.
        if text.is_empty() { ": resumed\n\n".to_owned() } else { text }
    }

    fn of_part(&self, mut what: Json) -> Json {
        what["item_id"] = AnswerId::of(&self.started).message().into();
        what["output_index"] = 0.into();
        what["content_index"] = 0.into();
        what
    }

    fn say(&mut self, text: &str) -> String {
        let begins = BEFORE + self.said.len() as u64;
        self.said.push_str(text);
        let number = BEFORE + self.said.len() as u64;
        let known = self.after.map_or(0, |after| after.saturating_sub(begins));
        let rest = usize::try_from(known).ok().and_then(|known| text.get(known..)).unwrap_or(text);
        let what = self.of_part(json!({"delta": rest, "logprobs": []}));
        self.event(number, "response.output_text.delta", what)
    }

    fn end(&self, ending: &Ending) -> String {
        let number = BEFORE + self.said.len() as u64;
        let status = || Status::Ended(ending);
        let kind = match status().word() {
            "failed" => "response.failed",
            // There is no event for what was cancelled.
            "cancelled" => "response.incomplete",
            _ => "response.completed",
        };
        let item = json!({"output_index": 0, "item": item_of(&self.started, &self.said, &status())});
        let response = json!({"response": response_of(&self.started, &self.about, &self.said, status())});
        [
            self.event(
                number + 1,
                "response.output_text.done",
                self.of_part(json!({"text": self.said, "logprobs": []})),
            ),
            self.event(number + 2, "response.content_part.done", self.of_part(json!({"part": part_of(&self.said)}))),
            self.event(number + 3, "response.output_item.done", item),
            self.event(number + 4, kind, response),
        ]
        .concat()
    }

    /// Nobody can tell more of it now; it may go on.
    fn lose(&self, problem: &Problem) -> String {
        let number = BEFORE + self.said.len() as u64 + 1;
        self.event(number, "error", json!({"code": problem.kind(), "message": problem.detail(), "param": null}))
    }
}
