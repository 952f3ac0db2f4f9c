//! The interface as an OpenAPI document, made of the table of routes.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json, json};

use crate::serve::http::openai::wire::is_openai;
use crate::serve::http::route::{Answer, Route};

/// The document.
pub(super) fn make(table: &[Route]) -> Json {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in table {
        let Route { method, path, role, summary, body, query, answers, .. } = route;
        let open = path.replace("{*", "{");
        let mut parameters: Vec<Json> = open
            .split('{')
            .skip(1)
            .filter_map(|part| part.split_once('}'))
            .map(|(name, _)| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
            .collect();
        if let Some(query) = query {
            let schema = query(&mut generator);
            parameters.extend(of_query(&schema, &generator));
        }
        let mut responses = json!({"default": fault(path)});
        for (status, answer) in answers {
            let at = &mut responses[status.to_string()];
            at["description"] = (*summary).into();
            match answer {
                Answer::Nothing => {}
                Answer::Json(shape) => at["content"]["application/json"] = json!({"schema": shape(&mut generator)}),
                // No schema tells what comes in events.
                Answer::Other(kind @ "text/event-stream") => at["content"][*kind] = json!({}),
                Answer::Other(kind) => at["content"][*kind] = json!({"schema": {"type": "string"}}),
            }
        }
        let mut operation = json!({
            "summary": summary,
            "parameters": parameters,
            "responses": responses,
            "security": if role.is_some() { json!([{"token": []}]) } else { json!([]) },
        });
        if let Some(role) = role {
            let role: &str = (*role).into();
            operation["description"] = format!("For the role {role} and those above it.").into();
        }
        if let Some(body) = body {
            operation["requestBody"] =
                json!({"required": true, "content": {"application/json": {"schema": body(&mut generator)}}});
        }
        let at = paths.entry(open).or_insert_with(|| json!({}));
        at[method.as_str().to_ascii_lowercase()] = operation;
    }
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Problem".to_owned(), problem());
    schemas.insert("OpenAiError".to_owned(), openai_error());
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Playhouse", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    })
}

/// The members of a query's shape.
fn of_query(schema: &schemars::Schema, generator: &schemars::SchemaGenerator) -> Vec<Json> {
    let name = schema.get("$ref").and_then(Json::as_str).and_then(|at| at.rsplit('/').next());
    let found = name.and_then(|name| generator.definitions().get(name));
    let properties = found.and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    let parameter = |(name, schema): (&String, &Json)| json!({"name": name, "in": "query", "schema": schema});
    properties.into_iter().flatten().map(parameter).collect()
}

/// What comes where something is wrong.
fn fault(path: &str) -> Json {
    let of = |name: &str| json!({"schema": {"$ref": format!("#/components/schemas/{name}")}});
    let content = match path {
        _ if is_openai(path) => json!({"application/json": of("OpenAiError")}),
        // What the protocol finds wrong it says in its own way.
        "/mcp" => json!({
            "application/problem+json": of("Problem"),
            "application/json": {"schema": {"type": "object"}},
            "text/plain": {"schema": {"type": "string"}},
        }),
        _ => json!({"application/problem+json": of("Problem")}),
    };
    json!({"description": "What is wrong, and what to do next", "content": content})
}

fn openai_error() -> Json {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "string"},
            },
        }},
    })
}

fn problem() -> Json {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "errors": {"type": "array", "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            }},
        },
    })
}
