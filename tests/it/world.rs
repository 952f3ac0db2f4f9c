//! A world in memory: drives a machine with a written list of happenings, and writes down all it does.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use playhouse::lang::program::{EntryId, Program};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::view::{FrameView, VariableView};
use playhouse::vm::protocol::{
    CallId, CallOutcome, Effect, Event, Fact, Finish, FrameOrigin, Judge, NewProgram, Outcome, Progress, Question,
    ReplyEnd, Signal, StartCall, StartTurn, TimerId, Timestamp, ToolSignature, TurnId, Verdict, Wait,
};
use playhouse::vm::{Begin, Machine};

use crate::declared_tool::tool;
use crate::world_parts::{read_program, setting, write_updates};

/// What the world does next.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// The model answers the open turn.
    Reply {
        text: String,
        end: ReplyEnd,
    },
    /// More of the open turn's reply arrives.
    Chunk(String),
    /// The user speaks.
    User(String),
    Signal(Signal),
    /// The oldest running call of this tool ends.
    Result(String, Result<Value, String>),
    /// It asks for approval.
    Asks(String, String),
    /// A person answers.
    Approve(Value),
    /// The user cancels.
    Interrupt,
    /// The call of this tool has ended because of that.
    Interrupted(String),
    /// A debugger changes one of the others.
    Edit(String, Value),
    /// The process is restarted.
    Reopen,
    /// A timer runs out: the one with this number, else the last that was started.
    Timer(Option<u64>),
    /// The classifier answers the open question: names of triggers that match, `?Name` for one it abstains from.
    Verdict(Result<Vec<String>, String>),
    /// The program is changed to this text; in another process, or in the same.
    Program(String, bool),
    /// Time passes before the next happening, in milliseconds.
    Pass(i64),
}

/// A program and what happens to it.
pub(crate) struct Case {
    pub(crate) program: String,
    pub(crate) tools: Vec<ToolSignature>,
    pub(crate) settings: Settings,
    pub(crate) arguments: Map,
    pub(crate) entry: Option<String>,
    pub(crate) happenings: Vec<Happening>,
    pub(crate) loaded: OnceLock<Arc<Program>>,
}

