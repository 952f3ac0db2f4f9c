//! The `config` of a plugin's copy below `.runtime`: what its user has made of it, or else the plugin's own.

use std::io::{self, ErrorKind};

use cap_std::fs::Dir;
use playhouse_lang::value::{Map, Value};
use sha2::{Digest, Sha256};

use crate::component::runtime::{RuntimeError, RuntimeFolder};
use crate::text::hex;

/// Beside the copy: the hash of the `config` that was copied. While the copy's `config` has it, nobody has edited it.
const HASH: &str = ".copied";

/// A copy, and what it is a copy of.
pub(super) struct Copied<'a> {
    /// The copy.
    pub(super) copy: &'a RuntimeFolder,
    /// The plugin's own folder of configuration.
    pub(super) source: &'a Dir,
    /// The file that has the `config`, in both.
    pub(super) file: &'a str,
}

impl Copied<'_> {
    /// Which `config` counts: `kept` of the copy if its user has edited it, else the plugin's `own`, which the copy then
    /// gets, too. And whether the own one has changed since and does not count.
    ///
    /// # Errors
    /// The copy cannot be read or written.
    pub(super) fn config(&self, kept: Map, own: Map) -> Result<(Map, bool), RuntimeError> {
        let (kept_hash, own_hash) = (hash(&kept), hash(&own));
        let copied_hash = match self.copy.folder.read_to_string(HASH) {
            Ok(hash) => Some(hash),
            Err(cause) if cause.kind() == ErrorKind::NotFound => None,
            Err(cause) => return Err(self.fault(HASH, cause)),
        };
        let is_copied = |hash: &str| copied_hash.as_deref() == Some(hash);
        if kept_hash == own_hash {
            if !is_copied(&own_hash) {
                // Where nothing can be written, a later change of the plugin's own is told of instead of taken over.
                let _ = self.write(HASH, |staging| self.copy.folder.write(staging, &own_hash));
            }
            return Ok((own, false));
        }
        if !is_copied(&kept_hash) {
            let is_stale = !is_copied(&own_hash);
            return Ok((kept, is_stale));
        }
        self.write(self.file, |staging| self.source.copy(self.file, &self.copy.folder, staging).map(drop))?;
        self.write(HASH, |staging| self.copy.folder.write(staging, &own_hash))?;
        Ok((own, false))
    }

    /// Writes a file of the copy, whole or not at all.
    fn write(&self, name: &str, write: impl FnOnce(&str) -> io::Result<()>) -> Result<(), RuntimeError> {
        let staging = format!(".staging-{:016x}", fastrand::u64(..));
        let folder = &self.copy.folder;
        let written = write(&staging).and_then(|()| folder.rename(&staging, folder, name));
        written.map_err(|cause| {
            // That its remains cannot be removed would hide why.
            let _ = folder.remove_file(&staging);
            self.fault(name, cause)
        })
    }

    fn fault(&self, name: &str, cause: io::Error) -> RuntimeError {
        RuntimeError::Target { path: self.copy.path.join(name), cause }
    }
}

fn hash(config: &Map) -> String {
    hex(&Sha256::digest(Value::map(config.clone()).to_json()))
}
