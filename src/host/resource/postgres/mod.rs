//! A PostgreSQL database as a resource: a few connections, and one transaction per statement, read-only unless the
//! configuration says otherwise.

mod connection;
mod values;
mod words;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use playhouse_lang::value::Value;
use tokio::sync::Semaphore;
use tokio_postgres::error::{ErrorPosition, SqlState};

use crate::resource::postgres::connection::{Connected, Server};
use crate::resource::postgres::values::{Decoded, Parameter};
use crate::resource::rows::{Rows, changed, check_count, place};
use crate::resource::sql::{Database, PostgresConfig, SqlError};
use crate::resource::{Label, Resource, ResourceError};

/// How long the client waits after the server's own time-out: it then has lost the server.
const GRACE: Duration = Duration::from_secs(2);

/// What a statement may have left after in its session that outlives its transaction.
const RESET: &str = "RESET SESSION AUTHORIZATION; RESET ALL; SELECT pg_advisory_unlock_all(); DISCARD TEMP";

/// A PostgreSQL database.
pub struct Postgres {
    label: Label,
    server: Server,
    config: PostgresConfig,
    /// Connections that nobody uses; none while the resource is not acquired.
    idle: Mutex<Option<Vec<Connected>>>,
    room: Semaphore,
}

impl Postgres {
    /// Checks a configuration. Nothing is connected before the resource is acquired.
    ///
    /// # Errors
    /// What is wrong with it; never with any part of the URL.
    pub fn new(label: Label, config: PostgresConfig) -> Result<Postgres, ResourceError> {
        let room = Semaphore::new(config.connections.clamp(1, 100));
        Ok(Postgres { label, server: Server::new(&config)?, config, idle: Mutex::default(), room })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Vec<Connected>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that nobody uses, or a new one.
    async fn connection(&self) -> Result<Connected, SqlError> {
        loop {
            let idle = match &mut *self.idle() {
                Some(idle) => idle.pop(),
                None => return Err(SqlError::Failed("the database is not open".to_owned())),
            };
            match idle {
                Some(connected) if connected.client.is_closed() => {}
                Some(connected) => return Ok(connected),
                None => return self.server.connect().await.map_err(|cause| SqlError::Unavailable(cause.to_string())),
            }
        }
    }

    async fn run(&self, sql: &str, values: &Value) -> Result<Value, SqlError> {
        words::check(sql, self.config.write).map_err(SqlError::Failed)?;
        let Value::List(values) = values else {
            let text = "PostgreSQL numbers its placeholders (`$1`, `$2`), so the values must be a list";
            return Err(SqlError::Failed(text.to_owned()));
        };
        // The semaphore is never closed.
        let _permit = self.room.acquire().await.map_err(|error| SqlError::Failed(error.to_string()))?;
        let mut connected = self.connection().await?;
        let guard = connected.cancel_on_drop(&self.server);
        let result = self.transact(&mut connected, sql, values).await;
        let is_reset = connected.client.batch_execute(RESET).await.is_ok();
        guard.disarm();
        if is_reset && let Some(idle) = &mut *self.idle() {
            idle.push(connected);
        }
        result
    }

    async fn transact(&self, connected: &mut Connected, sql: &str, values: &[Value]) -> Result<Value, SqlError> {
        let explain = |error: tokio_postgres::Error| explain(sql, &error);
        let transaction = connected.client.build_transaction().read_only(!self.config.write).start();
        let transaction = transaction.await.map_err(explain)?;
        let limit = format!("SET LOCAL statement_timeout = {}", self.config.timeout.as_millis().clamp(1, 1 << 30));
        transaction.batch_execute(&limit).await.map_err(explain)?;
        let statement = transaction.prepare(sql).await.map_err(explain)?;
        check_count(statement.params().len(), values.len())?;
        let columns: Vec<Arc<str>> = statement.columns().iter().map(|column| column.name().into()).collect();
        let n_columns = columns.len();
        let mut kept = Rows::new(columns, self.config.max_rows, self.config.max_bytes)?;
        let portal = transaction.bind_raw(&statement, values.iter().map(Parameter)).await.map_err(explain)?;
        // One row more than may be kept shows that there are too many.
        let max_rows = i32::try_from(self.config.max_rows).unwrap_or(i32::MAX - 1) + 1;
        let rows = transaction.query_portal_raw(&portal, max_rows).await.map_err(explain)?;
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = rows.next().await {
            let row = row.map_err(explain)?;
            let values = (0..n_columns).map(|index| row.try_get::<_, Decoded>(index).map(|Decoded(value)| value));
            kept.push(values.collect::<Result<_, _>>().map_err(explain)?)?;
        }
        let n_changed = rows.rows_affected().unwrap_or_default();
        transaction.commit().await.map_err(explain)?;
        Ok(if n_columns == 0 { changed(n_changed, None) } else { kept.into_value() })
    }
}

impl Database for Postgres {
    fn placeholders(&self) -> &'static str {
        "`$1` (PostgreSQL)"
    }

    fn may_write(&self) -> bool {
        self.config.write
    }

    fn timeout(&self) -> Duration {
        self.config.timeout
    }

    fn query(&self, sql: Arc<str>, values: Value) -> BoxFuture<'_, Result<Value, SqlError>> {
        Box::pin(async move {
            match tokio::time::timeout(self.config.timeout + GRACE, self.run(&sql, &values)).await {
                Ok(result) => result,
                Err(_) => Err(SqlError::Unavailable(format!(
                    "{} gave no answer within {} s (`timeout` of the resource)",
                    self.server.shown(),
                    self.config.timeout.as_secs_f64()
                ))),
            }
        })
    }
}

impl Resource for Postgres {
    fn kind(&self) -> &str {
        "postgres"
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            let connected = self.server.connect().await?;
            *self.idle() = Some(vec![connected]);
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        let idle = self.idle().take();
        Box::pin(async move {
            for connected in idle.into_iter().flatten() {
                connected.close().await;
            }
        })
    }
}

/// What the server says is wrong with a statement, and where.
fn explain(sql: &str, error: &tokio_postgres::Error) -> SqlError {
    let Some(cause) = error.as_db_error() else {
        let source = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        let text = format!("PostgreSQL: {source}");
        return if error.is_closed() { SqlError::Unavailable(text) } else { SqlError::Failed(text) };
    };
    let mut text = format!("PostgreSQL: {}", cause.message());
    if let Some(ErrorPosition::Original(position)) = cause.position() {
        // Counted in characters, from 1.
        let n_before = usize::try_from(*position).unwrap_or_default().saturating_sub(1);
        let offset = sql.char_indices().nth(n_before).map_or(sql.len(), |(offset, _)| offset);
        text.push_str(&format!(" ({})", place(sql, offset)));
    }
    for more in [cause.detail(), cause.hint()].into_iter().flatten() {
        text.push_str(&format!("; {more}"));
    }
    let code = cause.code();
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        text.push_str("; the database is read-only (`write` of its resource)");
    }
    let may_pass = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    if may_pass.contains(code) { SqlError::Unavailable(text) } else { SqlError::Failed(text) }
}
