//! JSON Schemas of tools: what of them a signature can say. Arguments are checked against that; all else the server
//! checks, and its refusal is the call's error.

use std::collections::HashSet;
use std::sync::Arc;

use playhouse_lang::program::{Parameter, Signature, Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use serde_json::Value as Json;

use super::text;
use crate::tool::arguments::{ArgumentFault, check_arguments, parameter};

/// Bytes of a schema that models are shown; of a larger one they see the signature.
const MAX_SHOWN: usize = 16 * 1024;

/// Parameters of a tool at most; a signature with more is shown without them.
const MAX_PARAMETERS: usize = 256;

/// The arguments of a tool.
pub(super) struct InputSchema {
    /// What a signature can say.
    pub(super) parameters: Vec<Parameter>,
    /// The schema for models, if it says more.
    pub(super) shown: Option<Arc<str>>,
    /// Our names and theirs, where they differ.
    renamed: Vec<(Arc<str>, Arc<str>)>,
    /// Arguments may have names that the signature does not know.
    is_open: bool,
}

impl InputSchema {
    /// Reads a schema.
    pub(super) fn new(schema: &serde_json::Map<String, Json>) -> InputSchema {
        let empty = serde_json::Map::new();
        let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
        let required: HashSet<&str> =
            schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
        let mut input = InputSchema { parameters: Vec::new(), shown: None, renamed: Vec::new(), is_open: false };
        let mut taken = HashSet::new();
        for (their_name, property) in properties.iter().take(MAX_PARAMETERS) {
            let mut name = text::identifier(their_name);
            while name.is_empty() || !taken.insert(name.clone()) {
                name.push('_');
            }
            let name: Arc<str> = name.into();
            if *name != **their_name {
                input.renamed.push((name.clone(), their_name.as_str().into()));
            }
            let is_required = required.contains(their_name.as_str());
            // Null stands for what is left out, which a required one must not be.
            let default = property.get("default").and_then(value_of);
            let default = default.filter(|default| !is_required || *default != Value::Null);
            let description = property.get("description").and_then(Json::as_str).unwrap_or_default();
            let default = default.or_else(|| (!is_required).then_some(Value::Null));
            let description = text::words(description, text::MAX_SUMMARY);
            input.parameters.push(parameter(&name, type_of(property), default, &description));
        }
        if !says_more(schema, properties) {
            return input;
        }
        let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false))
            && !schema.contains_key("patternProperties")
            && properties.len() <= MAX_PARAMETERS;
        input.is_open = !is_closed;
        let shown = input.with_our_names(schema).to_string();
        // Without a text for models the machine would check by the signature, which may not know all names.
        let shown = if shown.len() <= MAX_SHOWN { shown } else { r#"{"type":"object"}"#.to_owned() };
        input.shown = Some(shown.into());
        input
    }

    /// Checks arguments by our names.
    pub(super) fn check(&self, signature: &Signature, mut arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        let mut others = Map::new();
        if self.is_open {
            let is_known = |name: &str| self.parameters.iter().any(|parameter| *parameter.name == *name);
            (arguments, others) = arguments.into_iter().partition(|(name, _)| is_known(name));
        }
        let mut arguments = check_arguments(signature, arguments)?;
        arguments.extend(others);
        Ok(arguments)
    }

    /// Arguments by the server's names.
    pub(super) fn sent(&self, arguments: &Map) -> serde_json::Map<String, Json> {
        arguments.iter().map(|(name, value)| (self.their_name(name).to_owned(), json_of(value))).collect()
    }

    fn their_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.renamed.iter().find(|(ours, _)| **ours == *name).map_or(name, |(_, theirs)| theirs)
    }

    fn our_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.renamed.iter().find(|(_, theirs)| **theirs == *name).map_or(name, |(ours, _)| ours)
    }

    fn with_our_names(&self, schema: &serde_json::Map<String, Json>) -> Json {
        let mut schema = schema.clone();
        // Says nothing to a model.
        schema.shift_remove("$schema");
        if !self.renamed.is_empty() {
            if let Some(Json::Object(properties)) = schema.get_mut("properties") {
                let named = std::mem::take(properties);
                *properties = named.into_iter().map(|(name, it)| (self.our_name(&name).to_owned(), it)).collect();
            }
            if let Some(Json::Array(required)) = schema.get_mut("required") {
                for name in required {
                    if let Json::String(name) = name {
                        *name = self.our_name(name).to_owned();
                    }
                }
            }
        }
        Json::Object(schema)
    }
}

