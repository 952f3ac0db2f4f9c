//! Records: what a journal holds, one JSON object per line, and their conversion to and from the machine's events.
//!
//! **What is stored of secrets.** Replay needs every value that came from outside: arguments given for variables
//! declared `secret`, a debugger's edits of such, secret results of tools. A journal's file holds `"***"` in their
//! place, and the file beside it the values (`secrets.rs`). In memory records are whole; what is shown of them goes
//! through [`Record::shown`]. What users write is no secret: it is in the journal, whose mode is 0600.

use std::sync::Arc;

use playhouse_lang::program::{PlaybookId, TriggerId};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::settings::Settings;
use playhouse_vm::protocol::{
    CallId, CallOutcome, Event, FrameId, Judge, QuestionId, ReplyEnd, Signal, TimerId, Timestamp, TurnId, Usage,
    Verdict,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::journal::wire::{EntryWire, FileWire, ForkedFrom, ToolWire, finish_name, finish_named};
use crate::secrets::MASK;
use crate::settings::SettingsWire;
use crate::text::hex;

/// The version of the records' form, and of what the machine makes of them. A session is what its records make of its
/// program: where the machine reads a line otherwise than before, an earlier journal is another session.
///
/// 2: lines such as `If C, A` have a line of their own for `A`; a playbook inside a line is laid out in the graph.
/// 3: a further piece of a reply may be written as its text alone ([`super::tail`]); 2 is read, and gone on with as it is.
pub const FORMAT: u32 = 3;

/// The first format that is read.
pub(super) const OLDEST_FORMAT: u32 = 2;

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// 1, 2, 3, …
    pub seq: u64,
    /// When, in milliseconds since the Unix epoch: the machine's only clock.
    pub time: i64,
    /// What.
    #[serde(flatten)]
    pub body: RecordBody,
}

/// What a record tells: the session's beginning, then one variant per [`Event`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "variants and fields are those of Event, under the same names")]
pub enum RecordBody {
    Begun(Box<Begun>),
    Chunk {
        turn: u64,
        text: ChunkText,
    },
    ReplyEnded {
        turn: u64,
        #[serde(flatten)]
        end: EndWire,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageWire>,
    },
    CallStarted {
        call: u64,
        attempt: u32,
    },
    CallEnded {
        call: u64,
        #[serde(flatten)]
        outcome: OutcomeWire,
        /// Tokens of a model that it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageWire>,
    },
    Message {
        text: Arc<str>,
        /// Given by whoever sent it, so that it is taken once however often it is sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Arc<str>>,
        /// Who, where whoever serves the session knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    Signal {
        name: Arc<str>,
        data: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Arc<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    Verdict {
        question: u64,
        /// From the question to the answer, in milliseconds.
        #[serde(default)]
        ms: u64,
        #[serde(flatten)]
        verdict: VerdictWire,
    },
    TimerFired {
        timer: u64,
    },
    Approved {
        call: u64,
        answer: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    Interrupted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    Edited {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<u64>,
        name: Arc<str>,
        value: Value,
        /// How often the machine had moved since the record before, where it was paused in the middle: the edit takes
        /// effect there. None: it had nothing more to do, as for every other event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    SignaturesChanged {
        tools: Vec<ToolWire>,
    },
    ProgramChanged(Box<ProgramChanged>),
    GoOn,
    Reopened,
}

/// Another text of the session's program, from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramChanged {
    /// [`crate::program::ProgramText::hash`] of all files.
    pub hash: String,
    /// The names of the files that were given; the others were imported.
    pub roots: Vec<Arc<str>>,
    /// All files in load order.
    pub files: Vec<FileWire>,
    /// The tools it was read with.
    pub tools: Vec<ToolWire>,
    /// The names of variables that may not be shown from here on, beside those of the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Arc<str>>,
    /// Whether the process was restarted, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reopened: bool,
}

/// All that is needed to begin the session again without any file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// [`FORMAT`] of the program that wrote it.
    pub format: u32,
    /// The session's id.
    pub session: Arc<str>,
    /// Where it left another one; none: it began at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The model's id.
    pub model: Arc<str>,
    /// The trigger classifier's id; none in journals from before there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<Arc<str>>,
    /// [`crate::program::ProgramText::hash`] of all files.
    pub hash: String,
    /// The names of the files that were given; the others were imported.
    pub roots: Vec<Arc<str>>,
    /// All files in load order.
    pub files: Vec<FileWire>,
    /// Bounds and switches.
    #[serde(with = "SettingsWire")]
    pub settings: Settings,
    /// The tools there were.
    pub tools: Vec<ToolWire>,
    /// The playbook that was asked for; none: the program's entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryWire>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "is_empty_map")]
    pub arguments: Value,
    /// The names of variables and arguments that may not be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Arc<str>>,
    /// What it was begun with besides the program; nothing in journals from before it was kept.
    #[serde(default, skip_serializing_if = "GivenFiles::is_empty")]
    pub given: GivenFiles,
    /// The span of whoever has started the process that began it (W3C Trace Context).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<Arc<str>>,
}

