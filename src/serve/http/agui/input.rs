//! What a client sends: a run that it wants.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::host::events::Mark;
use crate::host::session::approval;
use crate::serve::http::answers::content::content_text;
use crate::serve::http::problem::{Pointed, Problem};
use crate::serve::http::wire::check_text;
use crate::value::Value;
use crate::vm::protocol::CallId;

/// The most bytes of an id.
const MAX_ID: usize = 256;

/// A run.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunInput {
    /// The session.
    thread_id: String,
    /// Of the client's own making.
    run_id: String,
    /// The conversation; what the user has said since the last answer is new.
    #[serde(default)]
    messages: Vec<RunMessage>,
    /// The answer to what the last run has asked.
    resume: Option<Vec<ResumeEntry>>,
    /// What has no effect: `state`, `tools`, `context`, `forwardedProps` and others.
    #[serde(flatten)]
    rest: BTreeMap<String, Json>,
}

/// A message of it.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunMessage {
    /// Made by the client: however often a message with it is sent, it is taken once.
    id: String,
    role: String,
    /// Text, or parts with text.
    #[serde(default)]
    content: Json,
    #[serde(flatten)]
    rest: BTreeMap<String, Json>,
}

/// An answer to what a run has asked.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeEntry {
    interrupt_id: String,
    status: Status,
    /// true, false, words, or `{"approved": true}`.
    #[serde(default)]
    payload: Json,
    #[serde(flatten)]
    rest: BTreeMap<String, Json>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Resolved,
    Cancelled,
}

/// A run, read.
pub(super) struct Wanted {
    pub(super) thread: String,
    pub(super) run: String,
    /// The id of the user's last message; empty: they have said nothing yet.
    pub(super) last: String,
    /// What they have said since the last answer: id and text.
    pub(super) messages: Vec<(String, String)>,
    pub(super) resume: Option<Resume>,
    /// There is something to answer, or there was nothing yet.
    pub(super) is_whole: bool,
}

/// An answer to a question, read.
pub(super) struct Resume {
    pub(super) interrupt: Interrupt,
    /// What is answered; none: nothing was.
    pub(super) answer: Option<Value>,
}

/// A question at which a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interrupt {
    pub(super) call: CallId,
    /// What lies after this the client has not heard.
    pub(super) mark: Mark,
}

impl Interrupt {
    /// `7@1:18`.
    pub(super) fn id(self) -> String {
        format!("{}@{}", self.call.0, self.mark)
    }

    fn of(id: &str) -> Option<Interrupt> {
        let (call, mark) = id.split_once('@')?;
        Some(Interrupt { call: CallId(call.parse().ok()?), mark: mark.parse().ok()? })
    }
}

impl RunInput {
    /// What is wanted, or all that is wrong.
    pub(super) fn read(&self) -> Result<Wanted, Problem> {
        let mut errors = Vec::new();
        let mut wrong = |pointer: &str, detail: String| errors.push(Pointed::new(pointer, detail));
        let id_detail = || format!("an id has 1 to {MAX_ID} bytes");
        for (pointer, id) in [("/threadId", &self.thread_id), ("/runId", &self.run_id)] {
            if id.is_empty() || id.len() > MAX_ID {
                wrong(pointer, id_detail());
            }
        }
        let answered = self.messages.iter().rposition(|message| message.role == "assistant" || message.role == "tool");
        let since = answered.map_or(0, |index| index + 1);
        let is_users = |message: &&RunMessage| message.role == "user";
        let last = self.messages.iter().rfind(is_users).map(|message| message.id.clone()).unwrap_or_default();
        for (index, message) in self.messages.iter().enumerate().skip(since).filter(|(_, message)| is_users(message)) {
            if message.id.is_empty() || message.id.len() > MAX_ID {
                wrong(&format!("/messages/{index}/id"), id_detail());
            }
        }
        let resume = match self.resume.as_deref() {
            None | Some([]) => None,
            Some([entry, more @ ..]) => {
                for index in 1..=more.len() {
                    wrong(&format!("/resume/{index}"), "a run ends with one question: answer that".to_owned());
                }
                let interrupt = Interrupt::of(&entry.interrupt_id);
                if interrupt.is_none() {
                    let detail = "this is not the id of an interrupt; find it in `outcome.interrupts` of RUN_FINISHED";
                    wrong("/resume/0/interruptId", detail.to_owned());
                }
                let answer = entry.answer();
                if let Err(detail) = &answer {
                    wrong("/resume/0/payload", (*detail).to_owned());
                }
                interrupt.zip(answer.ok()).map(|(interrupt, answer)| Resume { interrupt, answer })
            }
        };
        let mut messages = Vec::new();
        for (index, message) in self.messages.iter().enumerate().skip(since).filter(|(_, message)| is_users(message)) {
            let text = content_text(&message.content, &format!("/messages/{index}/content"), &mut errors);
            messages.push((message.id.clone(), text));
        }
        if !errors.is_empty() {
            return Err(Problem::bad("this run cannot start", errors));
        }
        messages.iter().try_for_each(|(_, text)| check_text(text))?;
        let is_whole = !messages.is_empty() || resume.is_some() || (answered.is_none() && last.is_empty());
        Ok(Wanted { thread: self.thread_id.clone(), run: self.run_id.clone(), last, messages, resume, is_whole })
    }
}

impl ResumeEntry {
    /// What is answered.
    fn answer(&self) -> Result<Option<Value>, &'static str> {
        if self.status == Status::Cancelled {
            return Ok(Some(Value::Bool(false)));
        }
        match &self.payload {
            Json::Null => Ok(None),
            Json::Bool(answer) => Ok(Some(Value::Bool(*answer))),
            Json::String(words) => Ok(Some(approval(words))),
            Json::Object(members) => {
                let words = members.get("words").and_then(Json::as_str).filter(|words| !words.trim().is_empty());
                match (members.get("approved").and_then(Json::as_bool), words) {
                    (Some(true), _) => Ok(Some(Value::Bool(true))),
                    // Whoever refuses may say why.
                    (Some(false), words) => Ok(Some(words.map_or(Value::Bool(false), Value::str))),
                    (None, Some(words)) => Ok(Some(approval(words))),
                    (None, None) => Err(NO_ANSWER),
                }
            }
            Json::Number(_) | Json::Array(_) => Err(NO_ANSWER),
        }
    }
}

/// What an answer looks like.
pub(super) const NO_ANSWER: &str = "an answer is true, false, words, or an object with `approved` or `words`";
