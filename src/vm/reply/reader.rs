//! The reader of one reply: framing and objects by turns.

use std::ops::Range;

use super::fault::{OpenFault, shorten};
use super::line::read_line;
use super::outside::{Found, Outside};
use super::scan::{Scan, ScanEnd};
use super::think::Think;
use super::types::{ReadEnd, ReadFault, ReadFaultKind, ReaderOptions, Reading};
use super::window::{Window, span};

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
        self.window.extend(&bytes[..n_read]);
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
                // The bytes after the brace are looked at again: at most white space, and only once.
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
                self.cursor = self.window.end();
                self.read_fault(OpenFault { start, at: start + fault.at, ..*fault }, readings)
            }
        }
    }

    fn close_object(&mut self, start: usize, readings: &mut Vec<Reading>) -> State {
        let range = start..self.cursor;
        match read_line(self.window.slice(range.clone()), start as u64, &mut self.scan) {
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
        let excerpt = shorten(self.window.slice(range.clone()));
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
        readings.extend(self.scan.take_speech().map(Reading::SayText));
    }

    /// Steps over a byte order mark; true if the reply so far is half a mark, which waits for the rest of it.
    fn awaits_byte_order_mark(&mut self) -> bool {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let Some(read) = self.window.whole().filter(|_| self.cursor == 0) else { return false };
        if read.starts_with(MARK) {
            self.cursor = MARK.len();
            if matches!(self.state, State::Outside(_)) {
                self.state = State::Outside(Outside::at(self.cursor));
            }
            return false;
        }
        MARK.starts_with(read)
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
