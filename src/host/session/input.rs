//! Everything that wakes a session's task: one closed enum.

use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::{
    CallId, EndedCall, FrameId, QuestionId, ReplyEnd, Signal, TimerId, ToolSignature, TurnId, Usage, Verdict,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::debug::control::Command;
use crate::events::Mark;
use crate::journal::JournalError;
use crate::journal::record::{Record, RecordBody};
use crate::session::listeners::Publisher;
use crate::session::present::Present;
use crate::text::unique;

/// One reason to wake up. Kept small (channels hold blocks of 32): what is large or rare is boxed.
#[derive(Debug)]
pub(crate) enum Input {
    /// Somebody does something.
    Act(Box<Act>),
    /// The set of tools has changed.
    SignaturesChanged(Arc<[ToolSignature]>),
    /// The tools of the world may be others now.
    ToolsChanged,
    /// News of a running call.
    CallProgress(CallId, Value),
    /// Somebody wants to see the machine.
    View(oneshot::Sender<Present>),
    /// Somebody wants to see what the journal holds.
    Records(oneshot::Sender<Result<Vec<Record>, JournalError>>),
    /// Somebody wants to listen.
    Subscribe(Publisher),
    /// A debugger wants something.
    Debug(Box<Command>),
    /// The task is to end if nobody needs it, and nobody has for so long.
    Rest(Duration),
    /// The task is to end as soon as nothing is left to be done but wait.
    Leave,
    /// Time passes at once for the machine's timers.
    Pass(Duration),
    /// The task is to end.
    Stop,
    /// All handles are gone: nobody can say anything any more.
    Abandoned,
    /// Bytes of a reply.
    ReplyBytes(TurnId, Vec<u8>),
    /// A reply is over.
    ReplyEnded(TurnId, Box<(ReplyEnd, Option<Usage>)>),
    /// A tool's call is over.
    CallEnded(Box<(CallId, EndedCall)>),
    /// The trigger classifier has answered.
    Verdict(Box<(QuestionId, Verdict, u64)>),
    /// A moment that was waited for has come.
    Due(Due),
}

/// What somebody does.
#[derive(Debug)]
pub(crate) struct Act {
    pub(crate) deed: Deed,
    /// Who, where whoever serves the session knows it.
    pub(crate) by: Option<Arc<str>>,
    /// Told when it outlives this process.
    pub(crate) receipt: Option<oneshot::Sender<Result<Receipt, Refusal>>>,
}

/// What can be done from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// The user says something.
    Message {
        /// What.
        text: Arc<str>,
        /// Given by whoever sends it: however often it is sent, it is taken once.
        id: Option<Arc<str>>,
    },
    /// An event from outside, for triggers that wait for its name.
    Signal(Signal),
    /// What is going on is cancelled.
    Interrupt,
    /// A person's answer to a call's question: false refuses, anything else is handed to the tool.
    Approve(CallId, Value),
    /// A debugger changes a variable of a frame; no frame: one of the agent's others.
    Edit(Option<FrameId>, Arc<str>, Value),
}

impl Deed {
    /// The same with an id of its own, if it is something that is taken once by its id.
    #[must_use]
    pub fn named(mut self) -> Deed {
        if let Deed::Message { id, .. } | Deed::Signal(Signal { id, .. }) = &mut self {
            id.get_or_insert_with(unique);
        }
        self
    }

    /// What a journal has of it, done by this person.
    pub fn record(&self, by: Option<Arc<str>>) -> RecordBody {
        match self.clone() {
            Deed::Message { text, id } => RecordBody::Message { text, id, by },
            Deed::Signal(Signal { name, data, id }) => RecordBody::Signal { name, data, id, by },
            Deed::Interrupt => RecordBody::Interrupted { by },
            Deed::Approve(call, answer) => RecordBody::Approved { call: call.0, answer, by },
            Deed::Edit(frame, name, value) => {
                RecordBody::Edited { frame: frame.map(|frame| frame.0), name, value, after: None, by }
            }
        }
    }

    /// What somebody did of whom a journal tells, and who. None: nobody did it but the session.
    pub fn of_record(body: RecordBody) -> Option<(Deed, Option<Arc<str>>)> {
        Some(match body {
            RecordBody::Message { text, id, by } => (Deed::Message { text, id }, by),
            RecordBody::Signal { name, data, id, by } => (Deed::Signal(Signal { name, data, id }), by),
            RecordBody::Interrupted { by } => (Deed::Interrupt, by),
            RecordBody::Approved { call, answer, by } => (Deed::Approve(CallId(call), answer), by),
            RecordBody::Edited { frame, name, value, after: _, by } => {
                (Deed::Edit(frame.map(FrameId), name, value), by)
            }
            RecordBody::Begun(_)
            | RecordBody::Chunk { .. }
            | RecordBody::ReplyEnded { .. }
            | RecordBody::CallStarted { .. }
            | RecordBody::CallEnded { .. }
            | RecordBody::Verdict { .. }
            | RecordBody::TimerFired { .. }
            | RecordBody::SignaturesChanged { .. }
            | RecordBody::ProgramChanged(_)
            | RecordBody::GoOn
            | RecordBody::Reopened => return None,
        })
    }
}

/// What was done is in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// What comes of it are the events after this mark.
    pub mark: Mark,
    /// It was there already: nothing comes of it a second time.
    pub is_repeated: bool,
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// There was another message with this id.
    #[error("the message {0} was sent before with another text; give a new message an id of its own")]
    AnotherText(Arc<str>),
    /// Nothing is asked about this call.
    #[error("no question is open about the call {0}")]
    NotAsked(u64),
    /// Many messages wait for the program.
    #[error("the program has not read the earlier messages yet; send this again when it has")]
    TooManyWait,
}

/// What a moment was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The machine's timer.
    Timer(TimerId),
    /// The delay before a turn is asked again.
    Delay(TurnId),
    /// The grace of a reply whose rest is not wanted.
    Grace(TurnId),
    /// The longest time a turn may take.
    Cap(TurnId),
}
