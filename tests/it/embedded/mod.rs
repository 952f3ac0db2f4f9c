//! The embedded model: what it makes of single lines, of answers and conditions, and whole conversations with it.

mod answers;
mod examples;
mod lines;
mod model;
mod random;
mod talk;

use std::sync::Arc;

use playhouse::host::llm::TurnAsData;
use playhouse::host::llm::embedded::reply;
use playhouse::lang::program::{Program, Signature};
use playhouse::lang::{ImportRequest, LoadOptions, SourceText, load};
use playhouse::value::Value;
use playhouse::vm::protocol::{ChatMessage, Role, ToolSignature, TurnData};

/// A program of this text.
pub(crate) fn program(text: &str, tools: &[ToolSignature]) -> Arc<Program> {
    let signatures: Vec<Signature> = tools.iter().map(|tool| tool.signature.clone()).collect();
    let mut import = |request: &ImportRequest<'_>| Err(format!("no {}", request.path));
    let root = SourceText { name: "program.md".to_owned(), text: text.to_owned() };
    Arc::new(load(vec![root], &mut import, &LoadOptions { tools: &signatures, ..LoadOptions::default() }).program)
}

/// One playbook's chat session with the embedded model, without a machine.
pub(crate) struct Chat {
    turn: TurnAsData,
    messages: Vec<ChatMessage>,
}

impl Chat {
    /// At the first line of the first playbook.
    pub(crate) fn new(text: &str, variables: &[(Arc<str>, Value)]) -> Chat {
        let program = program(text, &[]);
        let playbook = &program.playbooks[0];
        let data = TurnData {
            playbook: playbook.id,
            pointer: playbook.steps.first().map(|step| step.id),
            is_said: false,
            inside: None,
            variables: variables.to_vec(),
            user: None,
            problem: None,
        };
        Chat { turn: TurnAsData { program, tools: Arc::from([]), data }, messages: Vec::new() }
    }

    /// The next reply; `user`: what the user has said.
    pub(crate) fn reply(&mut self, user: Option<&str>) -> Vec<serde_json::Value> {
        self.turn.data.user = user.map(Arc::from);
        if let Some(user) = user {
            self.turn.data.variables.retain(|(name, _)| &**name != "user_message");
            self.turn.data.variables.push(("user_message".into(), Value::from(user)));
        }
        let text = reply(&self.turn, &self.messages).lines;
        self.messages.push(ChatMessage { role: Role::Assistant, text: text.as_str().into() });
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Whether the playbook has lines.
    pub(crate) fn has_lines(&self) -> bool {
        self.turn.data.pointer.is_some()
    }

    /// The first line of the playbook is read as this.
    pub(crate) fn is_explicit(&self) -> bool {
        let playbook = self.turn.program.playbook(self.turn.data.playbook);
        playbook.steps.first().is_some_and(|step| step.explicit)
    }
}
