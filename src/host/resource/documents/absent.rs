//! What stands in the place of an index in a program that was built without SQLite.

use std::path::Path;

use playhouse_lang::value::Value;

use crate::directory::WorkingDirectory;
use crate::resource::ResourceError;
use crate::resource::databases::missing;
use crate::resource::documents::config::{DocumentsConfig, MakeEmbedder};

/// None there is.
pub(super) enum Store {}

impl Store {
    pub(super) async fn open(
        _: &Path,
        _: WorkingDirectory,
        _: DocumentsConfig,
        _: MakeEmbedder,
    ) -> Result<Store, ResourceError> {
        Err(missing("indexes of documents", "sqlite"))
    }

    pub(super) async fn search(&self, _: &str, _: usize) -> Result<Value, String> {
        match *self {}
    }

    pub(super) async fn read(&self, _: &str, _: usize, _: usize) -> Result<Value, String> {
        match *self {}
    }

    pub(super) async fn facts(&self, _: &str) -> Result<Value, String> {
        match *self {}
    }
}
