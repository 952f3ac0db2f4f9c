//! A scripted trigger classifier: verdicts from a file or from memory, chosen by what is asked. Shipped, not test
//! code: people test their programs with it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use playhouse_vm::protocol::{Judge, Question, Verdict};
use regex::Regex;

use crate::classify::prompt::question_text;
use crate::classify::{TriggerClassifier, VerdictFuture};
use crate::llm::LeftOver;
use crate::llm::script::Repeat;

/// A classifier that answers from a list; what no entry answers matches nothing.
#[derive(Debug)]
pub struct ScriptClassifier {
    name: Arc<str>,
    entries: Vec<ClassifierEntry>,
    /// How often each entry has answered. The lock is held for a choice only, never over an `await`.
    n_answered: Mutex<Vec<u64>>,
}

/// One verdict of a script, and when it is given.
#[derive(Clone, Debug, Default)]
pub struct ClassifierEntry {
    /// Where it is written, for messages (`line 4`); none: its number is enough.
    pub place: Option<Arc<str>>,
    /// Must match the text of the question ([`question_text`]); none: always matches.
    pub when: Option<Regex>,
    /// The triggers that match, by their ids (`Playbook:T1`). One that is no candidate does not.
    pub matched: Vec<Arc<str>>,
    /// Waited before the answer.
    pub delay: Duration,
    /// What goes wrong.
    pub error: Option<ClassifierError>,
    /// How often it may answer; once if nothing is said.
    pub repeat: Repeat,
}

/// What goes wrong with a scripted verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassifierError {
    /// The classifier fails, and why.
    Failed(Arc<str>),
    /// No answer ever comes.
    Hang,
}

impl ScriptClassifier {
    /// A script in memory. The name is used in messages.
    pub fn from_entries(name: &str, entries: Vec<ClassifierEntry>) -> ScriptClassifier {
        let n_answered = Mutex::new(vec![0; entries.len()]);
        ScriptClassifier { name: name.into(), entries, n_answered }
    }

    /// The ids of triggers that entries name, each with the entry for messages.
    pub fn named_triggers(&self) -> impl Iterator<Item = (&Arc<str>, String)> {
        let entries = self.entries.iter().enumerate();
        entries.flat_map(move |(index, entry)| entry.matched.iter().map(move |id| (id, self.render_entry(index))))
    }

    /// The first entry that is left and whose `when` matches.
    fn take(&self, question: &Question) -> Option<&ClassifierEntry> {
        let text = question_text(question);
        let mut n_answered = self.n_answered.lock().unwrap_or_else(PoisonError::into_inner);
        for (entry, n_answered) in self.entries.iter().zip(n_answered.iter_mut()) {
            if entry.repeat.is_open(*n_answered) && entry.when.as_ref().is_none_or(|when| when.is_match(&text)) {
                *n_answered += 1;
                return Some(entry);
            }
        }
        None
    }

    /// `script x.jsonl, line 3`.
    fn render_entry(&self, index: usize) -> String {
        match &self.entries[index].place {
            Some(place) => format!("script {}, {place}", self.name),
            None => format!("script {}, entry {}", self.name, index + 1),
        }
    }
}

impl TriggerClassifier for ScriptClassifier {
    fn id(&self) -> Arc<str> {
        format!("script:{}", self.name).into()
    }

    fn judge(&self, question: Arc<Question>) -> VerdictFuture {
        let entry = self.take(&question).cloned().unwrap_or_default();
        let is_matched = |name: &Arc<str>| entry.matched.contains(name);
        let matched = question.candidates.iter().filter(|candidate| is_matched(&candidate.name));
        let matched = matched.map(|candidate| candidate.trigger).collect();
        let verdict = Verdict::Judged { by: Judge::Script, matched, abstained: Vec::new(), usage: None };
        Box::pin(async move {
            if !entry.delay.is_zero() {
                tokio::time::sleep(entry.delay).await;
            }
            match entry.error {
                None => verdict,
                Some(ClassifierError::Failed(reason)) => Verdict::Failed { reason },
                Some(ClassifierError::Hang) => std::future::pending().await,
            }
        })
    }

    fn replayed(&self, question: &Question) {
        // A question that nothing answers now was answered then, by a script that has been edited since.
        let _ = self.take(question);
    }

    fn left_over(&self) -> Vec<LeftOver> {
        let n_answered = self.n_answered.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = n_answered.iter().enumerate().filter(|(_, n_answered)| **n_answered == 0);
        let told =
            |index| LeftOver { message: format!("{} was never used", self.render_entry(index)), is_failure: false };
        unused.map(|(index, _)| told(index)).collect()
    }
}
