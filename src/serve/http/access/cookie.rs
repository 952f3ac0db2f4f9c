//! The page's cookie: the hash of the token it was made with, and its end, signed with a key of this server. It names no
//! token, and it ends with the token that made it.

use std::path::Path;
use std::{fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::host::journal::copy::{fill, make};
use crate::vm::protocol::Timestamp;

/// Its name.
pub(crate) const NAME: &str = "playhouse";

/// How long it is good.
const HOURS: i64 = 12;

/// The cookies of a server.
pub struct Cookies {
    key: [u8; 64],
}

impl Cookies {
    /// The key in a file, for its owner only; made when it is first wanted.
    ///
    /// # Errors
    /// The file cannot be read or made, or holds something else.
    pub fn key_in(path: &Path) -> io::Result<[u8; 64]> {
        match fs::read(path) {
            Ok(bytes) => bytes.try_into().map_err(|_| io::Error::other("it has not 64 bytes")),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                let mut key = [0; 64];
                getrandom::fill(&mut key).map_err(io::Error::other)?;
                make(path)?;
                fill(path, &key)?;
                Ok(key)
            }
            Err(cause) => Err(cause),
        }
    }

    /// Signed with this key.
    pub(crate) fn new(key: [u8; 64]) -> Cookies {
        Cookies { key }
    }

    /// What they are signed with.
    #[cfg(feature = "mcp")]
    pub(crate) fn key(&self) -> &[u8; 64] {
        &self.key
    }

    /// The header that sets one for a token.
    pub(crate) fn make(&self, hash: &[u8; 32], now: Timestamp) -> String {
        let expires = now.0 + HOURS * 3_600_000;
        let mut bytes = [0; 72];
        bytes[..32].copy_from_slice(hash);
        bytes[32..40].copy_from_slice(&expires.to_be_bytes());
        let signature = self.sign(&bytes[..40]).finalize().into_bytes();
        bytes[40..].copy_from_slice(&signature);
        let value = URL_SAFE_NO_PAD.encode(bytes);
        format!("{NAME}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict", HOURS * 3600)
    }

    /// The header that takes it away.
    pub(crate) fn remove(&self) -> String {
        format!("{NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    /// The hash of the token in the header of a request, if it is one of ours and its time is not over.
    pub(super) fn read(&self, header: &str, now: Timestamp) -> Option<[u8; 32]> {
        let mut cookies = header.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        let (_, value) = cookies.find(|(name, _)| *name == NAME)?;
        let bytes: [u8; 72] = URL_SAFE_NO_PAD.decode(value).ok()?.try_into().ok()?;
        // Compares in constant time.
        self.sign(&bytes[..40]).verify_slice(&bytes[40..]).ok()?;
        let expires = i64::from_be_bytes(bytes[32..40].try_into().ok()?);
        (expires > now.0).then(|| bytes[..32].try_into().ok()).flatten()
    }

    fn sign(&self, bytes: &[u8]) -> Hmac<Sha256> {
        let mut signature = Hmac::<Sha256>::new(&self.key.into());
        signature.update(bytes);
        signature
    }
}
