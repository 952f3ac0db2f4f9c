//! The machine's settings as JSON, for journals and for `[limits]` of `playhouse.toml`. Nothing in `vm` is serialised
//! itself (DESIGN.md, invariant 9).

use std::sync::Arc;

use playhouse_vm::dataflow::date::TimesOfDay;
use playhouse_vm::protocol::settings::{Barrier, OnProtocolFailure, OnUserMessage, Replan, Settings};
use serde::{Deserialize, Serialize};

/// [`Settings`] as JSON. A key that an older journal lacks has its default, so a new setting's default must keep
/// the behaviour from before it existed.
#[derive(Serialize, Deserialize)]
#[serde(default = "Settings::default", remote = "Settings")]
#[allow(missing_docs, reason = "the fields are those of Settings, under the same names")]
pub struct SettingsWire {
    pub depth: usize,
    pub turns: u64,
    pub tokens: u64,
    pub queue: usize,
    pub value_bytes: usize,
    pub conversation: usize,
    pub context_tokens: u64,
    pub max_session_turns: u32,
    pub max_repairs: u32,
    pub max_turns_without_progress: u32,
    #[serde(with = "OnProtocolFailureWire")]
    pub on_protocol_failure: OnProtocolFailure,
    pub strict: bool,
    pub max_retries: u32,
    pub retry_delay_ms: u64,
    pub max_retry_delay_ms: u64,
    pub max_unnamed: usize,
    pub goal_turns: u64,
    pub budget: u32,
    pub max_idle_directives: u64,
    pub reply_actions: usize,
    pub reply_bytes: usize,
    pub starts_in_think: bool,
    pub resume_fresh: bool,
    pub explicit_lines: bool,
    pub tail_calls: bool,
    pub inline_lines: usize,
    pub early_start: bool,
    pub shown_value_bytes: usize,
    pub classifier: bool,
    pub classifier_first: bool,
    #[serde(with = "BarrierWire")]
    pub barrier: Barrier,
    pub max_verdicts: usize,
    #[serde(with = "OnUserMessageWire")]
    pub on_user_message: OnUserMessage,
    pub plan_steps: u64,
    pub condition_retries: u32,
    pub max_replans: u32,
    #[serde(with = "ReplanWire")]
    pub replan: Replan,
    pub dataflow_calls: usize,
    pub zone: Arc<str>,
    #[serde(with = "TimesOfDayWire")]
    pub times_of_day: TimesOfDay,
}

/// [`Replan`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "Replan")]
#[allow(missing_docs, reason = "the variants are those of Replan, under the same names")]
pub enum ReplanWire {
    Restart,
    Resume,
}

/// [`TimesOfDay`] as JSON: each as `HH:MM:SS`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "TimesOfDay")]
#[allow(missing_docs, reason = "the fields are those of TimesOfDay, under the same names")]
pub struct TimesOfDayWire {
    pub morning: jiff::civil::Time,
    pub midday: jiff::civil::Time,
    pub afternoon: jiff::civil::Time,
    pub evening: jiff::civil::Time,
    pub night: jiff::civil::Time,
    pub end_of_day: jiff::civil::Time,
    pub close_of_business: jiff::civil::Time,
}

/// [`OnProtocolFailure`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "OnProtocolFailure")]
pub enum OnProtocolFailureWire {
    /// Its prose is said and the frame waits for the user.
    Speak,
    /// The session fails.
    Stop,
}

/// [`Barrier`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "Barrier")]
#[allow(missing_docs, reason = "the variants are those of Barrier, under the same names")]
pub enum BarrierWire {
    All,
    Effects,
}

/// [`OnUserMessage`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "OnUserMessage")]
#[allow(missing_docs, reason = "the variants are those of OnUserMessage, under the same names")]
pub enum OnUserMessageWire {
    Queue,
    Interrupt,
    Rollback,
}