/// What is beside the program when a session begins, and with which it goes on: files, folders, the model's server. Paths
/// are absolute: it may go on from another folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GivenFiles {
    /// Files of canned tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Arc<str>>,
    /// The configuration, whether it was named or stood beside the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Arc<str>>,
    /// The folder that file tools stay below, where it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<Arc<str>>,
    /// The base URL of the model's server. Journals from before it was kept have it only where it was found on this machine.
    #[serde(default, alias = "found_server", skip_serializing_if = "Option::is_none")]
    pub server: Option<Arc<str>>,
}

impl GivenFiles {
    fn is_empty(&self) -> bool {
        *self == GivenFiles::default()
    }
}

/// Bytes of a reply: JSON text where they are UTF-8, else `{"hex": "e282"}` (a chunk may end inside a character).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkText(pub Arc<[u8]>);

/// [`ReplyEnd`] as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
#[allow(missing_docs, reason = "variants and fields are those of ReplyEnd, under the same names")]
pub enum EndWire {
    Complete {
        finish: Arc<str>,
    },
    Broken {
        reason: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    Refused {
        reason: Arc<str>,
    },
    Closed,
}

/// [`Usage`] as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are those of Usage, under the same names")]
pub struct UsageWire {
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
    pub completion_tokens: u64,
}

/// [`CallOutcome`] as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[allow(missing_docs, reason = "variants and fields are those of CallOutcome, under the same names")]
pub enum OutcomeWire {
    Value {
        value: Value,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    Error {
        error: Arc<str>,
    },
    Needs {
        question: Arc<str>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        takes_no: bool,
    },
    Interrupted,
}

/// [`Verdict`] as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[allow(missing_docs, reason = "variants and fields are those of Verdict, under the same names")]
pub enum VerdictWire {
    Judged {
        #[serde(with = "JudgeWire")]
        by: Judge,
        matched: Vec<TriggerWire>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        abstained: Vec<TriggerWire>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageWire>,
    },
    TimedOut,
    Failed {
        reason: Arc<str>,
    },
}

/// A trigger of the journal's program: its playbook's place in the program and its own in the list, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerWire(pub u32, pub u32);

/// [`Judge`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "Judge")]
#[allow(missing_docs, reason = "the variants are those of Judge, under the same names")]
pub enum JudgeWire {
    Interpreter,
    Rules,
    Model,
    Script,
}

impl VerdictWire {
    fn from_verdict(verdict: &Verdict) -> VerdictWire {
        let wire = |id: &TriggerId| TriggerWire(id.playbook.0, id.index);
        match verdict {
            Verdict::Judged { by, matched, abstained, usage } => VerdictWire::Judged {
                by: *by,
                matched: matched.iter().map(wire).collect(),
                abstained: abstained.iter().map(wire).collect(),
                usage: usage.map(UsageWire::from_usage),
            },
            Verdict::TimedOut => VerdictWire::TimedOut,
            Verdict::Failed { reason } => VerdictWire::Failed { reason: reason.clone() },
        }
    }

    fn to_verdict(&self) -> Verdict {
        let id = |wire: &TriggerWire| TriggerId { playbook: PlaybookId(wire.0), index: wire.1 };
        match self {
            VerdictWire::Judged { by, matched, abstained, usage } => Verdict::Judged {
                by: *by,
                matched: matched.iter().map(id).collect(),
                abstained: abstained.iter().map(id).collect(),
                usage: usage.map(UsageWire::to_usage),
            },
            VerdictWire::TimedOut => Verdict::TimedOut,
            VerdictWire::Failed { reason } => Verdict::Failed { reason: reason.clone() },
        }
    }
}

impl UsageWire {
    pub(crate) fn from_usage(usage: Usage) -> UsageWire {
        let Usage { prompt_tokens, cached_tokens, completion_tokens } = usage;
        UsageWire { prompt_tokens, cached_tokens, completion_tokens }
    }

