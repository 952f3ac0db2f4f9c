//! Of which files an editor is told that we bring them into their layout: of those that are ours. Two formatters of one file
//! ask a person each time which is meant, so files of others are not offered (spec `editors.md`, section 5).

use std::collections::BTreeSet;

use lsp_server::{Message, Request, RequestId};
use serde_json::{Value as Json, json};

/// What this is about, and what the registrations are called.
const METHODS: [&str; 2] = ["textDocument/formatting", "textDocument/rangeFormatting"];

/// What the editor was told last.
#[derive(Debug, Default)]
pub(super) struct Registration {
    files: BTreeSet<String>,
    n_asked: i32,
}

impl Registration {
    /// Tells the editor of these files, by their paths, if it was told of others before; what is to be sent.
    pub(super) fn tell(&mut self, files: BTreeSet<String>) -> Vec<Message> {
        if files == self.files {
            return Vec::new();
        }
        let mut messages = Vec::new();
        if !self.files.is_empty() {
            let old = METHODS.map(|method| json!({"id": method, "method": method}));
            messages.push(self.ask("client/unregisterCapability", json!({"unregisterations": old})));
        }
        if !files.is_empty() {
            let selector: Vec<Json> =
                files.iter().map(|file| json!({"scheme": "file", "pattern": pattern(file)})).collect();
            let options = json!({"documentSelector": selector});
            let new = METHODS.map(|method| json!({"id": method, "method": method, "registerOptions": options}));
            messages.push(self.ask("client/registerCapability", json!({"registrations": new})));
        }
        self.files = files;
        messages
    }

    fn ask(&mut self, method: &str, params: Json) -> Message {
        self.n_asked += 1;
        let id = RequestId::from(format!("registration {}", self.n_asked));
        Message::Request(Request { id, method: method.to_owned(), params })
    }
}

/// A pattern that a path matches. Patterns have no way to write a sign for itself, so `?` stands for those with a meaning.
fn pattern(path: &str) -> String {
    path.chars().map(|c| if "*?[]{}!,\\".contains(c) { '?' } else { c }).collect()
}
