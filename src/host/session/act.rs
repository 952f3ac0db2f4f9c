//! What people do to a session: messages, answers, interrupts, edits.

use std::sync::Arc;

use crate::host::events::Mark;
use crate::host::journal::record::RecordBody;
use crate::host::replay::error::SessionError;
use crate::host::session::input::{Act, Deed, Receipt, Refusal};
use crate::host::session::task::Task;
use crate::vm::protocol::Event;

impl Task {
    /// What somebody does: recorded with who it was, handled, and flushed before they hear that it is.
    pub(crate) async fn act(&mut self, act: Act) -> Result<(), SessionError> {
        let Act { deed, by, receipt } = act;
        let mark = self.maker.mark();
        let answer = match self.refused_or_repeated(&deed, mark, receipt.is_some()) {
            Some(answer) => answer,
            None => {
                self.take_in(deed, by);
                Ok(Receipt { mark, is_repeated: false })
            }
        };
        if let Some(receipt) = receipt {
            if answer.is_ok() {
                self.flush().await?;
            }
            // Whoever did it may have gone.
            let _ = receipt.send(answer);
        }
        Ok(())
    }

    /// What is said of a deed that changes nothing.
    fn refused_or_repeated(&mut self, deed: &Deed, mark: Mark, is_awaited: bool) -> Option<Result<Receipt, Refusal>> {
        if let Deed::Message { text, id: Some(id) } = deed {
            let sent = self.messages.note(id, text, mark)?;
            let sent = sent.map(|mark| Receipt { mark, is_repeated: true });
            return Some(sent.ok_or_else(|| Refusal::AnotherText(id.clone())));
        }
        if let Deed::Approve(call, _) = deed
            && is_awaited
            && self.machine.view().question_about(*call).is_none()
        {
            return Some(Err(Refusal::NotAsked(*call)));
        }
        None
    }

    fn take_in(&mut self, deed: Deed, by: Option<Arc<str>>) {
        let event = match deed {
            Deed::Message { text, id } => {
                self.turns.forget_last_bytes();
                let body = RecordBody::Message { text: text.clone(), id, by };
                return self.recorded(body, Event::Message { text });
            }
            Deed::Edit(frame, name, value) => return self.edit(by, frame, name, value),
            Deed::Signal(signal) => Event::Signal(signal),
            Deed::Interrupt => {
                self.turns.forget_last_bytes();
                Event::Interrupted
            }
            Deed::Approve(call, answer) => Event::Approved { call, answer },
        };
        if let Some(body) = RecordBody::from_event(&event) {
            self.recorded(body.done_by(by), event);
        }
    }
}
