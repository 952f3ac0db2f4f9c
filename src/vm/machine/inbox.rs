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
    /// Which of the session's updates it was, if triggers have been judged with it before anybody asked.
    pub(crate) heard_as: Option<u64>,
}

impl Inbox {
    pub(crate) fn push(&mut self, text: Arc<str>) {
        self.messages.push_back(Message { text, heard_as: None });
    }

    /// The next one, for a frame that waits for the user.
    pub(crate) fn next(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    /// The next one that triggers have not been judged with, for which they are judged with this update. It stays, for
    /// whoever asks later.
    pub(crate) fn hear(&mut self, update: u64) -> Option<Arc<str>> {
        let message = self.messages.iter_mut().find(|message| message.heard_as.is_none())?;
        message.heard_as = Some(update);
        Some(message.text.clone())
    }

    /// Takes out the one that was heard as this update: a trigger's playbook is called for it.
    pub(crate) fn take_heard(&mut self, update: u64) -> Option<Arc<str>> {
        let at = self.messages.iter().position(|message| message.heard_as == Some(update))?;
        self.messages.remove(at).map(|message| message.text)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }
}
