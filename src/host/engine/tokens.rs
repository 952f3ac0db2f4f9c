//! Tokens that were found a moment ago: each request has one, and asking for it costs as much as the request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::ledger::TokenRow;

/// So long a token that was found is known without asking again.
const KNOWN: Duration = Duration::from_secs(2);

/// Tokens that were found a moment ago: each request has one.
#[derive(Default)]
pub(super) struct KnownTokens(Mutex<HashMap<[u8; 32], (Instant, TokenRow)>>);

impl KnownTokens {
    pub(super) fn get(&self, hash: &[u8; 32]) -> Option<TokenRow> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (since, _)| since.elapsed() < KNOWN);
        known.get(hash).map(|(_, token)| token.clone())
    }

    pub(super) fn note(&self, token: TokenRow) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token.hash, (Instant::now(), token));
    }
}
