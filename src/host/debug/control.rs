//! How a session's task is told what to do while it runs or stands still, and what it tells of that.

use std::sync::Arc;

use playhouse_lang::expr::Expr;
use playhouse_lang::program::Program;
use playhouse_vm::protocol::Tracked;
use playhouse_vm::protocol::{FrameId, Place};
use playhouse_vm::variables::fault::EvalFault;
use tokio::sync::{mpsc, oneshot};

use crate::debug::breakpoint::{Breakpoint, Exceptions};
use crate::debug::stepping::{Debugger, Log, Mode, Reason};
use crate::journal::JournalError;
use crate::journal::record::Record;

/// Records, and how often the machine has moved after the last one; none: as often as it could.
pub(crate) type Past = (Vec<Record>, Option<u32>);

/// What a debugger wants of a session's task.
#[derive(Debug)]
pub(crate) enum Command {
    /// To be told where it stops, from now on.
    Attach(Box<Attached>),
    /// To stop nowhere any more, and to go on if it stands still.
    Detach,
    /// To stand still as soon as it can.
    Pause,
    /// To go on.
    Go(Mode),
    /// To stop at these from now on.
    Breakpoints(Vec<Breakpoint>),
    /// To stop at these from now on, too.
    Exceptions(Exceptions),
    /// What the journal holds.
    Past(oneshot::Sender<Result<Past, JournalError>>),
    /// The program's text.
    Program(oneshot::Sender<Arc<Program>>),
    /// The value of an expression.
    Evaluate(Option<FrameId>, Expr, oneshot::Sender<Result<Tracked, EvalFault>>),
}

/// A debugger that listens.
#[derive(Debug)]
pub(crate) struct Attached {
    /// What stops the program.
    pub(crate) debugger: Debugger,
    /// Who is told.
    pub(crate) notices: mpsc::Sender<DebugNotice>,
}

/// Notices that may wait to be read.
const NOTICES: usize = 1_024;

/// So many of them are kept for stops, of which there are two for each command.
const FOR_STOPS: usize = 64;

/// Where a debugger is told, and where it hears.
pub(crate) fn notices() -> (mpsc::Sender<DebugNotice>, mpsc::Receiver<DebugNotice>) {
    mpsc::channel(NOTICES)
}

impl Attached {
    /// Tells the debugger. Messages of log points that nobody reads in time are lost.
    pub(crate) fn tell(&self, notice: DebugNotice) {
        let is_log = matches!(notice, DebugNotice::Log(_));
        if !is_log || self.notices.capacity() > FOR_STOPS {
            // Whoever listened may have gone.
            let _ = self.notices.try_send(notice);
        }
    }
}

/// What a debugger is told.
#[derive(Clone, Debug, PartialEq)]
pub enum DebugNotice {
    /// The program stands still.
    Stopped(Stopped),
    /// It goes on.
    Continued,
    /// The past was changed: what is debugged from here on is another session, with this id.
    Forked(Arc<str>),
    /// The message of a log point.
    Log(Log),
    /// It has ended, or its task has ([`crate::session::SessionHandle::outcome`] tells how).
    Ended,
}

/// A program stands still.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// Why; at least one reason, the most special first.
    pub reasons: Vec<Reason>,
    /// Where; none: no frame is on the stack.
    pub place: Option<Place>,
    /// Whether it stands in its past.
    pub is_past: bool,
}
