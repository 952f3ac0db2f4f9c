//! What statements give and take, whatever the database: rows within bounds, bytes, places in a statement.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use playhouse_lang::value::{Map, Value};

use crate::resource::sql::SqlError;

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
                return Err(SqlError::Failed(format!(
                    "two columns are named `{column}`; give them different names with AS"
                )));
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
    let n_rows = i64::try_from(n_rows).unwrap_or(i64::MAX);
    let members = [("changed", Some(n_rows)), ("last_id", last_id)];
    Value::map(members.into_iter().filter_map(|(name, number)| Some((name.into(), Value::Int(number?)))).collect())
}

/// As many values as placeholders, or that there are not.
pub(super) fn check_count(n_places: usize, n_values: usize) -> Result<(), SqlError> {
    let text = || format!("the statement has {n_places} placeholders, but there are {n_values} values");
    if n_places == n_values { Ok(()) } else { Err(SqlError::Failed(text())) }
}

/// The bytes that `{base64: …}` stands for.
pub(super) fn bytes_of(value: &Value) -> Option<Result<Vec<u8>, String>> {
    let Value::Map(members) = value else { return None };
    let text = members.get("base64").filter(|_| members.len() == 1)?;
    let text = text.as_str().ok_or_else(|| "`base64` of a value must be text".to_owned());
    Some(text.and_then(|text| {
        let decoded = BASE64_STANDARD.decode(text);
        decoded.map_err(|error| format!("`base64` of a value cannot be read: {error}"))
    }))
}

/// Bytes as `{base64: …}`.
pub(super) fn bytes_value(bytes: &[u8]) -> Value {
    Value::map(Map::from_iter([("base64".into(), Value::from(BASE64_STANDARD.encode(bytes)))]))
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
