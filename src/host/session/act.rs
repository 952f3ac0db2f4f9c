//! What people do to a session: messages, answers, interrupts, edits.

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
        let mut body = None;
        let event = match deed {
            Deed::Message { text, id } => {
                if let Some(id) = &id {
                    match self.messages.note(id, &text, mark) {
                        None => {}
                        Some(sent) => {
                            let sent = sent.map(|mark| Receipt { mark, is_repeated: true });
                            let answer = sent.ok_or_else(|| Refusal::AnotherText(id.clone()));
                            receipt.map(|receipt| receipt.send(answer));
                            return Ok(());
                        }
                    }
                }
                self.turns.forget_last_bytes();
                body = Some(RecordBody::Message { text: text.clone(), id, by: by.clone() });
                Event::Message { text }
            }
            Deed::Signal(signal) => Event::Signal(signal),
            Deed::Interrupt => {
                self.turns.forget_last_bytes();
                Event::Interrupted
            }
            Deed::Approve(call, _) if receipt.is_some() && self.machine.view().question_about(call).is_none() => {
                receipt.map(|receipt| receipt.send(Err(Refusal::NotAsked(call))));
                return Ok(());
            }
            Deed::Approve(call, answer) => Event::Approved { call, answer },
            Deed::Edit(frame, name, value) => {
                self.edit(by, frame, name, value);
                return Ok(());
            }
        };
        let body = body.or_else(|| RecordBody::from_event(&event).map(|body| body.done_by(by)));
        if let Some(body) = body {
            self.recorded(body, event);
        }
        if let Some(receipt) = receipt {
            self.flush().await?;
            // Whoever did it may have gone.
            let _ = receipt.send(Ok(Receipt { mark, is_repeated: false }));
        }
        Ok(())
    }
}