/// Reads a case: sections that begin with a line `--- name`.
pub(crate) fn parse(text: &str) -> Case {
    let mut case = Case {
        program: String::new(),
        tools: Vec::new(),
        settings: Settings::default(),
        arguments: Map::new(),
        entry: None,
        happenings: Vec::new(),
        loaded: OnceLock::new(),
    };
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("--- "), sections.last_mut()) {
            (Some(name), _) => sections.push((name.trim().to_owned(), String::new())),
            (None, Some((_, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => assert!(line.trim().is_empty(), "text before the first section: {line}"),
        }
    }
    for (name, body) in sections {
        let (kind, rest) = name.split_once(' ').unwrap_or((&name, ""));
        let body = body.trim_end_matches('\n').to_owned();
        let happening = match kind {
            "program" => {
                case.program = body + "\n";
                continue;
            }
            "tools" => {
                case.tools = body.lines().filter(|line| !line.trim().is_empty()).map(tool).collect();
                continue;
            }
            "settings" => {
                body.lines().for_each(|line| setting(&mut case.settings, line));
                continue;
            }
            "argument" => {
                let (name, value) = rest.split_once('=').unwrap();
                case.arguments.insert(name.into(), Value::from_json(value).unwrap());
                continue;
            }
            "entry" => {
                case.entry = Some(rest.to_owned());
                continue;
            }
            "reply" => {
                let end = match rest {
                    "" => ReplyEnd::Complete(Finish::Stop),
                    "length" => ReplyEnd::Complete(Finish::Length),
                    "broken" => ReplyEnd::Broken { reason: "connection reset".into(), retry_after_ms: None },
                    "refused" => ReplyEnd::Refused { reason: "401: wrong key".into() },
                    other => ReplyEnd::Broken {
                        reason: "429: slow down".into(),
                        retry_after_ms: Some(other.strip_prefix("after ").unwrap().parse().unwrap()),
                    },
                };
                Happening::Reply { text: body, end }
            }
            "chunk" => Happening::Chunk(body),
            "event" => Happening::Signal(crate::world_parts::signal(rest, &body)),
            "user" => Happening::User(rest.to_owned()),
            "result" => Happening::Result(rest.to_owned(), Ok(Value::from_json(&body).unwrap())),
            "error" => Happening::Result(rest.to_owned(), Err(body)),
            "asks" => Happening::Asks(rest.to_owned(), body),
            "approve" => Happening::Approve(Value::from_json(rest).unwrap()),
            "interrupt" => Happening::Interrupt,
            "interrupted" => Happening::Interrupted(rest.to_owned()),
            "edit" => {
                let (name, value) = rest.split_once('=').unwrap();
                Happening::Edit(name.to_owned(), Value::from_json(value).unwrap())
            }
            "reopen" => Happening::Reopen,
            "timer" => Happening::Timer(rest.parse().ok()),
            "verdict" => Happening::Verdict(match rest {
                "timeout" | "failed" => Err(rest.to_owned()),
                names => Ok(names.split_whitespace().map(str::to_owned).collect()),
            }),
            "changed" => Happening::Program(body + "\n", rest == "reopened"),
            "pass" => Happening::Pass(rest.parse().unwrap()),
            other => panic!("unknown section {other}"),
        };
        case.happenings.push(happening);
    }
    case
}

/// Makes the machine of a case.
pub(crate) fn begin(case: &Case) -> Machine {
    let program = case.loaded.get_or_init(|| read_program(&case.program, &case.tools)).clone();
    let entry = case.entry.as_ref().map(|name| {
        let found = program.playbooks.iter().find(|playbook| &*playbook.name == name.as_str());
        EntryId::Playbook(found.expect("no such entry").id)
    });
    Machine::begin(Begin {
        program,
        settings: case.settings.clone(),
        tools: case.tools.clone().into(),
        entry,
        arguments: case.arguments.clone(),
        time: Timestamp(0),
    })
}

/// How replies are handed to the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chunking {
    /// In one piece.
    Whole,
    /// In pieces of so many bytes.
    Size(usize),
    /// In two pieces.
    CutAt(usize),
}

/// Everything that came out of a machine, and what was put into it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) log: Vec<String>,
    pub(crate) events: Vec<(Timestamp, Event)>,
    /// Every effect, in order, for who wants to look at them as they are.
    pub(crate) effects: Option<Vec<Effect>>,
    /// So many more budgets of directives it may use: some programs never stop.
    pub(crate) patience: u32,
    /// The last request.
    pub(crate) asked: Option<Box<StartTurn>>,
    now: i64,
    turn: Option<TurnId>,
    closed: Vec<TurnId>,
    running: VecDeque<(CallId, Arc<str>)>,
    to_start: VecDeque<(CallId, u32, Arc<str>)>,
    timer: Option<TimerId>,
    question: Option<Question>,
    speech: String,
}

impl World {
    pub(crate) fn new(machine: Machine) -> World {
        World {
            machine,
            log: Vec::new(),
            events: Vec::new(),
            effects: None,
            patience: u32::MAX,
            asked: None,
            now: 0,
            turn: None,
            closed: Vec::new(),
            running: VecDeque::new(),
            to_start: VecDeque::new(),
            timer: None,
            question: None,
            speech: String::new(),
        }
    }

