//! Triggers while a reply is read (spec `turn-protocol.md`, "The watcher's barrier").

use crate::protocol::Wait;
use crate::protocol::settings::Barrier;
use crate::turn::state::Gate;
use crate::turn::{TurnResult, TurnStep};

impl TurnStep<'_> {
    /// After an update: asks about it, or says that the turn is over. Answers whether the reply is held now.
    /// `drops_line`: the line in hand has not taken effect, and will not if a trigger matches.
    pub(super) fn judge(&mut self, drops_line: bool) -> TurnResult<bool> {
        self.ask_classifier();
        // Nothing need be waited for to know that the rest of the reply is not wanted.
        if self.interpreter.stack.core().watch.first_match().is_some() {
            return Err(self.matched(drops_line));
        }
        Ok(self.hold_while_asking(drops_line))
    }

    pub(super) fn ask_classifier(&mut self) {
        self.interpreter.ask_classifier(|| self.turn.sets_ahead());
    }

    /// Everything after the line in hand waits if a question is open; answers whether one is.
    pub(super) fn hold_while_asking(&mut self, drops_line: bool) -> bool {
        let is_open = self.interpreter.watcher.question().is_some();
        if is_open {
            self.turn.gate = Gate::Judging { drops_line };
        }
        is_open
    }

    /// The classifier is being asked: everything after the update waits, or everything but speech.
    pub(super) fn step_judging(&mut self, drops_line: bool) -> TurnResult<Option<Wait>> {
        let watcher = &self.interpreter.watcher;
        if let Some(question) = watcher.question() {
            let wait = Wait::Verdict(question.question);
            let may_speak =
                self.interpreter.stack.settings.barrier == Barrier::Effects && !watcher.is_asked_with_turn();
            return Ok(if may_speak && self.step_speech_only()? { None } else { Some(wait) });
        }
        self.turn.gate = Gate::Open;
        // A debugger may have changed something meanwhile: that is asked about before anything else is done.
        self.ask_classifier();
        if self.hold_while_asking(drops_line) {
            return Ok(None);
        }
        if self.interpreter.stack.core().watch.first_match().is_none() {
            self.turn.undo = None;
        } else if !self.returns_inside() {
            return Err(self.matched(drops_line));
        }
        Ok(None)
    }
}
