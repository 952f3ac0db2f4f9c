//! What the model is told: the machine's state as messages, by the templates in `prompts/`
//! (spec `execution.md`, "The three model calls").
//!
//! The wording of the blocks is a public interface: scripts match on it. All text from outside the program is a
//! JSON string, so it cannot look like a block.

mod blocks;
pub mod files;
mod skill;
pub(crate) mod system;
mod tools;
mod topics;

use playhouse_lang::program::Mode;

use crate::machine::frame::Chat;
use crate::machine::interpreter::Interpreter;
use crate::protocol::{ChatMessage, Fact, Role, TurnKind, estimate_tokens};

impl Interpreter {
    /// The limit of the session that is reached, in words.
    pub(crate) fn session_limit(&self) -> Option<String> {
        let counters = &self.counters;
        if counters.turns >= self.stack.settings.turns {
            return Some(format!(
                "the session has taken {} turns, the limit `turns`; raise it to continue",
                counters.turns
            ));
        }
        let tokens = counters.prompt_tokens + counters.completion_tokens;
        if tokens >= self.stack.settings.tokens {
            return Some(format!(
                "the session has used {tokens} tokens, more than the limit `tokens`; raise it to continue"
            ));
        }
        let frame = self.stack.top();
        let playbook = self.stack.program.playbook(frame.executed());
        let is_unbounded = playbook.mode == Mode::Goal && playbook.limits.turns.is_none();
        (is_unbounded && frame.core.spent.turns_since_user >= self.stack.settings.goal_turns).then(|| {
            format!(
                "{} has taken {} turns without reaching its goal, the limit `goal_turns`; say when the goal is met, \
                 or give the playbook `limits`",
                playbook.name, frame.core.spent.turns_since_user
            )
        })
    }

    /// Puts the next user message into the frame's chat session, which is begun afresh where it must be.
    pub(crate) fn prepare_message(&mut self, system_tokens: u64) -> TurnKind {
        let chat_owner = self.stack.chat_owner();
        let is_covered = chat_owner.told.suspended_since().is_some();
        let mut kind = match (chat_owner.chat.messages.is_empty(), is_covered) {
            (true, _) => TurnKind::Start,
            (false, true) if self.stack.settings.resume_fresh => TurnKind::Start,
            (false, true) => TurnKind::Resume,
            (false, false) => TurnKind::Continue,
        };
        // A broken stream that brought nothing: the same message is sent again.
        let is_unanswered = chat_owner.chat.messages.last().is_some_and(|message| message.role == Role::User);
        if kind == TurnKind::Continue && is_unanswered && chat_owner.told.is_empty() {
            return kind;
        }
        let mut message = self.stack.render_turn(kind, system_tokens);
        let chat = &self.stack.chat_owner().chat;
        let tokens = chat.tokens + system_tokens + estimate_tokens(message.text.len() as u64);
        if kind != TurnKind::Start {
            let reason = if chat.n_turns >= self.stack.settings.max_session_turns {
                Some("it has had many turns")
            } else if tokens > self.stack.settings.context_tokens {
                Some("it would not fit into the context")
            } else {
                None
            };
            if let Some(reason) = reason {
                kind = TurnKind::Start;
                self.report(Fact::SessionRenewed { reason });
                message = self.stack.render_turn(kind, system_tokens);
            }
        }
        let heard = self.stack.conversation.n_total();
        let chat = &mut self.stack.chat_owner_mut().chat;
        if kind == TurnKind::Start {
            *chat = Chat::default();
        }
        chat.n_turns += 1;
        chat.heard = heard;
        chat.shown.retain(|(name, _)| !message.shown.iter().any(|(shown, _)| shown == name));
        chat.shown.extend(message.shown);
        chat.push_user(&message.text);
        kind
    }
}

impl Chat {
    pub(crate) fn push_assistant(&mut self, lines: String) {
        self.tokens += estimate_tokens(lines.len() as u64);
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Assistant => last.text = format!("{}\n{lines}", last.text).into(),
            _ => self.messages.push(ChatMessage { role: Role::Assistant, text: lines.into() }),
        }
    }

    /// Appends to the last message if that is the user's too: many servers refuse anything but alternation.
    fn push_user(&mut self, text: &str) {
        self.tokens += estimate_tokens(text.len() as u64);
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.text = format!("{}\n\n{text}", last.text).into(),
            _ => self.messages.push(ChatMessage { role: Role::User, text: text.into() }),
        }
    }
}
