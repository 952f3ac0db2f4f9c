//! SmolLM2 in the process: it fills the places that the executor's patterns and templates leave open.
//!
//! What it does is small, because it is small. *Extraction*: a value is quoted out of the user's message; the grammar
//! allows nothing but a quote, and where the model is not sure the slot stays open. *Wording*: the template of a
//! greeting is said in a friendlier way, under a grammar and the checks of [`phrase`]; all other acts stay with their
//! templates. How often that is right stands in `benches/README.md`.
//!
//! The same slot gives the same answer, whatever was asked before: the likeliest token is taken each time, on one
//! thread, and a prompt is always read in the same pieces. The examples with which a prompt begins are read once, and
//! each slot starts from there; slots have nothing else in common that would be worth keeping, not even those of one
//! frame, for the question and the words of the user differ.

mod eight_bit;
mod error;
mod generate;
pub mod gguf;
pub mod grammar;
mod lazy;
mod model;
pub mod phrase;
pub mod prompts;
pub mod quote;
mod thread;
mod vocabulary;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub use self::error::WeightsError;
use self::generate::{Generated, generate};
use self::gguf::{FAMILY, Shape};
pub use self::lazy::{Lazy, Status};
use self::model::State;
use self::prompts::{Kind, Prompt};
use self::quote::Pieces;
use self::vocabulary::Vocabulary;
use super::slots::{Extraction, Phrasing, SlotFiller, Stop};

/// A value that the model was less sure of is not taken. Found by trying: below, more were wrong than right.
const LEAST_CERTAINTY: f32 = -1.0;

/// Of longer messages no value is extracted: reading one word takes some 15 ms.
const MOST_WORDS: usize = 150;

/// What follows the examples of a prompt is not longer, in tokens.
const MOST_TOKENS: usize = 400;

/// A generated text is not longer, in tokens.
const LENGTH: usize = 100;

/// The model, loaded.
pub struct Weights {
    shape: Shape,
    vocabulary: Vocabulary,
    fresh: State,
    /// The model after the examples of a prompt: made once, then cloned.
    extracting: Mutex<Option<State>>,
    phrasing: Mutex<Option<State>>,
}

/// A text that was gone on with ([`Weights::complete`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What was written.
    pub text: String,
    /// Tokens that were read.
    pub n_read: usize,
    /// Tokens that were written.
    pub n_written: usize,
}

/// Whether a file holds SmolLM2, by what it says of itself: its tensors are not read.
///
/// # Errors
/// As for [`Weights::load`].
pub fn check(path: &Path) -> Result<(), WeightsError> {
    let opened = {
        let path = path.to_owned();
        thread::run(move || gguf::open(&path, &FAMILY).map(|_| ()))
    };
    opened.ok_or_else(|| WeightsError::damaged(path, "its header can't be used"))?
}

impl Weights {
    /// Loads SmolLM2 from a GGUF file; takes about a second, and 300 MB of memory for the smallest one.
    ///
    /// # Errors
    /// The file can't be read, is damaged or holds another model: one line for people.
    pub fn load(path: &Path) -> Result<Weights, WeightsError> {
        Weights::load_as(path, &FAMILY)
    }

    /// Loads a model of one of these shapes, with SmolLM2's kind of tokenizer.
    ///
    /// # Errors
    /// As for [`Weights::load`].
    pub fn load_as(path: &Path, shapes: &[Shape]) -> Result<Weights, WeightsError> {
        let damaged = |why: &str| WeightsError::damaged(path, why);
        let opened = {
            let (path, shapes) = (path.to_owned(), shapes.to_vec());
            thread::run(move || gguf::open(&path, &shapes))
        };
        let (content, tensors) = opened.ok_or_else(|| damaged("its header can't be used"))??;
        let shape = tensors.shape;
        // The two take about as long.
        let (vocabulary, weights) = std::thread::scope(|scope| {
            let vocabulary = scope.spawn(|| Vocabulary::new(&content, &shape));
            let weights = thread::run(move || eight_bit::load(tensors));
            (vocabulary.join(), weights)
        });
        let vocabulary = vocabulary.map_err(|_| damaged("its tokens can't be used"))?;
        let vocabulary = vocabulary.map_err(|why| damaged(&why))?;
        let weights = weights.ok_or_else(|| damaged("its tensors can't be used"))?;
        let weights = weights.map_err(|error| damaged(&error.to_string()))?;
        let fresh = State::new(weights);
        Ok(Weights { shape, vocabulary, fresh, extracting: Mutex::default(), phrasing: Mutex::default() })
    }

