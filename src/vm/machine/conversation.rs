//! What has been said in a session.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::protocol::view::Utterance;

/// The last utterances of the session, and how many there were before them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) utterances: VecDeque<Utterance>,
    pub(crate) n_forgotten: u64,
    /// The user's first words, with their number: what the session is about.
    pub(crate) first_words: Option<(u64, Utterance)>,
}

impl Conversation {
    pub(crate) fn push(&mut self, by_user: bool, text: Arc<str>, keep: usize) {
        if by_user && self.first_words.is_none() {
            self.first_words = Some((self.n_total(), Utterance { by_user, text: text.clone() }));
        }
        self.utterances.push_back(Utterance { by_user, text });
        while self.utterances.len() > keep.max(1) {
            self.utterances.pop_front();
            self.n_forgotten += 1;
        }
    }

    /// How many have been said before and with the last.
    pub(crate) fn n_total(&self) -> u64 {
        self.n_forgotten + self.utterances.len() as u64
    }

    /// The utterances from the `first` of the session on with their numbers, as far as they are remembered.
    pub(crate) fn since(&self, first: u64) -> impl Iterator<Item = (u64, &Utterance)> {
        (self.n_forgotten..).zip(&self.utterances).skip_while(move |(number, _)| *number < first)
    }
}
