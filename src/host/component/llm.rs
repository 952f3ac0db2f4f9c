//! What is asked of a model and what it answers, whichever model it is (spec `components.md`, 4.6).

use playhouse_lang::value::{Map, Value};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

/// The input of a model. Every model understands `prompt`; one that is told of no prompt takes what else it knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmParameter {
    /// The input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The longest answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether the lengths of input and output are to be told.
    #[serde(deserialize_with = "null_is_default")]
    pub require_token_len: bool,
    /// Whether the cost is to be told.
    #[serde(deserialize_with = "null_is_default")]
    pub require_cost: bool,
    /// Fields of one model or another.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Json>,
}

/// The answer of a model. There is always a `content`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmResponse {
    /// What it wrote.
    pub content: String,
    /// The length of the input, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_token_len: Option<u64>,
    /// The length of the output, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_token_len: Option<u64>,
    /// What the call cost, in whatever the model's prices are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Fields of one model or another.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Json>,
}

impl LlmParameter {
    /// Reads the parameter of a call; what is null is left out. Fields that are not known here are kept.
    ///
    /// # Errors
    /// The first field of a wrong type, in words for the program's model.
    pub fn read(members: &Map) -> Result<LlmParameter, String> {
        let wrong =
            |name: &str, wanted: &str, value: &Value| format!("`{name}` must be {wanted}, not {}", value.kind());
        let mut parameter = LlmParameter::default();
        for (name, value) in members.iter().filter(|(_, value)| **value != Value::Null) {
            match (&**name, value) {
                ("prompt", Value::Str(prompt)) => parameter.prompt = Some(prompt.to_string()),
                ("prompt", other) => return Err(wrong(name, "str", other)),
                ("max_tokens", Value::Int(n)) if *n > 0 => parameter.max_tokens = Some(n.unsigned_abs()),
                ("max_tokens", Value::Int(_)) => return Err("`max_tokens` must be 1 or more".to_owned()),
                ("max_tokens", other) => return Err(wrong(name, "int", other)),
                ("temperature", Value::Float(temperature)) => parameter.temperature = Some(*temperature),
                #[allow(clippy::cast_precision_loss, reason = "temperatures are small")]
                ("temperature", Value::Int(temperature)) => parameter.temperature = Some(*temperature as f64),
                ("temperature", other) => return Err(wrong(name, "float", other)),
                ("require_token_len", Value::Bool(truth)) => parameter.require_token_len = *truth,
                ("require_cost", Value::Bool(truth)) => parameter.require_cost = *truth,
                ("require_token_len" | "require_cost", other) => return Err(wrong(name, "bool", other)),
                (_, value) => {
                    let value = serde_json::to_value(value).unwrap_or_default();
                    parameter.rest.insert(name.to_string(), value);
                }
            }
        }
        Ok(parameter)
    }
}

fn null_is_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// All that a model's answer owes to what was asked. Only a missing `content` makes it useless; the rest is for a
/// warning.
pub fn check_response(parameter: &LlmParameter, response: &Json) -> Vec<String> {
    let Json::Object(members) = response else {
        return vec![format!("a model's response is an object with `content`, not {}", kind(response))];
    };
    let mut faults = Vec::new();
    match members.get("content") {
        Some(Json::String(_)) => {}
        Some(other) => faults.push(format!("`content` must be text, not {}", kind(other))),
        None => faults.push("`content` is missing; a model's response always has it".to_owned()),
    }
    for key in ["input_token_len", "output_token_len"] {
        match members.get(key) {
            None | Some(Json::Null) if parameter.require_token_len => {
                faults.push(format!("`{key}` is missing; token lengths were asked for (`require_token_len`)"));
            }
            None | Some(Json::Null) => {}
            Some(length) if length.is_u64() => {}
            Some(other) => faults.push(format!("`{key}` must be a number of tokens, not {}", told(other))),
        }
    }
    match members.get("cost") {
        None | Some(Json::Null) if parameter.require_cost => {
            faults.push("`cost` is missing; it was asked for (`require_cost`)".to_owned());
        }
        None | Some(Json::Null) => {}
        Some(cost) if cost.as_f64().is_some_and(|cost| cost >= 0.0) => {}
        Some(other) => faults.push(format!("`cost` must be a number, not {}", told(other))),
    }
    faults
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

fn told(value: &Json) -> String {
    if value.is_number() { value.to_string() } else { kind(value).to_owned() }
}
