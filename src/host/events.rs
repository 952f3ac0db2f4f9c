//! Public events: what a machine did, in the words of `--events` (spec `cli.md`, "Events"). Made here from
//! [`Progress`] and nowhere else; what is secret comes out as `"***"`.

use std::sync::Arc;

use serde::Serialize;

use crate::lang::plan::Plan;
use crate::lang::program::Program;
use crate::value::{Map, Value};
use crate::vm::protocol::LeftLine;
use crate::vm::protocol::Tracked;
use crate::vm::protocol::view::plan;
use crate::vm::protocol::{
    CallId, Close, Effect, Fact, Location, Outcome, Place, Progress, Report, Ruling, Update, Wait,
};

pub use crate::host::summary::Summary;

/// One line of `--events`. A public interface: fields are added, never changed or removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublicEvent {
    /// Counted from 1 in this process' life of the session.
    pub seq: u64,
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
        kind: &'static str,
        messages: usize,
        prompt_tokens: u64,
    },
    TurnFinished {
        end: &'static str,
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
        scope: &'static str,
        origin: &'static str,
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
        kind: &'static str,
        args: Value,
    },
    CallStarted {
        call: u64,
        #[serde(rename = "name")]
        callable: Arc<str>,
        kind: &'static str,
        attempt: u32,
    },
    CallFinished {
        call: u64,
        #[serde(rename = "name")]
        callable: Arc<str>,
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Arc<str>>,
        ms: u64,
    },
    TriggerEvaluated {
        trigger: String,
        by: &'static str,
        verdict: &'static str,
        /// Why, where the verdict alone does not tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
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
    },
    FramePushed {
        origin: &'static str,
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
        fault: String,
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
    },
    ApprovalGiven {
        call: u64,
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
        fate: &'static str,
    },
    Waiting {
        /// `user`, `approval`, `timer`, `reply`, `call`.
        #[serde(rename = "for")]
        whom: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<u64>,
    },
    Finished {
        value: Value,
    },
    Failed {
        fault: String,
        message: Arc<str>,
    },
}

impl PublicBody {
    /// The event's name: its `type`.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// One change of a variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UpdateWire {
    /// The variable's name.
    pub name: Arc<str>,
    /// Its value before; null if it was not set.
    pub old: Option<Value>,
    /// Its value now.
    pub new: Value,
}

/// A line that is gone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftLineWire {
    /// Where a frame stood: `Playbook:05`.
    pub from: Arc<str>,
    /// The line after which it goes on, or the first one; none: the frame is gone.
    pub to: Option<Arc<str>>,
}

impl UpdateWire {
    /// The wire form of `updates`, in order.
    pub fn of(updates: &[Update]) -> Vec<UpdateWire> {
        let wire = |update: &Update| UpdateWire {
            name: update.name.clone(),
            old: update.old.clone(),
            new: update.new.clone(),
        };
        updates.iter().map(wire).collect()
    }
}

/// Makes the public events of one session, in order.
#[derive(Clone, Debug)]
pub struct EventMaker {
    session: Arc<str>,
    program: Arc<Program>,
    /// Plans that a model has written since the session began.
    written_plans: Vec<Arc<Plan>>,
    n_events: u64,
    told_end: bool,
}

impl EventMaker {
    /// A maker whose first event is number 1.
    pub fn new(session: Arc<str>, program: Arc<Program>) -> EventMaker {
        EventMaker { session, program, written_plans: Vec::new(), n_events: 0, told_end: false }
    }

    /// The session begins.
    pub fn started(&mut self, model: Arc<str>) -> PublicEvent {
        let body = PublicBody::SessionStarted { program: self.program.name(), model };
        self.event(None, body)
    }

    /// The session goes on after a restart of the process.
    pub fn resumed(&mut self, model: Arc<str>) -> PublicEvent {
        let body = PublicBody::SessionResumed { program: self.program.name(), model };
        self.event(None, body)
    }

    /// The machine was found waiting, and nobody has been told yet (after a restart of the process).
    pub fn waiting(&mut self, wait: &Wait) -> PublicEvent {
        self.event(None, waiting_body(wait))
    }

    /// News of a running call. The machine knows nothing of it, nor does the journal.
    pub fn call_progress(&mut self, call: CallId, value: Value) -> PublicEvent {
        self.event(None, PublicBody::CallProgress { call: call.0, value })
    }

