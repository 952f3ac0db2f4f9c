//! A text that fits a grammar, the likeliest token first.

use llguidance::Matcher;
use llguidance::api::TopLevelGrammar;
use toktrie::TokenId;

use super::model::State;
use super::vocabulary::Vocabulary;
use crate::host::llm::embedded::slots::Stop;

/// A text, and how sure the model was of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Generated {
    pub(super) text: String,
    /// The mean logarithm of the probability of each token that was chosen; 0 is certain. Tokens that the grammar
    /// left no choice about don't count.
    pub(super) certainty: f32,
    pub(super) n_tokens: usize,
}

/// Goes on after `state` with a text of `grammar` (in llguidance's form of Lark). None: stopped, or not finished
/// within `most` tokens, or the model or the grammar failed. The same state and grammar give the same text.
pub(super) fn generate(
    vocabulary: &Vocabulary,
    mut state: State,
    grammar: &str,
    most: usize,
    stop: &Stop,
) -> Option<Generated> {
    let parser = vocabulary.grammars.create_parser(TopLevelGrammar::from_lark(grammar.to_owned()));
    let mut matcher = Matcher::new(parser);
    let (mut tokens, mut n_read) = (Vec::new(), 0);
    let (mut certainty, mut n_chosen) = (0.0, 0_u16);
    loop {
        tokens.extend(matcher.consume_ff_tokens());
        if stop.is_stopped() || tokens.len() > most {
            return None;
        }
        if matcher.is_stopped() {
            break;
        }
        if n_read < tokens.len() {
            state = state.read(&tokens[n_read..], stop)?;
            n_read = tokens.len();
        }
        let allowed = matcher.compute_mask_or_eos().ok()?;
        let token = likeliest(&state.logits, |token| allowed.is_allowed(token))?;
        certainty += log_probability(&state.logits, token);
        n_chosen += 1;
        if token == vocabulary.end() {
            break;
        }
        matcher.consume_token(token).ok()?;
        tokens.push(token);
    }
    if matcher.is_error() {
        return None;
    }
    let certainty = certainty / f32::from(n_chosen.max(1));
    Some(Generated { text: vocabulary.decode(&tokens), certainty, n_tokens: tokens.len() })
}

/// The allowed token with the greatest logit, of equal ones the first. Where none can be compared (a damaged model
/// computes what is no number), the first that is allowed.
pub(super) fn likeliest(logits: &[f32], is_allowed: impl Fn(TokenId) -> bool) -> Option<TokenId> {
    let mut best: Option<(TokenId, f32)> = None;
    for (token, &logit) in (0..).zip(logits) {
        if best.is_none_or(|(_, greatest)| logit > greatest) && is_allowed(token) {
            best = Some((token, logit));
        }
    }
    best.map(|(token, _)| token)
}

/// The logarithm of the probability of `token` among all tokens.
fn log_probability(logits: &[f32], token: TokenId) -> f32 {
    let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|logit| (logit - greatest).exp()).sum();
    logits.get(token as usize).map_or(f32::NEG_INFINITY, |logit| logit - greatest - sum.ln())
}
