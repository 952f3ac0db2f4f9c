//! What holds for any program, over many that are generated: nothing secret is shown, no request is beyond its bound.
#![allow(clippy::print_stdout, reason = "how often what a property is about came up belongs to the proof")]

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use fastrand::Rng;
use playhouse::host::classify::prompt::question_text;
use playhouse::host::events::make::EventMaker;
use playhouse::lang::program::Signature;
use playhouse::lang::{ImportRequest, LoadOptions, load};
use playhouse::value::Value;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{
    CallId, CallKind, CallOutcome, Effect, Event, Fact, Finish, Judge, Progress, Question, ReplyEnd, Ruling, StartCall,
    TimerId, Timestamp, ToolSignature, TurnId, Verdict, Wait,
};
use playhouse::vm::{Begin, Machine};

use crate::declared_tool::tool;
use crate::generated_programs::{Generated, Kind, SECRET_NAMES, TOOLS, generate, reply, secret_value, sized_value};
use crate::shown::{arguments_text, effect_text, record_text, request_text, secret_names, view_text, why_text};

/// The most bytes that the messages of a request may have together. Counted are:
///
/// - `context_tokens`, estimated at four bytes each: what the machine keeps a request to;
/// - `n_fixed`: what cannot be left out, because it is the program's own text (the system message, the playbook's
///   lines and notes, with those of playbooks that run inside it);
/// - slack, for what is said whole however small the context is: what the user has said last, the model's mistake,
///   labels, and the value that the line in hand names, each up to what is shown of a value.
pub(crate) fn request_bound(settings: &Settings, n_fixed: usize) -> usize {
    let context = usize::try_from(settings.context_tokens).unwrap_or(usize::MAX).saturating_mul(4);
    let slack = 4 * settings.shown_value_bytes + 4_096;
    context.saturating_add(n_fixed).saturating_add(slack)
}

/// Texts that nobody may see: no six signs of any of them may stand anywhere.
struct Hidden {
    pieces: HashSet<[u8; 6]>,
    n_known: usize,
}

impl Hidden {
    fn add(&mut self, contents: &[String]) {
        for content in &contents[self.n_known..] {
            self.pieces.extend(content.as_bytes().array_windows::<6>().copied());
        }
        self.n_known = contents.len();
    }

    /// What of them stands in a text, with what is around it.
    fn find(&self, text: &str) -> Option<String> {
        let bytes = text.as_bytes();
        let mut n_signs = 0;
        for (at, byte) in bytes.iter().enumerate() {
            // Contents are words of capital letters and digits.
            n_signs = if byte.is_ascii_uppercase() || byte.is_ascii_digit() { n_signs + 1 } else { 0 };
            if n_signs >= 6 && bytes[..=at].last_chunk().is_some_and(|piece| self.pieces.contains(piece)) {
                let start = text.floor_char_boundary(at.saturating_sub(300));
                let end = text.ceil_char_boundary((at + 60).min(text.len()));
                return Some(text[start..end].to_owned());
            }
        }
        None
    }
}

/// How often what the properties are about came up.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    n_requests: u64,
    n_questions: u64,
    /// Requests in which a secret is masked.
    n_masked: u64,
    /// Requests that tell of a line which could not be performed.
    n_faults: u64,
    /// Tools that were handed a secret.
    n_secret_calls: u64,
    /// Variables that were given a secret, playbooks and plans that were called with one.
    n_secret_sets: u64,
    n_secret_arguments: u64,
    /// Conditions of triggers that could not be evaluated.
    n_trigger_faults: u64,
    n_plan_faults: u64,
    n_renewed: u64,
    /// Requests and questions that take more than half of their bound.
    n_full: u64,
}

/// A program that runs: what happens to it is chosen at random.
struct Stage {
    machine: Machine,
    generated: Generated,
    random: Rng,
    events: EventMaker,
    declared: Vec<Arc<str>>,
    hidden: Hidden,
    /// Bytes of the program's own texts.
    n_program: usize,
    effects: Vec<Effect>,
    happened: Vec<Event>,
    turn: Option<TurnId>,
    /// The line that the open turn is asked to go on from.
    here: Option<String>,
    has_replied: bool,
    closed: Vec<TurnId>,
    to_start: VecDeque<(CallId, u32, CallKind)>,
    running: Vec<(CallId, CallKind)>,
    timers: Vec<TimerId>,
    question: Option<Question>,
    now: i64,
    tally: Tally,
    number: u64,
}

