//! What servers answer with, as values of programs.

use playhouse_lang::value::{Map, Value};
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ResourceContents, Role};
use serde_json::{Value as Json, json};

use super::schema::value_of;
use super::text;

/// The result of a tool: structured content if there is some, else the text, or a list of several parts.
///
/// # Errors
/// The tool says that it failed.
pub(super) fn of_tool(result: CallToolResult) -> Result<Value, String> {
    if result.is_error == Some(true) {
        return Err(failure(&result));
    }
    match &result.structured_content {
        Some(json) => Ok(value_of(json).unwrap_or(Value::Null)),
        None => Ok(parts(result.content.iter().map(part).collect())),
    }
}

/// What a failed tool says about it.
fn failure(result: &CallToolResult) -> String {
    let texts: Vec<&str> =
        result.content.iter().filter_map(|part| part.as_text().map(|text| text.text.as_str())).collect();
    let words = text::lines(&texts.join("\n"), text::MAX_ERROR);
    match (&result.structured_content, words.is_empty()) {
        (_, false) => words,
        (Some(json), true) => text::words(&json.to_string(), text::MAX_ERROR),
        (None, true) => "it failed and did not say why".to_owned(),
    }
}

/// What is in a resource: its text, or a list of several parts.
pub(super) fn of_resource(contents: &[ResourceContents]) -> Value {
    match contents {
        [ResourceContents::TextResourceContents { text, .. }] => Value::str(text.as_str()),
        _ => parts(contents.iter().map(resource).collect()),
    }
}

/// The messages of a prompt.
pub(super) fn of_prompt(prompt: &GetPromptResult) -> Value {
    let messages = prompt.messages.iter().map(|message| {
        let role = match &message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        Value::map(Map::from_iter([("role".into(), Value::str(role)), ("content".into(), part(&message.content))]))
    });
    let mut members = Map::new();
    if let Some(description) = &prompt.description {
        members.insert("description".into(), Value::from(text::words(description, text::MAX_SUMMARY)));
    }
    members.insert("messages".into(), Value::list(messages.collect()));
    Value::map(members)
}

/// One part is itself.
fn parts(mut parts: Vec<Value>) -> Value {
    match parts.len() {
        0 => Value::Null,
        1 => parts.swap_remove(0),
        _ => Value::list(parts),
    }
}

/// A text as it is; anything else as a map that says what it is.
fn part(block: &ContentBlock) -> Value {
    let json = match block {
        ContentBlock::Text(text) => return Value::str(text.text.as_str()),
        ContentBlock::Image(image) => json!({"type": "image", "mime_type": image.mime_type, "data": image.data}),
        ContentBlock::Audio(audio) => json!({"type": "audio", "mime_type": audio.mime_type, "data": audio.data}),
        ContentBlock::Resource(embedded) => return resource(&embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let mut json = json!({"type": "resource_link", "uri": link.uri, "name": link.name});
            put(&mut json, "mime_type", link.mime_type.as_deref());
            json
        }
        _ => json!({"type": "unknown"}),
    };
    value_of(&json).unwrap_or(Value::Null)
}

fn resource(contents: &ResourceContents) -> Value {
    let (uri, mime_type, name, data) = match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => (uri, mime_type, "text", text),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => (uri, mime_type, "data", blob),
        _ => return value_of(&json!({"type": "unknown"})).unwrap_or(Value::Null),
    };
    let mut json = json!({"type": "resource", "uri": uri});
    put(&mut json, "mime_type", mime_type.as_deref());
    put(&mut json, name, Some(data));
    value_of(&json).unwrap_or(Value::Null)
}

/// Puts in what there is.
pub(super) fn put(json: &mut Json, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        json[name] = text.into();
    }
}
