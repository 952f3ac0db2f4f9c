//! By what an answer is found again.

use sha2::{Digest, Sha256};

use crate::host::text::hex;

/// The SHA-256 of texts in order, each with its length, so that no two sequences have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

impl Key {
    pub(crate) fn of(texts: impl IntoIterator<Item: AsRef<str>>) -> Key {
        Key([0; 32]).then(texts)
    }

    /// One that was kept.
    pub(crate) fn kept(bytes: [u8; 32]) -> Key {
        Key(bytes)
    }

    /// With these texts after the others.
    pub(crate) fn then(self, texts: impl IntoIterator<Item: AsRef<str>>) -> Key {
        texts.into_iter().fold(self, |Key(before), text| {
            let text = text.as_ref();
            let mut hash = Sha256::new_with_prefix(before);
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
            Key(hash.finalize().into())
        })
    }

    pub(crate) fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// In hexadecimal digits.
    pub(crate) fn text(self) -> String {
        hex(&self.0)
    }
}
