//! What goes over the wire: our own request and chunk types.
//!
//! The chunks are lenient: fields that are missing, null, unknown or of an odd type do no harm, because servers
//! that call themselves compatible differ in all of these.

use playhouse_vm::protocol::Usage;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::config::OpenAiConfig;
use crate::llm::LlmRequest;

/// The body of a request.
pub(super) struct RequestBody<'a> {
    pub(super) config: &'a OpenAiConfig,
    pub(super) request: &'a LlmRequest,
}

#[derive(serde::Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: &'a str,
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = self.config;
        let messages: Vec<WireMessage<'_>> = self
            .request
            .messages
            .iter()
            .map(|message| WireMessage { role: message.role.into(), content: &message.text })
            .collect();
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &config.model)?;
        body.serialize_entry("messages", &messages)?;
        body.serialize_entry("stream", &true)?;

        let schema = self.request.schema.as_ref().filter(|_| config.constrain);
        let response_format = schema.map(|schema| {
            json!({"type": "json_schema", "json_schema": {"name": "trace", "strict": false, "schema": &**schema}})
        });
        let own = [("stream_options", Some(json!({"include_usage": true}))), ("response_format", response_format)];
        for (name, value) in own {
            if let (Some(value), false) = (value, config.extra_body.contains_key(name)) {
                body.serialize_entry(name, &value)?;
            }
        }
        for (name, value) in &sampling(config) {
            body.serialize_entry(name, value)?;
        }
        body.end()
    }
}

/// What is sent as it is configured, the same with each request: further fields stand in the place of our own.
pub(super) fn sampling(config: &OpenAiConfig) -> serde_json::Map<String, serde_json::Value> {
    let own = [
        ("temperature", config.temperature.map(serde_json::Value::from)),
        ("max_tokens", config.max_tokens.map(serde_json::Value::from)),
    ];
    let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let mut all: serde_json::Map<_, _> = own.chain(config.extra_body.clone()).collect();
    all.retain(|name, value| !matches!(name.as_str(), "model" | "messages" | "stream") && !value.is_null());
    all
}

/// One event of the stream.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<serde_json::Value>,
    /// Made by our own transport: what ended the connection. It travels as an event because async-openai keeps of
    /// an error only its outermost text.
    pub(super) playhouse_transport: Option<String>,
}

/// One of the alternatives of a reply; only the first is read.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    index: Count,
    delta: Option<Delta>,
    /// In place of `delta`, where a server sends the reply as a whole.
    message: Option<Delta>,
    pub(super) finish_reason: Text,
}

/// New text.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Text,
    pub(super) refusal: Text,
    pub(super) reasoning_content: Text,
    pub(super) reasoning: Text,
}

/// The counts of a reply, under all the names they go by.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Count,
    input_tokens: Count,
    completion_tokens: Count,
    output_tokens: Count,
    prompt_tokens_details: Option<WireUsageDetails>,
    prompt_cache_hit_tokens: Count,
    cached_tokens: Count,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct WireUsageDetails {
    cached_tokens: Count,
}

/// A text: a string, or a list of parts. Anything else is no text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Text {
    pub(super) text: String,
    /// Parts that are marked as reasoning.
    pub(super) reasoning: String,
}

/// A number, where it is one.
#[derive(Debug, Default, Clone, Copy)]
struct Count(Option<u64>);

impl Choice {
    pub(super) fn is_first(&self) -> bool {
        self.index.0.unwrap_or(0) == 0
    }

    pub(super) fn into_delta(self) -> Delta {
        self.delta.or(self.message).unwrap_or_default()
    }
}

impl WireUsage {
    /// None where nothing was counted (some servers send zeros until the end).
    pub(super) fn to_usage(&self) -> Option<Usage> {
        let details = self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens.0);
        let usage = Usage {
            prompt_tokens: self.prompt_tokens.0.or(self.input_tokens.0).unwrap_or(0),
            cached_tokens: details.or(self.prompt_cache_hit_tokens.0).or(self.cached_tokens.0).unwrap_or(0),
            completion_tokens: self.completion_tokens.0.or(self.output_tokens.0).unwrap_or(0),
        };
        (usage.prompt_tokens > 0 || usage.completion_tokens > 0).then_some(usage)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        Value::deserialize(deserializer).map(Text::of)
    }
}

impl Text {
    fn of(value: Value) -> Text {
        match value {
            Value::String(text) => Text { text, reasoning: String::new() },
            Value::Array(parts) => parts.into_iter().map(Text::of).fold(Text::default(), |mut all, part| {
                all.text.push_str(&part.text);
                all.reasoning.push_str(&part.reasoning);
                all
            }),
            Value::Object(mut part) => {
                let mut text_of =
                    |name: &str| part.remove(name).map_or_else(String::new, |inside| Text::of(inside).text);
                Text { text: text_of("text"), reasoning: text_of("thinking") + &text_of("reasoning") }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Text::default(),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Count(value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))))
    }
}