    /// Reads the examples of the prompts, so that the first slots need not wait for that.
    pub fn prepare(&self, stop: &Stop) {
        for kind in [Kind::Phrase, Kind::Extract] {
            self.after_examples(kind, stop);
        }
    }

    /// Goes on with a text until it is over, or `most` tokens are written: what the model is by itself. Of a text
    /// under a grammar (as in [`grammar`]) nothing is given that the grammar does not allow as a whole. None: stopped,
    /// too long, or not finished under the grammar.
    pub fn complete(&self, text: &str, grammar: Option<&str>, most: usize, stop: &Stop) -> Option<Completion> {
        let read = self.vocabulary.encode(text);
        let mut state = self.fresh.clone().read(&read, stop)?;
        let n_read = read.len();
        if let Some(grammar) = grammar {
            let Generated { text, n_tokens, .. } = generate(&self.vocabulary, state, grammar, most, stop)?;
            return Some(Completion { text, n_read, n_written: n_tokens });
        }
        let mut written = Vec::new();
        while written.len() < most {
            let token = generate::likeliest(&state.logits, |_| true)?;
            if token == self.vocabulary.end() {
                break;
            }
            written.push(token);
            state = state.read(&[token], stop)?;
        }
        Some(Completion { text: self.vocabulary.decode(&written), n_read, n_written: written.len() })
    }

    /// The model after the examples of a prompt.
    fn after_examples(&self, kind: Kind, stop: &Stop) -> Option<State> {
        let place = match kind {
            Kind::Extract => &self.extracting,
            Kind::Phrase => &self.phrasing,
        };
        // A second slot waits for the first to read them.
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_none() {
            *place = self.fresh.clone().read(&self.vocabulary.encode(kind.beginning()), stop);
        }
        place.clone()
    }

    /// What the model writes after a prompt.
    fn answer(&self, kind: Kind, prompt: &Prompt, grammar: &str, stop: &Stop) -> Option<Generated> {
        let rest = self.vocabulary.encode(&prompt.rest);
        if rest.len() > MOST_TOKENS {
            return None;
        }
        let state = self.after_examples(kind, stop)?.read(&rest, stop)?;
        generate(&self.vocabulary, state, grammar, LENGTH, stop)
    }
}

impl SlotFiller for Weights {
    fn name(&self) -> Option<String> {
        Some(self.shape.name.to_owned())
    }

    fn extract(&self, slot: &Extraction<'_>, stop: &Stop) -> Option<String> {
        let words = Pieces::of(slot.words);
        // One word leaves nothing to choose.
        if !(2..=MOST_WORDS).contains(&words.n_words()) {
            return None;
        }
        let answer = self.answer(Kind::Extract, &prompts::extraction(slot), &grammar::extraction(slot.words), stop)?;
        let quote = answer.text.strip_prefix(' ')?.strip_suffix('\n')?;
        let is_known = quote != grammar::UNKNOWN && answer.certainty >= LEAST_CERTAINTY;
        is_known.then(|| words.find(quote).map(str::to_owned))?
    }

    fn phrase(&self, slot: &Phrasing<'_>, stop: &Stop) -> Option<String> {
        let grammar = grammar::phrasing(&phrase::openings(slot)?);
        let answer = self.answer(Kind::Phrase, &prompts::phrasing(slot), &grammar, stop)?;
        let sentence = answer.text.trim_end().strip_suffix('"')?;
        phrase::is_better(slot, sentence, answer.certainty).then(|| sentence.to_owned())
    }
}
