//! Which session goes on with a conversation: the one that has answered what its user has said so far.

use std::sync::Arc;

use axum::http::HeaderMap;
use serde_json::Value as Json;

use crate::host::events::{Mark, PublicBody};
use crate::host::ledger::Served;
use crate::host::ledger::answers::KeptAnswer;
use crate::host::replay::last_text;
use crate::host::serve_options::Branch;
use crate::host::travel::{Point, Step, history};
use crate::serve::http::access::caller::Caller;
use crate::serve::http::answers::key::Key;
use crate::serve::http::openai::wire::header_of;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::vm::protocol::{CallKind, EffectClass, ToolSignature};

/// Where clients say which conversation it is.
const CHAT_HEADERS: [&str; 3] = ["x-playhouse-session", "x-openwebui-chat-id", "x-conversation-id"];

/// For which of its users a service asks.
const USER_HEADER: &str = "x-openwebui-user-id";

/// The label of a session that has the conversation's id.
pub(super) const CHAT_LABEL: &str = "chat";

/// The history of a conversation of which nothing was said yet: whose it is, and with which program.
pub(super) fn begin(caller: &Caller, headers: &HeaderMap, program: &str) -> Key {
    let user = header_of(headers, USER_HEADER).filter(|_| caller.forwards).unwrap_or_default();
    Key::of([&caller.name, &*user, program])
}

/// The id of the message that leads to a history: however often it is sent, it is taken once.
pub(super) fn message_id(history: Key) -> Arc<str> {
    format!("openai-{}", history.text()).into()
}

/// The id that a client has for the conversation.
pub(super) fn chat_id(headers: &HeaderMap, metadata: Option<&Json>) -> Option<String> {
    let in_body = || metadata?.get("session_id")?.as_str().map(str::to_owned).filter(|id| !id.is_empty());
    CHAT_HEADERS.iter().find_map(|name| header_of(headers, name)).or_else(in_body)
}

/// The id that the client of a session has for it.
pub(super) fn chat_of(served: &Served) -> Option<String> {
    let labels: Json = serde_json::from_str(&served.labels).ok()?;
    labels.get(CHAT_LABEL)?.as_str().map(str::to_owned)
}

/// Whether an answer can be to the conversation with this id: neither says otherwise.
pub(super) fn fits_chat(kept: &KeptAnswer, chat: Option<&str>) -> bool {
    chat.is_none_or(|chat| chat_of(&kept.served).is_none_or(|other| other == chat))
}

/// Of the sessions that have answered a history the one that goes on with it.
pub(super) fn choose(kept: Vec<KeptAnswer>, reply: Option<&str>, chat: Option<&str>) -> Option<KeptAnswer> {
    let heard = reply.map(str::trim).filter(|reply| !reply.is_empty());
    // Of equals the newest, which comes first.
    kept.into_iter().rev().max_by_key(|kept| {
        let said = kept.answer.ended.as_ref().map(|(_, said)| said.trim());
        let likeness = said.zip(heard).map_or(0, |(said, heard)| {
            // Its user may have cut it off.
            if said == heard { 2 } else { u8::from(said.starts_with(heard)) }
        });
        let is_chat = chat.is_some() && chat_of(&kept.served).as_deref() == chat;
        (likeness, is_chat, kept.is_last)
    })
}

/// What has happened to a session since an answer.
pub(super) enum Since {
    /// Nothing that its user has done.
    Nothing,
    /// It has gone on.
    More {
        /// The point of the answer's end.
        at: Point,
        /// A call that cannot be made again without harm.
        effect: Option<Arc<str>>,
    },
}

impl Server {
    /// What has happened to the session since it stood at this mark, where an answer ended.
    pub(super) async fn since(&self, kept: &KeptAnswer, mark: Mark) -> Result<Since, Problem> {
        let (standing, _) = self.residents.standing(&kept.served).await?;
        if kept.is_last && standing.mark == mark {
            return Ok(Since::Nothing);
        }
        let (is_last, asked) = (kept.is_last, kept.answer.asked);
        let since = self.residents.past(&kept.served.session, move |timeline| {
            let steps = history(&timeline, timeline.end())?;
            let first_after = |mark: Mark| {
                let is_later = |of: Option<Mark>| of.is_some_and(|of| of > mark);
                steps.iter().position(|step| is_later(step.event.mark)).unwrap_or(steps.len())
            };
            // The message that was answered may be taken only later.
            let is_message = |step: &&Step| matches!(step.event.body, PublicBody::UserMessage { .. });
            let n_messages = steps[first_after(asked)..].iter().filter(is_message).count();
            let n_own = usize::from(asked != Mark::START);
            if is_last && n_messages <= n_own {
                return Ok(Since::Nothing);
            }
            let (before, after) = steps.split_at(first_after(mark));
            let tools = last_text(timeline.records()).map(|(_, tools)| tools).unwrap_or_default();
            let tools: Vec<ToolSignature> = tools.iter().map(|tool| tool.to_tool()).collect();
            let has_effect = |name: &str| {
                let tool = ToolSignature::find(&tools, name);
                !tool.is_some_and(|tool| matches!(tool.effect, EffectClass::ReadOnly | EffectClass::Idempotent))
            };
            let effect = after.iter().find_map(|step| {
                let PublicBody::CallStarted { callable, kind: CallKind::Tool, .. } = &step.event.body else {
                    return None;
                };
                has_effect(callable).then(|| callable.clone())
            });
            let at = before.last().map_or(timeline.start(), |step| step.point);
            Ok(Since::More { at, effect })
        });
        Ok(since.await?)
    }

    /// Whether a conversation may go another way from a place after which this call was made.
    pub(super) fn check_branch(&self, session: &str, effect: Option<&str>) -> Result<(), Problem> {
        let next = "send it without the conversation before it, or begin a new chat";
        match (self.options.openai.branch, effect) {
            (Branch::Always, _) | (Branch::Safe, None) => Ok(()),
            (Branch::Safe, Some(effect)) => Err(Problem::conflict(format!(
                "the conversation {session} has continued since this point and has called {effect}, which would be \
                 called again; {next} (whoever runs the server can allow it: `branch = \"always\"` under \
                 [serve.openai])"
            ))),
            (Branch::Never, _) => Err(Problem::conflict(format!(
                "the conversation {session} has continued since this point, and conversations may not branch here; \
                 {next}"
            ))),
        }
    }
}
