//! Facts: what is told to whoever watches.

use std::fmt;
use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, PlanId};
use playhouse_lang::program::{PlaybookId, Program, TriggerId};
use playhouse_lang::value::Value;

use crate::protocol::ids::{CallId, CallKind, FrameOrigin, Place, TurnEnd, TurnId, TurnKind, Usage, UtteranceId, Wait};
use crate::protocol::tracked::Tracked;
use crate::protocol::trigger::{Evaluation, Update};

/// What watchers want to know. One variant per public event that no other [`crate::protocol::Progress`] tells
/// (spec `cli.md`, "Events").
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A turn was started.
    TurnStarted {
        /// Which model call.
        kind: TurnKind,
        /// Messages sent.
        n_messages: usize,
        /// Estimated tokens of the request.
        prompt_tokens: u64,
        /// Calls that have ended and of whose results the request does not tell: they wait to be taken by the frames
        /// below.
        untaken: Vec<CallId>,
    },
    /// A turn's reply is over.
    TurnFinished {
        /// The turn (the place may have moved on).
        turn: TurnId,
        /// How.
        end: TurnEnd,
        /// Tokens; estimates if `estimated`.
        usage: Usage,
        /// Tokens that were generated and not used (an estimate).
        discarded_tokens: u64,
        /// Whether the server sent no usage.
        estimated: bool,
        /// From the start of the turn to its last byte, in milliseconds.
        ms: u64,
    },
    /// An utterance is complete.
    Said {
        /// Its whole text.
        text: Arc<str>,
    },
    /// A variable got a value.
    VariableSet {
        /// Its name.
        name: Arc<str>,
        /// Its new value.
        value: Tracked,
        /// Its old value as it may be shown; none: it was not set.
        old: Option<Value>,
        /// Whether it is one of the frame's.
        local: bool,
    },
    /// A stale variable was removed.
    VariableRemoved {
        /// Its name.
        name: Arc<str>,
        /// Why.
        reason: &'static str,
    },
    /// A call stands in the queue.
    CallQueued {
        /// The call.
        call: CallId,
        /// The callable.
        name: Arc<str>,
        /// What it is.
        kind: CallKind,
        /// By parameter name.
        arguments: Vec<(Arc<str>, Tracked)>,
        /// The turn whose reply holds it; none: the interpreter makes it, for an explicit line or a plan.
        written_in: Option<TurnId>,
    },
    /// A call runs.
    CallStarted {
        /// The call.
        call: CallId,
        /// The callable.
        name: Arc<str>,
        /// What it is.
        kind: CallKind,
        /// From 1.
        attempt: u32,
    },
    /// A call is over.
    CallFinished {
        /// The call.
        call: CallId,
        /// The callable.
        name: Arc<str>,
        /// What it is.
        kind: CallKind,
        /// Its result or error.
        result: Result<Tracked, Arc<str>>,
        /// Milliseconds since it was started.
        ms: u64,
    },
    /// A reply was cut before its end.
    StreamCancelled {
        /// Why.
        reason: Arc<str>,
        /// Bytes received after the cut.
        discarded_bytes: u64,
        /// Utterances that are taken back with it.
        withdrawn: Vec<UtteranceId>,
    },
    /// A trigger was evaluated.
    TriggerEvaluated(Box<Evaluation>),
    /// A trigger matched: its playbook will be called.
    TriggerMatched {
        /// The trigger.
        trigger: TriggerId,
        /// The updates that made it true; empty for lifecycle triggers.
        updates: Arc<[Update]>,
    },
    /// A frame was pushed.
    FramePushed {
        /// Why.
        origin: FrameOrigin,
    },
    /// A frame was popped.
    FramePopped {
        /// What it returned; none: it was dropped.
        value: Option<Tracked>,
    },
    /// A frame gave its place to the playbook that it called last.
    FrameElided {
        /// The playbook that was left.
        playbook: PlaybookId,
    },
    /// An instruction of a plan failed, or an alias of a dataflow plan.
    PlanFault(Box<PlanFault>),
    /// A plan that failed goes on with another one, which a model wrote.
    Replanned {
        /// The number that the new plan has from now on.
        plan: PlanId,
        /// The plan.
        source: Arc<Plan>,
        /// How many there have been for this frame, from 1.
        attempt: u32,
    },
    /// The model is told of its mistake.
    Repair {
        /// The mistake.
        cause: Arc<str>,
        /// How many in a row, from 1.
        attempt: u32,
    },
    /// The protocol failed for good; the frame waits for the user instead.
    Degraded {
        /// The last mistake.
        cause: Arc<str>,
    },
    /// A broken stream is tried again.
    Retry {
        /// What was seen.
        cause: Arc<str>,
        /// The attempt that begins, from 2.
        attempt: u32,
        /// After how long.
        delay_ms: u64,
    },
    /// Something the model wrote has no effect.
    Ignored {
        /// What, and why.
        cause: Arc<str>,
    },
    /// A frame's chat session was begun afresh.
    SessionRenewed {
        /// Why.
        reason: &'static str,
    },
    /// The session goes on with another text of its program. The ids in what is told from here on are those of the new
    /// program.
    ProgramChanged(Arc<ProgramChange>),
    /// Lines of the model's were left out.
    LinesSkipped {
        /// Their line ids.
        lines: Vec<Arc<str>>,
        /// Why, if the model has said it.
        reason: Option<Arc<str>>,
    },
    /// A person must answer before a call can go on.
    ApprovalAsked {
        /// The call.
        call: CallId,
        /// The question.
        question: Arc<str>,
        /// Whether the tool asks in the middle of its work; else it is asked whether the call may be made.
        by_tool: bool,
    },
    /// A person has answered.
    ApprovalGiven {
        /// The call.
        call: CallId,
        /// The answer.
        answer: Value,
        /// Whether the call is refused by it: no, or words where only yes lets it be made.
        refused: bool,
        /// Who has answered, where that is known.
        by: Option<Arc<str>>,
    },
    /// A user's message was delivered to the program.
    UserMessage {
        /// The user's words.
        text: Arc<str>,
    },
    /// An event from outside has come.
    SignalArrived {
        /// Its name.
        name: Arc<str>,
        /// What it tells.
        data: Value,
        /// What the sender calls it.
        id: Option<Arc<str>>,
        /// What becomes of it.
        fate: SignalFate,
    },
    /// The machine waits for somebody.
    Waiting {
        /// For whom.
        wait: Wait,
    },
}

