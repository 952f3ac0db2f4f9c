//! What is wrong with a configuration, whoever reads it, and keys that nobody knows.

mod read;

use std::path::PathBuf;

pub(crate) use crate::keys::read::{
    as_text, count, of_kind, pairs, read, seconds, texts, texts_of, time_of, unknown_key,
};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{path}: cannot read the configuration: {cause}; check the path given with --config")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A key or a value in a file is wrong.
    #[error("{place}: {message}")]
    File {
        /// `playhouse.toml:3`, `program.md: front matter`.
        place: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// The id of a model or of a classifier is none.
    #[error("`{id}` ({reason}) is not a {what}: {message}")]
    Id {
        /// What it should name.
        what: &'static str,
        /// As given.
        id: String,
        /// Where it was given.
        reason: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// The environment's ports are none.
    #[error("PLAYHOUSE_LOCAL_PORTS={text}: {message}")]
    Ports {
        /// As given.
        text: String,
        /// What would be right.
        message: String,
    },
    /// Traces cannot go where they are to go; in words.
    #[error("{0}")]
    Otel(String),
    /// There is no place for journals.
    #[error("there is no place for session journals: neither XDG_STATE_HOME nor HOME is set; name one with --journal")]
    NoStateFolder,
}
