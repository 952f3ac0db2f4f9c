//! From a journal back to a machine: the events are fed to a fresh one, its effects are not performed again.

pub mod error;

pub mod messages;

pub mod start;

pub mod told;

use std::sync::Arc;

use playhouse_lang::program::{EntryId, Program};
use playhouse_vm::protocol::{
    CallId, CallKind, Close, Effect, Event, Fact, NewProgram, Outcome, Progress, Question, QuestionId, StartCall,
    StartTurn, TimerId, Timestamp, ToolSignature, TurnId, Wait,
};
use playhouse_vm::{Begin, Machine};

use crate::classify::TriggerClassifier;
use crate::events::make::EventMaker;
use crate::journal::record::{Begun, ProgramChanged, Record, RecordBody};
use crate::journal::wire::{EntryWire, FileWire, ToolWire};
use crate::llm::{Llm, LlmRequest, answer};
use crate::program::ProgramCache;
use crate::program::ProgramText;
use crate::replay::error::SessionError;
use crate::replay::messages::MessageIds;
use crate::tasks;
use crate::tool::registry::Registry;

/// Where a machine stands when it has nothing more to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// It waits.
    Blocked(Wait),
    /// The program is over.
    Finished(Outcome),
}

/// A machine that has handled all events of a journal.
pub struct Replayed {
    /// The session's id.
    pub session: Arc<str>,
    /// The machine.
    pub machine: Machine,
    /// Where it stands.
    pub stop: Stop,
    /// How often it moved after the last event.
    pub n_directives: u32,
    /// The tools it knows.
    pub tools: Arc<[ToolSignature]>,
    /// When the session began.
    pub began: Timestamp,
    /// The time of the last event.
    pub time: Timestamp,
    /// It makes the events from here on.
    pub maker: EventMaker,
    /// The messages that were sent with an id.
    pub messages: MessageIds,
    /// Something is under way: the machine waits for no person, something was asked for that has got no answer, or a timer
    /// may still run.
    pub is_at_work: bool,
}

/// Who is told of what a session had done before: scripted models and classifiers and canned tools go on in order.
#[derive(Clone, Copy)]
pub struct Witnesses<'a> {
    /// The model.
    pub llm: &'a dyn Llm,
    /// The trigger classifier.
    pub classifier: &'a dyn TriggerClassifier,
    /// The tools.
    pub tools: &'a Registry,
    /// Programs that this process has read before.
    pub programs: &'a ProgramCache,
}

/// How a session began.
///
/// # Errors
/// The records hold none.
pub fn begun_of(records: &[Record]) -> Result<&Begun, SessionError> {
    match records.first().map(|first| &first.body) {
        Some(RecordBody::Begun(begun)) => Ok(begun),
        Some(_) => Err(SessionError::NoSession("it does not begin with `begun`".to_owned())),
        None => Err(SessionError::NoSession("it is empty".to_owned())),
    }
}

/// The text that a session has at the end of its records, and the tools it was read with. None: they hold no session.
pub fn last_text(records: &[Record]) -> Option<(ProgramText, &[ToolWire])> {
    records.iter().rev().find_map(|record| {
        if let RecordBody::Begun(begun) = &record.body {
            Some((text_of(&begun.roots, &begun.files), &begun.tools[..]))
        } else if let RecordBody::ProgramChanged(changed) = &record.body {
            Some((text_of(&changed.roots, &changed.files), &changed.tools[..]))
        } else {
            None
        }
    })
}

/// Rebuilds the machine of a journal.
///
/// # Errors
/// The journal holds no session, its program cannot be loaded, or the machine does something else than recorded.
pub fn replay(records: &[Record], witnesses: Option<Witnesses<'_>>) -> Result<Replayed, SessionError> {
    replay_watched(records, witnesses, &mut |_, _| {})
}

