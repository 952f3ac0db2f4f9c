//! `POST /v1/chat/completions`.

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

use crate::serve::http::access::caller::Caller;
use crate::serve::http::answers::live::{Ending, Hearing, Piece, Start, Started, Told, Usage};
use crate::serve::http::body::{PING, Typed, event_stream, ping, unnamed_event};
use crate::serve::http::limits::Counted;
use crate::serve::http::openai::history::begin;
use crate::serve::http::openai::id::AnswerId;
use crate::serve::http::openai::request::{Place, Request};
use crate::serve::http::openai::tasks::{Task, task_of};
use crate::serve::http::openai::wire::{Conversation, Ignored, Playhouse, Said, error_of};
use crate::serve::http::problem::{Pointed, Problem};
use crate::serve::http::relay::Unplaced;
use crate::serve::http::server::Server;

/// A conversation that is to go on.
#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct ChatRequest {
    /// The program.
    model: String,
    /// The whole conversation; the last message is the user's.
    messages: Vec<ChatMessage>,
    /// Whether the answer comes in pieces.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// 1.
    n: Option<u64>,
    /// `session_id`: the client's id of the conversation.
    metadata: Option<Json>,
    /// What has no effect.
    #[serde(flatten)]
    rest: BTreeMap<String, Json>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct ChatMessage {
    role: String,
    /// Text, or parts with text.
    #[serde(default)]
    content: Json,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct StreamOptions {
    /// Whether the last piece has the tokens.
    include_usage: Option<bool>,
}

pub(crate) async fn complete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    incoming: Unplaced,
    Typed(request): Typed<ChatRequest>,
) -> Result<Response, Problem> {
    let ChatRequest { model, messages, stream: wants_stream, stream_options, n, metadata, rest } = &request;
    let offered = server.model(&caller, model)?;
    if n.is_some_and(|n| n != 1) {
        let detail = "a session has one course; remove this, and send the request again for another answer";
        return Err(Problem::bad("there is one answer", vec![Pointed::new("/n", detail)]));
    }
    let headers = incoming.headers();
    let mut ignored = Ignored::of(rest);
    let said = messages.iter().enumerate().map(|(index, ChatMessage { role, content })| Said {
        role,
        content,
        pointer: format!("/messages/{index}"),
    });
    let conversation = Conversation::of(said, &mut ignored)?;
    let wants_stream = wants_stream.unwrap_or(false);
    let with_usage = stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false);
    if let Some(task) = task_of(headers, &conversation, messages.len()) {
        let answer = Task::answer(task, &server, &offered, &conversation).await?;
        return Ok(ignored.tell(of_task(&server, model, answer, wants_stream)));
    }
    let history = begin(&caller, headers, model).then(&conversation.before);
    let counted = if wants_stream { Some(server.limits.stream(&caller)?) } else { None };
    let mut hearing = server.answer(
        &caller,
        Request::of(&incoming, offered.name.clone(), conversation, (Place::History, history), metadata.as_ref()),
    )?;
    let started = match hearing.started().await? {
        Start::Here(started) => started,
        Start::Elsewhere(session) => return Ok(incoming.pass_on(&server, &session, &request).await),
    };
    let model = request.model;
    let response = match counted {
        Some(counted) => {
            streamed(Chunks { hearing, started, model, with_usage, phase: Phase::Role, _counted: counted })
        }
        None => whole(hearing, &started, &model).await?,
    };
    Ok(ignored.tell(response))
}

/// A completion, or a piece of one.
fn completion(id: &str, object: &str, created: i64, model: &str, choices: Json) -> Json {
    json!({"id": id, "object": object, "created": created, "model": model, "choices": choices})
}

/// The only choice of a completion: its `message`, or its `delta`.
fn choices(member: &str, what: Json, finish: Option<&str>) -> Json {
    json!([{"index": 0, member: what, "logprobs": null, "finish_reason": finish}])
}

fn usage_of(usage: Usage) -> Json {
    let Usage { prompt, cached, completion } = usage;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    })
}

/// A failed program's answer is a fault.
fn failure_of(ending: &Ending) -> Option<Problem> {
    let failure = ending.failure.as_ref()?;
    Some(Problem::internal(format!("the program failed: {failure}; begin a new chat, or ask whoever runs it")))
}

