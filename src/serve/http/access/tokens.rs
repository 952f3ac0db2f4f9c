//! Tokens: `ph_` and 32 random bytes. Only their hashes are kept, so nobody who reads the store can use one; what is
//! random needs no slow hash, which is for passwords.

use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::host::journal::JournalError;
use crate::host::ledger::{Ledger, TokenRow};
use crate::serve::http::access::caller::Role;
use crate::vm::protocol::Timestamp;

/// A new token and its row.
///
/// # Errors
/// The system has no random numbers.
pub fn new_token(
    name: &str,
    role: Role,
    program: Option<&str>,
    (created, expires): (Timestamp, Option<Timestamp>),
) -> Result<(String, TokenRow), getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    let token = format!("ph_{}", URL_SAFE_NO_PAD.encode(bytes));
    let role: &str = role.into();
    let row = TokenRow {
        hash: hash(&token),
        name: name.into(),
        role: role.to_owned(),
        program: program.map(Into::into),
        created,
        expires,
        forwards: false,
    };
    Ok((token, row))
}

/// The SHA-256 by which a token is found. As it is looked up by its hash, the time of that says nothing of the token.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Whether callers need a token. Without one everybody is admin, and the server serves this machine only.
pub struct Access {
    /// Callers never need one: the operator says so.
    is_open: bool,
    needs: AtomicBool,
}

impl Access {
    /// They do where there are tokens or visitors, unless the operator wants it otherwise.
    ///
    /// # Errors
    /// The tokens cannot be read.
    pub async fn new(ledger: &dyn Ledger, has_visitors: bool, is_open: bool) -> Result<Access, JournalError> {
        let access = Access { is_open, needs: AtomicBool::new(has_visitors && !is_open) };
        access.look(ledger).await?;
        Ok(access)
    }

    /// Whether they do.
    pub fn needs_tokens(&self) -> bool {
        self.needs.load(Ordering::Relaxed)
    }

    /// Whether everybody may do everything, whatever tokens there are.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whoever makes the first token wants it to be asked for from then on.
    pub(crate) async fn look(&self, ledger: &dyn Ledger) -> Result<(), JournalError> {
        if !self.is_open && !self.needs_tokens() && !ledger.tokens().await?.is_empty() {
            self.needs.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
