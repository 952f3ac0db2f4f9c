//! Program and events to effects: the machine. Pure and deterministic.
//!
//! Four kinds of things, four names: [`Machine::begin`] makes one; [`Machine::handle`] tells it what happened
//! in the world; [`Machine::advance`] lets it move by at most one directive; [`Machine::view`] looks at it.
//! Whoever drives it calls `advance` until it answers `Blocked` or `Finished`, and only then handles the next
//! event (spec `execution.md`, "The machine is pure").

pub mod dataflow;
pub mod eval;
pub mod fault;
pub mod limits;
pub mod protocol;
pub mod reply;
pub mod template;
pub mod tool;
pub mod trial;
pub mod view;

mod begin;
mod calls;
mod condition;
mod frame;
mod history;
mod inline;
mod inspect;
mod loops;
mod messages;
pub mod migrate;
mod model_call;
mod permits;
pub mod plan;
mod prompt;
pub mod prompt_files;
mod questions;
mod resolve;
mod scope;
mod speech;
mod stack;
mod tail_call;
mod trigger_calls;
mod trigger_timers;
mod turn;
mod turn_end;
mod turn_plan;
mod variables;
mod verdicts;
mod walk;
mod watcher;

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, PlanId};
use playhouse_lang::program::{AgentId, EntryId, Program};
use playhouse_lang::value::{Map, Origin, Tracked};

use crate::fault::{Fault, FaultKind};
use crate::frame::{CallState, Callee, Frame, FrameCore, Phase, PlaybookFrame, QueuedCall};
use crate::limits::Settings;
use crate::prompt::Prompts;
use crate::protocol::{
    CallId, CallOutcome, Effect, Event, Fact, Outcome, Place, Progress, Report, TimerId, Timestamp, ToolSignature,
    TurnId, Wait,
};
use crate::scope::{Scope, Stamp};
use crate::stack::Unwinding;
use crate::turn::Turn;
use crate::turn_end::ClosingTurn;
use crate::view::{CallView, Counters, FrameView, Utterance, View};
use crate::watcher::Watcher;

/// All that a session begins with; the journal's first record holds it as text.
#[derive(Clone, Debug)]
pub struct Begin {
    /// The program.
    pub program: Arc<Program>,
    /// Bounds and switches.
    pub settings: Settings,
    /// The tools there are.
    pub tools: Arc<[ToolSignature]>,
    /// The playbook to begin with; none: the program's entry.
    pub entry: Option<EntryId>,
    /// Arguments by name: a name that is a parameter of the first playbook is bound to it; any other becomes a
    /// variable of its agent. Of a plan they are the first variables.
    pub arguments: Map,
    /// When.
    pub time: Timestamp,
}

/// One session's interpreter. A value: cloning it is a snapshot.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Arc<Program>,
    settings: Arc<Settings>,
    /// Whether any playbook of the program limits its frames; most programs need not look.
    has_frame_limits: bool,
    tools: Arc<[ToolSignature]>,
    prompts: Arc<Prompts>,
    now: Timestamp,
    frames: Vec<Frame>,
    /// The session's other variables, by agent.
    others: Vec<Scope>,
    /// The reply that is being read; it belongs to the top frame.
    turn: Option<Turn>,
    /// Replies that are not wanted any more and have not ended yet.
    closing: Vec<ClosingTurn>,
    /// Runs while a reply is read above a frame with a limit of seconds.
    time_limit: Option<TimerId>,
    unwinding: Option<Unwinding>,
    /// Playbooks still to begin with, and the arguments for them.
    entries: VecDeque<EntryId>,
    arguments: Map,
    /// What the last frame of the stack returned.
    last_value: Tracked,
    messages: VecDeque<Arc<str>>,
    conversation: Conversation,
    /// What the last reply said outside its lines.
    last_prose: String,
    /// Plans that a model wrote while the session ran; their numbers go on from those of the program's.
    written_plans: Vec<WrittenPlan>,
    outbox: VecDeque<Progress>,
    outcome: Option<Outcome>,
    blocked: Option<Wait>,
    n_directives: u32,
    next: NextIds,
    stamp: Stamp,
    counters: Counters,
    watcher: Watcher,
}

/// A plan that a model wrote, and its text.
#[derive(Clone, Debug)]
struct WrittenPlan {
    plan: Arc<Plan>,
    text: Arc<str>,
}

/// The numbers the next things get.
#[derive(Clone, Copy, Debug, Default)]
struct NextIds {
    turn: u64,
    call: u64,
    frame: u64,
    timer: u64,
    utterance: u64,
}

