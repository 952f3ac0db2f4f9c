//! What was spent, as a tree of playbooks and lines.

use std::ops::AddAssign;
use std::sync::Arc;

use serde::Serialize;

use crate::profile::cache::Cache;

/// What some sessions have spent together.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// How many sessions.
    pub n_sessions: u64,
    /// How often their models were asked for a turn.
    pub n_turns: u64,
    /// Below a root without a name: the playbooks that sessions began with, what those called, their lines, and under
    /// each line what it was spent on.
    pub root: Node,
    /// What a cache of prompts held and could hold.
    pub cache: Cache,
    /// Some servers did not count: those tokens are estimates.
    pub is_estimated: bool,
    /// Models whose prices are not known, so that the cost is that of the others.
    pub unpriced: Vec<String>,
}

/// What was spent at one place. As JSON a public interface: fields are added, never changed or removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Tokens of requests.
    pub prompt_tokens: u64,
    /// Of these, tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens of replies.
    pub completion_tokens: u64,
    /// Milliseconds.
    pub ms: u64,
    /// In whatever currency `[prices]` is.
    pub cost: f64,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Measure {
    /// Tokens of requests and replies.
    Tokens,
    /// Milliseconds.
    Time,
    /// Money.
    Cost,
}

/// What a node of the tree is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Part {
    /// A playbook or plan.
    #[default]
    Playbook,
    /// A line of it; what it has spent itself are the tokens of what the model has written for it.
    Line,
    /// A block of a turn's request.
    Prompt,
    /// What the model has written and nobody has used.
    Dropped,
    /// Waiting for the model.
    Model,
    /// Waiting for a tool, or its own questions to a model.
    Tool,
    /// Questions to the trigger classifier.
    Classifier,
    /// Questions of plans to the model.
    Question,
    /// Waiting for a person.
    User,
    /// Waiting for a time.
    Timer,
}

/// A step down the tree.
pub type Step = (Part, Arc<str>);

/// A place in the tree. As JSON a public interface: fields are added, never changed or removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Node {
    /// What it is.
    pub part: Part,
    /// Its name: the playbook's, `03 Tell the user`, `VARIABLES`.
    pub name: Arc<str>,
    /// What it has spent itself, without what is below it.
    pub spent: Spent,
    /// What is below it, in the order in which it was first come to.
    #[serde(rename = "below")]
    pub children: Vec<Node>,
}

impl Node {
    /// The node below this one that these steps lead to; it is made if it is not there.
    pub(super) fn at(&mut self, path: &[Step]) -> &mut Node {
        let Some(((part, name), rest)) = path.split_first() else { return self };
        let found = self.children.iter().position(|child| child.part == *part && child.name == *name);
        let index = found.unwrap_or_else(|| {
            let (part, name) = (*part, name.clone());
            self.children.push(Node { part, name, ..Node::default() });
            self.children.len() - 1
        });
        self.children[index].at(rest)
    }

    /// What it and everything below it have spent.
    pub fn total(&self) -> Spent {
        let mut total = self.spent;
        self.children.iter().for_each(|child| total += child.total());
        total
    }
}

impl Spent {
    /// Those of requests and replies.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }

    /// How much that is, in tokens, milliseconds or money.
    #[allow(clippy::cast_precision_loss, reason = "2^53 tokens or milliseconds are more than anybody spends")]
    pub fn of(&self, measure: Measure) -> f64 {
        match measure {
            Measure::Tokens => self.tokens() as f64,
            Measure::Time => self.ms as f64,
            Measure::Cost => self.cost,
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Spent) {
        self.prompt_tokens += more.prompt_tokens;
        self.cached_tokens += more.cached_tokens;
        self.completion_tokens += more.completion_tokens;
        self.ms += more.ms;
        self.cost += more.cost;
    }
}

/// Tokens for parts of a text by their bytes: whole numbers whose sum is the whole.
pub(super) struct Shares {
    n_tokens: u64,
    n_bytes: u64,
    n_seen: u64,
}

impl Shares {
    pub(super) fn new(n_tokens: u64, n_bytes: u64) -> Shares {
        Shares { n_tokens, n_bytes, n_seen: 0 }
    }

    /// The tokens up to here, counted from the text's beginning: from, to.
    pub(super) fn take(&mut self, n_bytes: u64) -> (u64, u64) {
        let from = self.up_to(self.n_seen);
        self.n_seen = (self.n_seen + n_bytes).min(self.n_bytes);
        (from, self.up_to(self.n_seen))
    }

    fn up_to(&self, n_bytes: u64) -> u64 {
        let share = u128::from(self.n_tokens) * u128::from(n_bytes) / u128::from(self.n_bytes.max(1));
        u64::try_from(share).unwrap_or(self.n_tokens)
    }
}
