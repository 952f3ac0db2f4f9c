//! What people do to a session: messages, answers, interrupts, edits.

use std::sync::Arc;

use crate::journal::record::RecordBody;
use crate::replay::error::SessionError;
use crate::session::input::{Act, Deed, Receipt, Refusal};
use crate::session::task::Task;

/// So many messages may wait for the program; then whoever comes with one more is told so.
const MOST_WAITING: usize = 100;

impl Task {
    /// What somebody does: recorded with who it was, handled, and flushed before they hear that it is.
    pub(crate) async fn act(&mut self, act: Act) -> Result<(), SessionError> {
        let Act { deed, by, receipt } = act;
        let mark = self.maker.mark();
        let answer = match self.refused_or_repeated(&deed, receipt.is_some()) {
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
    fn refused_or_repeated(&self, deed: &Deed, is_awaited: bool) -> Option<Result<Receipt, Refusal>> {
        if let Deed::Message { text, id: Some(id) } = deed
            && let Some(sent) = self.messages.find(id, text)
        {
            let sent = sent.map(|mark| Receipt { mark, is_repeated: true });
            return Some(sent.ok_or_else(|| Refusal::AnotherText(id.clone())));
        }
        if !is_awaited {
            return None;
        }
        match deed {
            Deed::Approve(call, _) => {
                let is_asked = self.machine.view().question_about(*call).is_some();
                (!is_asked).then_some(Err(Refusal::NotAsked(call.0)))
            }
            Deed::Message { .. } => {
                let is_full = self.machine.view().n_waiting_messages >= MOST_WAITING;
                is_full.then_some(Err(Refusal::TooManyWait))
            }
            Deed::Signal(_) | Deed::Edit(..) | Deed::Interrupt => None,
        }
    }

    fn take_in(&mut self, deed: Deed, by: Option<Arc<str>>) {
        match &deed {
            Deed::Message { text, id } => {
                self.turns.forget_last_bytes();
                if let Some(id) = id {
                    self.messages.note(id, text, self.maker.mark());
                }
            }
            Deed::Interrupt => self.turns.forget_last_bytes(),
            Deed::Edit(_, name, _) => {
                if let Some(attached) = &mut self.debug {
                    attached.debugger.will_edit(name);
                }
            }
            Deed::Signal(_) | Deed::Approve(..) => {}
        }
        let mut body = deed.record(by);
        // Here and now, also in the middle of what the last event has set off.
        if let RecordBody::Edited { after, .. } = &mut body {
            *after = (!self.is_blocked).then_some(self.n_directives);
        }
        if let Some(event) = body.to_event() {
            self.recorded(body, event);
        }
    }
}