/// The last utterances of the session, and how many there were before them.
#[derive(Clone, Debug, Default)]
struct Conversation {
    utterances: VecDeque<Utterance>,
    n_forgotten: u64,
}

impl Conversation {
    fn push(&mut self, by_user: bool, text: Arc<str>, keep: usize) {
        self.utterances.push_back(Utterance { by_user, text });
        while self.utterances.len() > keep.max(1) {
            self.utterances.pop_front();
            self.n_forgotten += 1;
        }
    }

    fn n_total(&self) -> u64 {
        self.n_forgotten + self.utterances.len() as u64
    }

    /// The utterances from the `first` of the session on, as far as they are remembered.
    fn since(&self, first: u64) -> impl Iterator<Item = &Utterance> {
        let skip = first.saturating_sub(self.n_forgotten);
        self.utterances.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX))
    }
}

impl Machine {
    /// Something happened in the world. To be called only when `advance` has answered `Blocked` or `Finished`.
    pub fn handle(&mut self, time: Timestamp, event: Event) {
        let passed = u64::try_from(time.0 - self.now.0).unwrap_or(0);
        self.now = self.now.max(time);
        self.n_directives = 0;
        self.spend_time(passed);
        match event {
            Event::Chunk { turn, bytes } => self.handle_chunk(turn, &bytes),
            Event::ReplyEnded { turn, end, usage } => self.handle_reply_ended(turn, end, usage),
            Event::CallStarted { call, attempt } => self.handle_call_started(call, attempt),
            Event::CallEnded { call, outcome, usage } => self.handle_call_ended(call, outcome, usage),
            Event::Verdict { question, verdict, ms } => self.handle_verdict(question, verdict, ms),
            Event::Message { text } => self.handle_message(text),
            Event::TimerFired { timer } => self.handle_timer(timer),
            Event::Approved { call, answer } => self.handle_approved(call, answer),
            Event::Interrupted => self.handle_interrupted(),
            Event::Edited { frame, name, value } => self.handle_edited(frame, &name, value),
            Event::SignaturesChanged { tools } => {
                self.prompts = Arc::new(Prompts::new(&self.program));
                self.tools = tools;
            }
            Event::ProgramChanged { program, tools, reopened } => {
                self.handle_program_changed(program.0, tools, reopened);
            }
            Event::GoOn => {}
            Event::Reopened => self.handle_reopened(),
        }
    }

    /// Moves by at most one directive.
    pub fn advance(&mut self) -> Progress {
        loop {
            if let Some(progress) = self.outbox.pop_front() {
                return progress;
            }
            if let Some(outcome) = &self.outcome {
                self.blocked = None;
                return Progress::Finished(outcome.clone());
            }
            if self.n_directives >= self.settings.budget {
                return Progress::Blocked(Wait::Budget);
            }
            self.n_directives += 1;
            match self.step() {
                None => self.blocked = None,
                Some(wait) if self.blocked.as_ref() == Some(&wait) => return Progress::Blocked(wait),
                Some(wait) => {
                    self.blocked = Some(wait.clone());
                    if matches!(wait, Wait::Reply(_) | Wait::Verdict(_) | Wait::Budget) {
                        return Progress::Blocked(wait);
                    }
                    self.report(Fact::Waiting { wait });
                }
            }
        }
    }