    /// Lets the machine move until it is blocked or finished.
    pub(crate) fn settle(&mut self) -> Result<Wait, Outcome> {
        loop {
            let wait = self.run();
            // What only waits for the machine to be blocked comes now, one event at a time.
            if let Some(turn) = self.closed.pop() {
                self.handle(Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None });
            } else if let Some((call, attempt, name)) = self.to_start.pop_front() {
                self.running.push_back((call, name));
                self.handle(Event::CallStarted { call, attempt });
            } else if wait == Ok(Wait::Budget) && self.patience > 0 {
                self.patience -= 1;
                self.handle(Event::GoOn);
            } else {
                return wait;
            }
        }
    }

    /// Whether a reply is awaited.
    pub(crate) fn is_asking(&self) -> bool {
        self.turn.is_some()
    }

    /// The tool that has been running longest.
    pub(crate) fn running_tool(&self) -> Option<String> {
        self.running.front().map(|(_, name)| name.to_string())
    }

    /// Hands a machine at its beginning the events of another run, each when it is blocked.
    pub(crate) fn replay(&mut self, events: &[(Timestamp, Event)]) {
        let _ = self.run();
        for (time, event) in events {
            self.machine.handle(*time, event.clone());
            let _ = self.run();
        }
    }

    pub(crate) fn handle(&mut self, event: Event) {
        self.events.push((Timestamp(self.now), event.clone()));
        self.machine.handle(Timestamp(self.now), event);
    }

    /// Advances until the machine is blocked or finished.
    fn run(&mut self) -> Result<Wait, Outcome> {
        loop {
            match self.machine.advance() {
                Progress::Emit(effect) => self.perform(effect),
                Progress::Reached(place) => {
                    let location = self.machine.describe(place.location);
                    self.log.push(format!("reached {location}"));
                }
                Progress::Blocked(wait) => return Ok(wait),
                Progress::Finished(outcome) => return Err(outcome),
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        if let Some(effects) = &mut self.effects {
            effects.push(effect.clone());
        }
        match effect {
            Effect::StartTurn(start) => {
                self.turn = Some(start.turn);
                let delay = if start.delay_ms > 0 { format!(" after {} ms", start.delay_ms) } else { String::new() };
                self.log.push(format!("ask {} ({:?}, attempt {}){delay}", start.turn.0, start.kind, start.attempt));
                self.log.extend(start.messages[1..].iter().map(|message| {
                    let lines: Vec<String> = message.text.lines().map(|line| format!("    {line}")).collect();
                    format!("  {:?}:\n{}", message.role, lines.join("\n"))
                }));
                let again = |words: &Arc<str>| (start.attempt > 1).then(|| format!("  as data: {words:?}"));
                self.log.extend(start.data.user.as_ref().and_then(again));
                self.asked = Some(start);
            }
            Effect::CloseReply { turn, close } => {
                self.log.push(format!("close {} ({close:?})", turn.0));
                if self.turn == Some(turn) {
                    self.turn = None;
                    self.closed.push(turn);
                }
            }
            Effect::StartCall(start) => {
                let arguments = Value::map(start.argument_map());
                let answer = start.answers.last().map(|(_, answer)| format!(" answer {answer}")).unwrap_or_default();
                let StartCall { call, name, attempt, .. } = &*start;
                self.log.push(format!("start {} {name} {arguments} attempt {attempt}{answer}", call.0));
                self.to_start.push_back((start.call, start.attempt, start.name));
            }
            Effect::CancelCall { call } => self.log.push(format!("cancel {}", call.0)),
            Effect::Say { utterance, text, last, .. } => {
                self.speech.push_str(&text);
                if last {
                    self.log.push(format!("say {} {}", utterance.0, Value::from(std::mem::take(&mut self.speech))));
                }
            }
            Effect::StartTimer { timer, after_ms, .. } => {
                self.timer = Some(timer);
                self.log.push(format!("timer {after_ms} ms"));
            }
            Effect::Classify(question) => {
                let candidates: Vec<&str> = question.candidates.iter().map(|candidate| &*candidate.name).collect();
                let active: Vec<&str> = question.active.iter().map(|candidate| &*candidate.name).collect();
                let active = if active.is_empty() { String::new() } else { format!(", active {}", active.join(" ")) };
                let updates = write_updates(&question.updates);
                self.log.push(format!(
                    "classify {}: {} on {updates}{active}",
                    question.question.0,
                    candidates.join(" ")
                ));
                self.question = Some(*question);
            }
            Effect::Report(report) => {
                if let Some(line) = self.write_fact(&report.fact) {
                    self.log.push(line);
                }
            }
        }
    }

    fn write_fact(&self, fact: &Fact) -> Option<String> {
        Some(match fact {
            Fact::PlanFault(fault) => format!("plan fault ({}): {}", fault.kind, fault.message),
            Fact::Replanned { attempt, .. } => format!("another plan, number {attempt}"),
            // Told by other lines of the log, or different for each cut of the reply.
            Fact::TurnStarted { .. } | Fact::Said { .. } => return None,
            Fact::CallStarted { .. } | Fact::TurnFinished { .. } => return None,
            Fact::TriggerEvaluated(evaluation) => {
                let name = self.machine.program().trigger_name(evaluation.trigger);
                let by = if evaluation.by == Judge::Interpreter { "" } else { " by the classifier" };
                format!("judged {name}{by}: {:?} on {}", evaluation.ruling, write_updates(&evaluation.updates))
            }
            Fact::TriggerMatched { trigger, updates } => {
                format!("match {} on {}", self.machine.program().trigger_name(*trigger), write_updates(updates))
            }
            Fact::StreamCancelled { reason, withdrawn, .. } if withdrawn.is_empty() => format!("cancelled: {reason}"),
            Fact::StreamCancelled { reason, withdrawn, .. } => {
                let utterances: Vec<String> = withdrawn.iter().map(|utterance| utterance.0.to_string()).collect();
                format!("cancelled: {reason} (utterances {})", utterances.join(", "))
            }
            Fact::VariableSet { name, value, old, local } => {
                let old = old.as_ref().map(|old| format!(" was {old}")).unwrap_or_default();
                let scope = if *local { "" } else { " (other)" };
                format!("set ${name} = {} [{}]{old}{scope}", value.shown(), value.origin().name())
            }
            Fact::VariableRemoved { name, reason } => format!("removed ${name}: {reason}"),
            Fact::CallQueued { call, name, .. } => format!("queued {} {name}", call.0),
            Fact::CallFinished { call, name, result, .. } => match result {
                Ok(value) => format!("finished {} {name}: {}", call.0, value.shown()),
                Err(error) => format!("failed {} {name}: {error}", call.0),
            },
            Fact::FramePushed { origin } => match origin {
                FrameOrigin::Begin => "push (begin)".to_owned(),
                FrameOrigin::Call { from, .. } => format!("push (call at {})", self.machine.describe(*from)),
                FrameOrigin::Trigger { from, .. } => format!("push (trigger at {})", self.machine.describe(*from)),
            },
            Fact::FramePopped { value } => match value {
                Some(value) => format!("pop {}", value.shown()),
                None => "pop".to_owned(),
            },
            Fact::FrameElided { playbook } => format!("elided {}", self.machine.program().playbook(*playbook).name),
            Fact::Repair { cause, attempt } => format!("repair {attempt}: {cause}"),
            Fact::Degraded { cause } => format!("degraded: {cause}"),
            Fact::Retry { cause, attempt, .. } => format!("retry {attempt}: {cause}"),
            Fact::Ignored { cause } => format!("ignored: {cause}"),
            Fact::SessionRenewed { reason } => format!("renewed: {reason}"),
            Fact::ProgramChanged(change) => {
                let left =
                    change.left.iter().map(|left| format!("; {} -> {}", left.from, left.to.as_deref().unwrap_or("-")));
                format!("program changed{}", left.collect::<String>())
            }
            Fact::LinesSkipped { lines, reason } => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("skipped {}{reason}", lines.join(", "))
            }
            Fact::ApprovalAsked { question, .. } => format!("asks: {question}"),
            Fact::ApprovalGiven { .. } => "approved".to_owned(),
            Fact::UserMessage { text } => format!("user {}", Value::Str(text.clone())),
            Fact::SignalArrived { name, data, fate, .. } => format!("event {name} {data}: {fate}"),
            Fact::Waiting { wait: Wait::User } => "waits for the user".to_owned(),
            Fact::Waiting { wait } => format!("waits for {wait:?}"),
        })
    }

    /// Makes one thing happen.
    pub(crate) fn happen(&mut self, happening: &Happening, chunking: Chunking) {
        match happening {
            Happening::Reply { text, end } => {
                let turn = self.turn.unwrap_or_else(|| panic!("nothing was asked\n{}", self.log.join("\n")));
                for chunk in cut(text.as_bytes(), chunking) {
                    if self.turn != Some(turn) {
                        break;
                    }
                    self.handle(Event::Chunk { turn, bytes: chunk.into() });
                    let _ = self.settle();
                }
                if self.turn == Some(turn) {
                    self.turn = None;
                    self.handle(Event::ReplyEnded { turn, end: end.clone(), usage: None });
                }
            }
            Happening::Chunk(text) => {
                let turn = self.turn.expect("nothing was asked");
                let end = if text.ends_with('}') { "\n" } else { "" };
                for chunk in cut(format!("{text}{end}").as_bytes(), chunking) {
                    if self.turn != Some(turn) {
                        break;
                    }
                    self.handle(Event::Chunk { turn, bytes: chunk.into() });
                    let _ = self.settle();
                }
            }
            Happening::Signal(signal) => self.handle(Event::Signal(signal.clone())),
            Happening::User(text) => self.handle(Event::Message { text: text.as_str().into() }),
            Happening::Result(name, result) => {
                let call = self.take(name);
                let outcome = match result {
                    Ok(value) => CallOutcome::Value { value: value.clone(), secret: false },
                    Err(error) => CallOutcome::Error(error.as_str().into()),
                };
                self.handle(Event::CallEnded { call, outcome, usage: None });
            }
            Happening::Asks(name, question) => {
                let takes_no = question.ends_with("??");
                let outcome = CallOutcome::Needs { question: question.as_str().into(), takes_no };
                let call = self.take(name);
                self.handle(Event::CallEnded { call, outcome, usage: None });
            }
            Happening::Approve(answer) => {
                let _ = self.settle();
                let call = self
                    .machine
                    .view()
                    .stack
                    .iter()
                    .flat_map(|frame| frame.queue.clone())
                    .find(|call| call.state == "needs approval");
                let call = call.expect("nothing asks").call;
                self.handle(Event::Approved { call, answer: answer.clone(), by: None });
            }
            Happening::Edit(name, value) => {
                let (name, value) = (name.as_str().into(), value.clone());
                self.handle(Event::Edited { frame: None, name, value });
            }
            Happening::Interrupted(name) => {
                let call = self.take(name);
                self.handle(Event::CallEnded { call, outcome: CallOutcome::Interrupted, usage: None });
            }
            Happening::Interrupt => self.handle(Event::Interrupted),
            Happening::Reopen => {
                self.turn = None;
                self.running.clear();
                self.question = None;
                self.handle(Event::Reopened);
            }
            Happening::Timer(number) => {
                let timer = number.map(TimerId).or(self.timer).expect("no timer");
                self.handle(Event::TimerFired { timer });
            }
            Happening::Verdict(answer) => {
                let question = self.question.take();
                let question = question.unwrap_or_else(|| panic!("no question\n{}", self.log.join("\n")));
                let id = |name: &str| {
                    let found = question.candidates.iter().find(|candidate| &*candidate.name == name);
                    found.unwrap_or_else(|| panic!("{name} is no candidate\n{}", self.log.join("\n"))).trigger
                };
                let verdict = match answer {
                    Ok(names) => Verdict::Judged {
                        by: Judge::Script,
                        matched: names.iter().filter(|name| !name.starts_with('?')).map(|name| id(name)).collect(),
                        abstained: names.iter().filter_map(|name| name.strip_prefix('?')).map(id).collect(),
                        usage: None,
                    },
                    Err(how) if how == "timeout" => Verdict::TimedOut,
                    Err(_) => Verdict::Failed { reason: "no such model".into() },
                };
                self.handle(Event::Verdict { question: question.question, verdict, ms: 7 });
            }
            Happening::Program(text, reopened) => {
                self.log_frames("before");
                self.change_program(read_program(text, self.machine.tools()), *reopened);
                self.log_frames("after");
            }
            Happening::Pass(ms) => self.now += ms,
        }
        let _ = self.settle();
    }

    /// The session goes on with another program; `reopened`: in another process.
    pub(crate) fn change_program(&mut self, program: Arc<Program>, reopened: bool) {
        if reopened {
            self.turn = None;
            self.running.clear();
            self.question = None;
        }
        let tools = self.machine.tools().clone();
        self.handle(Event::ProgramChanged { program: NewProgram(program), tools, reopened });
    }

    /// Whether the classifier's answer is awaited.
    pub(crate) fn is_judging(&self) -> bool {
        self.question.is_some()
    }

    /// Writes down the stack, with more than the end of a case tells.
    fn log_frames(&mut self, when: &str) {
        for frame in self.machine.view().stack {
            let mut text = format!("{when}: {}", write_frame(&frame).trim_end());
            if frame.inlined {
                text += " inlined";
            }
            if frame.n_elided > 0 {
                text += &format!(" elided {}", frame.n_elided);
            }
            for call in &frame.queue {
                text += &format!(" ({} {})", call.name, call.state);
            }
            self.log.push(text);
        }
    }

    fn take(&mut self, name: &str) -> CallId {
        let index = self.running.iter().position(|(_, running)| &**running == name);
        let index = index.unwrap_or_else(|| panic!("{name} does not run\n{}", self.log.join("\n")));
        self.running.remove(index).unwrap().0
    }
}

