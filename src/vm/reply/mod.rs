//! The turn protocol's reader: the bytes of a model's reply in, [`Reading`]s out, while the reply arrives.
//!
//! Tolerant in framing, strict in meaning (spec `turn-protocol.md`, "Reading it"). Where the bytes are cut
//! into pieces never changes what is read, and the work is linear in the length of the reply: every byte is
//! looked at once by the framing (`outside.rs`) or by the JSON scanner (`scan.rs`); when an object closes, the
//! values in it (but for a streamed `say`) are read a second time, by serde_json (`line.rs`).

mod fault;
mod key;
mod line;
mod outside;
mod scan;
mod schema;
mod speech;
mod think;
mod token;
mod value;

use std::ops::Range;
use std::sync::Arc;

use fault::OpenFault;
use outside::{Found, Outside};
use playhouse_lang::value::{Map, Value};
use scan::{Scan, ScanEnd, ScanFault};
pub use schema::agent_schema;
use think::Think;

/// What a reader is told about the reply it is going to read.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// The reply begins inside a think block: everything up to the closing tag is thought.
    pub starts_in_think: bool,
    /// How many actions a reply may hold; more are a sign of a model that runs in circles.
    pub max_actions: usize,
    /// How many bytes a reply may hold.
    pub max_bytes: usize,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        ReaderOptions { starts_in_think: false, max_actions: 1000, max_bytes: 1 << 20 }
    }
}

/// How a reply came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadEnd {
    /// The server said that this is the end.
    Complete,
    /// The stream broke, or the model came to its length limit.
    Cut,
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A `say` that is the first action of its object begins; its text follows.
    SayBegan {
        /// The line id, if it stood before the `say`.
        at: Option<Arc<str>>,
        /// Where the object begins in the reply: the start of the later [`TraceLine::span`].
        start: u64,
    },
    /// A piece of the text, decoded, never empty. Where the text is cut depends on the chunks, the text does not.
    SayText(String),
    /// The closing quote of the `say`.
    SayEnded,
    /// An object closed and was understood.
    Line(TraceLine),
    /// A run of text outside objects, trimmed, not empty; given when the run is over.
    Prose {
        /// The text.
        text: String,
        /// Where it stands in the reply.
        span: Range<u64>,
    },
    /// A think block that holds something, whatever it is.
    Think {
        /// What it holds, trimmed.
        text: String,
        /// The block with its tags.
        span: Range<u64>,
    },
    /// An unknown key beside a known action.
    Ignored {
        /// The key.
        key: String,
        /// The key and its value.
        span: Range<u64>,
    },
    /// The reply can't be read further; the reader gives nothing after it.
    Fault(ReadFault),
}

/// One object of the reply.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceLine {
    /// The line of the playbook, each level with two digits or more.
    pub at: Option<Arc<str>>,
    /// What to do, in the order written; yields come last (the first of them ends the turn).
    pub actions: Vec<Action>,
    /// The object's place in the reply.
    pub span: Range<u64>,
    /// The object's own bytes.
    pub source: Arc<str>,
    /// Whether the first action is a `say` that was given piece by piece already.
    pub streamed_say: bool,
    /// How many of the actions stood before `at`; 0 if it came first or is absent.
    pub at_index: usize,
}

/// What a trace line does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Tell the user.
    Say(String),
    /// Set variables (their names without `$`).
    Set(Map),
    /// Queue a call.
    Call {
        /// The callable's name.
        name: Arc<str>,
        /// What it gets.
        arguments: CallArguments,
        /// The variable that gets the result (without `$`).
        result: Option<Arc<str>>,
    },
    /// A thought, for the journal only.
    Think(String),
    /// Yield until something has happened.
    Wait(WaitFor),
    /// Yield: the playbook is finished.
    Return(Value),
    /// Yield: the program is finished, perhaps for a reason.
    End(Option<String>),
}

impl Action {
    /// Whether the action ends the turn.
    pub fn is_yield(&self) -> bool {
        match self {
            Action::Wait(_) | Action::Return(_) | Action::End(_) => true,
            Action::Say(_) | Action::Set(_) | Action::Call { .. } | Action::Think(_) => false,
        }
    }
}

/// The arguments of a call; none at all are an empty [`CallArguments::Named`].
#[derive(Clone, Debug, PartialEq)]
pub enum CallArguments {
    /// By name.
    Named(Map),
    /// By position.
    Positional(Vec<Value>),
}

/// What a `wait` waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// The results of the queued calls.
    Calls,
    /// The user's next message.
    User,
    /// Time: an ISO 8601 duration, checked, as it was written.
    Timer(String),
    /// Another agent (reserved).
    Agent(String),
}

/// Why a reply could not be read further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFault {
    /// What kind of fault.
    pub kind: ReadFaultKind,
    /// From the beginning of the bad line to the place of the fault.
    pub span: Range<u64>,
    /// The bad line, shortened to 200 characters.
    pub excerpt: String,
    /// What is wrong and what was expected, in words a model can act on.
    pub message: String,
}