    /// The event of what one `advance` did, if watchers are told of it.
    pub fn of_progress(&mut self, progress: &Progress) -> Option<PublicEvent> {
        match progress {
            Progress::Emit(effect) => self.of_effect(effect),
            Progress::Reached(place) => Some(self.event(Some(*place), PublicBody::LineReached {})),
            Progress::Blocked(_) => None,
            Progress::Finished(outcome) => self.of_outcome(outcome),
        }
    }

    fn of_effect(&mut self, effect: &Effect) -> Option<PublicEvent> {
        match effect {
            Effect::Say { utterance, text, place, last: _ } => {
                // The last piece may be empty: `said` tells the end of an utterance.
                let body = PublicBody::SaidDelta { text: text.clone(), utterance: utterance.0 };
                (!text.is_empty()).then(|| self.event(Some(*place), body))
            }
            Effect::Report(report) => Some(self.of_report(report)),
            // Their facts are told by reports.
            Effect::StartTurn(_)
            | Effect::CloseReply { close: Close::Grace | Close::Now, .. }
            | Effect::StartCall(_)
            | Effect::CancelCall { .. }
            | Effect::Classify(_)
            | Effect::StartTimer { .. } => None,
        }
    }

    fn of_report(&mut self, report: &Report) -> PublicEvent {
        if let Fact::Replanned { source, .. } = &report.fact {
            self.written_plans.push(source.clone());
        }
        if let Fact::ProgramChanged(change) = &report.fact {
            self.program = change.new.clone();
        }
        let mut event = self.event(report.place, fact_body(&self.program, &report.fact));
        if let Fact::TurnFinished { turn, .. } = &report.fact {
            // The frame may have moved on; the event is about this turn.
            event.turn = Some(turn.0);
        }
        event
    }

    /// Once: a finished machine answers `Finished` to every further `advance`.
    fn of_outcome(&mut self, outcome: &Outcome) -> Option<PublicEvent> {
        if std::mem::replace(&mut self.told_end, true) {
            return None;
        }
        Some(match outcome {
            Outcome::Done { value } => self.event(None, PublicBody::Finished { value: value.shown() }),
            Outcome::Failed(fault) => {
                let body = PublicBody::Failed { fault: fault.kind.to_string(), message: fault.message.clone() };
                self.event(fault.place, body)
            }
        })
    }

    fn event(&mut self, place: Option<Place>, body: PublicBody) -> PublicEvent {
        self.n_events += 1;
        let mut event = PublicEvent {
            seq: self.n_events,
            session: self.session.clone(),
            name: body.name(),
            agent: None,
            playbook: None,
            plan: None,
            line: None,
            depth: None,
            turn: None,
            body,
        };
        if let Some(place) = place {
            event.agent = Some(self.program.agent(place.agent).name.clone());
            match place.location {
                Location::Line { playbook, step } => {
                    let playbook = self.program.playbook(playbook);
                    event.playbook = Some(playbook.name.clone());
                    event.line = step.map(|step| playbook.step(step).label.clone());
                }
                Location::Plan { plan: id, node } => {
                    let plan = plan(&self.program, &self.written_plans, id);
                    event.plan = plan.map(|plan| plan.name.clone());
                    event.line = plan.zip(node).map(|(plan, node)| plan.node(node).label.clone());
                }
            }
            event.depth = Some(place.depth);
            event.turn = place.turn.map(|turn| turn.0);
        }
        event
    }
}

