//! The form of a case.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

/// What a file is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// JSON plans with jumps.
    Jmp,
    /// JSON plans with branches.
    Branch,
    /// Dataflow plans.
    Dataflow,
}

/// One case. `title`, `basis` and `note` are for people.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) plan: Option<Json>,
    /// The plan as a model wrote it.
    pub(crate) plan_text: Option<String>,
    #[serde(default)]
    pub(crate) initial_vars: serde_json::Map<String, Json>,
    #[serde(default)]
    pub(crate) options: Options,
    #[serde(default)]
    pub(crate) tools: IndexMap<String, Tool>,
    #[serde(default)]
    pub(crate) domains: IndexMap<String, Tool>,
    #[serde(default)]
    pub(crate) llm: Vec<Answer>,
    pub(crate) now: Option<String>,
    pub(crate) expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    pub(crate) max_steps: u64,
    pub(crate) condition_retries: u32,
    pub(crate) max_replans: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_steps: 1_000, condition_retries: 0, max_replans: 0 }
    }
}

/// A tool of a JSON plan, or a domain of a dataflow plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    /// The arguments there are; none: any.
    pub(crate) args: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) required: Vec<String>,
    #[serde(default)]
    pub(crate) latency_ms: u64,
    pub(crate) responses: Vec<Response>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Response {
    pub(crate) when: Option<IndexMap<String, Json>>,
    #[serde(rename = "return", default, deserialize_with = "present")]
    pub(crate) value: Option<Json>,
    pub(crate) error: Option<String>,
}

/// A scripted answer of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    #[serde(default)]
    pub(crate) expect_contains: Vec<String>,
    pub(crate) reply: Option<String>,
    pub(crate) error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) status: Option<Status>,
    #[serde(rename = "final", default, deserialize_with = "present")]
    pub(crate) answer: Option<Json>,
    #[serde(default, deserialize_with = "present")]
    pub(crate) result: Option<Json>,
    #[serde(default)]
    pub(crate) vars: IndexMap<String, Json>,
    #[serde(default)]
    pub(crate) vars_absent: Vec<String>,
    pub(crate) trace: Option<Vec<i64>>,
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
    pub(crate) llm_calls: Option<usize>,
    #[serde(default)]
    pub(crate) error_contains_all: Vec<String>,
    pub(crate) error_seq_no: Option<i64>,
    pub(crate) calls: Option<Vec<DomainCall>>,
    pub(crate) call_count: Option<usize>,
    pub(crate) max_in_flight: Option<usize>,
}

/// One status, or any of several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Status {
    One(String),
    Any(Vec<String>),
}

impl Status {
    pub(crate) fn allows(&self, status: &str) -> bool {
        match self {
            Status::One(one) => one == status,
            Status::Any(any) => any.iter().any(|one| one == status),
        }
    }

    pub(crate) fn written(&self) -> String {
        match self {
            Status::One(one) => one.clone(),
            Status::Any(any) => any.join(" or "),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) args: serde_json::Map<String, Json>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DomainCall {
    pub(crate) domain: String,
    #[serde(default)]
    pub(crate) slots: serde_json::Map<String, Json>,
}

/// Reads a member that is there: `null` is a value, not an absence.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}
