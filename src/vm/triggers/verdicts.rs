//! What the classifier has answered, so that the same is not asked twice (spec `triggers.md`, "When a trigger
//! fires").

use std::hash::{DefaultHasher, Hasher};

use indexmap::IndexMap;
use playhouse_lang::program::TriggerId;

use crate::protocol::{USER_MESSAGE, Update};

/// Answers by trigger and the values that were shown. The oldest are forgotten first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    answers: IndexMap<(TriggerId, Key), bool>,
}

impl Verdicts {
    /// What was answered; a user's message is judged anew each time, for the same words may mean something else.
    pub(crate) fn known(&self, trigger: TriggerId, updates: &[Update]) -> Option<bool> {
        self.answers.get(&(trigger, key(updates)?)).copied()
    }

    /// Notes an answer. What did not match together does not match one by one.
    pub(crate) fn learn(&mut self, trigger: TriggerId, updates: &[Update], matches: bool, limit: usize) {
        self.learn_one(trigger, updates, matches, limit);
        for update in updates.iter().filter(|_| !matches && updates.len() > 1) {
            self.learn_one(trigger, std::slice::from_ref(update), matches, limit);
        }
    }

    fn learn_one(&mut self, trigger: TriggerId, updates: &[Update], matches: bool, limit: usize) {
        let Some(key) = key(updates) else { return };
        if limit == 0 {
            return;
        }
        while self.answers.len() >= limit {
            self.answers.shift_remove_index(0);
        }
        self.answers.insert((trigger, key), matches);
    }

    /// Takes the answers over to other triggers; those about triggers that are gone are forgotten.
    pub(crate) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) {
        let answers = std::mem::take(&mut self.answers);
        let same = |((id, key), matches)| Some(((trigger(id)?, key), matches));
        self.answers = answers.into_iter().filter_map(same).collect();
    }
}

/// A fingerprint of the values that were shown: what is remembered takes as much memory whatever their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u64, u64);

fn key(updates: &[Update]) -> Option<Key> {
    let mut text = Vec::new();
    for update in updates {
        if &*update.name == USER_MESSAGE {
            return None;
        }
        // Names hold no space, and JSON on one line no line break, so two different lists are different texts.
        text.extend_from_slice(update.name.as_bytes());
        text.push(b' ');
        match &update.old {
            Some(old) => old.write_json(&mut text),
            None => text.push(b'-'),
        }
        text.push(b' ');
        update.new.write_json(&mut text);
        text.push(b'\n');
    }
    // Two hashes, apart by their first byte: the same on every machine, and 128 bits together.
    let hash = |first| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(first);
        hasher.write(&text);
        hasher.finish()
    };
    Some(Key(hash(0), hash(1)))
}
