//! Messages that were sent with an id: one that is sent again is not taken again, also by another process.

use std::collections::HashMap;
use std::sync::Arc;

use crate::events::Mark;
use crate::text::text_hash;

/// The ids of a session's messages.
#[derive(Clone, Debug, Default)]
pub struct MessageIds(HashMap<Arc<str>, (String, Mark)>);

impl MessageIds {
    /// Takes a message, of which `mark` was the last event before it. One with this id that is there already stays.
    pub(crate) fn note(&mut self, id: &Arc<str>, text: &str, mark: Mark) {
        self.0.entry(id.clone()).or_insert_with(|| (text_hash([("", text)]), mark));
    }

    /// The mark of the message with this id, if it is there: none, if it had another text.
    pub(crate) fn find(&self, id: &str, text: &str) -> Option<Option<Mark>> {
        let (known, mark) = self.0.get(id)?;
        Some((*known == text_hash([("", text)])).then_some(*mark))
    }
}