/// The kinds of [`ReadFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadFaultKind {
    /// Not JSON.
    Json,
    /// No key of the object is an action.
    UnknownAction,
    /// A key's value is not of the kind the key asks for.
    WrongShape,
    /// A key twice in an object.
    DuplicateKey,
    /// The reply ended inside an object.
    CutOff,
    /// More actions than a reply may hold.
    TooManyActions,
    /// More bytes than a reply may hold.
    TooLong,
}

/// The incremental reader of one reply.
#[derive(Clone, Debug)]
pub struct ReplyReader {
    options: ReaderOptions,
    /// The bytes of the piece being read now (object, run of prose, think block), then those not looked at yet.
    window: Window,
    /// The next byte to look at.
    cursor: usize,
    n_pushed: u64,
    n_actions: usize,
    state: State,
    /// The object being read. It stands here and not in `state` so that its vectors are used again.
    scan: Scan,
}

#[derive(Clone, Debug)]
enum State {
    Outside(Outside),
    Think(Think),
    /// In the object that begins here.
    Object(usize),
    /// A fault was found; the rest of its line is read for the excerpt.
    Faulty(OpenFault),
    Finished,
}

/// The kept end of the reply. Positions are those in the whole reply, so nothing has to be shifted when the
/// beginning is forgotten.
#[derive(Clone, Debug, Default)]
struct Window {
    base: usize,
    bytes: Vec<u8>,
}

impl Window {
    fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    fn get(&self, position: usize) -> Option<u8> {
        self.bytes.get(position - self.base).copied()
    }

    /// The bytes from `position` on.
    fn from(&self, position: usize) -> &[u8] {
        &self.bytes[position - self.base..]
    }

    fn slice(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range.start - self.base..range.end - self.base]
    }

    /// Forgets what stands before `position`.
    fn forget_before(&mut self, position: usize) {
        if position > self.base {
            self.bytes.drain(..position - self.base);
            self.base = position;
        }
    }
}

/// A span as it is given out.
fn span(range: Range<usize>) -> Range<u64> {
    range.start as u64..range.end as u64
}

impl ReplyReader {
    /// A reader at the beginning of a reply.
    pub fn new(options: ReaderOptions) -> Self {
        let state =
            if options.starts_in_think { State::Think(Think::at_start()) } else { State::Outside(Outside::at(0)) };
        ReplyReader {
            options,
            window: Window::default(),
            cursor: 0,
            n_pushed: 0,
            n_actions: 0,
            state,
            scan: Scan::default(),
        }
    }

    /// How many bytes were pushed.
    pub fn n_bytes(&self) -> u64 {
        self.n_pushed
    }

    /// Reads the next bytes, cut anywhere.
    pub fn push(&mut self, bytes: &[u8], readings: &mut Vec<Reading>) {
        self.n_pushed += bytes.len() as u64;
        if matches!(self.state, State::Finished) {
            return;
        }
        let n_allowed = self.options.max_bytes.saturating_sub(self.window.end());
        let n_read = bytes.len().min(n_allowed);
        self.window.bytes.extend_from_slice(&bytes[..n_read]);
        self.run(readings);
        if n_read < bytes.len() {
            self.too_long(readings);
        }
        self.give_speech(readings);
        self.window.forget_before(self.kept_from());
    }

    /// The reply is over.
    pub fn finish(&mut self, end: ReadEnd, readings: &mut Vec<Reading>) {
        match std::mem::replace(&mut self.state, State::Finished) {
            State::Outside(outside) => {
                let brace = outside.finish(&self.window, readings);
                if let (ReadEnd::Complete, Some(brace)) = (end, brace) {
                    self.cut_off(brace, "after its opening brace", readings);
                }
            }
            State::Think(think) => think.give(&self.window, self.window.end()..self.window.end(), readings),
            State::Object(start) => {
                self.give_speech(readings);
                match end {
                    ReadEnd::Complete => {
                        let place = self.scan.describe_place();
                        self.cut_off(start, &place, readings);
                    }
                    ReadEnd::Cut => {}
                }
            }
            State::Faulty(fault) => readings.push(Reading::Fault(fault.close(&self.window))),
            State::Finished => {}
        }
    }

    fn run(&mut self, readings: &mut Vec<Reading>) {
        if self.awaits_byte_order_mark() {
            return;
        }
        while self.cursor < self.window.end() {
            self.state = match std::mem::replace(&mut self.state, State::Finished) {
                State::Outside(outside) => self.read_outside(outside, readings),
                State::Think(think) => match think.advance(&self.window, &mut self.cursor, readings) {
                    Some(think) => State::Think(think),
                    None => State::Outside(Outside::at(self.cursor)),
                },
                State::Object(start) => self.read_object(start, readings),
                State::Faulty(fault) => {
                    self.cursor = self.window.end();
                    self.read_fault(fault, readings)
                }
                State::Finished => {
                    self.cursor = self.window.end();
                    State::Finished
                }
            };
        }
    }

