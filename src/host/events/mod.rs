//! Public events: what a machine did (spec `cli.md`, "Events"). [`make`] makes them of the machine's progress, and nobody
//! else; what is secret comes out as `"***"`. Whoever reads them in Rust matches enums; their names in JSON are [`wire`]'s
//! matter.

pub mod make;

pub mod wire;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::fault::FaultKind;
use playhouse_vm::protocol::{
    CallKind, FrameOrigin, Judge, Origin, PlanFaultKind, Ruling, SignalFate, Timestamp, TurnEnd, TurnKind, Wait,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::events::wire::{LeftLineWire, UpdateWire};

pub use crate::summary::Summary;

/// One line of `--events`. A public interface: fields are added, never changed or removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublicEvent {
    /// Counted from 1 in this process' life of the session.
    pub seq: u64,
    /// Where it stands in the session, whatever process tells of it; none: no journal has it. Not in JSON: whoever
    /// serves events gives it beside them (spec `serving.md`, section 4).
    #[serde(skip)]
    pub mark: Option<Mark>,
    /// The time of the record that it follows from. Not in JSON, either.
    #[serde(skip)]
    pub time: Timestamp,
    /// The session's id.
    pub session: Arc<str>,
    /// The event's name.
    #[serde(rename = "type")]
    pub name: &'static str,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// The playbook's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playbook: Option<Arc<str>>,
    /// The plan's name; then there is no playbook, and the line is the label of an instruction, alias or domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<str>>,
    /// The line id, `02.01`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Arc<str>>,
    /// How many frames lie below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// The turn, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// What belongs to this kind of event.
    #[serde(flatten)]
    pub body: PublicBody,
}

impl PublicEvent {
    /// The playbook or plan that it is of.
    pub fn part(&self) -> Option<&Arc<str>> {
        self.playbook.as_ref().or(self.plan.as_ref())
    }

    /// Where in it: `Pay:03`, or `Pay`.
    pub fn place(&self) -> Option<String> {
        let part = self.part()?;
        Some(self.line.as_ref().map_or_else(|| part.to_string(), |line| format!("{part}:{line}")))
    }
}

/// Whom an event concerns. What belongs to one category may be passed over by whoever wants another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Whoever talks with the program.
    Conversation,
    /// Whoever runs the program, as at a terminal: what did not go as it is written.
    Operation,
    /// Whoever pays.
    Cost,
    /// Whoever follows what the program does.
    Control,
    /// Whoever asks why it did so.
    Diagnostics,
}

/// A place among the events of a session that survives restarts, and chunks that were joined in the journal (spec
/// `serving.md`, section 4). Marks of one session are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The events that follow from the journal, since the session began; pieces of speech are none.
    pub n: u64,
    /// The bytes told of the utterance that is being said.
    pub bytes: u64,
}

impl Mark {
    /// Before the first event.
    pub const START: Mark = Mark { n: 0, bytes: 0 };
}

/// The version of the counting.
const MARKS: &str = "1:";

/// `1:12`, or `1:12+5` in the middle of an utterance.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARKS}{}", self.n)?;
        if self.bytes > 0 { write!(f, "+{}", self.bytes) } else { Ok(()) }
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Mark, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Text that is no mark, or one of another counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a mark; marks are written like 1:12 or 1:12+5")]
pub struct NoMark;

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Mark, NoMark> {
        let (n, bytes) =
            text.strip_prefix(MARKS).map(|rest| rest.split_once('+').unwrap_or((rest, "0"))).ok_or(NoMark)?;
        let number = |text: &str| match text.starts_with('+') {
            true => Err(NoMark),
            false => text.parse().map_err(|_| NoMark),
        };
        Ok(Mark { n: number(n)?, bytes: number(bytes)? })
    }
}

