//! What a request is found again by: who asks, which model, and what is asked, in blocks (spec `evaluate.md`,
//! section 2). Neither addresses, nor times, nor ids are in it.

use std::sync::Arc;

use playhouse_vm::protocol::{ChatMessage, Role};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::text::hex;

/// The SHA-256 of a text, as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest(Arc<str>);

impl Digest {
    /// Of this text.
    pub fn of(text: &str) -> Digest {
        Digest(hex(&Sha256::digest(text)).into())
    }

    /// One that was written down; whether it is one shows where it is looked up.
    pub(super) fn written(text: &str) -> Digest {
        Digest(text.into())
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A piece of a message that a reader sees as one: `VARIABLES` with its lines, a section of the system message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    digest: Digest,
    text: Arc<str>,
}

impl Block {
    /// Of this text.
    pub fn new(text: &str) -> Block {
        Block { digest: Digest::of(text), text: text.into() }
    }

    /// What stands for it in a key.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A message in blocks; all together they are its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

impl Message {
    /// A message, cut into blocks.
    pub fn new(message: &ChatMessage) -> Message {
        let blocks = blocks(message.role, &message.text).into_iter().map(Block::new).collect();
        Message { role: message.role, blocks }
    }
}

/// A request, as far as it decides what is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Who asks (`turn`, `classifier`, `plan`, `user`, `judge`).
    pub purpose: &'static str,
    /// The model's id.
    pub model: Arc<str>,
    /// What is sent besides the messages and says how the model answers (`temperature`).
    pub sampling: serde_json::Map<String, Json>,
    /// The JSON Schema that the reply should keep to.
    pub schema: Option<Arc<Json>>,
    /// What is asked.
    pub messages: Vec<Message>,
}

impl Asked {
    /// Its key.
    pub fn key(&self) -> Digest {
        let messages = self.messages.iter().map(|message| {
            let hashes = message.blocks.iter().map(|block| block.digest.as_str());
            let role: &'static str = message.role.into();
            std::iter::once(role).chain(hashes).collect::<Vec<_>>()
        });
        Digest::of(&canonical(&json!({
            "for": self.purpose,
            "messages": messages.collect::<Vec<_>>(),
            "model": &*self.model,
            "sampling": &self.sampling,
            "schema": self.schema.as_deref(),
        })))
    }
}

/// JSON without spaces, the members of objects by name: one text for equal values, whoever wrote them.
pub fn canonical(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let mut members: Vec<(&String, &Json)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            let members = members.into_iter().map(|(name, value)| format!("{}:{}", json!(name), canonical(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.to_string(),
    }
}

/// A message's text in blocks, none of which is empty. A block begins at a line that begins with a word in capitals, and
/// in a system message, which shows such lines as examples, at each `# ` heading. Text from outside stands in JSON
/// strings and begins no line.
pub fn blocks(role: Role, text: &str) -> Vec<&str> {
    let begins = |line: &str| match role {
        Role::System => line.starts_with("# "),
        Role::User => line.split(' ').next().is_some_and(is_in_capitals),
        // What the model has written is one thing.
        Role::Assistant => false,
    };
    let mut blocks = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if at > start && begins(line) {
            blocks.push(&text[start..at]);
            start = at;
        }
        at += line.len();
    }
    if at > start {
        blocks.push(&text[start..]);
    }
    blocks
}

/// What people call a block: `PLAYBOOK`, `GO ON FROM`, `# Rules`.
pub fn heading(role: Role, block: &str) -> String {
    let first = block.lines().next().unwrap_or("");
    match role {
        Role::System if first.starts_with("# ") => first.to_owned(),
        Role::System => "the system message".to_owned(),
        Role::User => {
            let words: Vec<&str> = first.split_whitespace().take_while(|word| is_in_capitals(word)).collect();
            if words.is_empty() { "the message".to_owned() } else { words.join(" ") }
        }
        Role::Assistant => "what the model had written".to_owned(),
    }
}

fn is_in_capitals(word: &str) -> bool {
    let word = word.trim_end();
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'\'')
}
