//! What is kept of a reply: while it is read, while it is closed, and what it may have to be taken back to.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::program::StepId;
use playhouse_lang::value::Value;

use crate::machine::frame::{Chat, Frame, OpenUtterance};
use crate::machine::told::Told;
use crate::protocol::{CallId, Place, ReplyEnd, Timestamp, TurnEnd, TurnId, Usage};
use crate::reply::{Action, Reading, ReplyReader};
use crate::triggers::watcher::WatcherMark;
use crate::variables::scope::Scope;
use crate::variables::template::{Part, TextScanner};

/// A reply that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) id: TurnId,
    pub(crate) started: Timestamp,
    pub(crate) prompt_tokens: u64,
    pub(crate) reader: ReplyReader,
    /// What was read and not yet looked at.
    pub(crate) readings: VecDeque<Reading>,
    /// What is left to do of the reading in hand.
    pub(crate) todo: VecDeque<Todo>,
    pub(crate) gate: Gate,
    pub(crate) ended: Option<(ReplyEnd, Option<Usage>)>,
    /// The trace lines that took effect, as JSON Lines: what the chat session keeps.
    pub(crate) applied: String,
    /// Where the line in hand begins in `applied`.
    pub(crate) line_start: usize,
    /// The `at` of the line in hand.
    pub(crate) line_at: Option<Arc<str>>,
    /// The bytes of the line in hand, once it is complete.
    pub(crate) line_source: Option<Arc<str>>,
    /// What the line in hand has said so far, once its string is complete.
    pub(crate) line_said: Option<String>,
    pub(crate) n_lines: usize,
    /// Bytes of the reply up to the end of the last applied line.
    pub(crate) n_used: u64,
    pub(crate) progress: bool,
    /// The line at which it has said something, if that was the last thing it did.
    pub(crate) said_at: Option<StepId>,
    pub(crate) speech: Option<Speech>,
    pub(crate) prose: String,
    /// It ended in the middle of a sentence, which the next reply goes on with; not if somebody else speaks first.
    pub(crate) is_cut_short: bool,
    /// A frame's limit of seconds was reached while it was read.
    pub(crate) is_time_up: bool,
    /// The interpreter has done the line in hand and left it: what else the line says has no effect.
    pub(crate) is_line_over: bool,
    /// The line in hand has taken effect, as far as it is no yield.
    pub(crate) is_line_applied: bool,
    /// The process was restarted while it was being read.
    pub(crate) reopened: bool,
    /// How many of `readings` had been read when the classifier last answered.
    pub(crate) horizon: usize,
    /// It is judged together with the user's message: what the frame had to tell the model, should the turn be
    /// dropped.
    pub(crate) undo: Option<Box<(Chat, Told)>>,
    /// For taking the turn back.
    pub(crate) before: Option<Box<BeforeTurn>>,
    /// A trigger has matched: what follows is not wanted.
    pub(crate) is_matched: bool,
}

/// The one gate that every effect of a reply passes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gate {
    /// Effects take place.
    Open,
    /// They wait for this call's result.
    Held(CallId),
    /// They wait for the classifier's answer.
    Judging {
        /// The line in hand has not taken effect, and will not if a trigger matches.
        drops_line: bool,
    },
}

/// Where the pointer is to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// To the line that an `at` names.
    Line(StepId),
    /// To the line again that called what the pointer is in.
    Out,
}

/// A piece of work of a reply.
#[derive(Clone, Debug)]
pub(crate) enum Todo {
    At(Arc<str>),
    Move(Goal),
    OpenSay,
    SayText(String),
    SayParts(VecDeque<Part>),
    CloseSay,
    Set(Arc<str>, Value),
    Act(Action),
    /// The line in hand took effect; its bytes, and where it ends in the reply.
    Applied {
        source: Arc<str>,
        end: u64,
    },
}

impl Turn {
    /// An estimate of what the turn has cost so far. Counted in whole lines, so that where the reply is cut into
    /// chunks makes no difference to when a limit is reached.
    pub(crate) fn spent_tokens(&self) -> u64 {
        self.prompt_tokens + estimate_tokens(self.n_used)
    }
}

/// A reply that is not wanted any more.
#[derive(Clone, Debug)]
pub(crate) struct ClosingTurn {
    pub(crate) id: TurnId,
    pub(crate) place: Option<Place>,
    pub(crate) started: Timestamp,
    pub(crate) prompt_tokens: u64,
    pub(crate) n_bytes: u64,
    pub(crate) n_used: u64,
    pub(crate) end: TurnEnd,
    /// It was cut because a trigger matched.
    pub(crate) is_matched: bool,
}

/// The state before a turn, for taking back what the turn does.
#[derive(Clone, Debug)]
pub(crate) struct BeforeTurn {
    pub(crate) frames: Vec<Frame>,
    pub(crate) others: Vec<Scope>,
    pub(crate) watcher: WatcherMark,
    /// The last call that had been queued.
    pub(crate) last_call: u64,
    pub(crate) n_calls: u64,
}

/// An utterance in progress.
#[derive(Clone, Debug)]
pub(crate) struct Speech {
    pub(crate) utterance: OpenUtterance,
    /// Bytes of the utterance that an earlier reply delivered.
    pub(crate) n_before: usize,
    pub(crate) scanner: TextScanner,
    /// The interpreter has said this line itself.
    pub(crate) swallowed: bool,
    /// The result of a call that waits for the end of the turn is on its way: nothing is delivered before it is certain that the line
    /// does not refer to it, for then it must not be said at all.
    pub(crate) held: Option<VecDeque<Part>>,
}

/// Tokens of so many bytes: about four bytes each in English and JSON.
pub(crate) fn estimate_tokens(n_bytes: u64) -> u64 {
    n_bytes.div_ceil(4)
}
