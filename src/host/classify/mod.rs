//! Trigger classifiers: one trait, several ways to judge (spec `triggers.md`, "The classifier").
//!
//! A classifier that fails is a verdict for the machine, never a Rust error of ours (DESIGN.md, invariant 10).

pub mod model;
pub mod off;
pub mod prompt;
pub mod questions;
pub mod recorded;
pub mod rules;
pub mod script;
mod script_file;
pub mod shortlist;

use std::pin::Pin;
use std::sync::Arc;

use crate::host::llm::LeftOver;
use crate::lang::program::{Program, TriggerKind};
use crate::vm::protocol::{Question, Verdict};

/// A verdict on its way. One that is there at the first poll costs its session no delay; dropping it gives the
/// question up.
pub type VerdictFuture = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// What judges semantic triggers.
pub trait TriggerClassifier: Send + Sync {
    /// The classifier's id as people write it after `--classifier` (`rules`, `model:openai:gpt-4.1-nano`).
    fn id(&self) -> Arc<str>;

    /// Whether a model is asked, which costs tokens.
    fn asks_model(&self) -> bool {
        false
    }

    /// Judges which candidates the question's updates make true. How long that may take is the session's matter
    /// (`classifier_timeout`): [`Verdict::TimedOut`] is its word, not the classifier's.
    fn judge(&self, question: Arc<Question>) -> VerdictFuture;

    /// A question that was answered before this process began (found while a journal was replayed). Scripted
    /// classifiers count it as answered; others have nothing to do.
    fn replayed(&self, question: &Question) {
        let _ = question;
    }

    /// What is left over when a session ends and should be told to the user: unused script entries.
    fn left_over(&self) -> Vec<LeftOver> {
        Vec::new()
    }
}

/// Whether a program has triggers that the classifier is asked about.
pub fn has_semantic_triggers(program: &Program) -> bool {
    program
        .playbooks
        .iter()
        .flat_map(|playbook| &playbook.triggers)
        .any(|trigger| trigger.kind == TriggerKind::Semantic)
}
