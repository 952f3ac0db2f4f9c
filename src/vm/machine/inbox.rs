//! What the user has said and no frame has asked for yet.

use std::collections::VecDeque;
use std::sync::Arc;

/// What the user has said and no frame has asked for yet, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    messages: VecDeque<Message>,
}

/// Something that the user has said.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) text: Arc<str>,
    /// Triggers have been judged with it before anybody asked.
    pub(crate) is_heard: bool,
}

impl Inbox {
    pub(crate) fn push(&mut self, text: Arc<str>) {
        self.messages.push_back(Message { text, is_heard: false });
    }

    /// The next one, for a frame that waits for the user.
    pub(crate) fn next(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    /// The next one that triggers have not been judged with. It stays, for whoever asks later.
    pub(crate) fn hear(&mut self) -> Option<Arc<str>> {
        let message = self.messages.iter_mut().find(|message| !message.is_heard)?;
        message.is_heard = true;
        Some(message.text.clone())
    }

    /// Takes out the one that was heard last: a trigger's playbook is called for it.
    pub(crate) fn take_last_heard(&mut self) -> Option<Arc<str>> {
        let at = self.messages.iter().rposition(|message| message.is_heard)?;
        self.messages.remove(at).map(|message| message.text)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }
}
