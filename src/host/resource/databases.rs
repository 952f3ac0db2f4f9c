//! Which databases there are in this build.

use std::sync::Arc;

use crate::resource::sql::{Database, PostgresConfig, SqliteConfig};
use crate::resource::{Label, ResourceError};

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
    Ok(Arc::new(crate::resource::sqlite::Sqlite::new(label, folder, config)))
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
    Ok(Arc::new(crate::resource::postgres::Postgres::new(label, config)?))
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
pub(super) fn missing(database: &str, feature: &str) -> ResourceError {
    ResourceError::new(
        format!("this program was built without {database}"),
        format!("build it with `cargo build --release --features {feature}`"),
    )
}