fn cut(bytes: &[u8], chunking: Chunking) -> Vec<&[u8]> {
    match chunking {
        Chunking::Whole => vec![bytes],
        Chunking::Size(size) => bytes.chunks(size).collect(),
        Chunking::CutAt(at) => {
            let (before, after) = bytes.split_at(at.min(bytes.len()));
            [before, after].into_iter().filter(|piece| !piece.is_empty()).collect()
        }
    }
}

/// Plays a case in a world in which nothing has happened yet, and writes down what the machine did.
pub(crate) fn play(mut world: World, case: &Case, chunking: Chunking) -> World {
    let _ = world.settle();
    for happening in &case.happenings {
        world.happen(happening, chunking);
    }
    let end = match world.settle() {
        Ok(wait) => format!("blocked: {wait:?}"),
        Err(Outcome::Done { value }) => format!("done: {}", value.shown()),
        Err(Outcome::Failed(fault)) => {
            let place = fault.place.map(|place| world.machine.describe(place.location)).unwrap_or_default();
            format!("failed ({}) at {place}: {}", fault.kind, fault.message)
        }
    };
    world.log.push(end);
    let view = world.machine.view();
    for frame in &view.stack {
        world.log.push(write_frame(frame));
    }
    for (agent, variables) in &view.globals {
        if !variables.is_empty() {
            world.log.push(format!("others of {agent}: {}", shown(variables)));
        }
    }
    world
}

fn write_frame(frame: &FrameView) -> String {
    let line = frame.line.as_deref().unwrap_or("-");
    let loops = if frame.loops.is_empty() { String::new() } else { format!(" [{}]", frame.loops.join("; ")) };
    format!("frame {}:{line}{loops} {}", frame.name, shown(&frame.variables))
}

fn shown(variables: &[VariableView]) -> String {
    variables.iter().map(|v| format!("${} = {}", v.name, v.value.shown())).collect::<Vec<_>>().join(", ")
}