/// The fields of each kind of event; [`PublicBody::name`] is the kind's name.
#[derive(Clone, Debug, PartialEq, Serialize, strum::IntoStaticStr)]
#[serde(untagged)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are those of spec cli.md, under the same names")]
pub enum PublicBody {
    SessionStarted {
        program: Arc<str>,
        model: Arc<str>,
    },
    SessionResumed {
        program: Arc<str>,
        model: Arc<str>,
    },
    TurnStarted {
        #[serde(serialize_with = "wire::word")]
        kind: TurnKind,
        messages: usize,
        prompt_tokens: u64,
        /// Calls that have ended and of whose results the request does not tell.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        untaken: Vec<u64>,
    },
    TurnFinished {
        #[serde(serialize_with = "wire::word")]
        end: TurnEnd,
        prompt_tokens: u64,
        cached_tokens: u64,
        completion_tokens: u64,
        discarded_tokens: u64,
        estimated: bool,
        ms: u64,
    },
    LineReached {},
    SaidDelta {
        text: String,
        /// Which utterance it belongs to, from 1.
        utterance: u64,
    },
    Said {
        text: Arc<str>,
    },
    VariableSet {
        #[serde(rename = "name")]
        variable: Arc<str>,
        value: Value,
        old: Option<Value>,
        #[serde(rename = "scope", serialize_with = "wire::scope")]
        is_local: bool,
        #[serde(serialize_with = "wire::origin")]
        origin: Origin,
    },
    VariableRemoved {
        #[serde(rename = "name")]
        variable: Arc<str>,
        reason: &'static str,
    },
    CallQueued {
        call: u64,
        #[serde(rename = "name")]
        callable: Arc<str>,
        #[serde(serialize_with = "wire::word")]
        kind: CallKind,
        args: Value,
        /// The turn whose reply holds it; none: the interpreter makes it.
        #[serde(skip_serializing_if = "Option::is_none")]
        written_in: Option<u64>,
    },
    CallStarted {
        call: u64,
        #[serde(rename = "name")]
        callable: Arc<str>,
        #[serde(serialize_with = "wire::word")]
        kind: CallKind,
        attempt: u32,
    },
    CallFinished {
        call: u64,
        #[serde(rename = "name")]
        callable: Arc<str>,
        #[serde(serialize_with = "wire::word")]
        kind: CallKind,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Arc<str>>,
        ms: u64,
    },
    TriggerEvaluated {
        trigger: String,
        #[serde(serialize_with = "wire::word")]
        by: Judge,
        /// In JSON `verdict`, and `reason` where that alone does not tell.
        #[serde(flatten, serialize_with = "wire::ruling")]
        ruling: Ruling,
        update: Vec<UpdateWire>,
        ms: u64,
        /// Of the whole question, which may have been about several triggers.
        #[serde(skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
    },
    TriggerMatched {
        trigger: String,
        update: Vec<UpdateWire>,
    },
    StreamCancelled {
        reason: Arc<str>,
        discarded_bytes: u64,
        /// What `utterance` says of the pieces that are taken back.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        withdrawn: Vec<u64>,
    },
    FramePushed {
        #[serde(serialize_with = "wire::word")]
        origin: FrameOrigin,
    },
    FrameElided {
        /// The playbook that was left.
        left: Arc<str>,
    },
    FramePopped {
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },
    /// An instruction, alias or domain of a plan failed.
    PlanFault {
        #[serde(serialize_with = "wire::name")]
        fault: PlanFaultKind,
        #[serde(skip_serializing_if = "Option::is_none")]
        seq_no: Option<i64>,
        /// The type of the instruction; `alias` or `domain`.
        #[serde(rename = "instruction")]
        type_name: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parameter: Option<Arc<str>>,
        message: Arc<str>,
    },
    /// A plan goes on with another one, which a model wrote.
    Replanned {
        attempt: u32,
    },
    Repair {
        cause: Arc<str>,
        attempt: u32,
    },
    Degraded {
        cause: Arc<str>,
    },
    Retry {
        cause: Arc<str>,
        attempt: u32,
        /// After how long.
        delay_ms: u64,
    },
    Ignored {
        cause: Arc<str>,
    },
    SessionRenewed {
        reason: &'static str,
    },
    ProgramChanged {
        files: Vec<Arc<str>>,
        /// Where frames stood on lines that are gone, the bottom frame first.
        lines: Vec<LeftLineWire>,
    },
    LinesSkipped {
        lines: Vec<Arc<str>>,
        /// Why, if the model has said it.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    ApprovalAsked {
        call: u64,
        question: Arc<str>,
        /// The tool asks in the middle of its work.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        by_tool: bool,
    },
    ApprovalGiven {
        call: u64,
        /// true, false, or words.
        answer: Value,
        /// The call is not made: the answer was no, or words where only yes lets it be made.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
        /// Who has answered, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    /// News of a running call: its progress, as the tool tells it.
    CallProgress {
        call: u64,
        value: Value,
    },
    UserMessage {
        text: Arc<str>,
    },
    /// An event from outside.
    EventArrived {
        event: Arc<str>,
        data: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Arc<str>>,
        /// `taken`, `passed_over` (no trigger waits for it), `repeated` (one with the same id has come before),
        /// `too_large`.
        #[serde(serialize_with = "wire::word")]
        fate: SignalFate,
    },
    Waiting {
        /// In JSON `for` (`user`, `approval`, `timer`, `reply`, `call`), and `call` where it is for one.
        #[serde(flatten, serialize_with = "wire::wait")]
        on: Wait,
    },
    Finished {
        value: Value,
    },
    Failed {
        #[serde(serialize_with = "wire::name")]
        fault: FaultKind,
        message: Arc<str>,
    },
}

impl PublicBody {
    /// The event's name: its `type`.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// Whom it concerns.
    pub fn category(&self) -> Category {
        match self {
            // A trigger that was not judged for want of somebody who can: the user is told.
            PublicBody::TriggerEvaluated {
                ruling: Ruling::Abstained | Ruling::Failed(_) | Ruling::TimedOut, ..
            }
            | PublicBody::SessionStarted { .. }
            | PublicBody::SessionResumed { .. }
            | PublicBody::SaidDelta { .. }
            | PublicBody::Said { .. }
            | PublicBody::ProgramChanged { .. }
            | PublicBody::Degraded { .. }
            | PublicBody::Retry { .. }
            | PublicBody::ApprovalAsked { .. }
            | PublicBody::CallProgress { .. }
            | PublicBody::EventArrived { .. }
            | PublicBody::Waiting { .. }
            | PublicBody::Finished { .. }
            | PublicBody::Failed { .. } => Category::Conversation,
            PublicBody::LinesSkipped { .. } | PublicBody::CallFinished { error: Some(_), kind: CallKind::Tool, .. } => {
                Category::Operation
            }
            PublicBody::TurnStarted { .. } | PublicBody::TurnFinished { .. } => Category::Cost,
            PublicBody::LineReached {}
            | PublicBody::VariableSet { .. }
            | PublicBody::VariableRemoved { .. }
            | PublicBody::CallQueued { .. }
            | PublicBody::CallStarted { .. }
            | PublicBody::CallFinished { .. }
            | PublicBody::TriggerMatched { .. }
            | PublicBody::FramePushed { .. }
            | PublicBody::FramePopped { .. }
            | PublicBody::FrameElided { .. }
            | PublicBody::ApprovalGiven { .. }
            | PublicBody::UserMessage { .. } => Category::Control,
            PublicBody::TriggerEvaluated { .. }
            | PublicBody::StreamCancelled { .. }
            | PublicBody::PlanFault { .. }
            | PublicBody::Replanned { .. }
            | PublicBody::Repair { .. }
            | PublicBody::Ignored { .. }
            | PublicBody::SessionRenewed { .. } => Category::Diagnostics,
        }
    }
}
