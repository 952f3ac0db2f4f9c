//! The page's cookie: the hash of the token it was made with, and its end, signed with a key of this server. It names no
//! token, and it ends with the token that made it.

use std::path::Path;
use std::{fs, io};

use axum::http::{HeaderMap, HeaderName, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::host::journal::copy::{fill, make};
use crate::vm::protocol::Timestamp;

/// Its name, and what browsers are to do with it: over TLS no other host and no plain connection can set it.
const PLAIN: (&str, &str) = ("playhouse", "Path=/; HttpOnly; SameSite=Strict");
const OVER_TLS: (&str, &str) = ("__Host-playhouse", "Path=/; HttpOnly; SameSite=Strict; Secure");

/// How the client has connected to a proxy that is trusted; the guard has taken it from all others.
pub(crate) const PROTOCOL: HeaderName = HeaderName::from_static("x-forwarded-proto");

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
    pub(crate) fn make(&self, hash: &[u8; 32], now: Timestamp, request: &HeaderMap) -> String {
        let expires = now.0 + HOURS * 3_600_000;
        let mut bytes = [0; 72];
        bytes[..32].copy_from_slice(hash);
        bytes[32..40].copy_from_slice(&expires.to_be_bytes());
        let signature = self.sign(&bytes[..40]).finalize().into_bytes();
        bytes[40..].copy_from_slice(&signature);
        let value = URL_SAFE_NO_PAD.encode(bytes);
        let (name, attributes) = of(request);
        format!("{name}={value}; {attributes}; Max-Age={}", HOURS * 3600)
    }

    /// The header that takes it away.
    pub(crate) fn remove(&self, request: &HeaderMap) -> String {
        let (name, attributes) = of(request);
        format!("{name}=; {attributes}; Max-Age=0")
    }

    /// The hash of the token in the cookie of a request, if it is one of ours and its time is not over.
    pub(super) fn read(&self, request: &HeaderMap, now: Timestamp) -> Option<[u8; 32]> {
        let headers = request.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = headers.flat_map(|cookies| cookies.split(';')).filter_map(|one| one.trim().split_once('='));
        let (_, value) = cookies.find(|(name, _)| *name == of(request).0)?;
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

/// The name and the attributes of the cookie for this connection.
fn of(request: &HeaderMap) -> (&'static str, &'static str) {
    if request.get(PROTOCOL).is_some_and(|protocol| protocol == "https") { OVER_TLS } else { PLAIN }
}