fn fact_body(program: &Program, fact: &Fact) -> PublicBody {
    match fact {
        Fact::TurnStarted { kind, n_messages, prompt_tokens } => {
            PublicBody::TurnStarted { kind: kind.into(), messages: *n_messages, prompt_tokens: *prompt_tokens }
        }
        Fact::TurnFinished { turn: _, end, usage, discarded_tokens, estimated, ms } => PublicBody::TurnFinished {
            end: end.into(),
            prompt_tokens: usage.prompt_tokens,
            cached_tokens: usage.cached_tokens,
            completion_tokens: usage.completion_tokens,
            discarded_tokens: *discarded_tokens,
            estimated: *estimated,
            ms: *ms,
        },
        Fact::Said { text } => PublicBody::Said { text: text.clone() },
        Fact::VariableSet { name, value, old, local } => PublicBody::VariableSet {
            variable: name.clone(),
            value: value.shown(),
            old: old.clone(),
            scope: if *local { "local" } else { "other" },
            origin: value.origin().name(),
        },
        Fact::VariableRemoved { name, reason } => PublicBody::VariableRemoved { variable: name.clone(), reason },
        Fact::CallQueued { call, name, kind, arguments } => PublicBody::CallQueued {
            call: call.0,
            callable: name.clone(),
            kind: kind.into(),
            args: shown_arguments(arguments),
        },
        Fact::CallStarted { call, name, kind, attempt } => {
            PublicBody::CallStarted { call: call.0, callable: name.clone(), kind: kind.into(), attempt: *attempt }
        }
        Fact::CallFinished { call, name, kind, result, ms } => PublicBody::CallFinished {
            call: call.0,
            callable: name.clone(),
            kind: kind.into(),
            result: result.as_ref().ok().map(Tracked::shown),
            error: result.as_ref().err().cloned(),
            ms: *ms,
        },
        Fact::TriggerEvaluated(evaluation) => {
            let (verdict, reason) = ruling_name(&evaluation.ruling);
            PublicBody::TriggerEvaluated {
                trigger: program.trigger_name(evaluation.trigger),
                by: evaluation.by.into(),
                verdict,
                reason,
                update: UpdateWire::of(&evaluation.updates),
                ms: evaluation.ms,
                tokens: evaluation.question.map(|_| evaluation.tokens),
            }
        }
        Fact::TriggerMatched { trigger, updates } => {
            PublicBody::TriggerMatched { trigger: program.trigger_name(*trigger), update: UpdateWire::of(updates) }
        }
        Fact::StreamCancelled { reason, discarded_bytes } => {
            PublicBody::StreamCancelled { reason: reason.clone(), discarded_bytes: *discarded_bytes }
        }
        Fact::FramePushed { origin } => PublicBody::FramePushed { origin: origin.into() },
        Fact::FrameElided { playbook } => PublicBody::FrameElided { left: program.playbook(*playbook).name.clone() },
        Fact::FramePopped { value } => PublicBody::FramePopped { value: value.as_ref().map(Tracked::shown) },
        Fact::PlanFault(fault) => PublicBody::PlanFault {
            fault: fault.kind.to_string(),
            seq_no: fault.seq_no,
            type_name: fault.type_name,
            parameter: fault.parameter.clone(),
            message: fault.message.clone(),
        },
        Fact::Replanned { attempt, .. } => PublicBody::Replanned { attempt: *attempt },
        Fact::Repair { cause, attempt } => PublicBody::Repair { cause: cause.clone(), attempt: *attempt },
        Fact::Degraded { cause } => PublicBody::Degraded { cause: cause.clone() },
        Fact::Retry { cause, attempt } => PublicBody::Retry { cause: cause.clone(), attempt: *attempt },
        Fact::Ignored { cause } => PublicBody::Ignored { cause: cause.clone() },
        Fact::SessionRenewed { reason } => PublicBody::SessionRenewed { reason },
        Fact::ProgramChanged(change) => {
            let wire = |left: &LeftLine| LeftLineWire { from: left.from.clone(), to: left.to.clone() };
            PublicBody::ProgramChanged { files: change.files.clone(), lines: change.left.iter().map(wire).collect() }
        }
        Fact::LinesSkipped { lines, reason } => {
            PublicBody::LinesSkipped { lines: lines.clone(), reason: reason.clone() }
        }
        Fact::ApprovalAsked { call, question } => {
            PublicBody::ApprovalAsked { call: call.0, question: question.clone() }
        }
        Fact::ApprovalGiven { call } => PublicBody::ApprovalGiven { call: call.0 },
        Fact::UserMessage { text } => PublicBody::UserMessage { text: text.clone() },
        Fact::SignalArrived { name, data, id, fate } => {
            PublicBody::EventArrived { event: name.clone(), data: data.clone(), id: id.clone(), fate: fate.into() }
        }
        Fact::Waiting { wait } => waiting_body(wait),
    }
}

/// What came of an evaluation, in one word, and why where that does not tell.
pub fn ruling_name(ruling: &Ruling) -> (&'static str, Option<Arc<str>>) {
    let reason = if let Ruling::Fault(reason) | Ruling::Failed(reason) | Ruling::NotCallable(reason) = ruling {
        Some(reason.clone())
    } else {
        None
    };
    (ruling.into(), reason)
}

fn waiting_body(wait: &Wait) -> PublicBody {
    let call = if let Wait::Approval(call) | Wait::Call(call) = wait { Some(call.0) } else { None };
    PublicBody::Waiting { whom: wait.into(), call }
}

fn shown_arguments(arguments: &[(Arc<str>, Tracked)]) -> Value {
    Value::map(arguments.iter().map(|(name, value)| (name.clone(), value.shown())).collect::<Map>())
}
