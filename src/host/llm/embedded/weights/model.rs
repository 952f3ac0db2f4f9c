//! The model: tokens in, how likely each token is to come next out.

use candle_core::{Device, Result, Tensor};
use candle_transformers::models::quantized_llama::{MAX_SEQ_LEN, ModelWeights};
use toktrie::TokenId;

use super::thread;
use crate::host::llm::embedded::slots::Stop;

/// So many tokens are read at once. Longer texts are read in pieces of this length, so that one can stop in between.
const PIECE: usize = 64;

/// A model that has read some tokens. A clone is cheap: the tensors are shared.
///
/// Candle computes a little differently for pieces of different lengths. So that the same text gives the same answer
/// whatever was asked before, it is always cut at the same places: a text that is read at once, after a state that
/// was made in the same way each time.
#[derive(Clone)]
pub(super) struct State {
    weights: ModelWeights,
    n_tokens: usize,
    /// Of each token, a measure of how likely it is to come next; empty before the first.
    pub(super) logits: Vec<f32>,
}

impl State {
    /// A model that has read nothing yet.
    pub(super) fn new(weights: ModelWeights) -> State {
        State { weights, n_tokens: 0, logits: Vec::new() }
    }

    /// Reads tokens. None: stopped, too many, or the model failed.
    pub(super) fn read(self, tokens: &[TokenId], stop: &Stop) -> Option<State> {
        if tokens.len() > MAX_SEQ_LEN.saturating_sub(self.n_tokens) {
            return None;
        }
        tokens.chunks(PIECE).try_fold(self, |state, piece| {
            let piece = piece.to_vec();
            if stop.is_stopped() { None } else { thread::run(move || state.forward(&piece))?.ok() }
        })
    }

    fn forward(mut self, tokens: &[TokenId]) -> Result<State> {
        let input = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
        self.logits = self.weights.forward(&input, self.n_tokens)?.squeeze(0)?.to_vec1()?;
        self.n_tokens += tokens.len();
        Ok(self)
    }
}
