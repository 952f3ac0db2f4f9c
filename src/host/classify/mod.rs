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
mod shortlist;

use std::pin::Pin;
use std::sync::Arc;

use playhouse_lang::program::{Program, Trigger, TriggerKind};
use playhouse_vm::protocol::{Question, Verdict};

use crate::llm::LeftOver;
use crate::text::{cut, first_few, one_line};

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

    /// Whether it can never say anything of a trigger in these words, whatever happens.
    fn abstains(&self, words: &str) -> bool {
        let _ = words;
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

/// The triggers of a program that the classifier is asked about.
pub fn semantic_triggers(program: &Program) -> impl Iterator<Item = &Trigger> {
    let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
    triggers.filter(|trigger| trigger.kind == TriggerKind::Semantic)
}

/// What its author is told of a program before it begins: which triggers can never fire with this classifier. None: all
/// can.
pub fn never_judged(program: &Program, classifier: &dyn TriggerClassifier) -> Option<String> {
    const MAX_SHOWN: usize = 6;
    const MAX_WORDS: usize = 60;
    let words = |trigger: &Trigger| cut(&one_line(&trigger.text), MAX_WORDS);
    let unjudged = semantic_triggers(program).filter(|trigger| classifier.abstains(&trigger.text));
    let told = unjudged.map(|trigger| format!("{} ({})", program.trigger_name(trigger.id), words(trigger)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| {
        format!(
            "classifier {} cannot judge these triggers, so they never fire: {}; a model can: --classifier model, or \
             model:ID",
            classifier.id(),
            first_few(&told, MAX_SHOWN)
        )
    })
}