/// As [`replay`]; `watch` is told all that the machine does, and when.
///
/// # Errors
/// The same.
pub fn replay_watched(
    records: &[Record],
    witnesses: Option<Witnesses<'_>>,
    watch: &mut dyn FnMut(Timestamp, &Progress),
) -> Result<Replayed, SessionError> {
    let mut follower = Follower::begin(records, programs_of(witnesses))?;
    let began = follower.time;
    follower.follow_watched(&records[1..], witnesses, watch)?;
    let mut n_directives = 0;
    let stop = loop {
        let (progress, stop) = follower.advance();
        watch(follower.time, &progress);
        if let Some(stop) = stop {
            follower.maker.note(&progress);
            break stop;
        }
        n_directives += 1;
    };
    let is_still = matches!(&stop, Stop::Blocked(wait) if wait.is_for_person());
    let is_at_work = !is_still || follower.outstanding() != Outstanding::default() || !follower.timers.is_empty();
    let Follower { session, machine, tools, time, maker, messages, .. } = follower;
    Ok(Replayed { session, machine, stop, n_directives, tools, began, time, maker, messages, is_at_work })
}

/// Does what takes as long as a machine needs for all events of a session, on a thread for that.
pub async fn on_replay_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SessionError> + Send + 'static,
) -> Result<T, SessionError> {
    match tasks::on_thread(work).await {
        Ok(done) => done,
        Err(cause) => match cause.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is at its end.
            Err(_) => Err(SessionError::Vanished),
        },
    }
}

/// A machine that follows a journal, record by record, and what it has asked the world for: all that is needed to go
/// on from here. Cloning it is a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    pub(crate) session: Arc<str>,
    pub(crate) machine: Machine,
    /// It has counted all that the machine did.
    pub(crate) maker: EventMaker,
    /// The time of the last record.
    pub(crate) time: Timestamp,
    /// The messages that were sent with an id.
    pub(crate) messages: MessageIds,
    pub(crate) tools: Arc<[ToolSignature]>,
    /// Turns that nothing has come of yet.
    asked: Vec<StartTurn>,
    /// Turns that have begun to be answered.
    started: Vec<TurnId>,
    /// Turns whose rest the machine does not want; they have not ended yet.
    pub(crate) closing: Vec<(TurnId, Close)>,
    /// Calls without a result.
    calls: Vec<StartCall>,
    /// Timers that have not run out, with their milliseconds, and whether they are triggers'.
    timers: Vec<(TimerId, u64, bool)>,
    /// Questions that have no answer yet.
    questions: Vec<Question>,
}

/// How far a machine went on after a record.
#[derive(Debug)]
pub(crate) struct Advanced {
    /// How often it moved.
    pub(crate) n: u32,
    /// What the last of these moves did.
    pub(crate) last: Option<Progress>,
    /// Where it stopped; none: it was paused there.
    pub(crate) stop: Option<Stop>,
}

/// What has been asked for and not been answered: ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outstanding {
    pub(crate) turns: Vec<TurnId>,
    pub(crate) calls: Vec<CallId>,
    pub(crate) questions: Vec<QuestionId>,
}

impl Outstanding {
    /// Keeps what is outstanding there, too.
    pub(crate) fn retain(&mut self, there: &Outstanding) {
        self.turns.retain(|turn| there.turns.contains(turn));
        self.calls.retain(|call| there.calls.contains(call));
        self.questions.retain(|question| there.questions.contains(question));
    }
}

impl Follower {
    /// The machine after the journal's first record, before it has moved.
    pub(crate) fn begin(records: &[Record], programs: Option<&ProgramCache>) -> Result<Follower, SessionError> {
        let begun = begun_of(records)?;
        let (program, tools) = load(&text_of(&begun.roots, &begun.files), &begun.tools, programs)?;
        Follower::begin_with(records, program, tools)
    }

