//! What clients say in a message.

use serde_json::Value as Json;

use crate::serve::http::problem::Pointed;

/// The text of a content: itself, or its parts that are text, each in a line of its own.
pub(crate) fn content_text(content: &Json, pointer: &str, errors: &mut Vec<Pointed>) -> String {
    match content {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        Json::Array(parts) => {
            let mut texts = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                let kind = part.get("type").and_then(Json::as_str).unwrap_or_default();
                match (kind, part.get("text").and_then(Json::as_str)) {
                    ("text" | "input_text" | "output_text", Some(text)) => texts.push(text),
                    (kind, _) => {
                        let kind = if kind.is_empty() { "no object with a `type`" } else { kind };
                        let detail = format!("a program reads text, but this part is {kind}; say it in words");
                        errors.push(Pointed::new(format!("{pointer}/{index}"), detail));
                    }
                }
            }
            texts.join("\n")
        }
        Json::Bool(_) | Json::Number(_) | Json::Object(_) => {
            errors.push(Pointed::new(pointer, "this is a string, or an array of parts with text"));
            String::new()
        }
    }
}
