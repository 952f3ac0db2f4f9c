//! A program that a server offers.

use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::launch::Opened;
use crate::program::ProgramText;
use crate::text::hex;

/// A program under its name.
pub struct Offered {
    /// Its name at this server.
    pub name: Arc<str>,
    /// Its files.
    pub files: Vec<PathBuf>,
    /// `sha256:…` of its text.
    pub version: Arc<str>,
    /// What its sessions begin with.
    pub opened: Arc<Opened>,
}

impl Offered {
    /// A program that is open.
    pub(super) fn new(name: &str, files: &[PathBuf], opened: Arc<Opened>) -> Offered {
        Offered { name: name.into(), files: files.to_vec(), version: version(&opened.text), opened }
    }

    /// What people call it: its first agent's heading.
    pub fn title(&self) -> &str {
        self.opened.program.agents.first().map_or(&self.name, |agent| &agent.title)
    }
}

/// `sha256:…` over names and texts of all files in load order.
pub fn version(text: &ProgramText) -> Arc<str> {
    let mut hash = Sha256::new();
    for part in text.files.iter().flat_map(|file| [&*file.name, &*file.text]) {
        // Where a part ends belongs to it.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    format!("sha256:{}", hex(&hash.finalize())).into()
}