    /// The same with this program and these tools in place of the session's own.
    pub(crate) fn begin_with(
        records: &[Record],
        program: Arc<Program>,
        tools: Arc<[ToolSignature]>,
    ) -> Result<Follower, SessionError> {
        let begun = begun_of(records)?;
        let time = records.first().map(Record::timestamp).unwrap_or_default();
        let entry = begun.entry.as_ref().map(|entry| find_entry(&program, entry)).transpose()?;
        let arguments = begun.arguments.as_map().cloned().unwrap_or_default();
        let begin = Begin { program, settings: begun.settings.clone(), tools, entry, arguments, time };
        let maker = EventMaker::new(begun.session.clone(), begin.program.clone());
        Ok(Follower {
            session: begun.session.clone(),
            tools: begin.tools.clone(),
            machine: Machine::begin(begin),
            maker,
            time,
            messages: MessageIds::default(),
            asked: Vec::new(),
            started: Vec::new(),
            closing: Vec::new(),
            calls: Vec::new(),
            timers: Vec::new(),
            questions: Vec::new(),
        })
    }

    /// Handles these records, each where it was handled.
    pub(crate) fn follow(&mut self, records: &[Record], witnesses: Option<Witnesses<'_>>) -> Result<(), SessionError> {
        self.follow_watched(records, witnesses, &mut |_, _| {})
    }

    fn follow_watched(
        &mut self,
        records: &[Record],
        witnesses: Option<Witnesses<'_>>,
        watch: &mut dyn FnMut(Timestamp, &Progress),
    ) -> Result<(), SessionError> {
        for record in records {
            let advanced = self.advance_before(Some(record), watch)?;
            self.handle(record, advanced.stop.as_ref(), witnesses)?;
        }
        Ok(())
    }

    /// Lets the machine go on to where `next` was handled: as far as it can, but for what was edited while it was
    /// paused. To be called once between two records.
    pub(crate) fn advance_before(
        &mut self,
        next: Option<&Record>,
        watch: &mut dyn FnMut(Timestamp, &Progress),
    ) -> Result<Advanced, SessionError> {
        let mut advanced = Advanced { n: 0, last: None, stop: None };
        let paused = next.and_then(|next| next.body.after().map(|after| (next, after)));
        while paused.is_none_or(|(_, after)| advanced.n < after) {
            let (progress, stop) = self.advance();
            watch(self.time, &progress);
            if stop.is_none() {
                advanced = Advanced { n: advanced.n + 1, last: Some(progress), stop: None };
                continue;
            }
            if let (Some((next, after)), Some(stop)) = (paused, &stop) {
                let found = format!("after {} of {after} directives the machine is at {stop:?}", advanced.n);
                return Err(self.differs(next, &found));
            }
            advanced.stop = stop;
            break;
        }
        if let Some(Stop::Finished(outcome)) = advanced.stop.as_ref().filter(|_| self.is_told_out()) {
            self.maker.note(&Progress::Finished(outcome.clone()));
        }
        Ok(advanced)
    }

    /// Whether nothing is on its way that is told before the program's end: a reply may still run on for its usage.
    pub(crate) fn is_told_out(&self) -> bool {
        self.outstanding().turns.is_empty()
    }

    /// Moves once, and tells where it has stopped if it could not.
    pub(crate) fn advance(&mut self) -> (Progress, Option<Stop>) {
        let progress = self.machine.advance();
        // Of the end nobody hears before the last reply is over ([`replay`] counts it).
        if !matches!(progress, Progress::Finished(_)) {
            self.maker.note(&progress);
        }
        let stop = match &progress {
            Progress::Emit(effect) => {
                self.note(effect);
                None
            }
            Progress::Reached(_) => None,
            Progress::Blocked(wait) => Some(Stop::Blocked(wait.clone())),
            Progress::Finished(outcome) => Some(Stop::Finished(outcome.clone())),
        };
        (progress, stop)
    }

    /// Handles the next record; the machine has been advanced to where it was handled.
    pub(crate) fn handle(
        &mut self,
        record: &Record,
        stop: Option<&Stop>,
        witnesses: Option<Witnesses<'_>>,
    ) -> Result<(), SessionError> {
        let event = match (record.body.to_event(), &record.body) {
            (Some(event), _) => event,
            (None, RecordBody::ProgramChanged(changed)) => to_change(changed, programs_of(witnesses))?,
            (None, _) => return Err(self.differs(record, "a session begins twice")),
        };
        self.check(record, &event, stop, witnesses)?;
        if let RecordBody::Message { text, id: Some(id), .. } = &record.body {
            self.messages.note(id, text, self.maker.mark());
        }
        self.time = record.timestamp();
        self.machine.handle(record.timestamp(), event);
        Ok(())
    }