/// A JSON value as ours.
pub(super) fn value_of(json: &Json) -> Option<Value> {
    serde_json::from_value(json.clone()).ok()
}

/// Our value as JSON.
pub(super) fn json_of(value: &Value) -> Json {
    // Our values are JSON; there is nothing that could go wrong.
    serde_json::to_value(value).unwrap_or(Json::Null)
}

/// The nearest type.
fn type_of(schema: &Json) -> Type {
    if let Some(name) = schema.get("type").and_then(Json::as_str) {
        return kind_of(name).into();
    }
    let alternatives: Vec<&str> = if let Some(names) = schema.get("type").and_then(Json::as_array) {
        names.iter().filter_map(Json::as_str).collect()
    } else if let Some(schemas) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array) {
        let names: Option<Vec<&str>> = schemas.iter().map(|it| it.get("type").and_then(Json::as_str)).collect();
        let Some(names) = names else { return Type::ANY };
        names
    } else if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        let are_texts = !values.is_empty() && values.iter().all(Json::is_string);
        return if are_texts { TypeKind::Str.into() } else { Type::ANY };
    } else {
        return Type::ANY;
    };
    let optional = alternatives.contains(&"null");
    let mut kinds: Vec<TypeKind> = Vec::new();
    for kind in alternatives.into_iter().filter(|name| *name != "null").map(kind_of) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match kinds[..] {
        [kind] => Type { kind, optional },
        [TypeKind::Int, TypeKind::Float] | [TypeKind::Float, TypeKind::Int] => Type { kind: TypeKind::Float, optional },
        _ => Type::ANY,
    }
}

fn kind_of(name: &str) -> TypeKind {
    match name {
        "string" => TypeKind::Str,
        "integer" => TypeKind::Int,
        "number" => TypeKind::Float,
        "boolean" => TypeKind::Bool,
        "array" => TypeKind::List,
        "object" => TypeKind::Dict,
        _ => TypeKind::Any,
    }
}

/// Whether there is something in the schema that a signature cannot say.
fn says_more(schema: &serde_json::Map<String, Json>, properties: &serde_json::Map<String, Json>) -> bool {
    if properties.len() > MAX_PARAMETERS || schema.get("type").is_some_and(|ty| ty.as_str() != Some("object")) {
        return true;
    }
    let is_known = |(name, value): (&String, &Json)| match name.as_str() {
        "type" | "$schema" | "title" | "description" => true,
        "properties" => value.is_object(),
        "required" => value.as_array().is_some_and(|names| {
            names.iter().all(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
        }),
        "additionalProperties" => *value == Json::Bool(false),
        _ => false,
    };
    let is_plain = |property: &Json| {
        let Some(members) = property.as_object() else { return false };
        let is_plain = members.iter().all(|(name, value)| match name.as_str() {
            "title" | "description" | "default" => true,
            // A list or a map of which nothing else is known is all that our types say.
            "type" => value.is_array() || value.as_str().is_some_and(|name| kind_of(name) != TypeKind::Any),
            _ => false,
        });
        is_plain && (members.get("type").is_none_or(Json::is_string) || type_of(property).kind != TypeKind::Any)
    };
    !schema.iter().all(is_known) || !properties.values().all(is_plain)
}
