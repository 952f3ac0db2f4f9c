//! What tokens of a model cost: `[prices]` of the configuration.

use std::sync::Arc;

use playhouse_vm::protocol::Usage;
use serde::Deserialize;

/// The prices of one model, per million tokens, in whatever currency the configuration means.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map, as in `prompt = 0.4, completion = 1.6`")]
pub struct Price {
    /// Of the request.
    pub prompt: f64,
    /// Of what of the request came from the provider's cache; none: as the rest of the request.
    pub cached: Option<f64>,
    /// Of the reply.
    pub completion: f64,
}

/// A price that is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the price `{part}` of `{model}` is {price}; prices are numbers of at least 0, per million tokens")]
pub struct PriceError {
    /// Of which model.
    pub model: Arc<str>,
    /// Which of its prices.
    pub part: &'static str,
    /// What it is.
    pub price: f64,
}

/// Prices by model id or by the beginning of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable {
    prices: Vec<(Arc<str>, Price)>,
}

impl PriceTable {
    /// The table with these rows.
    ///
    /// # Errors
    /// The first price that is negative or no number.
    pub fn new(prices: Vec<(Arc<str>, Price)>) -> Result<PriceTable, PriceError> {
        for (model, price) in &prices {
            let parts =
                [("prompt", Some(price.prompt)), ("cached", price.cached), ("completion", Some(price.completion))];
            for (part, price) in parts {
                if let Some(price) = price.filter(|price| !price.is_finite() || *price < 0.0) {
                    return Err(PriceError { model: model.clone(), part, price });
                }
            }
        }
        Ok(PriceTable { prices })
    }

    /// The prices of the model with this id, with or without what reaches it (`openai:gpt-5-mini`): those of the very
    /// id, else those of the longest beginning (`gpt-5` for `gpt-5-mini`).
    pub fn of(&self, model: &str) -> Option<&Price> {
        let bare = model.split_once(':').map_or(model, |(_, bare)| bare);
        let exact = |id: &str| self.prices.iter().find(|(known, _)| **known == *id);
        let beginning = |id: &str| {
            let known = self.prices.iter().filter(|(known, _)| !known.is_empty() && id.starts_with(&**known));
            known.max_by_key(|(known, _)| known.len())
        };
        let found = exact(model).or_else(|| exact(bare)).or_else(|| beginning(model)).or_else(|| beginning(bare));
        found.map(|(_, price)| price)
    }

    /// What a request to the model with this id has cost; none if its prices are not known.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        let price = self.of(model)?;
        // A server that counts more from its cache than there was has counted wrongly.
        let n_cached = usage.cached_tokens.min(usage.prompt_tokens);
        #[allow(clippy::cast_precision_loss, reason = "2^53 tokens are more than anybody asks")]
        let part = |n_tokens: u64, price: f64| n_tokens as f64 * price / 1_000_000.0;
        Some(
            part(usage.prompt_tokens - n_cached, price.prompt)
                + part(n_cached, price.cached.unwrap_or(price.prompt))
                + part(usage.completion_tokens, price.completion),
        )
    }
}
