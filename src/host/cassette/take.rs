//! One run with a cassette: what is asked is answered from it, or is noted for the next one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{CallOutcome, StartCall, ToolSignature, Usage};

use crate::cassette::entry::{Entry, Outcome, Reply, Request, called};
use crate::cassette::file::Cassette;
use crate::cassette::key::Asked;
use crate::cassette::lockstep::Lockstep;
use crate::cassette::nearest::{Difference, compare, compare_call, nearest};
use crate::cassette::order::Order;
use crate::secrets::Secrets;

/// So long a replayed answer that nobody waited for waits for being given up again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What a run does with its cassette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everything is answered from it; nothing is asked.
    Replay,
    /// What it lacks is asked.
    Missing,
    /// Everything is asked.
    All,
}

/// What a run begins with.
#[derive(Clone, Debug)]
pub struct TakeOptions {
    /// The case, as messages name it (`late.test.md`).
    pub name: String,
    /// The command that records it.
    pub command: String,
    /// Which run of the case it is, from 1.
    pub run: u32,
    /// What is done with the cassette.
    pub mode: Mode,
    /// Whether tools are recorded, too; those that are canned never are.
    pub with_tools: bool,
    /// By name, what stands for secret results of tools while they are replayed.
    pub secrets: Map,
}

/// One run, for one session. Models, tools and the classifier of that session share it.
#[derive(Debug)]
pub struct Take {
    options: TakeOptions,
    cassette: Arc<Cassette>,
    /// Where in the cassette each answer stands.
    index: HashMap<(String, u32, u32), usize>,
    lockstep: Arc<Lockstep>,
    /// The order in which the answers come, where that is known.
    order: Option<Arc<Order>>,
    /// What must not be in the cassette that comes of it.
    pub(super) hidden: Secrets,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    n_asked: HashMap<String, u32>,
    n_requests: usize,
    used: Vec<usize>,
    notes: Vec<Note>,
    cast: Option<Cast>,
    misses: Vec<String>,
}

/// What was asked, and what was answered; without an answer it is still under way.
#[derive(Clone, Debug)]
pub(super) enum Note {
    /// Of a model.
    Request { asked: Asked, at: Option<Arc<str>>, reply: Option<Reply>, is_new: bool },
    /// Of a tool.
    Call { name: Arc<str>, arguments: Map, ended: Option<Ended>, is_new: bool },
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cast {
    /// The model's id.
    pub model: Arc<str>,
    /// The trigger classifier's; none: it is a file of this machine.
    pub classifier: Option<Arc<str>>,
    /// The tools that are recorded, as they say of themselves.
    pub tools: Vec<ToolSignature>,
}

/// How a call ended, the tokens of a model that it took, and its time in milliseconds.
pub type Ended = (Outcome, Option<Usage>, u64);

/// Where an answer belongs that is under way.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket(usize);

/// How something that is asked is answered.
#[derive(Debug)]
pub enum Answer<T> {
    /// As it is recorded.
    Kept(T),
    /// By whoever is asked; the take is to be told.
    Live(Ticket),
    /// Not at all: there is no recording. In words for people.
    Missing(String),
}

impl Take {
    /// A run with this cassette.
    pub fn new(cassette: Arc<Cassette>, options: TakeOptions) -> Take {
        let index = cassette.entries.iter().enumerate().map(|(index, entry)| (entry.place(), index)).collect();
        let (lockstep, hidden, state) = Default::default();
        let is_ordered = options.mode == Mode::Replay && !cassette.order.is_empty();
        let order = is_ordered.then(|| Arc::new(Order::new(cassette.order.clone())));
        Take { options, cassette, index, lockstep, order, hidden, state }
    }

    /// The cassette that it began with.
    pub fn cassette(&self) -> &Cassette {
        &self.cassette
    }

    /// Whether nothing live is asked.
    pub fn is_replay(&self) -> bool {
        self.options.mode == Mode::Replay
    }

