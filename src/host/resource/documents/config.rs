//! What can be configured of an index, and what it is given.

use std::sync::Arc;

use serde::Deserialize;

use crate::keys::texts;
use crate::llm::embeddings::Embedder;

/// The index that programs find in their working directory if nobody has declared another one.
pub const DEFAULT_INDEX: &str = "playhouse.index";

/// Makes a client for vectors: for a model's id, at a server if one is named. Or says why it cannot.
pub type MakeEmbedder = Arc<dyn Fn(&str, Option<&str>) -> Result<Embedder, String> + Send + Sync>;

/// The configuration of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DocumentsConfig {
    /// Its file, relative to the working directory.
    pub path: Option<String>,
    /// In its place: files and folders, relative to the working directory, that are read into memory at each start.
    #[serde(deserialize_with = "texts")]
    pub documents: Vec<String>,
    /// When the documents of an index are read again.
    pub refresh: Refresh,
    /// The server of its vectors, if it is not the one of models.
    pub base_url: Option<String>,
}

/// When the documents of an index are read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    /// By `playhouse index refresh` alone.
    #[default]
    Never,
    /// Also before a program runs.
    Start,
}
