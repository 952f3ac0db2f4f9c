//! Runs a generated program on the machine, with the model and with tools that answer when it pleases them.

// Of the machine's vocabulary only what these programs can reach is looked at.
#![allow(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;

use fastrand::Rng;
use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::lang::{self, ImportRequest, LoadOptions, SourceText, load};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::view::Counters;
use playhouse::vm::protocol::{
    CallId, CallOutcome, Effect, EffectClass, Event, Fact, Finish, Outcome, Progress, ReplyEnd, Timestamp,
    ToolSignature, TurnId, Wait,
};
use playhouse::vm::{Begin, Machine};

use crate::optimiser::evaluate::{Observed, write_call};
use crate::optimiser::model::Model;
use crate::optimiser::tree::{Number, Program, TOOLS, answer};

/// What a run came to.
pub(crate) struct Played {
    pub(crate) observed: Observed,
    pub(crate) counters: Counters,
    /// All that happened, for a person to read.
    pub(crate) transcript: Vec<String>,
    /// Why it did not come to its end as it should.
    pub(crate) problem: Option<String>,
}

struct Stage<'a> {
    machine: Machine,
    model: Model<'a>,
    random: Rng,
    /// The open turn, and what of its reply has not been sent yet.
    turn: Option<(TurnId, Vec<u8>)>,
    closed: Vec<TurnId>,
    to_start: VecDeque<(CallId, u32)>,
    /// Calls without an answer yet, with their answers.
    running: Vec<(CallId, i64)>,
    speech: String,
    chunk: usize,
    n_turns: usize,
    played: Played,
}

/// More turns than any of the programs needs.
const MAX_TURNS: usize = 400;

/// The tools as the machine knows them.
pub(crate) fn tools() -> Vec<ToolSignature> {
    let tools = TOOLS.iter().map(|&(name, n, is_reading)| {
        let parameters = ["first", "second"][..n].iter().map(|name| Parameter {
            name: (*name).into(),
            ty: Type::ANY,
            default: None,
            description: "".into(),
            span: None,
        });
        let parameters = parameters.collect();
        let signature = Signature { name: name.into(), parameters, returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, if is_reading { EffectClass::ReadOnly } else { EffectClass::Write })
    });
    tools.collect()
}

/// A program as the interpreter has read it.
pub(crate) fn read(program: &Program) -> Arc<lang::program::Program> {
    let signatures: Vec<Signature> = tools().into_iter().map(|tool| tool.signature).collect();
    let mut import = |request: &ImportRequest<'_>| Err(format!("no {}", request.path));
    let root = SourceText { name: "generated.md".to_owned(), text: program.markdown() };
    Arc::new(load(vec![root], &mut import, &LoadOptions { tools: &signatures, ..LoadOptions::default() }).program)
}

/// Runs it to its end.
pub(crate) fn play(
    program: &Program,
    loaded: &Arc<lang::program::Program>,
    settings: Settings,
    answers: &[i64],
    seed: u64,
) -> Played {
    let mut random = Rng::with_seed(seed);
    let model = Model::new(program, random.fork());
    let chunk = [1, 5, 17, 60, usize::MAX, usize::MAX][random.usize(..6)];
    let mut stage = Stage {
        machine: Machine::begin(Begin {
            program: loaded.clone(),
            settings: Settings { max_session_turns: 10_000, context_tokens: 10_000_000, ..settings },
            tools: tools().into(),
            entry: None,
            arguments: Map::new(),
            time: Timestamp(0),
        }),
        model,
        random,
        turn: None,
        closed: Vec::new(),
        to_start: VecDeque::new(),
        running: Vec::new(),
        speech: String::new(),
        chunk,
        n_turns: 0,
        played: Played {
            observed: Observed::default(),
            counters: Counters::default(),
            transcript: Vec::new(),
            problem: None,
        },
    };
    let mut answers = answers.iter();
    while stage.played.problem.is_none() {
        match stage.machine.advance() {
            Progress::Emit(effect) => stage.perform(effect),
            Progress::Reached(place) => {
                let place = stage.machine.describe(place.location);
                stage.played.transcript.push(format!("reached {place}"));
            }
            Progress::Blocked(wait) => {
                let event = stage.next_event(&wait, &mut answers);
                match event {
                    Some(event) => stage.machine.handle(Timestamp(0), event),
                    None => stage.played.problem = Some(format!("nothing can happen: {wait:?}")),
                }
            }
            Progress::Finished(Outcome::Done { value }) => {
                match number(value.value()) {
                    Ok(number) => stage.played.observed.result = number,
                    Err(problem) => stage.played.problem = Some(problem),
                }
                break;
            }
            Progress::Finished(Outcome::Failed(fault)) => stage.played.problem = Some(fault.message.to_string()),
        }
    }
    stage.played.counters = stage.machine.view().counters;
    stage.played
}

