//! What an operator decides of a server: the section `[serve]` of playhouse.toml (spec `serving.md`, section 1).

use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use crate::keys::seconds;

/// `[serve]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServeOptions {
    /// Names, with or without a port, by which this server is asked for, beside those of this machine.
    pub hosts: Vec<String>,
    /// Sites whose pages may use the interface.
    pub origins: Vec<String>,
    /// Networks of proxies that say in `X-Forwarded-For` who asks.
    pub trusted_proxies: Vec<IpNet>,
    /// What those say who asks, after they have asked for a password themselves: a header with the user's name. Nobody else
    /// can send it.
    pub user_header: Option<String>,
    /// Sites that may show `/chat/NAME` in a frame.
    pub frame_ancestors: Vec<String>,
    /// Whether anybody may talk, without a token.
    pub visitors: bool,
    /// Who answers what is asked before a call.
    pub approvals: Approvals,
    /// After so long in which nobody needs it a session rests.
    #[serde(deserialize_with = "seconds")]
    pub idle: Duration,
    /// So many sessions are in memory at most.
    pub max_live: usize,
    /// So many sessions may do something at the same time.
    pub max_busy: usize,
    /// So long replies have to come to their end when the server ends.
    #[serde(deserialize_with = "seconds")]
    pub grace: Duration,
    /// Clients of OpenAI's interface.
    pub openai: OpenAiOptions,
}

/// `[serve.openai]` (spec `serving.md`, section 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenAiOptions {
    /// Whether a conversation that a client takes up at an earlier place goes another way from there.
    pub branch: Branch,
    /// Who answers what a user interface wants for itself: titles, tags.
    pub tasks: Tasks,
    /// Whether clients are told of lines that are reached, as reasoning.
    pub steps: bool,
    /// What a conversation's first message does.
    pub first_message: FirstMessage,
    /// What a client that goes away does to the answer it has asked for.
    pub on_disconnect: OnDisconnect,
}

/// Whether a conversation goes another way from an earlier place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branch {
    /// Unless a call was made since that would be made a second time.
    #[default]
    Safe,
    /// In any case.
    Always,
    /// Never.
    Never,
}

/// Who answers what a user interface wants for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tasks {
    /// Nobody: the answer is made of what was asked.
    #[default]
    Fixed,
    /// The program's model, outside of any session.
    Model,
}

/// What a conversation's first message does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstMessage {
    /// It is said to the program, when that waits for it.
    #[default]
    Answer,
    /// It only begins the session.
    Open,
}

/// What becomes of an answer that nobody waits for any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    /// It comes to its end.
    #[default]
    Finish,
    /// It is cancelled.
    Interrupt,
}

/// Who answers what is asked before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approvals {
    /// Operators: whoever talks never approves their own call.
    #[default]
    Operator,
    /// Whoever talks.
    User,
}

impl Approvals {
    /// Whether whoever talks may answer: what a tool asks in the middle of its work, always; what the operator has put
    /// before a call, where the operator lets them.
    pub fn let_user(self, by_tool: bool) -> bool {
        by_tool || self == Approvals::User
    }
}

impl ServeOptions {
    /// Whether somebody may come in without a token of this machine: then everybody has to say who they are.
    pub fn has_strangers(&self) -> bool {
        self.visitors || self.user_header.is_some()
    }
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            hosts: Vec::new(),
            origins: Vec::new(),
            trusted_proxies: Vec::new(),
            user_header: None,
            frame_ancestors: Vec::new(),
            visitors: false,
            approvals: Approvals::default(),
            idle: Duration::from_secs(60),
            max_live: 2_000,
            max_busy: 256,
            grace: Duration::from_secs(30),
            openai: OpenAiOptions::default(),
        }
    }
}