    /// Which run of the case it is, from 1.
    pub fn run(&self) -> u32 {
        self.options.run
    }

    /// Whether tools are recorded, too.
    pub fn has_tools(&self) -> bool {
        self.options.with_tools
    }

    /// What is under way in its session.
    pub fn lockstep(&self) -> &Arc<Lockstep> {
        &self.lockstep
    }

    /// The order in which the answers of its session come, where that is known; else it goes in lockstep.
    pub fn order(&self) -> Option<&Arc<Order>> {
        self.order.as_ref()
    }

    /// A model was asked before this process began; what it answered is told like an answer of now.
    pub fn asked_before(&self, asked: Asked, at: Option<Arc<str>>) {
        self.with(|state| state.note(Note::Request { asked, at, reply: None, is_new: true }));
    }

    /// The same of a tool; secret arguments are masked.
    pub fn called_before(&self, name: &Arc<str>, arguments: Map) -> Ticket {
        self.with(|state| state.note(Note::Call { name: name.clone(), arguments, ended: None, is_new: true }))
    }

    /// How much was asked so far.
    pub fn n_asked(&self) -> usize {
        self.with(|state| state.notes.len())
    }

    /// What was asked after so much; none: nothing was.
    pub fn ticket(&self, n_before: usize) -> Option<Ticket> {
        self.with(|state| (state.notes.len() > n_before).then_some(Ticket(n_before)))
    }

    /// What is kept of a call's outcome. `result_name` stands for its result if that is secret.
    pub fn kept(&self, outcome: &CallOutcome, result_name: &Arc<str>) -> Outcome {
        match outcome {
            CallOutcome::Value { value, secret: true } => {
                self.hide(value);
                Outcome::Secret(result_name.clone())
            }
            CallOutcome::Value { value, secret: false } => Outcome::Value(value.clone()),
            CallOutcome::Error(text) => Outcome::Error(text.clone()),
            CallOutcome::Needs { question, takes_no } => {
                Outcome::Needs { question: question.clone(), takes_no: *takes_no }
            }
            CallOutcome::Interrupted => Outcome::Closed,
        }
    }

    /// This value must be in no cassette.
    pub fn hide(&self, value: &Value) {
        self.hidden.add_value(value);
    }

    /// These answer.
    pub fn note_cast(&self, cast: Cast) {
        self.with(|state| state.cast = Some(cast));
    }

    /// What stands for the secret result of this name.
    pub fn secret(&self, name: &str) -> Option<&Value> {
        self.options.secrets.get(name)
    }

    /// A model is asked; `at` is the line in hand.
    pub fn ask(&self, asked: Asked, at: Option<Arc<str>>) -> Answer<Reply> {
        let key = asked.key();
        self.with(|state| {
            state.n_requests += 1;
            match self.find(state, key.as_str().to_owned()) {
                Some(Entry::Request(Request { reply, .. })) => {
                    let reply = reply.clone();
                    state.notes.push(Note::Request { asked, at, reply: Some(reply.clone()), is_new: false });
                    Answer::Kept(reply)
                }
                Some(Entry::Call(_)) | None if !self.is_replay() => {
                    Answer::Live(state.note(Note::Request { asked, at, reply: None, is_new: true }))
                }
                Some(Entry::Call(_)) | None => {
                    let miss = self.request_miss(state, &asked, at.as_deref());
                    state.misses.push(miss.clone());
                    Answer::Missing(miss)
                }
            }
        })
    }

    /// A model has answered.
    pub fn answered(&self, ticket: Ticket, answer: Reply) {
        self.with(|state| {
            if let Some(Note::Request { reply, .. }) = state.notes.get_mut(ticket.0) {
                *reply = Some(answer);
            }
        });
    }

