//! What a provider's cache of prompts held, and what a perfect one could hold: of each request the longest beginning
//! that some earlier request of the session has, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_vm::protocol::{ChatMessage, Role};
use serde::Serialize;

use crate::cassette::key::{blocks, heading};

/// What there was to be cached. As JSON a public interface: fields are added, never changed or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// Tokens of the requests.
    pub prompt_tokens: u64,
    /// Of these, tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// Of these, tokens that a perfect cache would have had: by bytes, so an estimate.
    pub possible_tokens: u64,
    /// Where requests stopped to be like an earlier one that went on, by block: the tokens from there to their ends.
    pub lost: BTreeMap<String, u64>,
}

/// How much of a request an earlier one has had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// The bytes of all its messages.
    pub(super) n_bytes: u64,
    /// The bytes of its beginning that are known.
    pub(super) n_known: u64,
    /// The block in which it differs from a request that went on otherwise; none: it only goes on.
    pub(super) differs_in: Option<String>,
}

/// The requests of a session, by their messages.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// What came next after the messages up to here.
    next: Vec<(ChatMessage, Requests)>,
}

impl Cache {
    /// Takes a request that was answered.
    pub(super) fn add(&mut self, known: &Known, prompt_tokens: u64, cached_tokens: u64) {
        let share = u128::from(prompt_tokens) * u128::from(known.n_known) / u128::from(known.n_bytes.max(1));
        let possible = u64::try_from(share).unwrap_or(prompt_tokens);
        self.prompt_tokens += prompt_tokens;
        self.cached_tokens += cached_tokens;
        self.possible_tokens += possible;
        if let Some(block) = &known.differs_in {
            *self.lost.entry(block.clone()).or_default() += prompt_tokens - possible;
        }
    }

    /// The block where most was lost.
    pub fn lost_at(&self) -> Option<(&str, u64)> {
        let most = self.lost.iter().max_by_key(|(_, n_tokens)| **n_tokens);
        most.filter(|(_, n_tokens)| **n_tokens > 0).map(|(block, n_tokens)| (&**block, *n_tokens))
    }
}

impl Requests {
    /// Takes a request.
    pub(super) fn add(&mut self, messages: &[ChatMessage]) -> Known {
        let n_bytes = messages.iter().map(|message| message.text.len() as u64).sum();
        let mut known = Known { n_bytes, ..Known::default() };
        let (mut node, mut rest) = (self, messages);
        while let Some((message, after)) = rest.split_first() {
            let Some(index) = node.next.iter().position(|(other, _)| other == message) else { break };
            known.n_known += message.text.len() as u64;
            (node, rest) = (&mut node.next[index].1, after);
        }
        let Some((message, after)) = rest.split_first() else { return known };
        let alike = |other: &ChatMessage| match other.role == message.role {
            true => n_alike(&other.text, &message.text),
            false => 0,
        };
        if let Some((other, n_alike)) =
            node.next.iter().map(|(other, _)| (other, alike(other))).max_by_key(|(_, n_alike)| *n_alike)
        {
            known.n_known += n_alike as u64;
            // A message that was only longer this time is no loss.
            if n_alike < other.text.len() {
                known.differs_in = Some(block_at(message.role, &message.text, n_alike));
            }
        }
        node.next.push((message.clone(), Requests::of(after)));
        known
    }

    fn of(messages: &[ChatMessage]) -> Requests {
        let next = messages.split_first().map(|(message, after)| (message.clone(), Requests::of(after)));
        Requests { next: next.into_iter().collect() }
    }
}

/// How many bytes two texts have in common from their beginning.
fn n_alike(a: &Arc<str>, b: &Arc<str>) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// What people call the block that a byte of a message stands in.
fn block_at(role: Role, text: &str, at: usize) -> String {
    let mut end = 0;
    let blocks = blocks(role, text);
    let found = blocks.iter().find(|block| {
        end += block.len();
        at < end
    });
    heading(role, found.or(blocks.last()).copied().unwrap_or_default())
}