/// Events for one program.
const N_EVENTS: usize = 30;

impl Stage {
    fn new(kind: Kind, number: u64) -> Stage {
        let mut random = Rng::with_seed(number);
        let generated = generate(kind, &mut random);
        let tools: Arc<[ToolSignature]> = TOOLS.iter().map(|line| tool(line)).collect();
        let signatures: Vec<Signature> = tools.iter().map(|tool| tool.signature.clone()).collect();
        let mut read = |request: &ImportRequest<'_>| Err(format!("no {}", request.path));
        let options = LoadOptions { tools: &signatures, open_world: true, ..LoadOptions::default() };
        let program = Arc::new(load(generated.files.clone(), &mut read, &options).program);
        let declared = secret_names(&program);
        let mut hidden = Hidden { pieces: HashSet::new(), n_known: 0 };
        hidden.add(&generated.secrets);
        let machine = Machine::begin(Begin {
            program: program.clone(),
            settings: generated.settings.clone(),
            tools,
            entry: None,
            arguments: generated.arguments.clone(),
            time: Timestamp(0),
        });
        Stage {
            machine,
            random,
            events: EventMaker::new("generated".into(), program),
            declared,
            hidden,
            n_program: generated.files.iter().map(|file| file.text.len()).sum(),
            generated,
            effects: Vec::new(),
            happened: Vec::new(),
            turn: None,
            here: None,
            has_replied: false,
            closed: Vec::new(),
            to_start: VecDeque::new(),
            running: Vec::new(),
            timers: Vec::new(),
            question: None,
            now: 0,
            tally: Tally::default(),
            number,
        }
    }

    /// Runs the program to its end, or for as many events as there are.
    fn run(&mut self) {
        let arguments = arguments_text(&self.generated.arguments, &self.declared);
        self.hide("the journal's first record", &arguments);
        let mut n_events = 0;
        loop {
            match self.machine.advance() {
                Progress::Emit(effect) => self.perform(effect),
                Progress::Reached(_) => {}
                Progress::Blocked(wait) => {
                    n_events += 1;
                    if n_events > N_EVENTS {
                        break;
                    }
                    let event = self.next_event(&wait);
                    self.handle(event);
                }
                Progress::Finished(outcome) => {
                    let progress = Progress::Finished(outcome);
                    let event = self.events.of_progress(&progress);
                    let text = serde_json::to_string(&event).unwrap();
                    self.hide("the session's end", &text);
                    break;
                }
            }
        }
        if self.generated.kind == Kind::Secrets {
            self.hide("a view", &view_text(&self.machine.view()));
            if self.number.is_multiple_of(8) {
                self.hide("why", &why_text(&self.machine, &self.effects));
            }
        }
    }

    fn handle(&mut self, event: Event) {
        if self.generated.kind == Kind::Secrets {
            let text = record_text(&event, &self.declared);
            self.hide("a record", &text);
            self.happened.push(event.clone());
        }
        self.now += 400;
        self.machine.handle(Timestamp(self.now), event);
    }

    /// Nothing hidden stands in a text.
    fn hide(&self, what: &str, text: &str) {
        if let Some(found) = self.hidden.find(text) {
            self.fail(&format!("{what} shows a secret: …{found}…"));
        }
    }

