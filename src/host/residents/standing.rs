//! How a session stands, for those who are not its process.

use std::sync::Arc;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::fault::FaultKind;
use playhouse_vm::protocol::view::{CallView, View};
use playhouse_vm::protocol::{CallId, Outcome, Timestamp, Wait};
use serde::{Deserialize, Serialize};

use crate::events::Mark;
use crate::session::Present;

/// How a session stands; secrets are masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// What it does or waits for.
    pub state: State,
    /// What a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// What the user has said that the program has not read: it waits for somebody else, or is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Arc<str>>,
    /// Of the last event.
    pub mark: Mark,
    /// The time of the last record, in milliseconds since the Unix epoch.
    pub last: i64,
    /// What a program that is over has given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Tokens of all requests and replies.
    pub tokens: u64,
    /// What they cost, where prices are known.
    pub cost: Option<f64>,
}

/// What a session does or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The program goes on.
    Speaking,
    /// It waits for the user.
    Waiting,
    /// It waits for a person's answer about a call.
    Approval,
    /// It waits for a moment.
    Timer,
    /// The program is over.
    Finished,
    /// It failed.
    Failed,
    /// Its process ended in the middle of something, and nobody has taken it up.
    Interrupted,
}

/// What a person is asked about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The call.
    pub call: u64,
    /// The tool.
    pub tool: Arc<str>,
    /// In words.
    pub question: Arc<str>,
    /// The call's arguments: name, value, and where that comes from.
    pub args: Vec<(Arc<str>, Value, String)>,
    /// Whether the tool asks in the middle of its work: then it is the user who is asked.
    pub by_tool: bool,
    /// What the user has said last, which nobody has answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Arc<str>>,
}

/// Why a session failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// One word.
    pub kind: String,
    /// In words.
    pub message: Arc<str>,
}

impl Fault {
    /// Whether the session can go on all the same ([`FaultKind::can_go_on`]).
    pub fn can_go_on(&self) -> bool {
        self.kind.parse().is_ok_and(FaultKind::can_go_on)
    }
}

impl Standing {
    /// Of a machine's state. `is_live`: a process goes on with it.
    pub fn of(present: &Present, is_live: bool) -> Standing {
        let Present { view, mark, time, cost, program: _, due: _ } = present;
        let counters = &view.counters;
        let (value, fault) = match &view.outcome {
            Some(Outcome::Done { value }) => (Some(value.shown()), None),
            Some(Outcome::Failed(fault)) => {
                (None, Some(Fault { kind: fault.kind.to_string(), message: fault.message.clone() }))
            }
            None => (None, None),
        };
        Standing {
            state: state(view, is_live),
            asked: if let Some(Wait::Approval(call)) = view.wait { asked(view, call) } else { None },
            unread: view.messages.clone(),
            mark: *mark,
            last: time.0,
            value,
            fault,
            tokens: counters.prompt_tokens + counters.completion_tokens,
            cost: *cost,
        }
    }

    /// Whether nobody can go on with it.
    pub fn is_over_for_good(&self) -> bool {
        self.state.is_over() && !self.fault.as_ref().is_some_and(Fault::can_go_on)
    }

    /// Of a session that cannot go on, whoever takes it up.
    pub fn failed(now: Timestamp, why: Arc<str>) -> Standing {
        let fault = Fault { kind: "internal".to_owned(), message: why };
        Standing { state: State::Failed, fault: Some(fault), ..Standing::interrupted(now) }
    }

    /// Of a session that no process has, though one had it.
    pub fn interrupted(created: Timestamp) -> Standing {
        Standing {
            state: State::Interrupted,
            asked: None,
            unread: Vec::new(),
            mark: Mark::START,
            last: created.0,
            value: None,
            fault: None,
            tokens: 0,
            cost: None,
        }
    }
}

impl State {
    /// Whether nothing more comes.
    pub fn is_over(self) -> bool {
        matches!(self, State::Finished | State::Failed)
    }

    /// Whether nothing more comes by itself: a person is waited for, or the program is over.
    pub fn has_stopped(self) -> bool {
        self.is_over() || matches!(self, State::Waiting | State::Approval)
    }
}

fn state(view: &View, is_live: bool) -> State {
    match (&view.outcome, &view.wait) {
        (Some(Outcome::Done { .. }), _) => State::Finished,
        (Some(Outcome::Failed(_)), _) => State::Failed,
        (None, Some(Wait::User)) => State::Waiting,
        (None, Some(Wait::Approval(_))) => State::Approval,
        (None, Some(Wait::Timer(_))) => State::Timer,
        (None, Some(Wait::Reply(_) | Wait::Call(_) | Wait::Verdict(_) | Wait::Budget) | None) => match is_live {
            true => State::Speaking,
            false => State::Interrupted,
        },
    }
}

fn asked(view: &View, id: CallId) -> Option<Asked> {
    let mut calls = view.stack.iter().flat_map(|frame| &frame.queue);
    let CallView { name, arguments, question, is_asked_by_tool, .. } = calls.find(|queued| queued.call == id)?;
    Some(Asked {
        call: id.0,
        tool: name.clone(),
        question: question.clone()?,
        args: arguments
            .iter()
            .map(|(name, value)| (name.clone(), value.shown(), value.origin().name().to_owned()))
            .collect(),
        by_tool: *is_asked_by_tool,
        said: unanswered(view),
    })
}

/// What the user has said since the program spoke last.
fn unanswered(view: &View) -> Vec<Arc<str>> {
    let said = view.conversation.iter().rposition(|utterance| !utterance.by_user).map_or(0, |last| last + 1);
    let said = view.conversation[said..].iter().map(|utterance| &utterance.text);
    said.chain(&view.messages).cloned().collect()
}
