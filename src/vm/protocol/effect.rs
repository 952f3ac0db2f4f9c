//! Effects: what leaves the machine, and what it waits for.

use std::sync::Arc;

use playhouse_lang::program::{PlaybookId, StepId};
use playhouse_lang::value::{Map, Value};

use crate::protocol::fact::Report;
use crate::protocol::fault::Fault;
use crate::protocol::ids::{CallId, CallKind, Place, TimerId, TurnId, TurnKind, UtteranceId, Wait};
use crate::protocol::tool::EffectClass;
use crate::protocol::tracked::Tracked;
use crate::protocol::trigger::Question;

/// What one `advance` did.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Something is to be done or told.
    Emit(Effect),
    /// The pointer came to a line, which has not been executed yet. A debugger stops here.
    Reached(Place),
    /// Nothing can be done before an event comes.
    Blocked(Wait),
    /// The program is over. Every further `advance` answers this.
    Finished(Outcome),
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The last frame returned, or a line ended the program.
    Done {
        /// What the last frame returned; the closing reason of `end`.
        value: Tracked,
    },
    /// The session failed.
    Failed(Fault),
}

/// Something the world is to do, or to be told.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the model.
    StartTurn(Box<StartTurn>),
    /// The rest of a reply is not wanted.
    CloseReply {
        /// Whose reply.
        turn: TurnId,
        /// How soon the connection is closed.
        close: Close,
    },
    /// Start a tool. The world answers with [`crate::protocol::Event::CallStarted`] when it is about to, then
    /// [`crate::protocol::Event::CallEnded`].
    StartCall(Box<StartCall>),
    /// End a call that was started: its result is not wanted any more. The world answers with
    /// [`crate::protocol::Event::CallEnded`] as ever, which says [`crate::protocol::CallOutcome::Interrupted`] unless
    /// the call came to its end before.
    CancelCall {
        /// The call.
        call: CallId,
    },
    /// A piece of speech for the user.
    Say {
        /// Which utterance it belongs to.
        utterance: UtteranceId,
        /// The next piece of its text; may be empty in the last.
        text: String,
        /// Whether the utterance is complete with it.
        last: bool,
        /// Where.
        place: Place,
    },
    /// Send [`crate::protocol::Event::TimerFired`] after so long.
    StartTimer {
        /// The timer.
        timer: TimerId,
        /// Milliseconds from now.
        after_ms: u64,
        /// Whether it is a trigger's: such a timer alone keeps no session running that nobody can speak to.
        is_background: bool,
    },
    /// Ask the trigger classifier. The world answers with [`crate::protocol::Event::Verdict`], in time or not.
    Classify(Box<Question>),
    /// Nothing to do: something that watchers want to know.
    Report(Box<Report>),
}

/// How soon a reply's connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// After `yield_grace`, or when more than framing arrives: the model has yielded, usage may follow.
    Grace,
    /// At once: what follows is not wanted.
    Now,
}

/// A request to the model, as messages for remote models and as data for executors in our process.
#[derive(Clone, Debug, PartialEq)]
pub struct StartTurn {
    /// The turn.
    pub turn: TurnId,
    /// Why the model is asked.
    pub kind: TurnKind,
    /// How often this has been tried in a row, from 1; above 1 after a broken stream.
    pub attempt: u32,
    /// How long to wait first, in milliseconds; the world adds jitter. 0 on a first attempt.
    pub delay_ms: u64,
    /// Whose turn.
    pub place: Place,
    /// System message first, then user and assistant in turn.
    pub messages: Vec<ChatMessage>,
    /// An estimate of their tokens.
    pub prompt_tokens: u64,
    /// Names the agent may call, in a fixed order.
    pub callables: Arc<[Arc<str>]>,
    /// The turn as data.
    pub data: TurnData,
}

/// The turn as data: all an executor needs that does not read prompts.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnData {
    /// The playbook.
    pub playbook: PlaybookId,
    /// The line to go on from; none in goal mode.
    pub pointer: Option<StepId>,
    /// The interpreter has said that line's text, and the reply goes on after it.
    pub is_said: bool,
    /// The caller's playbook and line, where the playbook runs inside that line: the reply names its lines
    /// `03>01`, and goes on with those of the caller.
    pub inside: Option<(PlaybookId, StepId)>,
    /// All visible variables, nearest first.
    pub variables: Vec<(Arc<str>, Value)>,
    /// The user's words, if this turn brings them; also those that a trigger's playbook has dealt with.
    pub user: Option<Arc<str>>,
    /// What was wrong with the last reply, if that is why the model is asked.
    pub problem: Option<Arc<str>>,
}

/// One message of a chat session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub text: Arc<str>,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The interpreter.
    User,
    /// The model.
    Assistant,
}

/// A tool call to start.
#[derive(Clone, Debug, PartialEq)]
pub struct StartCall {
    /// The call.
    pub call: CallId,
    /// 1, and one more for each start after a crash or an approval.
    pub attempt: u32,
    /// What is called: a tool, or the session's model.
    pub kind: CallKind,
    /// The tool's name; of a question to the model, what it is for.
    pub name: Arc<str>,
    /// By parameter name. A question to the model is the argument [`crate::protocol::PROMPT`].
    pub arguments: Vec<(Arc<str>, Tracked)>,
    /// What the tool does to the world.
    pub effect: EffectClass,
    /// What earlier attempts asked, and what a person answered, in order. After a restart of the process it is all that
    /// the tool knows of them.
    pub answers: Vec<(Arc<str>, Value)>,
    /// The variable that gets its result, if one does.
    pub result_name: Option<Arc<str>>,
    /// Whether its result is for a variable that is declared secret: it is kept and shown as one from the start.
    pub is_result_secret: bool,
    /// Where it was queued.
    pub place: Place,
    /// The file of the skill that makes it, by its name in the program; none: no skill does.
    pub skill: Option<Arc<str>>,
}

impl StartCall {
    /// The arguments as the tool gets them.
    pub fn argument_map(&self) -> Map {
        self.arguments.iter().map(|(name, argument)| (name.clone(), argument.value().clone())).collect()
    }
}
