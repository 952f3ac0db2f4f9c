//! What is kept of a reply: while it is read, while it is closed, and what it may have to be taken back to.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::program::StepId;
use playhouse_lang::value::Value;

use crate::machine::frame::{Chat, Frame, OpenUtterance};
use crate::machine::told::Told;
use crate::protocol::{CallId, Place, ReplyEnd, Timestamp, TurnEnd, TurnId, Usage, UtteranceId, estimate_tokens};
use crate::reply::{Action, Reading, ReplyReader};
use crate::triggers::watcher::WatcherMark;
use crate::variables::scope::Scope;
use playhouse_lang::expr::template::{Part, TextScanner};

/// A reply that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(super) id: TurnId,
    pub(super) started: Timestamp,
    pub(super) prompt_tokens: u64,
    pub(super) reader: ReplyReader,
    /// What was read and not yet looked at.
    pub(super) readings: VecDeque<Reading>,
    /// What is left to do of the reading in hand.
    pub(super) todo: VecDeque<Todo>,
    pub(super) gate: Gate,
    pub(super) ended: Option<(ReplyEnd, Option<Usage>)>,
    /// What the user had said that was new when it began.
    pub(super) words: Option<Arc<str>>,
    /// The trace lines that took effect, as JSON Lines: what the chat session keeps.
    pub(super) applied: String,
    /// Where the line in hand begins in `applied`.
    pub(super) line_start: usize,
    /// The `at` of the line in hand.
    pub(super) line_at: Option<Arc<str>>,
    /// The bytes of the line in hand, once it is complete.
    pub(super) line_source: Option<Arc<str>>,
    /// What the line in hand has said so far, once its string is complete.
    pub(super) line_said: Option<String>,
    pub(super) n_lines: usize,
    /// Bytes of the reply up to the end of the last applied line.
    pub(super) n_used: u64,
    pub(super) progress: bool,
    /// The line at which it has said something, if that was the last thing it did.
    pub(super) said_at: Option<StepId>,
    pub(super) speech: Option<Speech>,
    pub(super) prose: String,
    /// It ended in the middle of a sentence, which the next reply goes on with; not if somebody else speaks first.
    pub(super) is_cut_short: bool,
    /// A frame's limit of seconds was reached while it was read.
    pub(super) is_time_up: bool,
    /// The interpreter has done the line in hand and left it: what else the line says has no effect.
    pub(super) is_line_over: bool,
    /// The lines between the pointer and where it is going have been looked at.
    pub(super) is_way_known: bool,
    /// The line in hand has taken effect, as far as it is no yield.
    pub(super) is_line_applied: bool,
    /// The process was restarted while it was being read.
    pub(super) reopened: bool,
    /// How many of `readings` had been read when the classifier last answered.
    pub(super) horizon: usize,
    /// It is judged together with the user's message: what the frame had to tell the model, should the turn be
    /// dropped.
    pub(super) undo: Option<Box<(Chat, Told)>>,
    /// For taking the turn back.
    pub(super) before: Option<Box<BeforeTurn>>,
    /// It is taken back, and with it these utterances.
    pub(super) withdrawn: Vec<UtteranceId>,
    /// A trigger has matched: what follows is not wanted.
    pub(super) is_matched: bool,
}

/// The one gate that every effect of a reply passes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gate {
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
pub(super) enum Goal {
    /// To the line that an `at` names.
    Line(StepId),
    /// To the line again that called what the pointer is in.
    Out,
}

/// A piece of work of a reply.
#[derive(Clone, Debug)]
pub(super) enum Todo {
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
    /// A turn of whose reply nothing has come.
    pub(super) fn new(id: TurnId, started: Timestamp, prompt_tokens: u64, reader: ReplyReader) -> Turn {
        Turn {
            id,
            started,
            prompt_tokens,
            reader,
            readings: VecDeque::new(),
            todo: VecDeque::new(),
            gate: Gate::Open,
            ended: None,
            words: None,
            applied: String::new(),
            line_start: 0,
            line_at: None,
            line_said: None,
            line_source: None,
            n_lines: 0,
            n_used: 0,
            progress: false,
            said_at: None,
            speech: None,
            prose: String::new(),
            is_cut_short: false,
            is_time_up: false,
            is_line_over: false,
            is_way_known: false,
            is_line_applied: false,
            reopened: false,
            horizon: 0,
            undo: None,
            before: None,
            withdrawn: Vec::new(),
            is_matched: false,
        }
    }

    /// A frame's limit of seconds is reached.
    pub(crate) fn note_time_up(&mut self) {
        self.is_time_up = true;
    }

    pub(crate) fn is_time_up(&self) -> bool {
        self.is_time_up
    }

    /// An estimate of what the turn has cost so far. Counted in whole lines, so that where the reply is cut into
    /// chunks makes no difference to when a limit is reached.
    pub(crate) fn spent_tokens(&self) -> u64 {
        self.prompt_tokens + estimate_tokens(self.n_used)
    }
}

/// A reply that is not wanted any more.
#[derive(Clone, Debug)]
pub(crate) struct ClosingTurn {
    pub(super) id: TurnId,
    pub(super) place: Option<Place>,
    pub(super) started: Timestamp,
    pub(super) prompt_tokens: u64,
    pub(super) n_bytes: u64,
    pub(super) n_used: u64,
    pub(super) end: TurnEnd,
    /// It was cut because a trigger matched.
    pub(super) is_matched: bool,
}

impl ClosingTurn {
    /// The program has changed: where it stood in the new one.
    pub(crate) fn migrate(&mut self, place: impl Fn(Place) -> Option<Place>) {
        self.place = self.place.and_then(place);
    }
}

/// The state before a turn, for taking back what the turn does.
#[derive(Clone, Debug)]
pub(super) struct BeforeTurn {
    pub(super) frames: Vec<Frame>,
    pub(super) globals: Vec<Scope>,
    pub(super) watcher: WatcherMark,
    /// The last call that had been queued.
    pub(super) last_call: CallId,
    /// The last utterance that had begun.
    pub(super) last_utterance: UtteranceId,
    pub(super) n_calls: u64,
}

/// An utterance in progress.
#[derive(Clone, Debug)]
pub(super) struct Speech {
    pub(super) utterance: OpenUtterance,
    /// Bytes of the utterance that an earlier reply delivered.
    pub(super) n_before: usize,
    pub(super) scanner: TextScanner,
    /// The interpreter has said this line itself.
    pub(super) swallowed: bool,
    /// The result of a call that waits for the end of the turn is on its way: nothing is delivered before it is certain
    /// that the line does not refer to it, for then it must not be said at all.
    pub(super) held: Option<VecDeque<Part>>,
}
