//! Public events are made here, of what one `advance` of the machine did.

use std::sync::Arc;

use playhouse_lang::plan::Plan;
use playhouse_lang::program::Program;
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::view::plan;
use playhouse_vm::protocol::{
    CallId, Close, Effect, Fact, LeftLine, Location, Outcome, Place, Progress, Report, Timestamp, Tracked, UtteranceId,
    Wait,
};

use crate::events::wire::{LeftLineWire, UpdateWire};
use crate::events::{Mark, PublicBody, PublicEvent};

/// Makes the public events of one session, in order.
#[derive(Clone, Debug)]
pub struct EventMaker {
    session: Arc<str>,
    program: Arc<Program>,
    /// Plans that a model has written since the session began.
    written_plans: Vec<Arc<Plan>>,
    n_events: u64,
    mark: Mark,
    /// The utterance that is being said, of which [`Mark::bytes`] tells how far it has come.
    open: Option<UtteranceId>,
    /// The program's end has been marked; a finished machine answers `Finished` to every further `advance`.
    is_over: bool,
    /// It has been told in this process.
    told_end: bool,
}

impl EventMaker {
    /// A maker whose first event is number 1.
    pub fn new(session: Arc<str>, program: Arc<Program>) -> EventMaker {
        EventMaker {
            session,
            program,
            written_plans: Vec::new(),
            n_events: 0,
            // The first event of every session is its beginning.
            mark: Mark { n: 1, bytes: 0 },
            open: None,
            is_over: false,
            told_end: false,
        }
    }

    /// The program as it is now.
    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Where the session stands: after the last event that has a mark.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The session begins.
    pub fn started(&mut self, model: Arc<str>) -> PublicEvent {
        let body = PublicBody::SessionStarted { program: self.program.name(), model };
        self.marked(None, body)
    }

    /// The session goes on after a restart of the process.
    pub fn resumed(&mut self, model: Arc<str>) -> PublicEvent {
        let body = PublicBody::SessionResumed { program: self.program.name(), model };
        self.event(None, body)
    }

    /// The machine was found waiting, and nobody has been told yet (after a restart of the process).
    pub fn waiting(&mut self, wait: &Wait) -> PublicEvent {
        self.event(None, PublicBody::Waiting { on: wait.clone() })
    }

    /// News of a running call. The machine knows nothing of it, nor does the journal.
    pub fn call_progress(&mut self, call: CallId, value: Value) -> PublicEvent {
        self.event(None, PublicBody::CallProgress { call: call.0, value })
    }

    /// Counts what one `advance` did, without an event of it: whoever replays a journal comes to the marks that were
    /// given before.
    pub fn note(&mut self, progress: &Progress) {
        if goes_on(progress) {
            (self.is_over, self.told_end) = (false, false);
        }
        let is_event = match progress {
            Progress::Emit(Effect::Say { utterance, text, .. }) if !text.is_empty() => {
                if self.open != Some(*utterance) {
                    (self.open, self.mark.bytes) = (Some(*utterance), 0);
                }
                self.mark.bytes += text.len() as u64;
                false
            }
            Progress::Emit(Effect::Report(report)) => {
                if let Fact::Said { .. } = &report.fact {
                    (self.open, self.mark.bytes) = (None, 0);
                } else if let Fact::Replanned { source, .. } = &report.fact {
                    self.written_plans.push(source.clone());
                } else if let Fact::ProgramChanged(change) = &report.fact {
                    self.program = change.new.clone();
                }
                true
            }
            Progress::Reached(_) => true,
            Progress::Finished(_) => !std::mem::replace(&mut self.is_over, true),
            Progress::Emit(_) | Progress::Blocked(_) => false,
        };
        self.mark.n += u64::from(is_event);
    }

    /// The event of what one `advance` did, if watchers are told of it.
    pub fn of_progress(&mut self, progress: &Progress) -> Option<PublicEvent> {
        self.note(progress);
        match progress {
            Progress::Emit(effect) => self.of_effect(effect),
            Progress::Reached(place) => Some(self.marked(Some(*place), PublicBody::LineReached {})),
            Progress::Blocked(_) => None,
            Progress::Finished(outcome) => self.of_outcome(outcome),
        }
    }

    fn of_effect(&mut self, effect: &Effect) -> Option<PublicEvent> {
        match effect {
            Effect::Say { utterance, text, place, last: _ } => {
                // The last piece may be empty: `said` tells the end of an utterance.
                let body = PublicBody::SaidDelta { text: text.clone(), utterance: utterance.0 };
                (!text.is_empty()).then(|| self.marked(Some(*place), body))
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
        let mut event = self.marked(report.place, fact_body(&self.program, &report.fact));
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
            Outcome::Done { value } => self.marked(None, PublicBody::Finished { value: value.shown() }),
            Outcome::Failed(fault) => {
                let body = PublicBody::Failed { fault: fault.kind, message: fault.message.clone() };
                self.marked(fault.place, body)
            }
        })
    }

    /// An event that follows from the journal.
    fn marked(&mut self, place: Option<Place>, body: PublicBody) -> PublicEvent {
        PublicEvent { mark: Some(self.mark), ..self.event(place, body) }
    }

