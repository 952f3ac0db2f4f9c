//! What OpenAI's clients send and are sent, as far as chats and responses have it in common: conversations, fields without
//! effect, faults, streams.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::serve::http::answers::content::content_text;
use crate::serve::http::answers::live::{Ending, Started};
use crate::serve::http::body::Typed;
use crate::serve::http::problem::{Pointed, Problem};

/// The most bytes of a request: each has the whole conversation in it.
pub(crate) const MAX_BODY: usize = 8 << 20;

/// Names of fields without effect.
pub(crate) const IGNORED: HeaderName = HeaderName::from_static("x-playhouse-ignored");

/// So many of them are named.
const N_IGNORED: usize = 50;

/// Whether a request that failed is to be sent again. OpenAI's clients would do so after a 409 and a 500, too.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Fields that do nothing here and change nothing, either: there is nothing to tell about them.
const WITHOUT_WORDS: [&str; 2] = ["object", "type"];

/// A conversation as its client tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// What the user said up to the last answer.
    pub(super) before: Vec<String>,
    /// The last answer; none: there was none yet.
    pub(super) reply: Option<String>,
    /// What the user has said since.
    pub(super) after: Vec<String>,
}

/// One of its messages.
pub(super) struct Said<'a> {
    pub(super) role: &'a str,
    pub(super) content: &'a Json,
    /// Where it stands.
    pub(super) pointer: String,
}

/// What a request asks for that has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ignored(Vec<String>);

impl Ignored {
    /// Fields of a body that nobody knows. Those without a value ask for nothing.
    pub(super) fn of(rest: &BTreeMap<String, Json>) -> Ignored {
        let mut ignored = Ignored::default();
        rest.iter().filter(|(_, value)| !value.is_null()).for_each(|(name, _)| ignored.add(name));
        ignored
    }

    pub(super) fn add(&mut self, name: &str) {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let name: String = name.chars().filter(|c| is_token(*c)).take(64).collect();
        let is_told = !name.is_empty() && !WITHOUT_WORDS.contains(&&*name) && !self.0.contains(&name);
        if is_told && self.0.len() < N_IGNORED {
            self.0.push(name);
        }
    }

    /// An answer that names them.
    pub(super) fn tell(&self, mut response: Response) -> Response {
        if let (false, Ok(names)) = (self.0.is_empty(), HeaderValue::from_str(&self.0.join(", "))) {
            response.headers_mut().insert(IGNORED, names);
        }
        response
    }
}

impl Conversation {
    /// Of messages in order. What others than user and assistant say has no effect.
    pub(super) fn of<'a>(
        messages: impl IntoIterator<Item = Said<'a>>,
        ignored: &mut Ignored,
    ) -> Result<Conversation, Problem> {
        let mut conversation = Conversation::default();
        let mut errors = Vec::new();
        let mut last = None;
        for Said { role, content, pointer } in messages {
            match role {
                "user" => {
                    let text = content_text(content, &format!("{pointer}/content"), &mut errors);
                    conversation.after.push(text.trim().to_owned());
                }
                "assistant" => {
                    // Other parts of it are not ours.
                    let text = content_text(content, "", &mut Vec::new());
                    conversation.before.append(&mut conversation.after);
                    conversation.reply = Some(text);
                }
                "system" | "developer" | "tool" | "function" => {
                    ignored.add(&format!("messages.{role}"));
                    if role == "system" || role == "developer" {
                        continue;
                    }
                }
                _ => errors.push(Pointed::new(
                    format!("{pointer}/role"),
                    "a message is the user's or the assistant's; system, developer and tool have no effect",
                )),
            }
            last = Some((role.to_owned(), pointer));
        }
        match last {
            _ if !errors.is_empty() => {}
            Some((role, _)) if role == "user" => return Ok(conversation),
            Some((_, pointer)) => errors.push(Pointed::new(
                pointer,
                "the last message must be from the user: that is what the program answers",
            )),
            None => errors.push(Pointed::new(
                String::new(),
                "there is no user message; add one: that is what the program answers",
            )),
        }
        Err(Problem::bad("this conversation cannot be answered", errors))
    }
}

/// What this server adds to OpenAI's answers.
#[derive(Serialize)]
pub(super) struct Playhouse {
    session: String,
    mark: String,
    state: &'static str,
}

impl Playhouse {
    pub(super) fn of(started: &Started, ending: &Ending) -> Playhouse {
        Playhouse {
            session: started.served.session.to_string(),
            mark: ending.mark.to_string(),
            state: ending.state.into(),
        }
    }
}

/// A header's text.
pub(super) fn header_of(headers: &HeaderMap, name: &'static str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Whether a request was sent before, as OpenAI's clients tell.
pub(super) fn is_retry(headers: &HeaderMap) -> bool {
    header_of(headers, "x-stainless-retry-count").is_some_and(|count| count != "0")
}

/// A fault as OpenAI's clients read it.
pub(super) fn error_of(problem: &Problem) -> Json {
    let status = problem.status().as_u16();
    let param = problem.errors().first().map(|error| param_of(&error.pointer)).filter(|param| !param.is_empty());
    let details = problem.errors().iter().map(|Pointed { pointer, detail }| match param_of(pointer) {
        param if param.is_empty() => detail.clone(),
        param => format!("{param}: {detail}"),
    });
    let details: Vec<String> = details.collect();
    let message = match details.is_empty() {
        true => problem.detail().to_owned(),
        false => format!("{}: {}", problem.detail(), details.join("; ")),
    };
    let (kind, code) = match status {
        401 => ("invalid_request_error", "invalid_api_key"),
        403 => ("permission_error", problem.kind()),
        404 if param.as_deref() == Some("model") => ("invalid_request_error", "model_not_found"),
        429 => ("rate_limit_error", "rate_limit_exceeded"),
        500.. => ("server_error", problem.kind()),
        _ => ("invalid_request_error", problem.kind()),
    };
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

/// `/messages/0/content` as OpenAI writes it: `messages[0].content`.
fn param_of(pointer: &str) -> String {
    let mut param = String::new();
    for part in pointer.split('/').skip(1) {
        match part.bytes().all(|byte| byte.is_ascii_digit()) {
            true => param.push_str(&format!("[{part}]")),
            false if param.is_empty() => param.push_str(part),
            false => param.push_str(&format!(".{part}")),
        }
    }
    param
}

/// Whether a path is of this interface.
pub(crate) fn is_openai(path: &str) -> bool {
    path.starts_with("/v1/")
}

/// An answer of this interface: its faults in OpenAI's form.
pub(crate) fn in_openai_form(response: Response) -> Response {
    let Some(problem) = response.extensions().get::<Problem>() else { return response };
    let mut body = Typed(error_of(problem)).into_response();
    *body.status_mut() = response.status();
    let headers = body.headers_mut();
    for (name, value) in response.headers().iter().filter(|(name, _)| *name != header::CONTENT_TYPE) {
        headers.insert(name.clone(), value.clone());
    }
    let is_worth_it = response.headers().contains_key(header::RETRY_AFTER);
    headers.insert(SHOULD_RETRY, HeaderValue::from_static(if is_worth_it { "true" } else { "false" }));
    body
}
