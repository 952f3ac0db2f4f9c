//! What triggers make of an update outside of any session: for tables of labelled cases
//! (spec `cli.md`, `test`).

use std::sync::Arc;

use indexmap::IndexMap;
use playhouse_lang::program::{AgentId, PlaybookId, Program, TriggerId, TriggerIndex, TriggerKind};
use playhouse_lang::value::{Map, Value};

use crate::protocol::{FrameId, Location, Origin, Place, Question, QuestionId, Ruling, Tracked, USER_MESSAGE, Update};
use crate::triggers::questions::candidate;
use crate::triggers::truths::{Truths, command_in, is_update};
use crate::variables::eval::Lookup;

/// What came of the updates of a [`Trial`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// The triggers that the interpreter itself judges and that fire, in the order of the updates.
    pub fired: Vec<TriggerId>,
    /// What the classifier is to be asked about the updates, if it is concerned.
    pub question: Option<Question>,
}

/// Values before, and what changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// The variables that are declared: nobody has judged their first values.
    pub declared: Map,
    /// What is set before, in order: conditions that it makes true are true already.
    pub given: Vec<(Arc<str>, Value)>,
    /// Names and new values, in order. `user_message` is a message of the user's.
    pub updates: Vec<(Arc<str>, Value)>,
}

impl Lookup for IndexMap<Arc<str>, Tracked> {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        self.get(name)
    }
}

impl Trial {
    /// Judges the updates one after the other as a session of `agent` would, with no playbook running and no trigger
    /// active: conditions by their expressions, `… changes` by the values; semantic triggers become one question. `index`
    /// is what the agent waits for.
    ///
    /// # Panics
    /// If `agent` is of another program.
    pub fn run(&self, program: &Program, agent: AgentId, index: &TriggerIndex) -> Tried {
        let mut truths = Truths::default();
        let tracked = |value: &Value| Tracked::new(value.clone(), Origin::CODE);
        let mut values: IndexMap<_, _> =
            self.declared.iter().map(|(name, value)| (name.clone(), tracked(value))).collect();
        for (name, value) in &self.given {
            let old = values.insert(name.clone(), tracked(value)).map(Tracked::into_value);
            for id in index.naming(name) {
                truths.judge(program, *id, old.is_some(), &values);
            }
        }
        let mut tried = Tried::default();
        let (mut updates, mut candidates, mut user): (Vec<Update>, Vec<TriggerId>, _) = (Vec::new(), Vec::new(), None);
        for (name, value) in &self.updates {
            let old = values.insert(name.clone(), tracked(value)).map(Tracked::into_value);
            if !is_update(name, old.as_ref(), value) {
                continue;
            }
            if &**name == USER_MESSAGE {
                user = Some(value.to_text().into());
            }
            let naming = index.naming(name);
            if let Some((id, _)) = command_in(program, naming, &tracked(value)) {
                tried.fired.extend((!tried.fired.contains(&id)).then_some(id));
                continue;
            }
            for id in naming {
                let ruling = truths.judge(program, *id, old.is_some(), &values);
                // Once: it is active from then on.
                if ruling == Some(Ruling::Match) && !tried.fired.contains(id) {
                    tried.fired.push(*id);
                }
            }
            let is_semantic = |id: &&TriggerId| program.trigger(**id).kind == TriggerKind::Semantic;
            candidates.extend(naming.iter().chain(&index.at_turn_end).filter(is_semantic));
            updates.push(Update { name: name.clone(), old, new: value.clone() });
        }
        candidates.sort_unstable();
        candidates.dedup();
        if !candidates.is_empty() {
            let playbook = program.agent(agent).playbooks.first().copied().unwrap_or(PlaybookId(0));
            let location = Location::Line { playbook, step: None };
            tried.question = Some(Question {
                question: QuestionId(1),
                place: Place { frame: FrameId(0), agent, location, depth: 0, turn: None },
                candidates: candidates.iter().map(|id| candidate(program, *id)).collect(),
                updates,
                user,
                active: Vec::new(),
            });
        }
        tried
    }
}