    fn read_outside(&mut self, mut outside: Outside, readings: &mut Vec<Reading>) -> State {
        match outside.advance(&self.window, &mut self.cursor, readings) {
            Found::Nothing => State::Outside(outside),
            Found::Think(think) => State::Think(think),
            Found::Object(start) => {
                self.scan.reset(self.n_actions < self.options.max_actions);
                // The bytes behind the brace are looked at again: at most white space, and only once.
                self.cursor = start + 1;
                State::Object(start)
            }
        }
    }

    fn read_object(&mut self, start: usize, readings: &mut Vec<Reading>) -> State {
        let end = self.scan.advance(self.window.from(start), start as u64, readings);
        self.cursor = start + self.scan.cursor();
        match end {
            Ok(ScanEnd::More) => State::Object(start),
            Ok(ScanEnd::Trace) => {
                self.give_ignored(start, readings);
                State::Outside(Outside::after_item(self.cursor))
            }
            Ok(ScanEnd::Closed) => self.close_object(start, readings),
            Err(fault) => {
                self.give_speech(readings);
                let ScanFault { kind, at, message, names_found } = *fault;
                self.cursor = self.window.end();
                self.read_fault(OpenFault { kind, start, at: start + at, message, names_found }, readings)
            }
        }
    }

    fn close_object(&mut self, start: usize, readings: &mut Vec<Reading>) -> State {
        let range = start..self.cursor;
        match line::read_line(self.window.slice(range.clone()), start as u64, &mut self.scan) {
            Ok(None) => State::Outside(Outside::after_item(self.cursor)),
            Ok(Some(line)) if self.n_actions + line.actions.len() > self.options.max_actions => {
                let message = format!(
                    "the reply holds more than {} actions; write a `wait` or `return` where the work of the turn ends",
                    self.options.max_actions
                );
                self.fail_line(range, ReadFaultKind::TooManyActions, message, readings)
            }
            Ok(Some(line)) => {
                self.n_actions += line.actions.len();
                self.give_ignored(start, readings);
                readings.push(Reading::Line(line));
                State::Outside(Outside::after_item(self.cursor))
            }
            Err((kind, message)) => self.fail_line(range, kind, message, readings),
        }
    }

    fn give_ignored(&self, start: usize, readings: &mut Vec<Reading>) {
        readings.extend(self.scan.unknown_keys().map(|(key, range)| {
            let span = span(start + range.start..start + range.end);
            Reading::Ignored { key: key.to_owned(), span }
        }));
    }

    fn fail_line(
        &mut self,
        range: Range<usize>,
        kind: ReadFaultKind,
        message: String,
        readings: &mut Vec<Reading>,
    ) -> State {
        let excerpt = fault::shorten(self.window.slice(range.clone()));
        readings.push(Reading::Fault(ReadFault { kind, span: span(range), excerpt, message }));
        State::Finished
    }

    fn read_fault(&mut self, fault: OpenFault, readings: &mut Vec<Reading>) -> State {
        if fault.is_complete(&self.window) {
            readings.push(Reading::Fault(fault.close(&self.window)));
            return State::Finished;
        }
        State::Faulty(fault)
    }

    fn cut_off(&mut self, start: usize, place: &str, readings: &mut Vec<Reading>) {
        let range = start..self.window.end();
        let message = format!("the reply ended inside this object, {place}; write the line again, whole");
        self.fail_line(range, ReadFaultKind::CutOff, message, readings);
    }

    /// The limit of bytes is passed: what is open is given as if the stream had broken here.
    fn too_long(&mut self, readings: &mut Vec<Reading>) {
        let was = match self.state {
            State::Finished | State::Faulty(_) => None,
            State::Object(start) => Some(start),
            State::Outside(_) | State::Think(_) => Some(self.kept_from()),
        };
        self.finish(ReadEnd::Cut, readings);
        if let Some(start) = was {
            let message = format!("the reply is longer than {} bytes; write less in one turn", self.options.max_bytes);
            self.fail_line(start..self.window.end(), ReadFaultKind::TooLong, message, readings);
        }
    }

    /// Gives the streamed text that is decoded and not given yet.
    fn give_speech(&mut self, readings: &mut Vec<Reading>) {
        if let Some(text) = self.scan.take_speech() {
            readings.push(Reading::SayText(text));
        }
    }

    /// Steps over a byte order mark; true if the reply so far is half a mark, which waits for the rest of it.
    fn awaits_byte_order_mark(&mut self) -> bool {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        if self.window.base > 0 || self.cursor > 0 {
            return false;
        }
        if self.window.bytes.starts_with(MARK) {
            self.cursor = MARK.len();
            if matches!(self.state, State::Outside(_)) {
                self.state = State::Outside(Outside::at(self.cursor));
            }
            return false;
        }
        MARK.starts_with(&self.window.bytes)
    }

    fn kept_from(&self) -> usize {
        match &self.state {
            State::Outside(outside) => outside.kept_from(),
            State::Think(think) => think.kept_from(),
            State::Object(start) => *start,
            State::Faulty(fault) => fault.start,
            State::Finished => self.window.end(),
        }
    }
}
