//! What a session has cost: the object of `--summary`.

use std::sync::Arc;

use playhouse_vm::protocol::view::{Counters, View};
use serde::Serialize;

/// The object of `--summary` (spec `cli.md`). The counters of features that do not exist yet are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the keys are those of spec cli.md, under the same names")]
pub struct Summary {
    pub turns: u64,
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
    pub completion_tokens: u64,
    pub discarded_tokens: u64,
    /// What the session's own model has cost, where `[prices]` knows it, in whatever currency they are; trigger
    /// questions are not in it.
    pub cost: Option<f64>,
    pub tool_calls: u64,
    pub playbook_calls: u64,
    pub plan_calls: u64,
    /// Questions of plans to the session's model: conditions, and what to do about a failure.
    pub model_questions: u64,
    pub tail_calls: u64,
    pub inlined_calls: u64,
    pub early_starts: u64,
    pub explicit_lines: u64,
    /// Lines that the model has left out, the oldest first; no more than the first 1,000.
    pub skipped: Vec<SkippedWire>,
    pub updates: u64,
    /// From outside.
    pub events: u64,
    pub trigger_evaluations: u64,
    pub classifier_calls: u64,
    pub classifier_ms: u64,
    pub classifier_tokens: u64,
    /// From a question to its verdict, the mean.
    pub verdict_ms: u64,
    pub trigger_matches: u64,
    pub match_discarded_tokens: u64,
    /// Replies cut off at once; how long after their last byte in microseconds, the mean and the longest.
    pub cancels: u64,
    pub cancel_us: u64,
    pub cancel_max_us: u64,
    pub repairs: u64,
    pub retries: u64,
    pub max_depth: u64,
    /// From the start or resumption of the session in this process to its end, in milliseconds.
    pub wall_ms: u64,
    pub model_ms: u64,
    /// `finished`, `failed`, `waiting` (for the user) or `stopped`.
    pub outcome: &'static str,
}

/// A line that the model has left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedWire {
    /// Where it stands: `OrderStatus:05.01`.
    pub line: Arc<str>,
    /// Why, if the model has said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

impl SkippedWire {
    /// Those of a session.
    pub fn of(view: &View) -> Vec<SkippedWire> {
        let lines = view.skipped.iter();
        lines.map(|skipped| SkippedWire { line: skipped.line.clone(), reason: skipped.reason.clone() }).collect()
    }
}

impl Summary {
    /// The summary of a session that has counted `counters` and stands at `outcome` after `wall_ms`.
    pub fn new(counters: &Counters, outcome: &'static str, wall_ms: u64) -> Summary {
        Summary {
            turns: counters.turns,
            prompt_tokens: counters.prompt_tokens,
            cached_tokens: counters.cached_tokens,
            completion_tokens: counters.completion_tokens,
            discarded_tokens: counters.discarded_tokens,
            tool_calls: counters.tool_calls,
            playbook_calls: counters.playbook_calls,
            plan_calls: counters.plan_calls,
            model_questions: counters.model_questions,
            tail_calls: counters.tail_calls,
            inlined_calls: counters.inlined_calls,
            early_starts: counters.early_starts,
            explicit_lines: counters.explicit_lines,
            updates: counters.updates,
            events: counters.signals,
            trigger_evaluations: counters.trigger_evaluations,
            classifier_calls: counters.classifier_calls,
            classifier_ms: counters.classifier_ms,
            classifier_tokens: counters.classifier_tokens,
            verdict_ms: counters.classifier_ms.checked_div(counters.classifier_calls).unwrap_or(0),
            trigger_matches: counters.trigger_matches,
            match_discarded_tokens: counters.match_discarded_tokens,
            repairs: counters.repairs,
            retries: counters.retries,
            max_depth: counters.max_depth,
            wall_ms,
            model_ms: counters.model_ms,
            outcome,
            ..Summary::default()
        }
    }
}
