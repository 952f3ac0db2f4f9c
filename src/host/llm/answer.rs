//! A question to a model and its whole answer, for those who need no stream: plans, the tool that asks a model, played
//! users, judges.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::EndedCall;
use playhouse_vm::protocol::{CallOutcome, ChatMessage, Finish, PROMPT, ReplyEnd, Role, StartCall, Usage};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::llm::{Llm, LlmRequest, NO_END, Purpose, ReplyPart, ReplyStream, behind_think};

/// Bytes of an answer, think blocks included. A model that writes more is not answering.
const MAX_BYTES: usize = 4 << 20;

/// How often a broken reply is asked for again, and how long to wait before the first time; doubled each time.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// How often.
    pub n: u32,
    /// The first delay.
    pub delay: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { n: 3, delay: Duration::from_millis(500) }
    }
}

/// The request of a question: one message.
pub fn request(question: &str) -> LlmRequest {
    let message = ChatMessage { role: Role::User, text: question.into() };
    LlmRequest { purpose: Purpose::Plan, messages: vec![message], schema: None, turn: None }
}

/// The request of a plan's own question to the session's model.
pub(crate) fn request_of(call: &StartCall) -> LlmRequest {
    let prompt = call.arguments.iter().find(|(name, _)| &**name == PROMPT);
    request(&prompt.map_or_else(String::new, |(_, prompt)| prompt.value().to_text()))
}

/// The outcome of a plan's own question to the session's model.
pub(crate) fn outcome_of(llm: Arc<dyn Llm>, call: &StartCall) -> impl Future<Output = EndedCall> + Send + 'static {
    let request = request_of(call);
    async move {
        match ask(&*llm, request, Retries::default()).await {
            Ok((text, usage)) => (CallOutcome::Value { value: Value::from(text), secret: false }, usage),
            Err(reason) => (CallOutcome::Error(reason), None),
        }
    }
}

/// The model's answer, without its thoughts, and what the server counted. A reply that broke off is asked for again.
///
/// # Errors
/// Why there is none, in words that name the next step.
pub async fn ask(llm: &dyn Llm, request: LlmRequest, retries: Retries) -> Result<(String, Option<Usage>), Arc<str>> {
    let Retries { n: mut n_left, mut delay } = retries;
    loop {
        match read(llm.request(request.clone()), MAX_BYTES).await {
            Ok(answer) => return Ok(answer),
            Err(Failure { reason, is_transient, .. }) if !is_transient || n_left == 0 => return Err(reason),
            Err(Failure { reason, retry_after, .. }) => {
                tracing::warn!("a model's answer broke off and is asked for again: {reason}");
                tokio::time::sleep(retry_after.unwrap_or(delay)).await;
                (n_left, delay) = (n_left - 1, delay * 2);
            }
        }
    }
}

/// An answer that can be used, and what the servers counted; asked for once more if the first one can't be. `request` is
/// told what was wrong with that.
pub(crate) async fn ask_twice<T>(
    llm: &dyn Llm,
    timeout: Duration,
    request: impl Fn(Option<&str>) -> LlmRequest,
    read: impl Fn(&str) -> Result<T, String>,
) -> (Result<T, NoAnswer>, Usage) {
    let mut problem: Option<String> = None;
    let mut counted = Usage::default();
    loop {
        let asked = ask(llm, request(problem.as_deref()), Retries::default());
        let text = match tokio::time::timeout(timeout, asked).await {
            Ok(Ok((text, usage))) => {
                counted += usage.unwrap_or_default();
                text
            }
            Ok(Err(reason)) => return (Err(NoAnswer::Unreachable(reason)), counted),
            Err(_) => {
                let reason = format!("{} gave no answer within {} s", llm.id(), timeout.as_secs_f64());
                return (Err(NoAnswer::Unreachable(reason.into())), counted);
            }
        };
        match read(&text) {
            Ok(read) => return (Ok(read), counted),
            Err(wrong) if problem.is_some() => return (Err(NoAnswer::Unusable(wrong)), counted),
            Err(wrong) => problem = Some(wrong),
        }
    }
}

/// Why a model's answer is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// It could not be asked: that may be otherwise the next time.
    #[error("{0}")]
    Unreachable(Arc<str>),
    /// It was asked twice, and neither answer could be used; what is wrong with the second one.
    #[error("its answer could not be used, nor the one before: {0}")]
    Unusable(String),
}

/// The JSON lists and objects in a text, in order: models write around what they are asked for.
pub(crate) fn json_in(text: &str) -> Vec<Json> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(['[', '{']).map(|offset| at + offset) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Json>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                found.push(value);
            }
            // One byte further: both brackets are ASCII.
            Some(Err(_)) | None => at = start + 1,
        }
    }
    found
}

/// The last object in a text that has this form: models that explain themselves come to the result at the end.
pub(crate) fn last_object<T: DeserializeOwned>(text: &str) -> Option<T> {
    json_in(text).into_iter().rev().find_map(|json| serde_json::from_value(json).ok())
}

/// Why there is no answer.
pub(crate) struct Failure {
    /// In words that name the next step.
    pub(crate) reason: Arc<str>,
    is_transient: bool,
    retry_after: Option<Duration>,
}

impl Failure {
    fn new(reason: impl Into<Arc<str>>, is_transient: bool) -> Failure {
        Failure { reason: reason.into(), is_transient, retry_after: None }
    }
}

/// The whole of a reply, without its thoughts, and what the server counted. One of more bytes is no answer.
pub(crate) async fn read(mut reply: ReplyStream, max_bytes: usize) -> Result<(String, Option<Usage>), Failure> {
    let mut bytes = Vec::new();
    while let Some(part) = reply.next().await {
        match part {
            ReplyPart::Bytes(more) => bytes.extend_from_slice(&more),
            ReplyPart::End { end: ReplyEnd::Complete(Finish::Length), .. } => {
                return Err(Failure::new("the answer was cut by the token limit; raise max_tokens", false));
            }
            ReplyPart::End { end: ReplyEnd::Complete(Finish::Stop | Finish::Other(_)), usage } => {
                let text = String::from_utf8_lossy(&bytes);
                return Ok((behind_think(&text).trim().to_owned(), usage));
            }
            ReplyPart::End { end: ReplyEnd::Broken { reason, retry_after_ms }, .. } => {
                let retry_after = retry_after_ms.map(Duration::from_millis);
                return Err(Failure { reason, is_transient: true, retry_after });
            }
            ReplyPart::End { end: ReplyEnd::Refused { reason }, .. } => return Err(Failure::new(reason, false)),
            ReplyPart::End { end: ReplyEnd::Closed, .. } => return Err(Failure::new("the reply was closed", false)),
        }
        if bytes.len() > max_bytes {
            return Err(Failure::new("the answer has no end; choose another model", false));
        }
    }
    Err(Failure::new(NO_END, true))
}