impl Stage<'_> {
    fn next_event(&mut self, wait: &Wait, answers: &mut std::slice::Iter<'_, i64>) -> Option<Event> {
        if let Some(turn) = self.closed.pop() {
            return Some(Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None });
        }
        if let Some((call, attempt)) = self.to_start.pop_front() {
            return Some(Event::CallStarted { call, attempt });
        }
        let must_answer = matches!(wait, Wait::Call(_));
        if !self.running.is_empty() && (must_answer || self.random.bool()) {
            let index = self.random.usize(..self.running.len());
            let (call, answer) = self.running.swap_remove(index);
            return Some(Event::CallEnded {
                call,
                outcome: CallOutcome::Value { value: Value::Int(answer), secret: false },
                usage: None,
            });
        }
        match wait {
            Wait::Reply(turn) => {
                let (open, rest) = self.turn.as_mut().filter(|(open, _)| open == turn)?;
                let turn = *open;
                if rest.is_empty() {
                    self.turn = None;
                    return Some(Event::ReplyEnded { turn, end: ReplyEnd::Complete(Finish::Stop), usage: None });
                }
                let n = rest.len().min(self.chunk);
                let bytes: Vec<u8> = rest.drain(..n).collect();
                Some(Event::Chunk { turn, bytes: bytes.into() })
            }
            Wait::User => {
                let text = answers.next()?.to_string();
                self.played.transcript.push(format!("user {text}"));
                Some(Event::Message { text: text.into() })
            }
            Wait::Budget => Some(Event::GoOn),
            // Nothing here asks a person or a classifier, or for time.
            _ => None,
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::StartTurn(start) => {
                self.n_turns += 1;
                if self.n_turns > MAX_TURNS {
                    self.played.problem = Some("it does not end".to_owned());
                    return;
                }
                let asked = &start.messages[start.messages.len() - 1].text;
                let reply = self.model.reply(&start);
                let indented = |text: &str| text.replace('\n', "\n    ");
                self.played.transcript.push(format!("asked\n    {}", indented(asked)));
                self.played.transcript.push(format!("replied\n    {}", indented(&reply)));
                self.turn = Some((start.turn, reply.into_bytes()));
            }
            Effect::CloseReply { turn, .. } => {
                if self.turn.take_if(|(open, _)| *open == turn).is_some() {
                    self.closed.push(turn);
                }
            }
            Effect::StartCall(start) => {
                let mut arguments = Vec::new();
                for (_, argument) in &start.arguments {
                    match number(argument.value()) {
                        Ok(Some(int)) => arguments.push(int),
                        Ok(None) => self.played.problem = Some("an argument is null".to_owned()),
                        Err(problem) => self.played.problem = Some(problem),
                    }
                }
                let text = write_call(&start.name, &arguments);
                self.played.transcript.push(format!("call {text}"));
                self.played.observed.calls.push(text);
                self.to_start.push_back((start.call, start.attempt));
                self.running.push((start.call, answer(&start.name, &arguments)));
            }
            Effect::Say { text, last, .. } => {
                self.speech.push_str(&text);
                if last {
                    self.played.transcript.push(format!("say {}", self.speech));
                    self.played.observed.speech.push(std::mem::take(&mut self.speech));
                }
            }
            Effect::Report(report) => self.note(&report.fact),
            other => self.played.problem = Some(format!("nobody does this here: {other:?}")),
        }
    }

    fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::VariableSet { name, value, .. } if &**name != "user_message" => {
                self.played.transcript.push(format!("set ${name} = {}", value.value()));
                match number(value.value()) {
                    Ok(number) => {
                        self.played.observed.last_values.insert(name.to_string(), number);
                    }
                    Err(problem) => self.played.problem = Some(problem),
                }
            }
            // A model that keeps to the protocol is never corrected.
            Fact::Repair { cause, .. } | Fact::Degraded { cause } | Fact::Retry { cause, .. } => {
                self.played.problem = Some(format!("the model was corrected: {cause}"));
            }
            Fact::SessionRenewed { reason } => self.played.problem = Some(format!("renewed: {reason}")),
            Fact::FramePushed { .. } => self.played.transcript.push("push".to_owned()),
            Fact::FramePopped { .. } => self.played.transcript.push("pop".to_owned()),
            Fact::Ignored { cause } => self.played.transcript.push(format!("ignored: {cause}")),
            Fact::StreamCancelled { reason, .. } => self.played.transcript.push(format!("cut: {reason}")),
            _ => {}
        }
    }
}

fn number(value: &Value) -> Result<Number, String> {
    match value {
        Value::Int(int) => Ok(Some(*int)),
        Value::Null => Ok(None),
        other @ (Value::Bool(_) | Value::Float(_) | Value::Str(_) | Value::List(_) | Value::Map(_)) => {
            Err(format!("{other} is no number"))
        }
    }
}

/// The variables of a run against those of the evaluation, where a tail call may have dropped some.
pub(crate) fn variables_differ(
    played: &BTreeMap<String, Number>,
    wanted: &BTreeMap<String, Number>,
    droppable: &BTreeMap<String, (Vec<Number>, bool)>,
) -> Option<String> {
    let names = played.keys().chain(wanted.keys());
    names.into_iter().find_map(|name| {
        let (had, expected) = (played.get(name), wanted.get(name));
        let is_dropped = droppable.get(name).is_some_and(|(earlier, may_be_missing)| match had {
            Some(had) => earlier.contains(had),
            None => *may_be_missing,
        });
        (had != expected && !is_dropped).then(|| format!("${name} is {had:?}, not {expected:?}"))
    })
}
