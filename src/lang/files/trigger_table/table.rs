//! Tables as they were read, and what came of their cases.

use crate::span::Span;
use crate::value::{Map, Value};

/// One file of labelled cases. Paths are relative to the file's folder.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerTable {
    /// The first heading's text.
    pub title: String,
    /// The text below it; empty if none.
    pub description: String,
    /// The program's path.
    pub program: String,
    /// Where the program is named.
    pub program_span: Span,
    /// The path of a file of canned tools: a program that calls tools loads only where they are known.
    pub tools: Option<String>,
    /// What precision and recall of each trigger must reach, from 0 to 1; none: 1, every case is right.
    pub threshold: Option<f64>,
    /// Whether a trigger that is due and not judged is missed; `- strict: no` says that it is not.
    pub strict: bool,
    /// Settings, by the names they have in `playhouse.toml`.
    pub settings: Map,
    /// All rows of all tables, in the order written; never empty.
    pub cases: Vec<TriggerCase>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerCase {
    /// Its line, from 1.
    pub line: usize,
    /// Its place.
    pub span: Span,
    /// Values that were set before, in this order; what they made true has fired already.
    pub given: Vec<(String, Value)>,
    /// What happens, one after the other; never empty.
    pub updates: Vec<TriggerUpdate>,
    /// What fires on any of the updates; empty: nothing.
    pub fires: Vec<FiredName>,
    /// A remark; empty if none.
    pub note: String,
}

/// A trigger that fires, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredName {
    /// `Playbook` or `Playbook:T1`, with its agent before it or not; or the name of a skill.
    pub name: String,
    /// Its place.
    pub span: Span,
    /// It is a skill as that calls itself: what is meant is what begins the skill.
    pub is_skill: bool,
}

/// One update (spec `triggers.md`, "When a trigger fires").
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerUpdate {
    /// The user says something.
    User(String),
    /// A variable is set.
    Set(String, Value),
}

impl TriggerTable {
    /// What [`TriggerTable::threshold`] comes to.
    pub fn required(&self) -> f64 {
        self.threshold.unwrap_or(1.0)
    }
}

impl TriggerCase {
    /// What people call it: what happens, and what fires (`$n = 6 → GroupRate`).
    pub fn name(&self) -> String {
        let fired: Vec<&str> = self.fires.iter().map(|fired| &*fired.name).collect();
        let fires = if fired.is_empty() { "—".to_owned() } else { fired.join(", ") };
        format!("{} → {fires}", self.text())
    }

    /// What was given and what happens, as it can be written: `given $a = 1: $a = 2; user: "Hello"`.
    pub fn text(&self) -> String {
        let given: Vec<String> = self.given.iter().map(|(name, value)| set_text(name, value)).collect();
        let updates = self.updates.iter().map(|update| match update {
            TriggerUpdate::User(message) => format!("user: {}", Value::str(message.as_str()).to_json()),
            TriggerUpdate::Set(name, value) => set_text(name, value),
        });
        let updates = updates.collect::<Vec<_>>().join("; ");
        if given.is_empty() { updates } else { format!("given {}: {updates}", given.join("; ")) }
    }
}

fn set_text(name: &str, value: &Value) -> String {
    format!("${name} = {}", value.to_json())
}
