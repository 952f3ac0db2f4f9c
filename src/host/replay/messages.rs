//! Messages that were sent with an id: one that is sent again is not taken again, also by another process.

use std::collections::HashMap;
use std::sync::Arc;

use crate::host::events::Mark;
use crate::host::text::text_hash;

/// The ids of a session's messages.
#[derive(Clone, Debug, Default)]
pub struct MessageIds(HashMap<Arc<str>, (String, Mark)>);

impl MessageIds {
    /// Takes a message, of which `mark` was the last event before it. One with this id may be there: then its mark, or
    /// none, if it had another text.
    pub(crate) fn note(&mut self, id: &Arc<str>, text: &str, mark: Mark) -> Option<Option<Mark>> {
        let hash = text_hash([("", text)]);
        match self.0.get(id) {
            Some((known, mark)) => Some((*known == hash).then_some(*mark)),
            None => {
                self.0.insert(id.clone(), (hash, mark));
                None
            }
        }
    }
}
