//! The trace line's vocabulary as a JSON Schema, for engines that can hold a model to it.

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// One trace line, as a schema tells it. This is the model's vocabulary and the only type of the machine that
/// derives a wire form: the schema must not drift from the words documented here. Nothing is read or written
/// through it (the reader takes more framings and says more precisely what is wrong than a derived one could).
#[derive(JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
#[allow(dead_code)] // Its shape is used, its values are not.
enum SchemaLine {
    /// Told to the user; the text may hold references, `{$name}`.
    Say {
        #[schemars(default, with = "LineId", skip_serializing_if = "Option::is_none")]
        at: Option<LineId>,
        say: String,
    },
    /// Variables to set, in order.
    Set {
        #[schemars(default, with = "LineId", skip_serializing_if = "Option::is_none")]
        at: Option<LineId>,
        set: Map<String, Value>,
    },
    /// A call to queue: a playbook, a tool or a plan.
    Call {
        #[schemars(default, with = "LineId", skip_serializing_if = "Option::is_none")]
        at: Option<LineId>,
        call: String,
        /// By name, or by position.
        #[schemars(default, with = "Arguments", skip_serializing_if = "Option::is_none")]
        args: Option<Arguments>,
        /// One call for each item of a list: the parameter that takes the item, and the list.
        #[schemars(default, with = "Map<String, Value>", skip_serializing_if = "Option::is_none")]
        each: Option<Map<String, Value>>,
        /// The variable that gets the result.
        #[schemars(default, with = "String", rename = "as", skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// A thought, never shown to the user.
    Think {
        #[schemars(default, with = "LineId", skip_serializing_if = "Option::is_none")]
        at: Option<LineId>,
        think: String,
    },
    /// Yield until the calls are done, the user has spoken, or the time is over.
    Wait {
        #[schemars(default, with = "LineId", skip_serializing_if = "Option::is_none")]
        at: Option<LineId>,
        #[schemars(regex(pattern = r"^(calls|user|timer:P[0-9A-Z.]+)$"))]
        wait: String,
    },
    /// Yield: the playbook is finished, with this value.
    Return {
        #[schemars(default, with = "LineId", skip_serializing_if = "Option::is_none")]
        at: Option<LineId>,
        r#return: Value,
    },
    /// Yield: the program is finished; true, or the reason.
    End {
        #[schemars(default, with = "LineId", skip_serializing_if = "Option::is_none")]
        at: Option<LineId>,
        end: Closing,
    },
    /// The pointer moves, nothing else happens.
    At { at: LineId },
}

/// The id of a line.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct LineId(#[schemars(regex(pattern = r"^[0-9]{2,}([.>][0-9]{2,})*$"))] String);

#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum Arguments {
    Named(Map<String, Value>),
    Positional(Vec<Value>),
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum Closing {
    Now(True),
    Reason(String),
}

/// `true`.
#[allow(dead_code)]
struct True;

impl JsonSchema for True {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "True".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "const": true })
    }
}

/// The schema of a whole reply, `{"trace":[…]}`, for an agent that can call these: the same bytes in all its
/// turns, because providers cache what a request begins with.
pub fn agent_schema(callables: &[Arc<str>]) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut line = settings.into_generator().into_root_schema_for::<SchemaLine>().to_value();
    if let Some(line) = line.as_object_mut() {
        line.remove("title");
        // Meant for the readers of this file.
        line.remove("description");
    }
    if let Some(variants) = line.get_mut("anyOf").and_then(Value::as_array_mut) {
        variants.retain(|variant| !callables.is_empty() || variant.pointer("/properties/call").is_none());
        for variant in variants {
            if let Some(call) = variant.pointer_mut("/properties/call") {
                *call = json!({ "type": "string", "enum": callables });
            }
        }
    }
    json!({
        "type": "object",
        "properties": { "trace": { "type": "array", "items": line } },
        "required": ["trace"],
        "additionalProperties": false,
    })
}