async fn whole(mut hearing: Hearing, started: &Started, model: &str) -> Result<Response, Problem> {
    let (speech, steps, ending) = hearing.rest().await;
    let ending = ending?;
    if let (true, Some(problem)) = (speech.is_empty(), failure_of(&ending)) {
        return Err(problem);
    }
    let mut message = json!({"role": "assistant", "content": speech, "refusal": null});
    if !steps.is_empty() {
        message["reasoning_content"] = steps.into();
    }
    let (id, choices) = (AnswerId::of(started).chat(), choices("message", message, Some("stop")));
    let mut json = completion(&id, "chat.completion", started.created, model, choices);
    json["usage"] = usage_of(ending.usage);
    json["playhouse"] = json!(Playhouse::of(started, &ending));
    Ok(Typed(json).into_response())
}

/// An answer in pieces.
struct Chunks {
    hearing: Hearing,
    started: Started,
    model: String,
    with_usage: bool,
    phase: Phase,
    _counted: Counted,
}

enum Phase {
    Role,
    Pieces,
    Over,
}

fn streamed(chunks: Chunks) -> Response {
    event_stream(unfold(chunks, |mut chunks| async move { chunks.next().await.map(|bytes| (bytes, chunks)) }))
}

impl Chunks {
    async fn next(&mut self) -> Option<Bytes> {
        match self.phase {
            Phase::Role => {
                self.phase = Phase::Pieces;
                Some(self.piece(json!({"role": "assistant", "content": ""}), None).into())
            }
            Phase::Pieces => Some(match timeout(PING, self.hearing.next()).await {
                Err(_) => ping(),
                Ok(Told::Piece(Piece::Speech(text))) => self.piece(json!({ "content": text }), None).into(),
                Ok(Told::Piece(Piece::Step(line))) => self.piece(json!({ "reasoning_content": line }), None).into(),
                Ok(Told::End(ending)) => {
                    self.phase = Phase::Over;
                    self.end(ending).into()
                }
            }),
            Phase::Over => None,
        }
    }

    fn chunk(&self, choices: Json) -> Json {
        let id = AnswerId::of(&self.started).chat();
        let mut json = completion(&id, "chat.completion.chunk", self.started.created, &self.model, choices);
        if self.with_usage {
            json["usage"] = Json::Null;
        }
        json
    }

    fn piece(&self, delta: Json, playhouse: Option<Playhouse>) -> String {
        let finish = playhouse.is_some().then_some("stop");
        let mut json = self.chunk(choices("delta", delta, finish));
        if let Some(playhouse) = playhouse {
            json["playhouse"] = json!(playhouse);
        }
        unnamed_event(&json)
    }

    fn end(&self, ending: Result<Ending, Problem>) -> String {
        let ending = ending.and_then(|ending| failure_of(&ending).map_or(Ok(ending), Err));
        let last = match ending {
            Ok(ending) => {
                let playhouse = || Playhouse::of(&self.started, &ending);
                let mut last = self.piece(json!({}), Some(playhouse()));
                if self.with_usage {
                    let mut json = self.chunk(json!([]));
                    json["usage"] = usage_of(ending.usage);
                    json["playhouse"] = json!(playhouse());
                    last.push_str(&unnamed_event(&json));
                }
                last
            }
            Err(problem) => unnamed_event(&error_of(&problem)),
        };
        last + "data: [DONE]\n\n"
    }
}

/// What a user interface wants for itself. No session knows of it.
fn of_task(server: &Server, model: &str, content: String, wants_stream: bool) -> Response {
    let created = server.residents.now().0 / 1_000;
    let body = |object: &str, member: &str, what: Json| {
        let mut json = completion("chatcmpl-task", object, created, model, choices(member, what, Some("stop")));
        json["usage"] = usage_of(Usage::default());
        json
    };
    if !wants_stream {
        let message = json!({"role": "assistant", "content": content, "refusal": null});
        return Typed(body("chat.completion", "message", message)).into_response();
    }
    let delta = json!({"role": "assistant", "content": content});
    let text = unnamed_event(&body("chat.completion.chunk", "delta", delta)) + "data: [DONE]\n\n";
    event_stream(futures_util::stream::once(async move { Bytes::from(text) }))
}
