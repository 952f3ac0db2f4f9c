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
                    _ => errors.push(Pointed {
                        pointer: format!("{pointer}/{index}"),
                        detail: format!(
                            "a program reads text, but this part is {}; say it in words",
                            if kind.is_empty() { "no object with a `type`" } else { kind }
                        ),
                    }),
                }
            }
            texts.join("\n")
        }
        Json::Bool(_) | Json::Number(_) | Json::Object(_) => {
            let detail = "this is a string, or an array of parts with text".to_owned();
            errors.push(Pointed { pointer: pointer.to_owned(), detail });
            String::new()
        }
    }
}
