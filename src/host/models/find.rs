//! Which file holds the weights: named with the model, configured, or in the cache.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::host::models::catalogue::{self, KnownModel};
use crate::host::models::config::EmbeddedConfig;
use crate::host::models::megabytes;

/// Who says that a file is the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The model's id: `embedded:PATH`.
    ModelId,
    /// `weights` in `[embedded]`.
    Configuration,
    /// It was fetched into the cache.
    Cache,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file that is there. Of one in the cache the size was compared now, and the SHA-256 when it was fetched.
    Ready {
        /// The file.
        path: PathBuf,
        /// Who named it.
        by: By,
        /// Its size in bytes.
        size: u64,
    },
    /// Nothing; the weights can be fetched.
    Missing {
        /// Where they would be; none: the environment names no place for a cache.
        place: Option<PathBuf>,
    },
    /// Something that cannot be the weights.
    Wrong {
        /// What was named, or the file in the cache.
        path: PathBuf,
        /// Who named it.
        by: By,
        /// What is wrong, and what to do, in lower case.
        why: String,
    },
}

impl Found {
    /// The file, if it is ready.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Found::Ready { path, .. } => Some(path),
            Found::Missing { .. } | Found::Wrong { .. } => None,
        }
    }

    /// How it stands, in one line for people.
    pub fn line(&self) -> String {
        match self {
            Found::Ready { path, by, size } => format!("{} ({}, {by})", path.display(), megabytes(*size)),
            Found::Missing { place: Some(place) } => {
                format!("none: there is no {}; `playhouse model pull` fetches it", place.display())
            }
            Found::Missing { place: None } => {
                "none: there is no place for them, neither XDG_CACHE_HOME nor HOME is set".to_owned()
            }
            Found::Wrong { why, .. } => format!("none: {why}"),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            By::ModelId => "named with the model",
            By::Configuration => "`weights` in the configuration",
            By::Cache => "in the cache",
        })
    }
}

/// Looks for the weights: what the model's id names, `weights` in the configuration, the cache. What is named and
/// wrong is not passed over for something else.
pub fn find(config: &EmbeddedConfig) -> Found {
    match (&config.named, &config.weights) {
        (Some(named), _) => match catalogue::by_name(named) {
            Some(model) => find_in_cache(config.cache.as_deref(), model),
            None => find_file(Path::new(named), By::ModelId),
        },
        (None, Some(path)) => find_file(path, By::Configuration),
        (None, None) => find_in_cache(config.cache.as_deref(), &catalogue::DEFAULT),
    }
}

/// Looks for a known model in a cache.
pub fn find_in_cache(cache: Option<&Path>, model: &KnownModel) -> Found {
    let Some(cache) = cache else { return Found::Missing { place: None } };
    let path = cache.join(model.file_name());
    match path.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.len() == model.size => {
            Found::Ready { path, by: By::Cache, size: model.size }
        }
        Ok(metadata) => {
            let why = format!(
                "{} is damaged: it has {} bytes instead of {}; `playhouse model pull` replaces it",
                path.display(),
                metadata.len(),
                model.size
            );
            Found::Wrong { path, by: By::Cache, why }
        }
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Found::Missing { place: Some(path) },
        Err(cause) => {
            let why = format!("{}: cannot look: {cause}; make the folder readable", path.display());
            Found::Wrong { path, by: By::Cache, why }
        }
    }
}

/// A file that somebody has named. What is in it, is seen when it is loaded.
fn find_file(path: &Path, by: By) -> Found {
    let why = match path.metadata() {
        Ok(metadata) if metadata.is_file() => {
            return Found::Ready { path: path.to_owned(), by, size: metadata.len() };
        }
        Ok(_) => format!("{} is no file; name a GGUF file", path.display()),
        Err(cause) => {
            let shown = path.display();
            match by {
                By::ModelId => {
                    let names: Vec<&str> = catalogue::all().iter().map(|model| model.name.as_ref()).collect();
                    format!("{shown}: {cause}; name a GGUF file, or a known model ({})", names.join(", "))
                }
                By::Configuration | By::Cache => {
                    format!("{shown}: {cause}; correct `weights` in `[embedded]`, or remove it")
                }
            }
        }
    };
    Found::Wrong { path: path.to_owned(), by, why }
}
