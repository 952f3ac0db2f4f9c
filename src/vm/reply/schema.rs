//! The trace line's vocabulary as a JSON Schema, for engines that can hold a model to it. Nothing is read through it:
//! the reader takes more framings, and says more precisely what is wrong.

use std::sync::Arc;

use serde_json::{Value, json};

/// The schema of a whole reply, `{"trace":[…]}`, for an agent that can call these: the same bytes in all its
/// turns, because providers cache what a request begins with.
pub fn agent_schema(callables: &[Arc<str>]) -> Value {
    let text = json!({ "type": "string" });
    let map = json!({ "type": "object", "additionalProperties": true });
    let wait = json!({ "type": "string", "pattern": "^(calls|user|timer:P[0-9A-Z.]+)$" });
    let call = json!({
        "call": { "type": "string", "enum": callables },
        "args": { "anyOf": [map, { "type": "array", "items": true }], "description": "By name, or by position." },
        "each": {
            "type": "object",
            "additionalProperties": true,
            "description": "One call for each item of a list: the parameter that takes the item, and the list.",
        },
        "as": { "type": "string", "description": "The variable that gets the result." },
    });
    let end = json!({ "anyOf": [{ "const": true }, text] });
    let mut lines = vec![
        line("say", "Told to the user; the text may hold references, `{$name}`.", json!({ "say": text })),
        line("set", "Variables to set, in order.", json!({ "set": map })),
        line("call", "A call to queue: a playbook, a tool or a plan.", call),
        line("think", "A thought, never shown to the user.", json!({ "think": text })),
        line("skip", "The line is left out, for this reason.", json!({ "skip": text })),
        line(
            "wait",
            "Yield until the calls are done, the user has spoken, or the time is over.",
            json!({ "wait": wait }),
        ),
        line("return", "Yield: the playbook is finished, with this value.", json!({ "return": true })),
        line("end", "Yield: the program is finished; true, or the reason.", json!({ "end": end })),
        line("at", "The pointer moves, nothing else happens.", json!({})),
    ];
    lines.retain(|line| !callables.is_empty() || line["properties"].get("call").is_none());
    json!({
        "type": "object",
        "properties": { "trace": { "type": "array", "items": { "anyOf": lines } } },
        "required": ["trace"],
        "additionalProperties": false,
    })
}

/// A line with these members, one of them `required`; each may have an id.
fn line(required: &str, description: &str, members: Value) -> Value {
    let mut properties = json!({
        "at": { "type": "string", "pattern": "^[0-9]{2,}([.>][0-9]{2,})*$", "description": "The id of a line." },
    });
    if let (Value::Object(properties), Value::Object(members)) = (&mut properties, members) {
        properties.extend(members);
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": [required],
        "description": description,
    })
}
