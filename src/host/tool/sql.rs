//! `SqlQuery` on the resources `sqlite` and `postgres`.

use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::program::{Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::Origin;
use playhouse_vm::protocol::{EffectClass, ParameterRule, ToolSignature};

use crate::resource::sql::{Database, SqlError};
use crate::tool::arguments::{Among, check_arguments, join_faults, parameter, tool};
use crate::tool::registry::{AddToolError, Registry};
use crate::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome};

/// The name of the tool.
pub const SQL_QUERY: &str = "SqlQuery";

/// Adds `SqlQuery` on these databases; nothing if there are none. A call that names no resource means the first one.
/// The tool writes if one of them may be written.
///
/// # Errors
/// The name is taken.
pub fn add_sql_tools(registry: &Registry, databases: &[Arc<dyn Database>]) -> Result<(), AddToolError> {
    let about = |database: &dyn Database| {
        format!(" ({}{})", database.kind(), if database.may_write() { "" } else { ", read-only" })
    };
    match Among::new("resource", databases, about) {
        Some(databases) => registry.add(Arc::new(SqlQuery { databases })),
        None => Ok(()),
    }
}

struct SqlQuery {
    databases: Among<dyn Database>,
}

impl SqlQuery {
    fn placeholders(&self) -> String {
        let mut kinds: Vec<&str> = self.databases.all().map(|database| database.placeholders()).collect();
        kinds.dedup();
        kinds.join(", ")
    }
}

impl Tool for SqlQuery {
    fn signature(&self) -> ToolSignature {
        let sql = format!("one statement, with {} in place of values", self.placeholders());
        let values = "the values of the statement's placeholders, a list or a dict by their names";
        let mut parameters = vec![
            parameter("sql", TypeKind::Str, None, &sql),
            parameter("parameters", Type::ANY, Some(Value::list(Vec::new())), values),
        ];
        parameters.extend(self.databases.parameter("which database"));
        let may_write = self.databases.all().any(|database| database.may_write());
        let summary = if may_write {
            "Runs one SQL statement and returns its rows as a list of dicts, or {changed} if it has none."
        } else {
            "Runs one SQL query that only reads, and returns its rows as a list of dicts."
        };
        let effect = if may_write { EffectClass::Write } else { EffectClass::ReadOnly };
        // What users and tools say is a value, and never part of a statement.
        let accepts = Origin::CODE.with(Origin::ARGUMENT).with(Origin::MODEL);
        let rules = vec![ParameterRule { parameter: "sql".into(), accepts, takes_assets: false }];
        ToolSignature { rules, ..tool(SQL_QUERY, parameters, Type::ANY, summary, effect) }
    }

    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        let arguments = check_arguments(&self.signature().signature, arguments)?;
        let mut faults = Vec::new();
        let is_right = |values: &Value| matches!(values, Value::List(_) | Value::Map(_) | Value::Null);
        if let Some(other) = arguments.get("parameters").filter(|values| !is_right(values)) {
            faults.push(ArgumentFault::new("parameters", format!("must be list or dict, not {}", other.kind())));
        }
        faults.extend(self.databases.find(&arguments).err());
        if faults.is_empty() { Ok(arguments) } else { Err(faults) }
    }

    fn timeout(&self) -> Duration {
        // The database's own time-out is the first to speak; a read may be tried three times.
        let longest = self.databases.all().map(|database| database.timeout()).max().unwrap_or_default();
        longest * 3 + Duration::from_secs(5)
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            let database = match self.databases.find(&arguments) {
                Ok(database) => database,
                Err(fault) => return ToolOutcome::Error(join_faults(&[fault])),
            };
            let sql = match arguments.get("sql") {
                Some(Value::Str(sql)) => sql.clone(),
                Some(_) | None => return ToolOutcome::Error("`sql` must be text".to_owned()),
            };
            let values = arguments.get("parameters").filter(|values| **values != Value::Null).cloned();
            let values = values.unwrap_or_else(|| Value::list(Vec::new()));
            let result = tokio::select! {
                result = database.query(sql, values) => result,
                () = context.cancel.cancelled() => return ToolOutcome::Error("the statement was cancelled".to_owned()),
            };
            match result {
                Ok(value) => ToolOutcome::Value(value),
                Err(SqlError::Failed(cause)) => ToolOutcome::Error(cause),
                Err(SqlError::Unavailable(cause)) => ToolOutcome::Unavailable(cause),
            }
        })
    }
}