    /// The timers that may still run, with their milliseconds, and whether they are triggers'.
    pub(crate) fn timers(&self) -> impl Iterator<Item = (TimerId, u64, bool)> {
        self.timers.iter().copied()
    }

    /// What has been asked for and not been answered.
    pub(crate) fn outstanding(&self) -> Outstanding {
        let asked = self.asked.iter().map(|start| start.turn);
        Outstanding {
            turns: asked.chain(self.started.iter().copied()).collect(),
            calls: self.calls.iter().map(|start| start.call).collect(),
            questions: self.questions.iter().map(|open| open.question).collect(),
        }
    }

    /// How soon the machine wants this reply to be over; none: it reads it.
    pub(crate) fn closing(&self, turn: TurnId) -> Option<Close> {
        self.closing.iter().find(|(closing, _)| *closing == turn).map(|(_, close)| *close)
    }

    fn note(&mut self, effect: &Effect) {
        match effect {
            Effect::StartTurn(start) => self.asked.push(StartTurn::clone(start)),
            Effect::StartCall(call) => {
                self.calls.retain(|known| known.call != call.call);
                self.calls.push(StartCall::clone(call));
            }
            // The machine starts those that still run again when it hears `Reopened`.
            Effect::StartTimer { timer, after_ms, is_background } => {
                self.timers.retain(|(known, ..)| known != timer);
                self.timers.push((*timer, *after_ms, *is_background));
            }
            Effect::Classify(question) => self.questions.push(Question::clone(question)),
            Effect::CloseReply { turn, close } => self.closing.push((*turn, *close)),
            // That a call has ended stands in the journal, whatever ended it.
            Effect::CancelCall { .. } | Effect::Say { .. } | Effect::Report(_) => {}
        }
    }

    /// Compares an event with what the machine has asked for, and tells those who must know of it.
    fn check(
        &mut self,
        record: &Record,
        event: &Event,
        stop: Option<&Stop>,
        witnesses: Option<Witnesses<'_>>,
    ) -> Result<(), SessionError> {
        match event {
            Event::Chunk { turn, .. } | Event::ReplyEnded { turn, .. } => {
                if let Some(index) = self.asked.iter().position(|start| start.turn == *turn) {
                    let start = self.asked.remove(index);
                    self.started.push(*turn);
                    if let Some(witnesses) = witnesses {
                        witnesses.llm.replayed(&LlmRequest::of_turn(&self.machine, &start, None));
                    }
                } else if !self.started.contains(turn) {
                    return Err(self.differs(record, &format!("turn {} has not been started", turn.0)));
                }
                if matches!(event, Event::ReplyEnded { .. }) {
                    self.started.retain(|started| started != turn);
                    self.closing.retain(|(closing, _)| closing != turn);
                }
            }
            Event::CallStarted { call, attempt } => {
                let start = self.call(*call).ok_or_else(|| self.no_call(record, *call))?;
                if *attempt == 1
                    && let Some(witnesses) = witnesses
                {
                    match start.kind {
                        CallKind::Model => witnesses.llm.replayed(&answer::request_of(start)),
                        CallKind::Tool | CallKind::Playbook | CallKind::Plan => {
                            witnesses.tools.replayed(&self.session, start, witnesses.llm);
                        }
                    }
                }
            }
            Event::CallEnded { call, .. } => {
                let index = self.calls.iter().position(|start| start.call == *call);
                self.calls.remove(index.ok_or_else(|| self.no_call(record, *call))?);
            }
            Event::TimerFired { timer } => {
                if self.timers.iter().all(|(known, ..)| known != timer) {
                    return Err(self.differs(record, &format!("timer {} does not run", timer.0)));
                }
                self.timers.retain(|(running, ..)| running != timer);
            }
            Event::Verdict { question, .. } => {
                let Some(index) = self.questions.iter().position(|open| open.question == *question) else {
                    return Err(self.differs(record, &format!("question {} has not been asked", question.0)));
                };
                let question = self.questions.remove(index);
                if let Some(witnesses) = witnesses {
                    witnesses.classifier.replayed(&question);
                }
            }
            Event::GoOn => {
                if stop != Some(&Stop::Blocked(Wait::Budget)) {
                    let stop = stop.map_or_else(|| "a pause".to_owned(), |stop| format!("{stop:?}"));
                    return Err(self.differs(record, &format!("the machine is at {stop}, not at its budget")));
                }
            }
            Event::SignaturesChanged { tools } => self.tools = tools.clone(),
            Event::ProgramChanged { tools, reopened, .. } => {
                self.tools = tools.clone();
                if *reopened {
                    self.forget_asked();
                }
            }
            Event::Reopened => self.forget_asked(),
            Event::Message { .. }
            | Event::Signal(_)
            | Event::Approved { .. }
            | Event::Interrupted
            | Event::Edited { .. } => {}
        }
        Ok(())
    }

