//! `SqlQuery` on the resources `sqlite` and `postgres`.

use std::sync::Arc;
use std::time::Duration;

use crate::host::resource::sql::{Database, SqlError};
use crate::host::tool::arguments::{check_arguments, parameter, tool};
use crate::host::tool::registry::{AddToolError, Registry};
use crate::host::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome};
use crate::lang::program::{Type, TypeKind};
use crate::value::{Map, Value};
use crate::vm::protocol::Origin;
use crate::vm::protocol::{EffectClass, ParameterRule, ToolSignature};

/// The name of the tool.
pub const SQL_QUERY: &str = "SqlQuery";

/// Adds `SqlQuery` on these databases; nothing if there are none. A call that names no resource means the first one.
/// The tool writes if one of them may be written.
///
/// # Errors
/// The name is taken.
pub fn add_sql_tools(registry: &Registry, databases: &[Arc<dyn Database>]) -> Result<(), AddToolError> {
    let Some(first) = databases.first() else { return Ok(()) };
    registry.add(Arc::new(SqlQuery { first: first.clone(), all: databases.into() }))
}

struct SqlQuery {
    first: Arc<dyn Database>,
    all: Arc<[Arc<dyn Database>]>,
}

impl SqlQuery {
    fn database(&self, arguments: &Map) -> Option<&Arc<dyn Database>> {
        match arguments.get("resource") {
            Some(Value::Str(name)) => self.all.iter().find(|database| database.label().shown() == Some(name)),
            Some(_) | None => Some(&self.first),
        }
    }

    fn known(&self) -> String {
        let all = self.all.iter().filter_map(|database| {
            let rights = if database.may_write() { "" } else { ", read-only" };
            database.label().shown().map(|name| format!("`{name}` ({}{rights})", database.kind()))
        });
        all.collect::<Vec<_>>().join(", ")
    }

    fn placeholders(&self) -> String {
        let mut kinds: Vec<&str> = self.all.iter().map(|database| database.placeholders()).collect();
        kinds.dedup();
        kinds.join(", ")
    }
}

impl Tool for SqlQuery {
    fn signature(&self) -> ToolSignature {
        let sql = format!("one statement; values are no part of it but {}", self.placeholders());
        let values = "the values of the statement's placeholders, a list or a dict by their names";
        let mut parameters = vec![
            parameter("sql", TypeKind::Str, None, &sql),
            parameter("parameters", Type::ANY, Some(Value::list(Vec::new())), values),
        ];
        if self.all.len() > 1 {
            let description = format!("which database: {}", self.known());
            let text = Type { optional: true, ..TypeKind::Str.into() };
            parameters.push(parameter("resource", text, Some(Value::Null), &description));
        }
        let may_write = self.all.iter().any(|database| database.may_write());
        let summary = if may_write {
            "Runs one SQL statement: its rows as a list of dicts, or {changed} if it gives none."
        } else {
            "Runs one SQL query that reads, and gives its rows as a list of dicts."
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
        match arguments.get("parameters") {
            Some(Value::List(_) | Value::Map(_) | Value::Null) | None => {}
            Some(other @ (Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_))) => {
                faults.push(ArgumentFault {
                    path: "parameters".into(),
                    message: format!("must be list or dict, not {}", other.kind()),
                })
            }
        }
        if self.database(&arguments).is_none() {
            let message = format!("is no resource that there is; there are {}", self.known());
            faults.push(ArgumentFault { path: "resource".into(), message });
        }
        if faults.is_empty() { Ok(arguments) } else { Err(faults) }
    }

    fn timeout(&self) -> Duration {
        // The database's own time-out is the first to speak; a read may be tried three times.
        let longest = self.all.iter().map(|database| database.timeout()).max().unwrap_or_default();
        longest * 3 + Duration::from_secs(5)
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            let Some(database) = self.database(&arguments) else {
                return ToolOutcome::Error(format!("there is no such resource; there are {}", self.known()));
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
