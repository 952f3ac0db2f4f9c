//! A model as trigger classifier: one request with all candidates, answered by a list of their ids.
//!
//! The answer is read tolerantly, because small models write around it: fences, prose, think blocks, an object
//! around the list. What names no candidate is ignored; only an answer without any list is a failure.

use std::sync::Arc;

use playhouse_lang::program::TriggerId;
use playhouse_vm::protocol::{Candidate, Judge, Question, Verdict};
use serde_json::Value as Json;

use crate::classify::shortlist::shortened;
use crate::classify::{TriggerClassifier, VerdictFuture, prompt};
use crate::llm::answer::{json_in, read};
use crate::llm::{Llm, LlmRequest, Purpose, behind_think};
use crate::text::shorten;

/// Bytes of an answer, think blocks included. A model that writes more is not answering.
const MAX_BYTES: usize = 1 << 18;

/// Of an answer without a list so many characters are shown.
const SHOWN_CHARACTERS: usize = 200;

/// Asks a model.
#[derive(Clone)]
pub struct ModelClassifier {
    llm: Arc<dyn Llm>,
    /// Characters of descriptions of skills that it is shown.
    budget: usize,
}

impl ModelClassifier {
    /// A classifier that asks this model, which may be the session's own.
    pub fn new(llm: Arc<dyn Llm>) -> ModelClassifier {
        ModelClassifier { llm, budget: usize::MAX }
    }

    /// The same, which is shown so many characters of descriptions of skills; of more, some skills.
    #[must_use]
    pub fn with_budget(self, budget: usize) -> ModelClassifier {
        ModelClassifier { budget, ..self }
    }

    fn request(&self, question: &Question) -> LlmRequest {
        let messages = prompt::messages(&shortened(question, self.budget));
        LlmRequest { purpose: Purpose::Classifier, messages, schema: None, turn: None }
    }
}

impl TriggerClassifier for ModelClassifier {
    fn id(&self) -> Arc<str> {
        format!("model:{}", self.llm.id()).into()
    }

    fn asks_model(&self) -> bool {
        true
    }

    fn judge(&self, question: Arc<Question>) -> VerdictFuture {
        let reply = self.llm.request(self.request(&question));
        Box::pin(async move {
            match read(reply, MAX_BYTES).await {
                Ok((text, usage)) => match read_answer(&text, &question.candidates) {
                    Some(matched) => Verdict::Judged { by: Judge::Model, matched, abstained: Vec::new(), usage },
                    None => {
                        let shown = serde_json::to_string(&*shorten(&text, SHOWN_CHARACTERS)).unwrap_or_default();
                        let reason = format!(
                            "the answer holds no list of trigger ids: {shown}; choose a larger model with --classifier \
                             model:ID"
                        );
                        Verdict::Failed { reason: reason.into() }
                    }
                },
                Err(failure) => Verdict::Failed { reason: failure.reason },
            }
        })
    }

    fn replayed(&self, question: &Question) {
        self.llm.replayed(&self.request(question));
    }
}

/// The candidates that an answer names, in the question's order; none if there is no list in it.
pub fn read_answer(text: &str, candidates: &[Candidate]) -> Option<Vec<TriggerId>> {
    // The last list: models that explain themselves come to the result at the end.
    let names = json_in(behind_think(text)).into_iter().rev().find_map(list_in)?;
    let named: Vec<TriggerId> = names.iter().filter_map(|name| find_candidate(name, candidates)).collect();
    let in_order = candidates.iter().map(|candidate| candidate.trigger);
    Some(in_order.filter(|trigger| named.contains(trigger)).collect())
}

/// The texts of a list, or of the first list that an object holds.
fn list_in(value: Json) -> Option<Vec<String>> {
    match value {
        Json::Array(items) => items
            .into_iter()
            .map(|item| if let Json::String(text) = item { Some(text) } else { None })
            .collect::<Option<Vec<String>>>(),
        Json::Object(members) => {
            members.into_iter().filter(|(_, member)| member.is_array()).find_map(|(_, m)| list_in(m))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}

/// The candidate that is meant: by its whole id, or by the part before or after the colon if that is only one's.
fn find_candidate(name: &str, candidates: &[Candidate]) -> Option<TriggerId> {
    let name = name.trim();
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut fitting = candidates.iter().filter(|candidate| fits(&candidate.name));
        fitting.next().filter(|_| fitting.next().is_none()).map(|candidate| candidate.trigger)
    };
    let part = |id: &str, is_first: bool| {
        let parts = id.rsplit_once(':');
        parts.is_some_and(|(playbook, number)| if is_first { playbook } else { number }.eq_ignore_ascii_case(name))
    };
    let exact = candidates.iter().find(|candidate| &*candidate.name == name).map(|candidate| candidate.trigger);
    exact
        .or_else(|| only(&|id| id.eq_ignore_ascii_case(name)))
        .or_else(|| only(&|id| part(id, true)))
        .or_else(|| only(&|id| part(id, false)))
}
