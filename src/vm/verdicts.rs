//! What the classifier has answered, so that the same is not asked twice (spec `triggers.md`, "When a trigger
//! fires").

use std::fmt::Write as _;

use indexmap::IndexMap;
use playhouse_lang::program::TriggerId;

use crate::protocol::{USER_MESSAGE, Update};

/// Answers by trigger and the values that were shown. The oldest are forgotten first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    answers: IndexMap<(TriggerId, String), bool>,
}

impl Verdicts {
    /// What was answered; a user's message is judged anew each time, for the same words may mean something else.
    pub(crate) fn known(&self, trigger: TriggerId, updates: &[Update]) -> Option<bool> {
        self.answers.get(&(trigger, key(updates)?)).copied()
    }

    /// Notes an answer.
    pub(crate) fn learn(&mut self, trigger: TriggerId, updates: &[Update], matches: bool, limit: usize) {
        let Some(key) = key(updates) else { return };
        if limit == 0 {
            return;
        }
        while self.answers.len() >= limit {
            self.answers.shift_remove_index(0);
        }
        self.answers.insert((trigger, key), matches);
    }
}

impl Verdicts {
    /// Takes the answers over to other triggers; those about triggers that are gone are forgotten.
    pub(crate) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) {
        let answers = std::mem::take(&mut self.answers);
        let same = |((id, key), matches)| Some(((trigger(id)?, key), matches));
        self.answers = answers.into_iter().filter_map(same).collect();
    }
}

fn key(updates: &[Update]) -> Option<String> {
    let mut key = String::new();
    for update in updates {
        if &*update.name == USER_MESSAGE {
            return None;
        }
        let old = update.old.as_ref().map(playhouse_lang::value::Value::to_json);
        // Names hold no space, and JSON on one line no line break, so two different lists have different keys.
        let _ = writeln!(key, "{} {} {}", update.name, old.as_deref().unwrap_or("-"), update.new.to_json());
    }
    Some(key)
}
