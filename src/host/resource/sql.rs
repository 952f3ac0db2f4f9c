//! What databases have in common: one statement with bound values in, a value of the language out.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use playhouse_lang::value::Value;
use serde::Deserialize;

use crate::keys::{count, seconds};
use crate::resource::Resource;

/// A database as a resource.
pub trait Database: Resource {
    /// How values are written in a statement of it, for models: "`?` or `:name`".
    fn placeholders(&self) -> &'static str;

    /// Whether statements may change it.
    fn may_write(&self) -> bool;

    /// How long a statement may take.
    fn timeout(&self) -> Duration;

    /// Runs one statement. `values` is a list or a map of what stands in the place of its placeholders. The result is a
    /// list of maps for a statement that gives rows, else a map with `changed`. Dropping the future ends the statement;
    /// what it has not finished has not happened.
    ///
    /// # Errors
    /// In words for the program's model.
    fn query(&self, sql: Arc<str>, values: Value) -> BoxFuture<'_, Result<Value, SqlError>>;
}

/// Why a statement gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// It cannot succeed as it is.
    #[error("{0}")]
    Failed(String),
    /// It can perhaps succeed in a moment.
    #[error("{0}")]
    Unavailable(String),
}

/// What can be configured of an SQLite database.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SqliteConfig {
    /// Its file, relative to the working directory, or `:memory:`.
    pub path: String,
    /// Whether statements may change it.
    pub write: bool,
    /// A file of statements, relative to the working directory, that make a database which is new.
    pub init: Option<String>,
    /// How long a statement may take.
    #[serde(deserialize_with = "seconds")]
    pub timeout: Duration,
    /// Rows that a result may have.
    #[serde(deserialize_with = "count")]
    pub max_rows: usize,
    /// Bytes that a result may have, roughly.
    #[serde(deserialize_with = "count")]
    pub max_bytes: usize,
}

impl Default for SqliteConfig {
    fn default() -> SqliteConfig {
        let timeout = Duration::from_secs(30);
        SqliteConfig { path: String::new(), write: false, init: None, timeout, max_rows: 1_000, max_bytes: 1 << 20 }
    }
}

impl SqliteConfig {
    /// This file, read-only.
    pub fn new(path: impl Into<String>) -> SqliteConfig {
        SqliteConfig { path: path.into(), ..SqliteConfig::default() }
    }
}

/// What can be configured of a PostgreSQL database.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PostgresConfig {
    /// `postgres://user:password@host:port/database`, or `key=value` pairs. Never shown.
    pub url: String,
    /// Whether statements may change it.
    pub write: bool,
    /// A file with the certificates (PEM) of those who sign for the server, in place of the system's, as text.
    pub certificates: Option<String>,
    /// How long a statement may take.
    #[serde(deserialize_with = "seconds")]
    pub timeout: Duration,
    /// Rows that a result may have.
    #[serde(deserialize_with = "count")]
    pub max_rows: usize,
    /// Bytes that a result may have, roughly.
    #[serde(deserialize_with = "count")]
    pub max_bytes: usize,
    /// Connections that are open at a time; who wants one more waits.
    #[serde(deserialize_with = "count")]
    pub connections: usize,
}

impl Default for PostgresConfig {
    fn default() -> PostgresConfig {
        PostgresConfig {
            url: String::new(),
            write: false,
            certificates: None,
            timeout: Duration::from_secs(30),
            max_rows: 1_000,
            max_bytes: 1 << 20,
            connections: 4,
        }
    }
}

impl PostgresConfig {
    /// This server, read-only.
    pub fn new(url: impl Into<String>) -> PostgresConfig {
        PostgresConfig { url: url.into(), ..PostgresConfig::default() }
    }
}