    /// The usage.
    pub fn to_usage(self) -> Usage {
        let UsageWire { prompt_tokens, cached_tokens, completion_tokens } = self;
        Usage { prompt_tokens, cached_tokens, completion_tokens }
    }
}

impl RecordBody {
    /// The record of an event; none for a change of the program, whose texts are not in the event.
    pub fn from_event(event: &Event) -> Option<RecordBody> {
        Some(match event {
            Event::ProgramChanged { .. } => return None,
            Event::Chunk { turn, bytes } => RecordBody::Chunk { turn: turn.0, text: ChunkText(bytes.clone()) },
            Event::ReplyEnded { turn, end, usage } => RecordBody::ReplyEnded {
                turn: turn.0,
                end: EndWire::from_end(end),
                usage: usage.map(UsageWire::from_usage),
            },
            Event::CallStarted { call, attempt } => RecordBody::CallStarted { call: call.0, attempt: *attempt },
            Event::CallEnded { call, outcome, usage } => RecordBody::CallEnded {
                usage: usage.map(UsageWire::from_usage),
                call: call.0,
                outcome: match outcome {
                    CallOutcome::Value { value, secret } => {
                        OutcomeWire::Value { value: value.clone(), secret: *secret }
                    }
                    CallOutcome::Error(error) => OutcomeWire::Error { error: error.clone() },
                    CallOutcome::Needs { question, takes_no } => {
                        OutcomeWire::Needs { question: question.clone(), takes_no: *takes_no }
                    }
                    CallOutcome::Interrupted => OutcomeWire::Interrupted,
                },
            },
            Event::Message { text } => RecordBody::Message { text: text.clone(), id: None, by: None },
            Event::Signal(Signal { name, data, id }) => {
                RecordBody::Signal { name: name.clone(), data: data.clone(), id: id.clone(), by: None }
            }
            Event::Verdict { question, verdict, ms } => {
                RecordBody::Verdict { question: question.0, ms: *ms, verdict: VerdictWire::from_verdict(verdict) }
            }
            Event::TimerFired { timer } => RecordBody::TimerFired { timer: timer.0 },
            Event::Approved { call, answer, by } => {
                RecordBody::Approved { call: call.0, answer: answer.clone(), by: by.clone() }
            }
            Event::Interrupted => RecordBody::Interrupted { by: None },
            Event::Edited { frame, name, value } => {
                let frame = frame.map(|frame| frame.0);
                RecordBody::Edited { frame, name: name.clone(), value: value.clone(), after: None, by: None }
            }
            Event::SignaturesChanged { tools } => {
                RecordBody::SignaturesChanged { tools: tools.iter().map(ToolWire::from_tool).collect() }
            }
            Event::GoOn => RecordBody::GoOn,
            Event::Reopened => RecordBody::Reopened,
        })
    }

    /// How often the machine had moved since the record before when this happened; none: as often as it could.
    pub fn after(&self) -> Option<u32> {
        if let RecordBody::Edited { after, .. } = self { *after } else { None }
    }

    /// Whether another process took up the session here: nothing more comes of what had been asked for before.
    pub fn reopens(&self) -> bool {
        if let RecordBody::ProgramChanged(changed) = self { changed.reopened } else { *self == RecordBody::Reopened }
    }

    /// The event of a record; none for the beginning, and for a change of the program, whose texts are to be loaded first
    /// ([`crate::replay`] does both).
    pub fn to_event(&self) -> Option<Event> {
        Some(match self {
            RecordBody::Begun(_) | RecordBody::ProgramChanged(_) => return None,
            RecordBody::Chunk { turn, text } => Event::Chunk { turn: TurnId(*turn), bytes: text.0.clone() },
            RecordBody::ReplyEnded { turn, end, usage } => {
                Event::ReplyEnded { turn: TurnId(*turn), end: end.to_end(), usage: usage.map(UsageWire::to_usage) }
            }
            RecordBody::CallStarted { call, attempt } => Event::CallStarted { call: CallId(*call), attempt: *attempt },
            RecordBody::CallEnded { call, outcome, usage } => Event::CallEnded {
                usage: usage.map(UsageWire::to_usage),
                call: CallId(*call),
                outcome: match outcome {
                    OutcomeWire::Value { value, secret } => {
                        CallOutcome::Value { value: value.clone(), secret: *secret }
                    }
                    OutcomeWire::Error { error } => CallOutcome::Error(error.clone()),
                    OutcomeWire::Needs { question, takes_no } => {
                        CallOutcome::Needs { question: question.clone(), takes_no: *takes_no }
                    }
                    OutcomeWire::Interrupted => CallOutcome::Interrupted,
                },
            },
            RecordBody::Message { text, .. } => Event::Message { text: text.clone() },
            RecordBody::Signal { name, data, id, by: _ } => {
                Event::Signal(Signal { name: name.clone(), data: data.clone(), id: id.clone() })
            }
            RecordBody::Verdict { question, ms, verdict } => {
                Event::Verdict { question: QuestionId(*question), ms: *ms, verdict: verdict.to_verdict() }
            }
            RecordBody::TimerFired { timer } => Event::TimerFired { timer: TimerId(*timer) },
            RecordBody::Approved { call, answer, by } => {
                Event::Approved { call: CallId(*call), answer: answer.clone(), by: by.clone() }
            }
            RecordBody::Interrupted { by: _ } => Event::Interrupted,
            RecordBody::Edited { frame, name, value, after: _, by: _ } => {
                Event::Edited { frame: frame.map(FrameId), name: name.clone(), value: value.clone() }
            }
            RecordBody::SignaturesChanged { tools } => {
                Event::SignaturesChanged { tools: tools.iter().map(ToolWire::to_tool).collect() }
            }
            RecordBody::GoOn => Event::GoOn,
            RecordBody::Reopened => Event::Reopened,
        })
    }

