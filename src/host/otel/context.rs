//! W3C Trace Context: what ties our spans to those of whoever started us, and those of whom we call to ours
//! (<https://www.w3.org/TR/trace-context/>).

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::text::hex;

/// An id of so many bytes; not all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id<const N: usize>([u8; N]);

/// A trace's id.
pub type TraceId = Id<16>;

/// A span's id.
pub type SpanId = Id<8>;

/// A span that others are told of: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// Its trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// Whether somebody records it.
    pub is_sampled: bool,
}

/// Text that is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a traceparent; one is written like 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
pub struct NoTraceParent;

/// The beginning of a hash of these words, each with its length, so that no two lists of words are one text.
fn hash<const N: usize>(words: &[&[u8]]) -> [u8; N] {
    let mut digest = Sha256::new();
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word);
    }
    let digest = digest.finalize();
    let mut beginning = [0; N];
    beginning.copy_from_slice(&digest[..N]);
    // All zeros are no id.
    if beginning == [0; N] {
        beginning[N - 1] = 1;
    }
    beginning
}

impl TraceId {
    /// Of a stretch of a session.
    pub(super) fn of(session: &str, n_stretch: u64) -> TraceId {
        Id(hash(&[b"trace", session.as_bytes(), &n_stretch.to_le_bytes()]))
    }
}

impl SpanId {
    /// Of what a session did: what it is, and the numbers that tell it from all else of its kind in the session.
    pub(super) fn of(session: &str, what: &str, numbers: [u64; 3]) -> SpanId {
        let [a, b, c] = numbers.map(u64::to_le_bytes);
        Id(hash(&[b"span", session.as_bytes(), what.as_bytes(), &a, &b, &c]))
    }
}

impl<const N: usize> Id<N> {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> fmt::Display for Id<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl<const N: usize> fmt::Debug for Id<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

impl FromStr for TraceParent {
    type Err = NoTraceParent;

    /// Of a later version what this one has is read.
    fn from_str(text: &str) -> Result<TraceParent, NoTraceParent> {
        let mut parts = text.trim().split('-');
        let mut next = || parts.next().ok_or(NoTraceParent);
        let (version, trace, span, flags) = (next()?, next()?, next()?, next()?);
        let ([version], trace, span, [flags]) = (digits(version)?, digits(trace)?, digits(span)?, digits(flags)?);
        let is_longer = parts.next().is_some();
        if version == 0xff || (version == 0 && is_longer) || trace == [0; 16] || span == [0; 8] {
            return Err(NoTraceParent);
        }
        Ok(TraceParent { trace: Id(trace), span: Id(span), is_sampled: flags & 1 == 1 })
    }
}

/// Lower-case hexadecimal digits, exactly so many.
fn digits<const N: usize>(text: &str) -> Result<[u8; N], NoTraceParent> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_digit) {
        return Err(NoTraceParent);
    }
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| NoTraceParent)?;
    }
    Ok(bytes)
}