    /// A tool is called; secret arguments are masked.
    pub fn call(&self, name: &Arc<str>, arguments: Map) -> Answer<Ended> {
        let place = called(name, &arguments);
        self.with(|state| match self.find(state, place) {
            Some(Entry::Call(call)) => {
                let ended = (call.outcome.clone(), call.usage, call.ms);
                let kept = Some(ended.clone());
                state.notes.push(Note::Call { name: name.clone(), arguments, ended: kept, is_new: false });
                Answer::Kept(ended)
            }
            Some(Entry::Request(_)) | None if !self.is_replay() => {
                Answer::Live(state.note(Note::Call { name: name.clone(), arguments, ended: None, is_new: true }))
            }
            Some(Entry::Request(_)) | None => {
                let miss = self.call_miss(name, &arguments);
                state.misses.push(miss.clone());
                Answer::Missing(miss)
            }
        })
    }

    /// A call has ended.
    pub fn ended(&self, ticket: Ticket, answer: Ended) {
        self.with(|state| {
            if let Some(Note::Call { ended, .. }) = state.notes.get_mut(ticket.0) {
                *ended = Some(answer);
            }
        });
    }

    /// A secret result of this name is wanted, and there is nothing that stands for it.
    pub fn miss_secret(&self, tool: &str, name: &str) -> String {
        self.miss(format!(
            "{}: the result of {tool} is secret, and not in the recording; give one to replay with: `- argument {name}: \
             VALUE` (any value of its type)",
            self.options.name
        ))
    }

    /// A call was given up when it was recorded, and is waited for now.
    pub fn miss_end(&self, tool: &str) -> String {
        let TakeOptions { name, command, .. } = &self.options;
        self.miss(format!(
            "{name}: a call of {tool} was given up when it was recorded, and is waited for now\n  {command}"
        ))
    }

    fn miss(&self, miss: String) -> String {
        self.with(|state| state.misses.push(miss.clone()));
        miss
    }

    /// What is said where a reply is read on after the place at which it was cut when it was recorded. Nobody can be asked
    /// for the rest of it, only for all of it.
    pub fn cut_short(&self, at: Option<&str>) -> String {
        let TakeOptions { name, command, .. } = &self.options;
        let place = at.map_or_else(String::new, |at| format!(", {at},"));
        format!(
            "{name}: a reply{place} was cut when it was recorded, and is read on now: what comes after that is not \
             recorded\n  {command}=all"
        )
    }

    /// What was asked and is not recorded, the first first.
    pub fn misses(&self) -> Vec<String> {
        self.with(|state| state.misses.clone())
    }

    /// Whether all that the cassette holds of this run was used.
    pub fn has_used_all(&self) -> bool {
        let n_entries = self.cassette.entries.iter().filter(|entry| entry.place().1 == self.run()).count();
        self.with(|state| state.used.len() == n_entries)
    }