    /// The same with its secret values masked; none: it holds none. `names` are the variables that are declared secret.
    pub(crate) fn masked(&self, names: &[Arc<str>]) -> Option<RecordBody> {
        let is_secret = |name: &Arc<str>| names.contains(name);
        let mask = || Value::str(MASK);
        match self {
            RecordBody::Begun(begun) => {
                let arguments = begun.arguments.as_map().filter(|arguments| arguments.keys().any(is_secret))?;
                let shown = |name: &Arc<str>, value: &Value| if is_secret(name) { mask() } else { value.clone() };
                let arguments =
                    arguments.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect::<Map>();
                Some(RecordBody::Begun(Box::new(Begun { arguments: Value::map(arguments), ..Begun::clone(begun) })))
            }
            RecordBody::CallEnded { call, outcome: OutcomeWire::Value { secret: true, .. }, usage } => {
                let outcome = OutcomeWire::Value { value: mask(), secret: true };
                Some(RecordBody::CallEnded { call: *call, outcome, usage: *usage })
            }
            RecordBody::Edited { frame, name, value: _, after, by } if is_secret(name) => {
                let (name, by) = (name.clone(), by.clone());
                Some(RecordBody::Edited { frame: *frame, name, value: mask(), after: *after, by })
            }
            RecordBody::Edited { .. }
            | RecordBody::CallEnded { .. }
            | RecordBody::Chunk { .. }
            | RecordBody::ReplyEnded { .. }
            | RecordBody::CallStarted { .. }
            | RecordBody::Message { .. }
            | RecordBody::Signal { .. }
            | RecordBody::Verdict { .. }
            | RecordBody::TimerFired { .. }
            | RecordBody::Approved { .. }
            | RecordBody::Interrupted { .. }
            | RecordBody::SignaturesChanged { .. }
            | RecordBody::ProgramChanged(_)
            | RecordBody::GoOn
            | RecordBody::Reopened => None,
        }
    }
}

impl Record {
    /// When.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp(self.time)
    }

    /// The record as it may be shown: secret values masked. `secrets` are the names of the variables that the session
    /// declares secret anywhere (`secrets.rs`).
    #[must_use]
    pub fn shown(&self, secrets: &[Arc<str>]) -> Record {
        let body = self.body.masked(secrets).unwrap_or_else(|| self.body.clone());
        Record { body, ..*self }
    }
}

impl EndWire {
    fn from_end(end: &ReplyEnd) -> EndWire {
        match end {
            ReplyEnd::Complete(finish) => EndWire::Complete { finish: finish_name(finish) },
            ReplyEnd::Broken { reason, retry_after_ms } => {
                EndWire::Broken { reason: reason.clone(), retry_after_ms: *retry_after_ms }
            }
            ReplyEnd::Refused { reason } => EndWire::Refused { reason: reason.clone() },
            ReplyEnd::Closed => EndWire::Closed,
        }
    }

    fn to_end(&self) -> ReplyEnd {
        match self {
            EndWire::Complete { finish } => ReplyEnd::Complete(finish_named(finish)),
            EndWire::Broken { reason, retry_after_ms } => {
                ReplyEnd::Broken { reason: reason.clone(), retry_after_ms: *retry_after_ms }
            }
            EndWire::Refused { reason } => ReplyEnd::Refused { reason: reason.clone() },
            EndWire::Closed => ReplyEnd::Closed,
        }
    }
}

impl Serialize for ChunkText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(&self.0) {
            return serializer.serialize_str(text);
        }
        HexWire { hex: hex(&self.0) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChunkText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = match ChunkWire::deserialize(deserializer)? {
            ChunkWire::Text(text) => return Ok(ChunkText(text.into_bytes().into())),
            ChunkWire::Hex(HexWire { hex }) => hex,
        };
        let digits = hex.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> =
            digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
        bytes.map(|bytes| ChunkText(bytes.into())).ok_or_else(|| serde::de::Error::custom("hex digits expected"))
    }
}

#[derive(Serialize, Deserialize)]
struct HexWire {
    hex: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ChunkWire {
    Text(String),
    Hex(HexWire),
}

fn is_empty_map(value: &Value) -> bool {
    match value {
        Value::Map(members) => members.is_empty(),
        Value::Null => true,
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => false,
    }
}