    fn event(&mut self, place: Option<Place>, body: PublicBody) -> PublicEvent {
        self.n_events += 1;
        let mut event = PublicEvent {
            mark: None,
            time: Timestamp::default(),
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

/// Whether a machine does that only while its program is not over; it may have failed before, and been taken up again.
fn goes_on(progress: &Progress) -> bool {
    match progress {
        Progress::Reached(_) => true,
        Progress::Emit(Effect::Report(report)) => {
            matches!(report.fact, Fact::TurnStarted { .. } | Fact::Waiting { .. })
        }
        Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => false,
    }
}

fn fact_body(program: &Program, fact: &Fact) -> PublicBody {
    match fact {
        Fact::TurnStarted { kind, n_messages, prompt_tokens, untaken } => PublicBody::TurnStarted {
            kind: *kind,
            messages: *n_messages,
            prompt_tokens: *prompt_tokens,
            untaken: untaken.iter().map(|call| call.0).collect(),
        },
        Fact::TurnFinished { turn: _, end, usage, discarded_tokens, estimated, ms } => PublicBody::TurnFinished {
            end: *end,
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
            is_local: *local,
            origin: value.origin(),
        },
        Fact::VariableRemoved { name, reason } => PublicBody::VariableRemoved { variable: name.clone(), reason },
        Fact::CallQueued { call, name, kind, arguments, written_in } => PublicBody::CallQueued {
            call: call.0,
            callable: name.clone(),
            kind: *kind,
            args: shown_arguments(arguments),
            written_in: written_in.map(|turn| turn.0),
        },
        Fact::CallStarted { call, name, kind, attempt } => {
            PublicBody::CallStarted { call: call.0, callable: name.clone(), kind: *kind, attempt: *attempt }
        }
        Fact::CallFinished { call, name, kind, result, ms } => PublicBody::CallFinished {
            call: call.0,
            callable: name.clone(),
            kind: *kind,
            result: result.as_ref().ok().map(Tracked::shown),
            error: result.as_ref().err().cloned(),
            ms: *ms,
        },
        Fact::TriggerEvaluated(evaluation) => PublicBody::TriggerEvaluated {
            trigger: program.trigger_name(evaluation.trigger),
            by: evaluation.by,
            ruling: evaluation.ruling.clone(),
            update: UpdateWire::of(&evaluation.updates),
            ms: evaluation.ms,
            tokens: evaluation.question.map(|_| evaluation.tokens),
        },
        Fact::TriggerMatched { trigger, updates } => {
            PublicBody::TriggerMatched { trigger: program.trigger_name(*trigger), update: UpdateWire::of(updates) }
        }
        Fact::StreamCancelled { reason, discarded_bytes, withdrawn } => {
            let withdrawn = withdrawn.iter().map(|utterance| utterance.0).collect();
            PublicBody::StreamCancelled { reason: reason.clone(), discarded_bytes: *discarded_bytes, withdrawn }
        }
        Fact::FramePushed { origin } => PublicBody::FramePushed { origin: *origin },
        Fact::FrameElided { playbook } => PublicBody::FrameElided { left: program.playbook(*playbook).name.clone() },
        Fact::FramePopped { value } => PublicBody::FramePopped { value: value.as_ref().map(Tracked::shown) },
        Fact::PlanFault(fault) => PublicBody::PlanFault {
            fault: fault.kind,
            seq_no: fault.seq_no,
            type_name: fault.type_name,
            parameter: fault.parameter.clone(),
            message: fault.message.clone(),
        },
        Fact::Replanned { attempt, .. } => PublicBody::Replanned { attempt: *attempt },
        Fact::Repair { cause, attempt } => PublicBody::Repair { cause: cause.clone(), attempt: *attempt },
        Fact::Degraded { cause } => PublicBody::Degraded { cause: cause.clone() },
        Fact::Retry { cause, attempt, delay_ms } => {
            PublicBody::Retry { cause: cause.clone(), attempt: *attempt, delay_ms: *delay_ms }
        }
        Fact::Ignored { cause } => PublicBody::Ignored { cause: cause.clone() },
        Fact::SessionRenewed { reason } => PublicBody::SessionRenewed { reason },
        Fact::ProgramChanged(change) => {
            let wire = |left: &LeftLine| LeftLineWire { from: left.from.clone(), to: left.to.clone() };
            PublicBody::ProgramChanged { files: change.files.clone(), lines: change.left.iter().map(wire).collect() }
        }
        Fact::LinesSkipped { lines, reason } => {
            PublicBody::LinesSkipped { lines: lines.clone(), reason: reason.clone() }
        }
        Fact::ApprovalAsked { call, question, by_tool } => {
            PublicBody::ApprovalAsked { call: call.0, question: question.clone(), by_tool: *by_tool }
        }
        Fact::ApprovalGiven { call, answer, refused, by } => {
            PublicBody::ApprovalGiven { call: call.0, answer: answer.clone(), refused: *refused, by: by.clone() }
        }
        Fact::UserMessage { text } => PublicBody::UserMessage { text: text.clone() },
        Fact::SignalArrived { name, data, id, fate } => {
            PublicBody::EventArrived { event: name.clone(), data: data.clone(), id: id.clone(), fate: *fate }
        }
        Fact::Waiting { wait } => PublicBody::Waiting { on: wait.clone() },
    }
}

fn shown_arguments(arguments: &[(Arc<str>, Tracked)]) -> Value {
    Value::map(arguments.iter().map(|(name, value)| (name.clone(), value.shown())).collect::<Map>())
}