    /// Nothing more comes of what the last process had asked for.
    fn forget_asked(&mut self) {
        self.asked.clear();
        self.started.clear();
        self.closing.clear();
        self.questions.clear();
    }

    fn call(&self, call: CallId) -> Option<&StartCall> {
        self.calls.iter().find(|start| start.call == call)
    }

    fn no_call(&self, record: &Record, call: CallId) -> SessionError {
        self.differs(record, &format!("call {} has not been asked for", call.0))
    }

    fn differs(&self, record: &Record, found: &str) -> SessionError {
        SessionError::Replay { seq: record.seq, found: found.to_owned() }
    }
}

fn text_of(roots: &[Arc<str>], files: &[FileWire]) -> ProgramText {
    ProgramText { roots: roots.to_vec(), files: files.to_vec() }
}

/// Programs that have been read before.
pub(crate) fn programs_of(witnesses: Option<Witnesses<'_>>) -> Option<&ProgramCache> {
    witnesses.map(|witnesses| witnesses.programs)
}

/// The program of a record, and its tools.
fn load(
    text: &ProgramText,
    tools: &[ToolWire],
    programs: Option<&ProgramCache>,
) -> Result<(Arc<Program>, Arc<[ToolSignature]>), SessionError> {
    let tools: Arc<[ToolSignature]> = tools.iter().map(ToolWire::to_tool).collect();
    let signatures: Vec<_> = tools.iter().map(|tool| tool.signature.clone()).collect();
    let loaded = match programs {
        Some(programs) => programs.load(text, signatures),
        None => text.load_good(&signatures),
    };
    Ok((loaded.map_err(SessionError::Program)?, tools))
}

fn to_change(changed: &ProgramChanged, programs: Option<&ProgramCache>) -> Result<Event, SessionError> {
    let (program, tools) = load(&text_of(&changed.roots, &changed.files), &changed.tools, programs)?;
    Ok(Event::ProgramChanged { program: NewProgram(program), tools, reopened: changed.reopened })
}

fn find_entry(program: &Program, entry: &EntryWire) -> Result<EntryId, SessionError> {
    if entry.is_plan {
        let found = program.find_plan(&entry.playbook).map(EntryId::Plan);
        return found.ok_or_else(|| SessionError::Program(format!("there is no plan {}", entry.playbook)));
    }
    let agent = program.agents.iter().find(|agent| agent.name == entry.agent);
    let found = agent.and_then(|agent| program.find_playbook(agent.id, &entry.playbook));
    let found = found.map(EntryId::Playbook);
    found.ok_or_else(|| SessionError::Program(format!("there is no playbook {}.{}", entry.agent, entry.playbook)))
}

/// Whether an effect tells that the machine waits for somebody.
pub(crate) fn tells_waiting(progress: &Progress) -> bool {
    matches!(progress, Progress::Emit(Effect::Report(report)) if matches!(report.fact, Fact::Waiting { .. }))
}
