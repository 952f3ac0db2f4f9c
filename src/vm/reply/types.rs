//! What is read of a reply.

use std::ops::Range;
use std::sync::Arc;

use playhouse_lang::value::{Map, Value};

/// What a reader is told about the reply it is going to read.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// The reply begins inside a think block: everything up to the closing tag is thought.
    pub starts_in_think: bool,
    /// How many actions a reply may hold; more are a sign of a model that runs in circles.
    pub max_actions: usize,
    /// How many bytes a reply may hold.
    pub max_bytes: usize,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        ReaderOptions { starts_in_think: false, max_actions: 1000, max_bytes: 1 << 20 }
    }
}

/// How a reply came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadEnd {
    /// The server said that this is the end.
    Complete,
    /// The stream broke, or the model came to its length limit.
    Cut,
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A `say` that is the first action of its object begins; its text follows.
    SayBegan {
        /// The line id, if it stood before the `say`.
        at: Option<Arc<str>>,
        /// Where the object begins in the reply: the start of the later [`TraceLine::span`].
        start: u64,
    },
    /// A piece of the text, decoded, never empty. Where the text is cut depends on the chunks, the text does not.
    SayText(String),
    /// The closing quote of the `say`.
    SayEnded,
    /// An object closed and was understood.
    Line(TraceLine),
    /// A run of text outside objects, trimmed, not empty; given when the run is over.
    Prose {
        /// The text.
        text: String,
        /// Where it stands in the reply.
        span: Range<u64>,
    },
    /// A think block that holds something, whatever it is.
    Think {
        /// What it holds, trimmed.
        text: String,
        /// The block with its tags.
        span: Range<u64>,
    },
    /// An unknown key beside a known action.
    Ignored {
        /// The key.
        key: String,
        /// The key and its value.
        span: Range<u64>,
    },
    /// The reply can't be read further; the reader gives nothing after it.
    Fault(ReadFault),
}

/// One object of the reply.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceLine {
    /// The line of the playbook, each level with two digits or more.
    pub at: Option<Arc<str>>,
    /// What to do, in the order written; yields come last (the first of them ends the turn).
    pub actions: Vec<Action>,
    /// The object's place in the reply.
    pub span: Range<u64>,
    /// The object's own bytes.
    pub source: Arc<str>,
    /// Whether the first action is a `say` that was given piece by piece already.
    pub streamed_say: bool,
    /// How many of the actions stood before `at`; 0 if it came first or is absent.
    pub at_index: usize,
}

/// What a trace line does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Tell the user.
    Say(String),
    /// Set variables (their names without `$`).
    Set(Map),
    /// Queue a call.
    Call {
        /// The callable's name.
        name: Arc<str>,
        /// What it gets.
        arguments: CallArguments,
        /// One call for each item of a list: the parameter that takes the item, and the list. The results are one
        /// list, too. Boxed, for it is rare and actions are moved often.
        each: Option<Box<(Arc<str>, Value)>>,
        /// The variable that gets the result (without `$`).
        result: Option<Arc<str>>,
    },
    /// A thought, for the journal only.
    Think(String),
    /// The line is left out, for this reason.
    Skip(Arc<str>),
    /// Yield until something has happened.
    Wait(WaitFor),
    /// Yield: the playbook is finished.
    Return(Value),
    /// Yield: the program is finished, perhaps for a reason.
    End(Option<String>),
}

impl Action {
    /// Whether the action ends the turn.
    pub fn is_yield(&self) -> bool {
        match self {
            Action::Wait(_) | Action::Return(_) | Action::End(_) => true,
            Action::Say(_) | Action::Set(_) | Action::Call { .. } | Action::Think(_) | Action::Skip(_) => false,
        }
    }
}

/// The arguments of a call; none at all are an empty [`CallArguments::Named`].
#[derive(Clone, Debug, PartialEq)]
pub enum CallArguments {
    /// By name.
    Named(Map),
    /// By position.
    Positional(Vec<Value>),
}

/// What a `wait` waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// The results of the queued calls.
    Calls,
    /// The user's next message.
    User,
    /// Time: an ISO 8601 duration, checked, as it was written.
    Timer(String),
    /// Another agent (reserved).
    Agent(String),
}

/// Why a reply could not be read further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFault {
    /// What kind of fault.
    pub kind: ReadFaultKind,
    /// From the beginning of the bad line to the place of the fault.
    pub span: Range<u64>,
    /// The bad line, shortened to 200 characters.
    pub excerpt: String,
    /// What is wrong and what was expected, in words a model can act on.
    pub message: String,
}

/// The kinds of [`ReadFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadFaultKind {
    /// Not JSON.
    Json,
    /// No key of the object is an action.
    UnknownAction,
    /// A key's value is not of the kind the key asks for.
    WrongShape,
    /// A key twice in an object.
    DuplicateKey,
    /// The reply ended inside an object.
    CutOff,
    /// More actions than a reply may hold.
    TooManyActions,
    /// More bytes than a reply may hold.
    TooLong,
}