    /// One transition; what it waits for, if it cannot make one.
    fn step(&mut self) -> Option<Wait> {
        if self.unwinding.is_some() {
            return self.step_unwinding();
        }
        if self.frames.is_empty() {
            self.step_empty_stack();
            return None;
        }
        if self.step_dataflow_below() {
            return None;
        }
        if self.core().phase == Phase::Turn {
            if self.limit_reached() {
                return None;
            }
        } else {
            match self.watch() {
                Ok(true) => return None,
                Ok(false) => {}
                Err(wait) => return Some(wait),
            }
        }
        match self.frames.last() {
            Some(Frame::Plan(_)) => return self.step_plan(),
            Some(Frame::Dataflow(_)) => return self.step_dataflow(),
            Some(Frame::Playbook(_)) | None => {}
        }
        match &self.core().phase {
            Phase::Ready => {
                self.step_ready();
                None
            }
            Phase::Turn => self.step_turn(),
            Phase::Draining(_) => self.step_draining(),
            Phase::WaitingUser => match self.messages.pop_front() {
                Some(text) => {
                    self.deliver(text);
                    None
                }
                None => Some(Wait::User),
            },
            Phase::WaitingTimer(timer) => Some(Wait::Timer(*timer)),
        }
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The plan with this number: one of the program, or one that a model wrote.
    pub fn plan(&self, id: PlanId) -> Option<&Arc<Plan>> {
        let written = || self.written_plans.get((id.0 as usize).checked_sub(self.program.plans.len())?);
        self.program.plan(id).or_else(|| written().map(|written| &written.plan))
    }

    /// The tools there are.
    pub fn tools(&self) -> &Arc<[ToolSignature]> {
        &self.tools
    }

    /// The system message of an agent: the same bytes for all its turns.
    pub fn system_message(&self, agent: AgentId) -> Arc<str> {
        let is_inlined = |playbook, step| self.inlining(playbook, step).is_some();
        self.prompts.system(&self.program, &self.tools, agent, is_inlined)
    }

    /// The whole state as plain data.
    pub fn view(&self) -> View {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        View {
            stack: self
                .frames
                .iter()
                .enumerate()
                .map(|(depth, frame)| {
                    let is_top = depth + 1 == self.frames.len();
                    self.view_frame(frame, turn.filter(|_| is_top))
                })
                .collect(),
            written_plans: self.written_plans.iter().map(|written| written.plan.clone()).collect(),
            others: self
                .others
                .iter()
                .enumerate()
                .map(|(index, scope)| (self.program.agents[index].name.clone(), scope.view()))
                .collect(),
            wait: self.blocked.clone(),
            outcome: self.outcome.clone(),
            messages: self.messages.iter().cloned().collect(),
            conversation: self.conversation.utterances.iter().cloned().collect(),
            triggers: self.view_triggers(),
            question: self.watcher.question.as_ref().map(|open| open.question.clone()),
            counters: self.counters,
        }
    }

    fn view_frame(&self, frame: &Frame, turn: Option<TurnId>) -> FrameView {
        let core = frame.core();
        let result_name = self
            .frames
            .iter()
            .flat_map(|caller| &caller.core().queue)
            .find(|queued| matches!(core.origin, protocol::FrameOrigin::Call { call, .. } if call == queued.id))
            .and_then(|queued| queued.result_name.clone());
        let view = FrameView {
            id: core.id,
            agent: self.program.agent(core.agent).name.clone(),
            name: "".into(),
            language: None,
            location: frame.location(),
            line: None,
            origin: self.describe_origin(core.origin),
            result_name,
            inlined: false,
            n_elided: 0,
            variables: core.scope.view(),
            queue: core.queue.iter().map(view_call).collect(),
            loops: Vec::new(),
            messages: Vec::new(),
            n_turns: core.spent.turns,
            turn,
        };
        match frame {
            Frame::Playbook(frame) => self.view_playbook(frame, view),
            Frame::Plan(frame) => view_plan(&frame.source, frame.pointer, view),
            Frame::Dataflow(frame) => view_plan(&frame.source, frame.node, view),
        }
    }

    fn view_playbook(&self, frame: &PlaybookFrame, view: FrameView) -> FrameView {
        let playbook = self.program.playbook(frame.playbook);
        FrameView {
            name: playbook.name.clone(),
            line: frame.pointer.map(|step| playbook.step(step).label.clone()),
            inlined: frame.inlined,
            n_elided: frame.n_elided,
            loops: frame
                .loops
                .iter()
                .map(|state| {
                    let label = &playbook.step(state.header).label;
                    match state.n_rounds {
                        Some(n) => format!("{label}, item {} of {n}", state.round),
                        None => format!("{label}, round {}", state.round),
                    }
                })
                .collect(),
            messages: frame.chat.messages.clone(),
            ..view
        }
    }

    /// `begin`, `call at Name:03`.
    fn describe_origin(&self, origin: protocol::FrameOrigin) -> String {
        match origin {
            protocol::FrameOrigin::Begin => "begin".to_owned(),
            protocol::FrameOrigin::Call { from, .. } => format!("call at {}", self.describe(from)),
            protocol::FrameOrigin::Trigger { trigger, from } => {
                format!("trigger {} at {}", self.program.trigger_name(trigger), self.describe(from))
            }
        }
    }

    /// `Name:03`, or `Name` for its heading.
    pub fn describe(&self, location: protocol::Location) -> String {
        match location {
            protocol::Location::Line { playbook, step } => {
                let playbook = self.program.playbook(playbook);
                match step {
                    Some(step) => format!("{}:{}", playbook.name, playbook.step(step).label),
                    None => playbook.name.to_string(),
                }
            }
            protocol::Location::Plan { plan, node } => {
                let Some(plan) = self.plan(plan) else { return String::new() };
                match node {
                    Some(node) => format!("{}:{}", plan.name, plan.node(node).label),
                    None => plan.name.to_string(),
                }
            }
        }
    }

    /// The playbook on top of the stack. To be asked for only by what is done for a playbook.
    fn top(&self) -> &PlaybookFrame {
        self.frames.last().and_then(Frame::playbook).expect("only asked for with a playbook on top of the stack")
    }

    fn top_mut(&mut self) -> &mut PlaybookFrame {
        self.frames
            .last_mut()
            .and_then(Frame::playbook_mut)
            .expect("only asked for with a playbook on top of the stack")
    }

    /// What the top frame has in whatever language.
    fn core(&self) -> &FrameCore {
        self.frames.last().expect("a step is made only with a frame on the stack").core()
    }

    fn core_mut(&mut self) -> &mut FrameCore {
        self.frames.last_mut().expect("a step is made only with a frame on the stack").core_mut()
    }

    /// The call with this id, wherever it stands.
    fn find_call(&mut self, call: CallId) -> Option<&mut QueuedCall> {
        self.frames.iter_mut().find_map(|frame| frame.core_mut().call_mut(call))
    }

    /// The frame whose chat session the top frame's turns belong to: the nearest that is not inlined. Messages,
    /// what the model is to be told and how often it failed are the asker's; pointer, loops, variables, queue and
    /// phase are the top frame's own.
    fn asker(&self) -> &PlaybookFrame {
        self.frames[self.asker_depth()].playbook().expect("only asked for with a playbook on the stack")
    }

    fn asker_mut(&mut self) -> &mut PlaybookFrame {
        let depth = self.asker_depth();
        self.frames[depth].playbook_mut().expect("only asked for with a playbook on the stack")
    }

    fn asker_depth(&self) -> usize {
        self.find_asker().unwrap_or(0)
    }

    /// The depth of the nearest playbook that is not inlined, if there is one.
    fn find_asker(&self) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.playbook().is_some_and(|frame| !frame.inlined))
    }

    /// Where the top frame is; none: no frame is on the stack.
    pub fn place(&self) -> Option<Place> {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let depth = self.frames.len().checked_sub(1)?;
        Some(self.frames[depth].place(depth, turn))
    }

    fn emit(&mut self, effect: Effect) {
        self.outbox.push_back(Progress::Emit(effect));
    }

    fn report(&mut self, fact: Fact) {
        let report = Report { place: self.place(), fact };
        self.emit(Effect::Report(Box::new(report)));
    }

    /// Reports what happens in a frame that need not be on top.
    fn report_at(&mut self, place: Place, fact: Fact) {
        self.emit(Effect::Report(Box::new(Report { place: Some(place), fact })));
    }

    /// Ends the session with a fault at the top frame's place. The frames stay, so that they can be looked at.
    fn fail(&mut self, kind: FaultKind, message: impl Into<Arc<str>>) {
        let fault = Fault { kind, place: self.place(), message: message.into() };
        self.close_turn_now("the session failed");
        self.outcome = Some(Outcome::Failed(fault));
    }

    fn next_stamp(&mut self) -> Stamp {
        self.stamp.0 += 1;
        self.stamp
    }
}

