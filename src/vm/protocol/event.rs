//! Events: what enters the machine.

use std::sync::Arc;

use playhouse_lang::expr::check_event_name;
use playhouse_lang::program::Program;
use playhouse_lang::value::Value;

use crate::protocol::ids::{CallId, FrameId, QuestionId, TimerId, TurnId, Usage};
use crate::protocol::tool::ToolSignature;
use crate::protocol::trigger::Verdict;

/// What happened in the world. A closed list (spec `architecture.md`, "Journal"); the session's beginning is
/// [`crate::Begin`]. An event with a stale id is ignored.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Bytes of a reply arrived. Where a reply is cut into chunks makes no difference.
    Chunk {
        /// Whose reply.
        turn: TurnId,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A reply is over, for whatever reason. Comes exactly once for each started turn, also for one that the
    /// machine has closed; nothing of that turn follows.
    ReplyEnded {
        /// Whose reply.
        turn: TurnId,
        /// How it ended.
        end: ReplyEnd,
        /// What the server counted, if it said.
        usage: Option<Usage>,
    },
    /// A call is about to be started.
    CallStarted {
        /// The call.
        call: CallId,
        /// 1, and one more for each start after a crash or an approval.
        attempt: u32,
    },
    /// A call has ended.
    CallEnded {
        /// The call.
        call: CallId,
        /// What came of it.
        outcome: CallOutcome,
        /// The tokens of a model that were asked for it.
        usage: Option<Usage>,
    },
    /// The classifier's answer to [`crate::protocol::Effect::Classify`].
    Verdict {
        /// The question.
        question: QuestionId,
        /// The answer.
        verdict: Verdict,
        /// From the question to the answer, in milliseconds. Measured by the world: the events around it are joined
        /// in the journal, and their times with them.
        ms: u64,
    },
    /// The user said something.
    Message {
        /// The user's words.
        text: Arc<str>,
    },
    /// An event from outside.
    Signal(Signal),
    /// A timer that [`crate::protocol::Effect::StartTimer`] started has run out.
    TimerFired {
        /// The timer.
        timer: TimerId,
    },
    /// A person answered a call's question.
    Approved {
        /// The call.
        call: CallId,
        /// The answer: false refuses, unless the tool takes it; anything else is handed to the tool. Whether a call
        /// may be made at all is answered with true.
        answer: Value,
        /// Who, where whoever serves the session knows it. Nothing but what is told of the answer depends on it.
        by: Option<Arc<str>>,
    },
    /// The user cancelled what is going on: the reply is closed, running calls are cancelled, the frame waits for the
    /// user.
    Interrupted,
    /// A debugger changed a variable.
    Edited {
        /// The frame; none: the agent's globals.
        frame: Option<FrameId>,
        /// The variable's name.
        name: Arc<str>,
        /// Its new value.
        value: Value,
    },
    /// The set of tools has changed (a server came or went).
    SignaturesChanged {
        /// All tools there are now.
        tools: Arc<[ToolSignature]>,
    },
    /// The program has another text; the session goes on with it from the last line that still exists.
    ProgramChanged {
        /// The new program.
        program: NewProgram,
        /// The tools it was read with: all there are now.
        tools: Arc<[ToolSignature]>,
        /// Whether the process was restarted, too, as by [`crate::protocol::Event::Reopened`].
        reopened: bool,
    },
    /// Nothing happened; the machine may use another budget of directives.
    GoOn,
    /// The process was restarted: what was in progress must be taken up again.
    Reopened,
}

/// An event from outside: what users know as an event. It is data, for triggers that wait for its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Its name, an identifier.
    pub name: Arc<str>,
    /// What it tells.
    pub data: Value,
    /// What the sender calls this very event. One that is sent again with the same id has no effect.
    pub id: Option<Arc<str>>,
}

impl Signal {
    /// An event with this name.
    ///
    /// # Errors
    /// The name is no identifier; what to write.
    pub fn new(name: &str, data: Value, id: Option<Arc<str>>) -> Result<Signal, String> {
        check_event_name(name)?;
        Ok(Signal { name: name.into(), data, id })
    }
}

/// A program that takes the place of another one. Equal to one of the same texts.
#[derive(Clone)]
pub struct NewProgram(pub Arc<Program>);

impl PartialEq for NewProgram {
    fn eq(&self, other: &NewProgram) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.sources == other.0.sources
    }
}

impl std::fmt::Debug for NewProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.sources.iter().map(|(_, file)| &file.name)).finish()
    }
}

/// How a reply ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyEnd {
    /// The server said that it is complete.
    Complete(Finish),
    /// It broke off, or never began: worth asking again.
    Broken {
        /// What was seen.
        reason: Arc<str>,
        /// How long the server asked us to wait, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The server will not answer this request, however often it is asked (no key, unknown model, …).
    Refused {
        /// What the server said, and what can be done.
        reason: Arc<str>,
    },
    /// We closed it.
    Closed,
}

/// Why a server says a reply is complete (`finish_reason`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model stopped by itself.
    Stop,
    /// The token limit was reached: the text may be cut anywhere.
    Length,
    /// Another reason, as sent.
    Other(Arc<str>),
}

/// What came of a call, and the tokens of a model that it took.
pub type EndedCall = (CallOutcome, Option<Usage>);

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// Its result.
    Value {
        /// The result.
        value: Value,
        /// Whether it may be shown.
        secret: bool,
    },
    /// It failed; the program is told.
    Error(Arc<str>),
    /// It cannot go on before a person has answered.
    Needs {
        /// What the person is asked.
        question: Arc<str>,
        /// Whether "no" is an answer like any other, which the tool is handed; else it refuses the call.
        takes_no: bool,
    },
    /// It was ended before it had an outcome, as [`crate::protocol::Effect::CancelCall`] wanted; the program is told
    /// that it failed.
    Interrupted,
}
