//! JSON Schemas, by which values are judged. The only file that names `boon`.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use playhouse_lang::span::FileId;
use playhouse_lang::value::Value;
use serde_json::Value as Json;

/// Where a schema is, for those that refer to themselves.
const PLACE: &str = "schema:/schema.json";

/// Reads a schema that a check in the file names.
pub type ReadSchema<'r> = dyn FnMut(FileId, &str) -> Result<String, String> + 'r;

/// A schema that has been read. Cheap to clone.
#[derive(Clone)]
pub(super) struct Schema {
    schemas: Arc<Schemas>,
    index: SchemaIndex,
}

/// A schema is complete in its file: nothing is fetched.
struct Nothing;

impl UrlLoader for Nothing {
    fn load(&self, url: &str) -> Result<Json, Box<dyn Error>> {
        Err(format!("it refers to {url}; put all that it needs into one file").into())
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

impl Schema {
    /// Reads a schema's text (drafts 4 to 2020-12).
    ///
    /// # Errors
    /// It is no JSON, or no schema, and why.
    pub(super) fn read(text: &str) -> Result<Schema, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))?;
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.use_loader(Box::new(Nothing));
        compiler.add_resource(PLACE, json).map_err(|error| fault_of(&error))?;
        let index = compiler.compile(PLACE, &mut schemas).map_err(|error| fault_of(&error))?;
        Ok(Schema { schemas: Arc::new(schemas), index })
    }

    /// The first thing that is wrong with a value: `/items/0: want string, but got number`.
    pub(super) fn fault(&self, value: &Value) -> Option<String> {
        let json = serde_json::to_value(value).unwrap_or_default();
        let error = self.schemas.validate(&json, self.index).err()?;
        Some(first_fault(&error))
    }
}

/// Why a schema is none.
fn fault_of(error: &CompileError) -> String {
    let cause = if let CompileError::LoadUrlError { src, .. } = error {
        src.to_string()
    } else if let CompileError::ValidationError { src, .. } = error {
        first_fault(src)
    } else {
        error.to_string()
    };
    format!("this is not a JSON Schema: {cause}")
}

/// The first cause of what is wrong with a value, and where.
fn first_fault(error: &ValidationError<'_, '_>) -> String {
    let mut first = error;
    while let Some(cause) = first.causes.first() {
        first = cause;
    }
    let place = first.instance_location.to_string();
    if place.is_empty() { first.kind.to_string() } else { format!("{place}: {}", first.kind) }
}
