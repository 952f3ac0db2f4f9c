//! References to assets in place of values (spec `components.md`, 4.4 and 4.9).

use std::sync::Arc;

use playhouse_lang::value::{PathStep, Value};

/// A place inside an asset. It is written `asset://id/path/to`, or `{asset_id: id, field_path: [path, to]}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetReference {
    /// The asset.
    pub id: Arc<str>,
    /// The way into it; empty for all of it. A step of digits can be the index of a list or the key of a map; text
    /// is read as an index, which [`AssetReference::member`] finds either way.
    pub path: Vec<PathStep>,
}

impl AssetReference {
    /// The reference that `value` is, if it is one.
    pub fn read(value: &Value) -> Option<AssetReference> {
        match value {
            Value::Str(text) => {
                let mut parts = text.strip_prefix("asset://")?.split('/');
                let id = parts.next().filter(|id| !id.is_empty())?;
                let mut path: Vec<&str> = parts.collect();
                if path.last() == Some(&"") {
                    path.pop();
                }
                let path: Option<Vec<PathStep>> = path.into_iter().map(step).collect();
                Some(AssetReference { id: id.into(), path: path? })
            }
            Value::Map(members) => {
                let id = members.get("asset_id")?.as_str().filter(|id| !id.is_empty())?;
                let path = match members.get("field_path").unwrap_or(&Value::Null) {
                    Value::Null => Vec::new(),
                    Value::List(steps) => steps.iter().map(step_of).collect::<Option<_>>()?,
                    Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Map(_) => return None,
                };
                let is_known = |key: &Arc<str>| matches!(&**key, "asset_id" | "field_path");
                members.keys().all(is_known).then(|| AssetReference { id: id.into(), path })
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => None,
        }
    }

    /// What stands at its place in `asset`; the error is how many steps were possible.
    ///
    /// # Errors
    /// The asset has no such place.
    pub fn member<'a>(&self, asset: &'a Value) -> Result<&'a Value, usize> {
        let mut value = asset;
        for (n_done, step) in self.path.iter().enumerate() {
            let by_key = || match step {
                PathStep::Index(index) => value.step(&PathStep::Member(index.to_string().into())),
                PathStep::Member(_) => None,
            };
            value = value.step(step).or_else(by_key).ok_or(n_done)?;
        }
        Ok(value)
    }
}

fn step_of(value: &Value) -> Option<PathStep> {
    match value {
        Value::Str(text) => Some(PathStep::Member(text.clone())),
        Value::Int(index) => usize::try_from(*index).ok().map(PathStep::Index),
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
    }
}

/// A step of a reference in text. An index has no leading zero: `007` is a key.
fn step(text: &str) -> Option<PathStep> {
    let index = text.parse::<usize>().ok().filter(|index| index.to_string() == text);
    (!text.is_empty()).then(|| index.map_or_else(|| PathStep::Member(text.into()), PathStep::Index))
}