/// What becomes of an event from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SignalFate {
    /// Triggers wait for it: their playbooks are called as soon as nothing else is in hand.
    Taken,
    /// No trigger waits for it.
    PassedOver,
    /// One with the same id has come before.
    Repeated,
    /// Its data is larger than a variable may be.
    TooLarge,
}

/// What went wrong in a plan, and where (spec `plans.md`, section 1.7).
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFault {
    /// What kind of thing.
    pub kind: PlanFaultKind,
    /// The plan.
    pub plan: PlanId,
    /// The instruction, alias or domain.
    pub node: NodeId,
    /// How people name it: `6/false/9`, `outbound.flights`.
    pub label: Arc<str>,
    /// The instruction's sequence number; none in a dataflow plan.
    pub seq_no: Option<i64>,
    /// The instruction's type (`calling`); `alias` or `domain` in a dataflow plan.
    pub type_name: &'static str,
    /// The parameter that is wrong, if one is.
    pub parameter: Option<Arc<str>>,
    /// For people: what is wrong, in lower case without a full stop. Names the place, too.
    pub message: Arc<str>,
}

/// What can go wrong in a plan; the names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum PlanFaultKind {
    /// A variable that nothing has set.
    UndefinedVariable,
    /// A value that is not what the instruction needs.
    Value,
    /// A name that nothing has, or arguments that do not fit.
    Call,
    /// A tool, playbook or plan failed.
    Failed,
    /// The model could not be asked.
    Model,
    /// The model's answer is none.
    Answer,
    /// A limit.
    Limit,
}

/// A change of a session's program.
#[derive(Clone)]
pub struct ProgramChange {
    /// The program before.
    pub old: Arc<Program>,
    /// The program from now on.
    pub new: Arc<Program>,
    /// Files that were changed, added or removed, by name, those of the new program first.
    pub files: Vec<Arc<str>>,
    /// Where frames stood on lines that are gone, the bottom frame first.
    pub left: Vec<LeftLine>,
}

/// A line that a frame stood on and that the new program has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftLine {
    /// Where the frame stood: `Playbook:05`.
    pub from: Arc<str>,
    /// The line after which it goes on, or the first one. `None`: the frame is gone.
    pub to: Option<Arc<str>>,
}

/// Two changes of the same texts to the same texts with the same outcome are equal.
impl PartialEq for ProgramChange {
    fn eq(&self, other: &ProgramChange) -> bool {
        self.left == other.left
            && self.files == other.files
            && self.old.sources == other.old.sources
            && self.new.sources == other.new.sources
    }
}

impl fmt::Debug for ProgramChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramChange").field("files", &self.files).field("left", &self.left).finish_non_exhaustive()
    }
}

/// A fact and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Where.
    pub place: Option<Place>,
    /// What.
    pub fact: Fact,
}