    /// How many requests and how many calls were made, and how many of each were live.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for note in self.notes() {
            let (all, new, is_new) = match note {
                Note::Request { is_new, .. } => (&mut counts.n_requests, &mut counts.n_new_requests, is_new),
                Note::Call { is_new, .. } => (&mut counts.n_calls, &mut counts.n_new_calls, is_new),
            };
            *all += 1;
            *new += usize::from(is_new);
        }
        counts
    }

    /// All that was asked, in order.
    pub(super) fn notes(&self) -> Vec<Note> {
        self.with(|state| state.notes.clone())
    }

    /// Who answered.
    pub(super) fn cast(&self) -> Option<Cast> {
        self.with(|state| state.cast.clone())
    }

    /// The entry for what is asked now. It counts how often the same has been asked.
    fn find(&self, state: &mut State, what: String) -> Option<&Entry> {
        let n = state.n_asked.entry(what.clone()).or_insert(0);
        *n += 1;
        if self.options.mode == Mode::All {
            return None;
        }
        let index = *self.index.get(&(what, self.options.run, *n))?;
        state.used.push(index);
        self.cassette.entries.get(index)
    }

    fn request_miss(&self, state: &State, asked: &Asked, at: Option<&str>) -> String {
        let TakeOptions { name, command, run, .. } = &self.options;
        let number = state.n_requests;
        let place = at.unwrap_or(match asked.purpose {
            "classifier" => "a question to the trigger classifier",
            "plan" => "a question of a plan",
            "user" => "the model that plays the user",
            "judge" => "the model that judges",
            _ => "a turn",
        });
        let beginning = format!("{name}: no recording for request {number}, {place}");
        let recorded = || {
            let entries = self.cassette.entries.iter().enumerate();
            let requests = entries.filter_map(|(index, entry)| match entry {
                Entry::Request(request) if request.run == *run => Some((index, request)),
                Entry::Request(_) | Entry::Call(_) => None,
            });
            requests.enumerate().map(|(place, (index, request))| (place + 1, index, request))
        };
        let found = nearest(asked, at, number, recorded().map(|(number, _, request)| (number, request)));
        let Some((its_number, request)) = found else {
            let runs = if *run > 1 { format!(" in run {run}") } else { String::new() };
            return format!("{beginning}; nothing like it is recorded{runs}\n  {command}");
        };
        let Difference { block, lines, gone } = compare(&asked.messages, &request.messages);
        let differs = match &block {
            Some(block) => format!("differs in {block}"),
            None if request.key == asked.key() => "is the same, and was not made so often".to_owned(),
            None => "differs in what is sent with the messages: the model, temperature, max_tokens, extra_body or the \
                     schema"
                .to_owned(),
        };
        let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
        let holds = |request: &Request| {
            let mut blocks = request.messages.iter().flat_map(|message| &message.blocks);
            blocks.any(|block| Some(block.digest()) == gone.as_ref())
        };
        let is_affected =
            |(_, index, request): &(usize, usize, &Request)| !state.used.contains(index) && holds(request);
        let n_affected = recorded().filter(is_affected).count();
        let least = if gone.is_none() { "at least " } else { "" };
        let n_requests = recorded().count();
        let affected = affected(n_affected.max(1), n_requests);
        format!("{beginning}; the nearest ({its_number}) {differs}{lines}\n  {least}{affected}: {command}")
    }

    fn call_miss(&self, tool: &str, arguments: &Map) -> String {
        let TakeOptions { name, command, run, .. } = &self.options;
        let arguments_shown: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let beginning = format!("{name}: no recording for the call {tool}({})", arguments_shown.join(", "));
        let calls = self.cassette.entries.iter().filter_map(|entry| match entry {
            Entry::Call(call) if call.run == *run => Some(call),
            Entry::Call(_) | Entry::Request(_) => None,
        });
        match compare_call(tool, arguments, calls) {
            None => format!("{beginning}; no call of {tool} is recorded\n  {command}"),
            Some(lines) if lines.is_empty() => {
                format!("{beginning}; the same call is recorded, and was not made so often\n  {command}")
            }
            Some(lines) => {
                let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
                format!("{beginning}; the nearest differs{lines}\n  {command}")
            }
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn note(&mut self, note: Note) -> Ticket {
        self.notes.push(note);
        Ticket(self.notes.len() - 1)
    }
}

/// What stands for a call's result if that is secret: the variable that gets it, else the tool.
pub(crate) fn result_name(call: &StartCall) -> Arc<str> {
    call.result_name.clone().unwrap_or_else(|| call.name.clone())
}

/// `2 of 5 requests are affected`.
fn affected(n: usize, n_all: usize) -> String {
    let plural = if n_all == 1 { "" } else { "s" };
    format!("{n} of {n_all} request{plural} {} affected", if n == 1 { "is" } else { "are" })
}

/// What a run asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests to models.
    pub n_requests: usize,
    /// Of these, those that were made.
    pub n_new_requests: usize,
    /// Calls of tools that are recorded.
    pub n_calls: usize,
    /// Of these, those that were made.
    pub n_new_calls: usize,
}
