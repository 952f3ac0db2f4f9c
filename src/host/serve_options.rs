//! What an operator decides of a server: the section `[serve]` of playhouse.toml (spec `serving.md`, section 1).

use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use crate::host::keys::seconds;

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
        }
    }
}
