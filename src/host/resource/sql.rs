//! What databases have in common: one statement with bound values in, a value of the language out.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::host::resource::{Label, Resource, ResourceError};
use crate::value::{Map, Value};

/// A database as a resource.
pub trait Database: Resource {
    /// What tools call it.
    fn label(&self) -> &Label;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// Its file, relative to the working directory, or `:memory:`.
    pub path: String,
    /// Whether statements may change it.
    pub write: bool,
    /// A file of statements, relative to the working directory, that make a database which is new.
    pub init: Option<String>,
    /// How long a statement may take.
    pub timeout: Duration,
    /// Rows that a result may have.
    pub max_rows: usize,
    /// Bytes that a result may have, roughly.
    pub max_bytes: usize,
}

impl SqliteConfig {
    /// This file, read-only.
    pub fn new(path: impl Into<String>) -> SqliteConfig {
        SqliteConfig {
            path: path.into(),
            write: false,
            init: None,
            timeout: Duration::from_secs(30),
            max_rows: 1_000,
            max_bytes: 1 << 20,
        }
    }
}

/// What can be configured of a PostgreSQL database.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// `postgres://user:password@host:port/database`, or `key=value` pairs. Never shown.
    pub url: String,
    /// Whether statements may change it.
    pub write: bool,
    /// A file with the certificates (PEM) of those who sign for the server, in place of the system's, as text.
    pub certificates: Option<String>,
    /// How long a statement may take.
    pub timeout: Duration,
    /// Rows that a result may have.
    pub max_rows: usize,
    /// Bytes that a result may have, roughly.
    pub max_bytes: usize,
    /// Connections that are open at a time; who wants one more waits.
    pub connections: usize,
}

impl PostgresConfig {
    /// This server, read-only.
    pub fn new(url: impl Into<String>) -> PostgresConfig {
        PostgresConfig {
            url: url.into(),
            write: false,
            certificates: None,
            timeout: Duration::from_secs(30),
            max_rows: 1_000,
            max_bytes: 1 << 20,
            connections: 4,
        }
    }
}

/// An SQLite database; `folder` is the working directory.
///
/// # Errors
/// The program was built without the feature `sqlite`.
#[cfg(feature = "sqlite")]
pub fn sqlite(
    label: Label,
    folder: &std::path::Path,
    config: SqliteConfig,
) -> Result<Arc<dyn Database>, ResourceError> {
    Ok(Arc::new(crate::host::resource::sqlite::Sqlite::new(label, folder, config)))
}

/// An SQLite database, which this program was built without.
///
/// # Errors
/// Always.
#[cfg(not(feature = "sqlite"))]
pub fn sqlite(_: Label, _: &std::path::Path, _: SqliteConfig) -> Result<Arc<dyn Database>, ResourceError> {
    Err(missing("SQLite", "sqlite"))
}

/// A PostgreSQL database.
///
/// # Errors
/// The configuration is wrong.
#[cfg(feature = "postgres")]
pub fn postgres(label: Label, config: PostgresConfig) -> Result<Arc<dyn Database>, ResourceError> {
    Ok(Arc::new(crate::host::resource::postgres::Postgres::new(label, config)?))
}

/// A PostgreSQL database, which this program was built without.
///
/// # Errors
/// Always.
#[cfg(not(feature = "postgres"))]
pub fn postgres(_: Label, _: PostgresConfig) -> Result<Arc<dyn Database>, ResourceError> {
    Err(missing("PostgreSQL", "postgres"))
}

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
fn missing(database: &str, feature: &str) -> ResourceError {
    ResourceError::new(
        format!("this program was built without {database}"),
        format!("build it with `cargo build --release --features {feature}`"),
    )
}

/// The rows of a result as they come, kept below what may be kept.
pub(super) struct Rows {
    columns: Vec<Arc<str>>,
    rows: Vec<Value>,
    n_bytes: usize,
    max_rows: usize,
    max_bytes: usize,
}

impl Rows {
    pub(super) fn new(columns: Vec<Arc<str>>, max_rows: usize, max_bytes: usize) -> Result<Rows, SqlError> {
        for (index, column) in columns.iter().enumerate() {
            if columns[..index].contains(column) {
                return Err(SqlError::Failed(format!("two columns are named `{column}`; name them apart with AS")));
            }
        }
        Ok(Rows { columns, rows: Vec::new(), n_bytes: 0, max_rows, max_bytes })
    }

    /// Adds a row, whose values are in the order of the columns.
    pub(super) fn push(&mut self, values: Vec<Value>) -> Result<(), SqlError> {
        if self.rows.len() >= self.max_rows {
            let max = self.max_rows;
            let text = format!("the result has more than {max} rows (`max_rows` of the resource); ask for fewer");
            return Err(SqlError::Failed(text));
        }
        self.n_bytes += values.iter().map(size).sum::<usize>();
        if self.n_bytes > self.max_bytes {
            let max = self.max_bytes;
            let text = format!("the result is larger than {max} bytes (`max_bytes` of the resource); ask for less");
            return Err(SqlError::Failed(text));
        }
        let row: Map = self.columns.iter().cloned().zip(values).collect();
        self.rows.push(Value::map(row));
        Ok(())
    }

    pub(super) fn into_value(self) -> Value {
        Value::list(self.rows)
    }
}

/// About as many bytes as its JSON has.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 8,
        Value::Str(text) => text.len(),
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(members) => members.iter().map(|(name, value)| name.len() + size(value)).sum(),
    }
}

/// The result of a statement that gives no rows.
pub(super) fn changed(n_rows: u64, last_id: Option<i64>) -> Value {
    let mut members = Map::new();
    members.insert("changed".into(), Value::Int(i64::try_from(n_rows).unwrap_or(i64::MAX)));
    if let Some(id) = last_id {
        members.insert("last_id".into(), Value::Int(id));
    }
    Value::map(members)
}

/// The bytes that `{base64: …}` stands for.
pub(super) fn bytes_of(value: &Value) -> Option<Result<Vec<u8>, String>> {
    use base64::Engine;
    let Value::Map(members) = value else { return None };
    let text = members.get("base64").filter(|_| members.len() == 1)?;
    let text = text.as_str().ok_or_else(|| "`base64` of a value must be text".to_owned());
    Some(text.and_then(|text| {
        let decoded = base64::prelude::BASE64_STANDARD.decode(text);
        decoded.map_err(|error| format!("`base64` of a value cannot be read: {error}"))
    }))
}

/// Bytes as `{base64: …}`.
pub(super) fn bytes_value(bytes: &[u8]) -> Value {
    use base64::Engine;
    let mut members = Map::new();
    members.insert("base64".into(), Value::from(base64::prelude::BASE64_STANDARD.encode(bytes)));
    Value::map(members)
}

/// A place in a statement, for people: `line 2, column 5, at "FORM users"`.
pub(super) fn place(sql: &str, offset: usize) -> String {
    let mut offset = offset.min(sql.len());
    while !sql.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &sql[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let rest: String = sql[offset..].lines().next().unwrap_or_default().chars().take(30).collect();
    if rest.is_empty() {
        format!("line {line}, column {column}, at its end")
    } else {
        format!("line {line}, column {column}, at \"{rest}\"")
    }
}
