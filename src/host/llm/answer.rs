//! A question to a model and its whole answer, for those who need no stream: plans, and the tool that asks a model.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use crate::host::llm::{Llm, LlmRequest, NO_END, Purpose, ReplyPart, ReplyStream, behind_think};
use crate::value::Value;
use crate::vm::protocol::EndedCall;
use crate::vm::protocol::{CallOutcome, ChatMessage, Finish, PROMPT, ReplyEnd, Role, StartCall, Usage};

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
    let mut delay = retries.delay;
    for attempt in 0.. {
        match read(llm.request(request.clone()), MAX_BYTES).await {
            Ok(answer) => return Ok(answer),
            Err(Failure { reason, is_transient, retry_after }) => {
                if !is_transient || attempt >= retries.n {
                    return Err(reason);
                }
                tracing::warn!("a model's answer broke off and is asked for again: {reason}");
                tokio::time::sleep(retry_after.unwrap_or(delay)).await;
                delay *= 2;
            }
        }
    }
    Err("the model was not asked".into())
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