/// What came of a call, as the program is told.
fn result_of(outcome: CallOutcome, callee: Callee) -> Result<Tracked, Arc<str>> {
    let origin = if callee == Callee::Model { Origin::MODEL } else { Origin::TOOL };
    match outcome {
        CallOutcome::Value { value, secret } => Ok(Tracked { value, origin, secret }),
        CallOutcome::Error(error) => Err(error),
        CallOutcome::Needs { question, .. } => Err(question),
    }
}

fn view_plan(plan: &Plan, node: Option<NodeId>, view: FrameView) -> FrameView {
    FrameView {
        name: plan.name.clone(),
        language: Some(plan.language()),
        line: node.map(|node| plan.node(node).label.clone()),
        ..view
    }
}

fn view_call(queued: &QueuedCall) -> CallView {
    CallView {
        call: queued.id,
        name: queued.name.clone(),
        kind: queued.callee.kind(),
        arguments: queued.arguments.clone(),
        state: match &queued.state {
            CallState::Queued => "queued",
            CallState::Running { .. } => "running",
            CallState::Asking { .. } => "needs approval",
            CallState::Done(Ok(_)) => "done",
            CallState::Done(Err(_)) => "failed",
        },
        question: match &queued.state {
            CallState::Asking { question, .. } => Some(question.clone()),
            CallState::Queued | CallState::Running { .. } | CallState::Done(_) => None,
        },
        result_name: queued.result_name.clone(),
    }
}
