//! What was said, for those who have asked to be told (`capture = "messages"`), in the forms of the conventions.

use playhouse_vm::protocol::ChatMessage;
use serde_json::{Value as Json, json};

use crate::otel::names;
use crate::otel::spans::Span;

/// What was said in a stretch.
#[derive(Debug, Default)]
pub(super) struct Words {
    by_user: Vec<String>,
    by_program: Vec<String>,
}

impl Words {
    pub(super) fn said(&mut self, text: &str, by_user: bool) {
        let words = if by_user { &mut self.by_user } else { &mut self.by_program };
        words.push(text.to_owned());
    }

    /// Puts it onto the stretch's span.
    pub(super) fn tell(self, root: &mut Span) {
        for (name, words) in [(names::INPUT, self.by_user), (names::OUTPUT, self.by_program)] {
            if !words.is_empty() {
                root.set(name, words.join("\n"));
            }
        }
    }
}

/// The messages of a request.
pub(super) fn input_messages(messages: &[ChatMessage]) -> String {
    let messages = messages.iter().map(|message| {
        let role: &'static str = message.role.into();
        part(role, &message.text)
    });
    Json::Array(messages.collect()).to_string()
}

/// The message of a reply.
pub(super) fn output_messages(reply: &str, finish: Option<&str>) -> String {
    let mut message = part("assistant", reply);
    message["finish_reason"] = finish.unwrap_or("error").into();
    Json::Array(vec![message]).to_string()
}

fn part(role: &str, text: &str) -> Json {
    json!({"role": role, "parts": [{"type": "text", "content": text}]})
}
