//! One statement on a connection: what it may do, its values, its result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use playhouse_lang::value::Value;
use rusqlite::hooks::{Action, AuthAction, AuthContext, Authorization};
use rusqlite::types::{Value as Stored, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement};

use crate::resource::ResourceError;
use crate::resource::rows::{Rows, bytes_of, bytes_value, changed, check_count, place};
use crate::resource::sql::{SqlError, SqliteConfig};

/// Steps of SQLite's machine between two looks at whether the statement is still wanted: some tenths of a millisecond.
const STEPS: i32 = 10_000;

/// Pragmas that only tell something.
const READING_PRAGMAS: [&str; 14] = [
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "schema_version",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Functions that reach out of the database.
const OUTER_FUNCTIONS: [&str; 5] = ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"];

/// Virtual tables that are data of the database and nothing else.
const MODULES: [&str; 5] = ["fts5", "fts5vocab", "rtree", "rtree_i32", "geopoly"];

/// A connection on which statements are run.
pub(super) struct Statements {
    connection: Connection,
    max_rows: usize,
    max_bytes: usize,
    /// Set when the resource is released.
    stop: Arc<AtomicBool>,
    watch: Arc<Watch>,
}

/// What the connection's hooks and the statement tell each other.
#[derive(Default)]
struct Watch {
    /// Whether a statement of ours is prepared (`BEGIN`), of which nothing is refused.
    is_ours: AtomicBool,
    /// Why a statement was refused.
    refusal: Mutex<Option<String>>,
    /// Whether the statement that was prepared changes rows of a table.
    changes_rows: AtomicBool,
    /// Whether it adds some.
    adds_rows: AtomicBool,
    /// Whether a row was added while it ran, which may also be a trigger's doing.
    has_added: AtomicBool,
}

impl Watch {
    fn begin(&self) {
        self.refusal();
        for flag in [&self.changes_rows, &self.adds_rows, &self.has_added] {
            flag.store(false, Ordering::Relaxed);
        }
    }

    /// A statement that is prepared asks for this.
    fn note(&self, context: &AuthContext<'_>) {
        use AuthAction as A;
        if context.accessor.is_some() {
            return;
        }
        if let A::Insert { table_name } | A::Update { table_name, .. } | A::Delete { table_name } = context.action
            && !table_name.starts_with("sqlite_")
        {
            self.changes_rows.store(true, Ordering::Relaxed);
            self.adds_rows.fetch_or(matches!(context.action, A::Insert { .. }), Ordering::Relaxed);
        }
    }

    fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Statements {
    pub(super) fn new(
        connection: Connection,
        config: &SqliteConfig,
        stop: Arc<AtomicBool>,
    ) -> Result<Statements, ResourceError> {
        let watch = Arc::new(Watch::default());
        let may_write = config.write;
        let (asked, added) = (watch.clone(), watch.clone());
        let authorize = move |context: AuthContext<'_>| {
            if asked.is_ours.load(Ordering::Relaxed) {
                return Authorization::Allow;
            }
            asked.note(&context);
            let Some(refusal) = refusal(context.action, may_write) else { return Authorization::Allow };
            asked.refusal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(refusal);
            Authorization::Deny
        };
        let mut connection = connection;
        let hooked = connection.authorizer(Some(authorize)).and_then(|()| {
            connection.update_hook(Some(move |action: Action, _: &str, _: &str, _: i64| {
                if action == Action::SQLITE_INSERT {
                    added.has_added.store(true, Ordering::Relaxed);
                }
            }))
        });
        hooked.map_err(|error| ResourceError::new(format!("it cannot be guarded: {error}"), "report this as a bug"))?;
        Ok(Statements { connection, max_rows: config.max_rows, max_bytes: config.max_bytes, stop, watch })
    }

    /// Runs one statement. `abandoned` says that nobody waits for it any more.
    pub(super) fn run(&mut self, sql: &str, values: &Value, abandoned: Arc<AtomicBool>) -> Result<Value, SqlError> {
        let stop = self.stop.clone();
        let is_over = move || abandoned.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
        self.watch.begin();
        let explain = |error: rusqlite::Error| explain(&self.watch, sql, &error);
        self.connection.progress_handler(STEPS, Some(is_over)).map_err(explain)?;
        let mut statement = self.connection.prepare(sql).map_err(explain)?;
        if statement.expanded_sql().is_none() {
            return Err(SqlError::Failed("there is no statement in `sql`".to_owned()));
        }
        // What the machine itself prepares while it runs is another matter: virtual tables do.
        let changes = [&self.watch.changes_rows, &self.watch.adds_rows].map(|flag| flag.load(Ordering::Relaxed));
        bind(&mut statement, values)?;
        if statement.readonly() {
            return self.step(sql, &mut statement, changes);
        }
        // What a statement of many rows has done so far is undone if it fails, or if its result is too large.
        self.ours("BEGIN IMMEDIATE").map_err(explain)?;
        let result = self.step(sql, &mut statement, changes);
        drop(statement);
        let result = result.and_then(|value| self.ours("COMMIT").map_err(explain).map(|()| value));
        if !self.connection.is_autocommit() {
            // Some errors have rolled it back already; nothing is left to do where this fails.
            let _ = self.ours("ROLLBACK");
        }
        result
    }

    /// Runs what is prepared, of which it is known whether it changes rows of a table, and whether it adds some.
    fn step(
        &self,
        sql: &str,
        statement: &mut Statement<'_>,
        [changes_rows, adds_rows]: [bool; 2],
    ) -> Result<Value, SqlError> {
        let explain = |error: rusqlite::Error| explain(&self.watch, sql, &error);
        let n_columns = statement.column_count();
        if n_columns == 0 {
            let before = self.connection.total_changes();
            statement.raw_execute().map_err(explain)?;
            // A statement that changes no rows leaves the count and the id of the one before it.
            let has_changed = changes_rows && self.connection.total_changes() != before;
            let n_rows = if has_changed { self.connection.changes() } else { 0 };
            let has_added = adds_rows && self.watch.has_added.load(Ordering::Relaxed);
            return Ok(changed(n_rows, has_added.then(|| self.connection.last_insert_rowid())));
        }
        let columns = statement.column_names().map(Arc::from).collect();
        let mut kept = Rows::new(columns, self.max_rows, self.max_bytes)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(explain)? {
            let values = (0..n_columns).map(|index| row.get_ref(index).map(value_of));
            kept.push(values.collect::<rusqlite::Result<_>>().map_err(explain)?)?;
        }
        Ok(kept.into_value())
    }

    fn ours(&self, sql: &str) -> rusqlite::Result<()> {
        self.watch.is_ours.store(true, Ordering::Relaxed);
        let done = self.connection.execute_batch(sql);
        self.watch.is_ours.store(false, Ordering::Relaxed);
        done
    }
}

/// Why an action is refused; none: it is allowed.
fn refusal(action: AuthAction<'_>, may_write: bool) -> Option<String> {
    use AuthAction as A;
    if matches!(action, A::Select | A::Read { .. } | A::Recursive) {
        return None;
    }
    if let A::Function { function_name } = action {
        let is_outer = OUTER_FUNCTIONS.iter().any(|name| function_name.eq_ignore_ascii_case(name));
        return is_outer.then(|| format!("the function `{function_name}` reaches outside the database and is refused"));
    }
    if let A::Pragma { pragma_name, .. } = action {
        let is_reading = READING_PRAGMAS.iter().any(|name| pragma_name.eq_ignore_ascii_case(name));
        return (!is_reading).then(|| format!("PRAGMA {pragma_name} is refused"));
    }
    if matches!(action, A::Attach { .. } | A::Detach { .. }) {
        // VACUUM attaches a file, too.
        return Some("ATTACH, DETACH and VACUUM are refused: a statement stays in its database".to_owned());
    }
    if matches!(action, A::Transaction { .. } | A::Savepoint { .. }) {
        return Some("transactions are refused: each statement is one of its own".to_owned());
    }
    if let A::CreateVtable { module_name, .. } = action
        && !MODULES.contains(&module_name)
    {
        return Some(format!("virtual tables of the module `{module_name}` are refused"));
    }
    let is_change = matches!(
        action,
        A::Insert { .. }
            | A::Update { .. }
            | A::Delete { .. }
            | A::CreateTable { .. }
            | A::CreateTempTable { .. }
            | A::CreateIndex { .. }
            | A::CreateTempIndex { .. }
            | A::CreateView { .. }
            | A::CreateTempView { .. }
            | A::CreateTrigger { .. }
            | A::CreateTempTrigger { .. }
            | A::CreateVtable { .. }
            | A::DropTable { .. }
            | A::DropTempTable { .. }
            | A::DropIndex { .. }
            | A::DropTempIndex { .. }
            | A::DropView { .. }
            | A::DropTempView { .. }
            | A::DropTrigger { .. }
            | A::DropTempTrigger { .. }
            | A::DropVtable { .. }
            | A::AlterTable { .. }
            | A::Reindex { .. }
            | A::Analyze { .. }
    );
    match (is_change, may_write) {
        (true, true) => None,
        (true, false) => Some("the database is read-only (`write` of its resource)".to_owned()),
        (false, _) => Some("a statement of this kind is refused".to_owned()),
    }
}

/// Binds the values of a list in their order, or of a map by their names.
fn bind(statement: &mut Statement<'_>, values: &Value) -> Result<(), SqlError> {
    let n_places = statement.parameter_count();
    match values {
        Value::List(values) => {
            check_count(n_places, values.len())?;
            values.iter().zip(1..).try_for_each(|(value, index)| bind_one(statement, index, value))
        }
        Value::Map(values) => {
            let bare = |index| statement.parameter_name(index).map(|name| name[1..].to_owned());
            let wanted: Vec<Option<String>> = (1..=n_places).map(bare).collect();
            let mut faults = Vec::new();
            for (index, name) in wanted.iter().enumerate() {
                match name.as_ref().map(|name| (name, values.get(name.as_str()))) {
                    None => faults.push(format!("placeholder {} has no name, so the values must be a list", index + 1)),
                    Some((name, None)) => faults.push(format!("there is no value for `{name}`")),
                    Some((_, Some(value))) => bind_one(statement, index + 1, value)?,
                }
            }
            let is_wanted = |name: &str| wanted.iter().flatten().any(|wanted| wanted == name);
            let unwanted = values.keys().filter(|name| !is_wanted(name));
            faults.extend(unwanted.map(|name| format!("the statement has no placeholder for `{name}`")));
            if faults.is_empty() { Ok(()) } else { Err(SqlError::Failed(faults.join("; "))) }
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            Err(SqlError::Failed(format!("`parameters` must be list or dict, not {}", values.kind())))
        }
    }
}

fn bind_one(statement: &mut Statement<'_>, index: usize, value: &Value) -> Result<(), SqlError> {
    let failed = |text: String| SqlError::Failed(format!("the value of placeholder {index}: {text}"));
    let stored = match bytes_of(value) {
        Some(bytes) => Stored::Blob(bytes.map_err(failed)?),
        None => match value {
            Value::Null => Stored::Null,
            Value::Bool(truth) => Stored::Integer(i64::from(*truth)),
            Value::Int(int) => Stored::Integer(*int),
            Value::Float(float) => Stored::Real(*float),
            Value::Str(text) => Stored::Text(text.to_string()),
            // What SQLite's JSON functions read.
            Value::List(_) | Value::Map(_) => Stored::Text(value.to_json()),
        },
    };
    statement.raw_bind_parameter(index, stored).map_err(|error| failed(error.to_string()))
}

fn value_of(stored: ValueRef<'_>) -> Value {
    match stored {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(int) => Value::Int(int),
        ValueRef::Real(float) if float.is_finite() => Value::Float(float),
        // Values of the language are finite.
        ValueRef::Real(float) => Value::str(if float > 0.0 { "Infinity" } else { "-Infinity" }),
        ValueRef::Text(bytes) => Value::from(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => bytes_value(bytes),
    }
}

fn explain(watch: &Watch, sql: &str, error: &rusqlite::Error) -> SqlError {
    if let Some(refusal) = watch.refusal() {
        return SqlError::Failed(refusal);
    }
    SqlError::Failed(match (error.sqlite_error_code(), error) {
        (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => {
            return SqlError::Unavailable(format!("another process is writing to the database: {error}"));
        }
        (Some(ErrorCode::OperationInterrupted), _) => "the statement was cancelled".to_owned(),
        (_, rusqlite::Error::MultipleStatement) => {
            "`sql` has more than one statement; make one call for each".to_owned()
        }
        (_, rusqlite::Error::SqlInputError { msg, offset, .. }) => match usize::try_from(*offset) {
            Ok(offset) => format!("SQLite: {msg} ({})", place(sql, offset)),
            Err(_) => format!("SQLite: {msg}"),
        },
        _ => format!("SQLite: {error}"),
    })
}
