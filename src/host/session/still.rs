//! A session that stands still because a debugger wants it: `advance` is not called, what arrives waits, questions are
//! answered.
//!
//! Edits are the exception among events: they take effect where the machine stands, also in the middle of what the
//! last event has set off, for a person who sets a variable before a line wants the line to see it. The journal says
//! where that was ([`crate::journal::record::RecordBody::after`]).

use playhouse_vm::protocol::Progress;
use tokio::time::Instant;

use crate::debug::control::{Command, DebugNotice, Stopped};
use crate::debug::stepping::Reason;
use crate::replay::error::SessionError;
use crate::session::input::{Deed, Input};
use crate::session::task::Task;

impl Task {
    /// Why the program is to stand still after this; empty: it goes on.
    pub(crate) fn observe(&mut self, progress: &Progress) -> Vec<Reason> {
        let Some(attached) = &mut self.debug else { return Vec::new() };
        let seen = attached.debugger.observe(&self.machine, progress);
        for log in seen.logs {
            attached.tell(DebugNotice::Log(log));
        }
        seen.reasons
    }

    /// Waits until somebody says to go on. False: the task is to stop.
    pub(crate) async fn stand_still(&mut self, reasons: Vec<Reason>) -> Result<bool, SessionError> {
        self.flush().await?;
        let place = self.machine.place();
        self.notify(DebugNotice::Stopped(Stopped { reasons, place, is_past: false }));
        let since = Instant::now();
        while self.debug.is_some() {
            let Some(input) = self.inbox.recv().await else {
                // Nobody is there who could say it.
                (self.abandoned, self.debug) = (true, None);
                break;
            };
            match input {
                Input::Stop => return Ok(false),
                Input::Debug(command) => {
                    let goes_on = matches!(*command, Command::Go(_) | Command::Detach);
                    self.obey(*command).await;
                    if goes_on {
                        break;
                    }
                }
                // A debugger looks at it.
                Input::Rest(_) => {}
                Input::View(_) | Input::Records(_) | Input::Subscribe(_) => Box::pin(self.take(input)).await?,
                Input::Act(act) if matches!(act.deed, Deed::Edit(..)) => Box::pin(self.act(*act)).await?,
                Input::Act(_)
                | Input::Leave
                | Input::SignaturesChanged(_)
                | Input::ToolsChanged
                | Input::CallProgress(..)
                | Input::Pass(_)
                | Input::Abandoned
                | Input::ReplyBytes(..)
                | Input::ReplyEnded(..)
                | Input::CallEnded(_)
                | Input::Verdict(_)
                | Input::Due(_) => self.deferred.push_back(input),
            }
        }
        self.turns.postpone(since.elapsed());
        self.notify(DebugNotice::Continued);
        Ok(true)
    }

    /// Does what a debugger wants; standing still and going on are the caller's.
    pub(crate) async fn obey(&mut self, command: Command) {
        match (command, &mut self.debug) {
            (Command::Attach(attached), debug) => *debug = Some(attached),
            (Command::Detach, debug) => *debug = None,
            (Command::Evaluate(frame, expr, sender), _) => {
                // Whoever asked may have gone.
                let _ = sender.send(self.machine.evaluate(frame, &expr));
            }
            (Command::Past(sender), _) => {
                let n_directives = (!self.is_blocked).then_some(self.n_directives);
                let records = self.journal.records(n_directives.is_some()).await;
                let _ = sender.send(records.map(|records| (records, n_directives)));
            }
            (Command::Program(sender), _) => {
                let _ = sender.send(self.machine.program().clone());
            }
            (Command::Go(mode), Some(attached)) => attached.debugger.go(mode),
            (Command::Breakpoints(breakpoints), Some(attached)) => attached.debugger.set_breakpoints(breakpoints),
            (Command::Exceptions(exceptions), Some(attached)) => attached.debugger.set_exceptions(exceptions),
            (Command::Go(_) | Command::Pause | Command::Breakpoints(_) | Command::Exceptions(_), _) => {}
        }
    }

    fn notify(&self, notice: DebugNotice) {
        if let Some(attached) = &self.debug {
            attached.tell(notice);
        }
    }
}
