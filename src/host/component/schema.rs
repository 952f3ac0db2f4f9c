//! Types as JSON Schema, for models (spec `components.md`, 4.4).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::component::types::{DataType, Description, Field, SharedTypes};

/// The JSON Schema (draft 2020-12) of a parameter: nothing passes that is not declared. Types with a name stand once, in
/// `$defs`. Where a reference to an asset is accepted it is an alternative.
pub fn json_schema(description: &Description, shared: &SharedTypes) -> Json {
    schema(description, shared, true)
}

/// The JSON Schema of a response, which may say more than was declared.
pub fn response_schema(description: &Description, shared: &SharedTypes) -> Json {
    schema(description, shared, false)
}

fn schema(description: &Description, shared: &SharedTypes, is_closed: bool) -> Json {
    let mut writer = Writer { shared, is_closed, used: BTreeSet::new() };
    let mut schema = writer.described(description);
    // What is in `$defs` can use more of them.
    let mut definitions = Map::new();
    while let Some(name) = writer.used.iter().find(|name| !definitions.contains_key(&***name)).cloned() {
        let definition = shared.get(&name).map_or_else(|| json!({}), |ty| writer.ty(ty));
        definitions.insert(name.to_string(), definition);
    }
    definitions.sort_keys();
    if !definitions.is_empty() {
        schema["$defs"] = definitions.into();
    }
    schema
}

struct Writer<'a> {
    shared: &'a SharedTypes,
    /// Whether objects have no other members than the declared ones.
    is_closed: bool,
    used: BTreeSet<Arc<str>>,
}

impl Writer<'_> {
    fn described(&mut self, description: &Description) -> Json {
        let mut schema = self.ty(&description.ty);
        if description.asset_reference
            && description.ty != DataType::Any
            && !matches!(description.ty, DataType::Host(_))
        {
            schema = json!({"anyOf": [schema, reference()]});
        }
        if !description.text.is_empty() {
            schema["description"] = json!(description.text);
        }
        if let Some(allowed) = &description.allowed {
            schema["enum"] = json!(allowed);
        }
        if let Some(example) = &description.example {
            schema["examples"] = json!([example]);
        }
        schema
    }

    fn ty(&mut self, ty: &DataType) -> Json {
        match ty {
            DataType::Any => json!({}),
            DataType::Null => json!({"type": "null"}),
            DataType::Str => json!({"type": "string"}),
            DataType::Int => json!({"type": "integer"}),
            DataType::Float => json!({"type": "number"}),
            DataType::Bool => json!({"type": "boolean"}),
            DataType::List(element) if **element == DataType::Any => json!({"type": "array"}),
            DataType::List(element) => json!({"type": "array", "items": self.ty(element)}),
            DataType::Dict(value) if **value == DataType::Any => json!({"type": "object"}),
            DataType::Dict(value) => json!({"type": "object", "additionalProperties": self.ty(value)}),
            DataType::Object(fields) => self.object(fields),
            DataType::Union(alternatives) => {
                let alternatives: Vec<Json> = alternatives.iter().map(|ty| self.ty(ty)).collect();
                json!({"anyOf": alternatives})
            }
            DataType::Shared(name) => {
                if self.shared.contains_key(name) {
                    self.used.insert(name.clone());
                }
                json!({"$ref": format!("#/$defs/{name}")})
            }
            DataType::Host(name) => {
                let mut schema = reference();
                schema["description"] = format!("an asset that holds a {name}").into();
                schema
            }
        }
    }

    fn object(&mut self, fields: &[Field]) -> Json {
        let mut properties = Map::new();
        for field in fields {
            properties.insert(field.name.to_string(), self.described(&field.description));
        }
        let required: Vec<&str> =
            fields.iter().filter(|field| field.description.required).map(|field| &*field.name).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        if self.is_closed {
            schema["additionalProperties"] = false.into();
        }
        schema
    }
}

/// A reference to an asset, as text.
fn reference() -> Json {
    json!({"type": "string", "pattern": "^asset://"})
}
