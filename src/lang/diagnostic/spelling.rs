//! What a name that nothing has was probably meant to be.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// What all comparisons of one [`Spelling`] may cost together, in bytes of one name times bytes of the other.
const MAX_WORK: usize = 20_000_000;

/// Compares names, up to a bound for all comparisons together: nobody reads thousands of suggestions, and finding
/// them must not cost more than the program itself. What is compared after that is like nothing.
#[derive(Debug)]
pub struct Spelling {
    work_left: Cell<usize>,
}

impl Default for Spelling {
    fn default() -> Self {
        Spelling { work_left: MAX_WORK.into() }
    }
}

impl Spelling {
    /// The candidate that differs least from `name`, whatever the case of letters: in at most a third of the letters
    /// of the longer one. Of several the first by the alphabet.
    pub fn nearest<S: AsRef<str> + Ord>(&self, name: &str, candidates: impl Iterator<Item = S>) -> Option<S> {
        let (wanted, wanted_letters) = (name.to_lowercase(), letters(name));
        let distance = |candidate: &str| {
            let allowed = name.len().max(candidate.len()) / 3;
            let mut work = 1;
            let mut distance = None;
            if candidate.len().abs_diff(name.len()) <= allowed {
                work += candidate.len();
                let letters = letters(candidate);
                // One change takes one letter away at most, and brings one.
                let n_other = (letters & !wanted_letters).count_ones().max((wanted_letters & !letters).count_ones());
                if n_other as usize <= allowed {
                    work += name.len().saturating_mul(candidate.len());
                    let has_budget = work <= self.work_left.get();
                    distance = has_budget.then(|| strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()));
                }
            }
            self.work_left.set(self.work_left.get().saturating_sub(work));
            distance.filter(|distance| *distance <= allowed)
        };
        let near = candidates.take_while(|_| self.work_left.get() > 0);
        near.filter_map(|candidate| Some((distance(candidate.as_ref())?, candidate))).min().map(|(_, found)| found)
    }

    /// What the comparisons have cost so far; never more than the bound.
    pub fn work(&self) -> usize {
        MAX_WORK - self.work_left.get()
    }
}

/// The candidate that `name` was probably meant to be, of a list for this one name: see [`Spelling::nearest`].
pub fn nearest<S: AsRef<str> + Ord>(name: &str, candidates: impl Iterator<Item = S>) -> Option<S> {
    Spelling::default().nearest(name, candidates)
}

/// Which letters occur, as bits; several letters share one.
fn letters(text: &str) -> u32 {
    text.chars().flat_map(char::to_lowercase).fold(0, |bits, letter| bits | 1 << (u32::from(letter) % 32))
}

/// Words, each found by what it is without one of its letters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    /// By the hash of that; what merely has the same hash is sorted out by a comparison.
    by_rest: HashMap<u64, Vec<Arc<str>>>,
}

impl Vocabulary {
    /// Of words in small letters.
    pub(crate) fn new(words: impl Iterator<Item = String>) -> Vocabulary {
        let mut by_rest: HashMap<u64, Vec<Arc<str>>> = HashMap::new();
        for word in words.map(Arc::from) {
            for rest in rests(&word) {
                let known = by_rest.entry(rest).or_default();
                if !known.contains(&word) {
                    known.push(word.clone());
                }
            }
        }
        Vocabulary { by_rest }
    }

    /// Whether `word` is one of them.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.by_rest.get(&hash(word, "")).is_some_and(|known| known.iter().any(|known| **known == *word))
    }

    /// The words that differ from `word` by one letter, or by two that changed places.
    pub(crate) fn like<'v>(&'v self, word: &'v str) -> impl Iterator<Item = &'v str> {
        let found = rests(word).filter_map(|rest| self.by_rest.get(&rest)).flatten();
        found.map(|known| &**known).filter(move |known| strsim::osa_distance(word, known) == 1)
    }
}

/// The hashes of a word, which comes first, and of what it is without each of its letters.
pub(crate) fn rests(word: &str) -> impl Iterator<Item = u64> {
    let without = |(at, letter): (usize, char)| hash(&word[..at], &word[at + letter.len_utf8()..]);
    std::iter::once(hash(word, "")).chain(word.char_indices().map(without))
}

/// The hash of a text in two pieces (FNV-1a, which costs a multiplication a byte and no memory).
pub(crate) fn hash(first: &str, second: &str) -> u64 {
    let bytes = first.bytes().chain(second.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