    fn fail(&self, problem: &str) -> ! {
        let program: String =
            self.generated.files.iter().map(|file| format!("{}:\n{}\n", file.name, file.text)).collect();
        let last = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::StartTurn(start) => Some(request_text(start)),
            Effect::CloseReply { .. }
            | Effect::StartCall(_)
            | Effect::CancelCall { .. }
            | Effect::Say { .. }
            | Effect::StartTimer { .. }
            | Effect::Classify(_)
            | Effect::Report(_) => None,
        });
        let events: String = self.happened.iter().map(|event| record_text(event, &[]) + "\n").collect();
        let last: String =
            last.unwrap_or_default().chars().rev().take(3_000).collect::<Vec<_>>().iter().rev().collect();
        panic!(
            "program {} ({:?}): {problem}\n\n{program}\n{events}\nthe last request ends:\n{last}",
            self.number, self.generated.kind
        )
    }

    fn perform(&mut self, effect: Effect) {
        match self.generated.kind {
            Kind::Secrets => self.look_for_secrets(&effect),
            Kind::Sizes => self.measure(&effect),
        }
        match &effect {
            Effect::StartTurn(start) => {
                self.turn = Some(start.turn);
                self.has_replied = false;
                let asked = start.messages.last().map_or("", |message| &message.text);
                self.here = asked.rsplit_once("GO ON FROM ").map(|(_, label)| label.trim().to_owned());
                self.tally.n_requests += 1;
            }
            Effect::CloseReply { turn, .. } => {
                if self.turn.take_if(|open| *open == *turn).is_some() {
                    self.closed.push(*turn);
                }
            }
            Effect::StartCall(start) => self.to_start.push_back((start.call, start.attempt, start.kind)),
            Effect::StartTimer { timer, .. } => {
                self.timers.retain(|known| known != timer);
                self.timers.push(*timer);
            }
            Effect::Classify(question) => {
                self.question = Some((**question).clone());
                self.tally.n_questions += 1;
            }
            Effect::CancelCall { .. } | Effect::Say { .. } | Effect::Report(_) => {}
        }
        self.effects.push(effect);
    }

    fn look_for_secrets(&mut self, effect: &Effect) {
        let text = effect_text(&mut self.events, effect);
        match effect {
            Effect::StartTurn(_) => {
                self.tally.n_masked += u64::from(text.contains("(secret)"));
                self.tally.n_faults += u64::from(text.contains("is left to you"));
                self.hide("a request", &text);
            }
            Effect::Classify(_) => self.hide("a question", &text),
            Effect::Say { .. } => self.hide("speech", &text),
            Effect::StartCall(start) => self.look_into_call(start),
            Effect::Report(report) => {
                self.count(&report.fact);
                self.hide("an event", &text);
            }
            Effect::CloseReply { .. } | Effect::CancelCall { .. } | Effect::StartTimer { .. } => {}
        }
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "what else is told is not counted")]
    fn count(&mut self, fact: &Fact) {
        match fact {
            Fact::VariableSet { value, .. } => self.tally.n_secret_sets += u64::from(value.is_secret()),
            Fact::CallQueued { kind: CallKind::Playbook | CallKind::Plan, arguments, .. } => {
                self.tally.n_secret_arguments += u64::from(arguments.iter().any(|(_, argument)| argument.is_secret()));
            }
            Fact::TriggerEvaluated(evaluation) => {
                self.tally.n_trigger_faults += u64::from(matches!(evaluation.ruling, Ruling::Fault(_)));
            }
            Fact::PlanFault(_) => self.tally.n_plan_faults += 1,
            Fact::SessionRenewed { .. } => self.tally.n_renewed += 1,
            _ => {}
        }
    }

    /// A tool is handed what it is called with; a model is not.
    fn look_into_call(&mut self, start: &StartCall) {
        let text = Value::map(start.argument_map()).to_json();
        if start.kind == CallKind::Model || &*start.name == "llm_generate" {
            self.hide("a question to the model", &text);
        }
        self.tally.n_secret_calls += u64::from(self.hidden.find(&text).is_some());
    }

    fn measure(&mut self, effect: &Effect) {
        let settings = &self.generated.settings;
        match effect {
            Effect::StartTurn(start) => {
                let n_bytes: usize = start.messages.iter().map(|message| message.text.len()).sum();
                let n_system = start.messages[0].text.len();
                let bound = request_bound(settings, n_system + self.n_program);
                // A quarter of the context is what a run may bring, however much the program's own text takes.
                self.tally.n_full += u64::from((n_bytes - n_system) as u64 > settings.context_tokens);
                if n_bytes > bound {
                    self.fail(&format!("a request of {n_bytes} bytes, more than {bound}; {:?}", start.messages.last()));
                }
            }
            Effect::Classify(question) => {
                let n_bytes = question_text(question).len();
                let bound = request_bound(settings, self.n_program);
                self.tally.n_full += u64::from(n_bytes * 2 > bound);
                if n_bytes > bound {
                    self.fail(&format!("a question of {n_bytes} bytes, more than {bound}"));
                }
            }
            Effect::Report(report) => self.count(&report.fact),
            Effect::CloseReply { .. }
            | Effect::StartCall(_)
            | Effect::CancelCall { .. }
            | Effect::StartTimer { .. }
            | Effect::Say { .. } => {}
        }
    }

    fn next_event(&mut self, wait: &Wait) -> Event {
        if let Some(turn) = self.closed.pop() {
            return Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None };
        }
        if let Some((call, attempt, kind)) = self.to_start.pop_front() {
            self.running.push((call, kind));
            return Event::CallStarted { call, attempt };
        }
        if *wait == Wait::Budget {
            return Event::GoOn;
        }
        match self.random.u8(..24) {
            0 => return self.edit(),
            1 => return Event::Interrupted,
            2 => {
                self.turn = None;
                self.running.clear();
                return Event::Reopened;
            }
            3 if self.generated.kind == Kind::Secrets => return Event::Message { text: "seven, please".into() },
            3..=6 if !self.timers.is_empty() => {
                let timer = self.timers[self.random.usize(..self.timers.len())];
                return Event::TimerFired { timer };
            }
            _ => {}
        }
        if let Some(question) = self.question.take() {
            return self.verdict(&question);
        }
        if !self.running.is_empty() && (matches!(wait, Wait::Call(_)) || self.random.u8(..3) > 0) {
            let (call, kind) = self.running.swap_remove(self.random.usize(..self.running.len()));
            let outcome = self.outcome(kind);
            return Event::CallEnded { call, outcome, usage: None };
        }
        match wait {
            Wait::Reply(turn) if self.turn == Some(*turn) => self.answer(*turn),
            Wait::Approval(call) => {
                let answer = [Value::Bool(true), Value::Bool(true), Value::Bool(false), Value::from("rather not")];
                Event::Approved { call: *call, answer: answer[self.random.usize(..4)].clone(), by: None }
            }
            Wait::Timer(timer) => Event::TimerFired { timer: *timer },
            Wait::User | Wait::Reply(_) | Wait::Call(_) | Wait::Verdict(_) | Wait::Budget => {
                let n = if self.generated.kind == Kind::Sizes { self.random.usize(1..30) } else { 1 };
                Event::Message { text: "and what about me? ".repeat(n).into() }
            }
        }
    }

    /// The next piece of a reply, or its end.
    fn answer(&mut self, turn: TurnId) -> Event {
        if !std::mem::replace(&mut self.has_replied, true) || self.random.u8(..8) == 0 {
            let text = reply(self.generated.kind, &mut self.random, self.here.as_deref());
            return Event::Chunk { turn, bytes: text.into_bytes().into() };
        }
        self.turn = None;
        let end = match self.random.u8(..8) {
            0 => ReplyEnd::Broken { reason: "reset".into(), retry_after_ms: None },
            1 => ReplyEnd::Complete(Finish::Length),
            _ => ReplyEnd::Complete(Finish::Stop),
        };
        Event::ReplyEnded { turn, end, usage: None }
    }

    fn outcome(&mut self, kind: CallKind) -> CallOutcome {
        let random = &mut self.random;
        let value = |value| CallOutcome::Value { value, secret: false };
        if kind == CallKind::Model {
            let answers = ["true", "{\"result\": false}", "I cannot.", "[]"];
            return value(Value::from(answers[random.usize(..4)]));
        }
        match (self.generated.kind, random.u8(..8)) {
            (Kind::Secrets, 0..=3) => {
                let value = secret_value(random, &mut self.generated.secrets, 2);
                self.hidden.add(&self.generated.secrets);
                CallOutcome::Value { value, secret: true }
            }
            (Kind::Secrets, 4) => CallOutcome::Error("no such thing".into()),
            (Kind::Secrets, 5) => CallOutcome::Needs { question: "Really?".into(), takes_no: random.bool() },
            (Kind::Secrets, 6) => value(Value::from_json(r#"{"code": 4, "list": ["x", {"code": null}]}"#).unwrap()),
            (Kind::Secrets, _) => value(Value::from_json(r#"["a", 2, true]"#).unwrap()),
            (Kind::Sizes, 0) => CallOutcome::Error("it is out of order ".repeat(random.usize(1..600)).into()),
            (Kind::Sizes, 1) => {
                CallOutcome::Needs { question: "Is that what you want? ".repeat(9).into(), takes_no: true }
            }
            (Kind::Sizes, n) => value(sized_value(random, [20, 20, 400, 3_000, 12_000, 30_000][usize::from(n) - 2])),
        }
    }

    fn verdict(&mut self, question: &Question) -> Event {
        let verdict = match self.random.u8(..6) {
            0 => Verdict::TimedOut,
            1 => Verdict::Failed { reason: "no such model".into() },
            _ => {
                let all = question.candidates.iter().map(|candidate| candidate.trigger);
                let matched = all.filter(|_| self.random.u8(..4) == 0).collect();
                Verdict::Judged { by: Judge::Script, matched, abstained: Vec::new(), usage: None }
            }
        };
        Event::Verdict { question: question.question, verdict, ms: 5 }
    }

    /// A debugger's edit: of a name that is declared secret, of another, in a frame or outside.
    fn edit(&mut self) -> Event {
        let frames = self.machine.view().stack;
        let frame = self.random.bool().then(|| frames.last().map(|frame| frame.id)).flatten();
        if self.generated.kind == Kind::Sizes {
            let value = sized_value(&mut self.random, 3_000);
            return Event::Edited { frame, name: "t".into(), value };
        }
        if self.random.bool() {
            return Event::Edited { frame, name: "total".into(), value: Value::Int(4) };
        }
        let value = secret_value(&mut self.random, &mut self.generated.secrets, 1);
        self.hidden.add(&self.generated.secrets);
        let name = SECRET_NAMES[self.random.usize(..SECRET_NAMES.len())];
        Event::Edited { frame, name: name.into(), value }
    }
}

impl Tally {
    fn add(&mut self, other: Tally) {
        let Tally {
            n_requests,
            n_questions,
            n_masked,
            n_faults,
            n_secret_calls,
            n_secret_sets,
            n_secret_arguments,
            n_trigger_faults,
            n_plan_faults,
            n_renewed,
            n_full,
        } = other;
        self.n_requests += n_requests;
        self.n_questions += n_questions;
        self.n_masked += n_masked;
        self.n_faults += n_faults;
        self.n_secret_calls += n_secret_calls;
        self.n_secret_sets += n_secret_sets;
        self.n_secret_arguments += n_secret_arguments;
        self.n_trigger_faults += n_trigger_faults;
        self.n_plan_faults += n_plan_faults;
        self.n_renewed += n_renewed;
        self.n_full += n_full;
    }
}

fn run_all(kind: Kind, n_programs: u64) -> Tally {
    let mut tally = Tally::default();
    for number in 0..n_programs {
        let mut stage = Stage::new(kind, number);
        stage.run();
        tally.add(stage.tally);
    }
    println!("{n_programs} programs ({kind:?}): {tally:?}");
    tally
}

/// Runs so many programs that do everything with secrets. No six signs of a secret's content stand in any request,
/// question, record, event, speech, fault, view or explanation.
pub(crate) fn secrets_stay_secret(n_programs: u64) {
    let tally = run_all(Kind::Secrets, n_programs);
    // What was looked for came about often enough.
    let Tally { n_masked, n_faults, n_secret_calls, n_secret_sets, n_secret_arguments, .. } = tally;
    assert!(n_masked > n_programs && n_faults > n_programs && n_secret_sets > n_programs, "{tally:?}");
    assert!(n_secret_calls > n_programs / 40 && n_secret_arguments > n_programs / 20, "{tally:?}");
    assert!(tally.n_questions > n_programs / 10 && tally.n_trigger_faults > n_programs / 20, "{tally:?}");
    // Rare: only a long run has some for certain.
    assert!(n_programs < 10_000 || tally.n_plan_faults > n_programs / 400, "{tally:?}");
}

/// Runs so many programs with much to tell. No request and no question is longer than its bound.
pub(crate) fn requests_are_bounded(n_programs: u64) {
    let tally = run_all(Kind::Sizes, n_programs);
    assert!(tally.n_requests > n_programs && tally.n_questions > n_programs / 8, "{tally:?}");
    assert!(tally.n_renewed > n_programs / 4 && tally.n_full > n_programs / 4, "{tally:?}");
}

#[test]
fn no_secret_is_shown_whatever_the_program_does() {
    secrets_stay_secret(300);
}

#[test]
fn no_request_is_beyond_its_bound_whatever_the_program_does() {
    requests_are_bounded(150);
}
