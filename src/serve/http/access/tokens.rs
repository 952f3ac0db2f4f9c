//! Tokens: `ph_` and 32 random bytes. Only their hashes are kept, so nobody who reads the store can use one; what is
//! random needs no slow hash, which is for passwords.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::host::ledger::TokenRow;
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
    };
    Ok((token, row))
}

/// The SHA-256 by which a token is found. As it is looked up by its hash, the time of that says nothing of the token.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
