//! Backtests: stored sessions against another text of their program (spec `evaluate.md`, section 6).
//!
//! Two machines follow one session's records side by side: its own, and one that has the other text. As long as both do
//! the same, both are given the same messages, results, verdicts and replies. The first thing in which they differ says
//! what the other text means for this session. Nothing is asked or called.

mod side;

use std::sync::{Arc, Mutex, PoisonError};

use playhouse_lang::program::Program;
use playhouse_vm::protocol::ToolSignature;

use crate::backtest::side::{Deed, Side};
use crate::journal::record::{Begun, Record, RecordBody};
use crate::program::{ProgramText, file_name};
use crate::replay::begun_of;
use crate::replay::error::SessionError;
use crate::travel::{Point, Step};

pub use crate::backtest::side::Asked;

/// Another text, and the tools that it can call.
#[derive(Debug)]
pub struct Backtest {
    text: ProgramText,
    /// Those that its own declarations and configuration give it.
    tools: Vec<ToolSignature>,
    /// What has been read: most sessions have the same text and the same tools.
    read: Mutex<Vec<Reading>>,
}

/// A text, read with these tools.
#[derive(Clone, Debug)]
struct Reading {
    hash: String,
    tools: Arc<[ToolSignature]>,
    program: Result<Arc<Program>, String>,
}

/// What the other text means for one session.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It would have gone as it went.
    Same,
    /// It goes another way, before any model is asked something else.
    Parts(Box<Parting>),
    /// Up to there it goes as it went; then the model, or the trigger classifier, is asked something else. And what would
    /// come of it if all answers were the same: never again `Asks`.
    Asks(Box<Asking>, Box<Fate>),
    /// It goes as it went up to this point, where the session's own text was changed: more is not compared.
    Changed(Point),
    /// It cannot begin, or go on, with this text, and why.
    Unfit(String),
}

/// Where a session diverges.
#[derive(Clone, Debug)]
pub struct Parting {
    /// The last point of the stored session at which both had done the same.
    pub at: Point,
    /// The last line that both had reached.
    pub after: Option<Step>,
    /// What is done then with the other text; none: nothing more.
    pub then: Option<Step>,
    /// What the session did then; none: nothing more.
    pub was: Option<Step>,
}

/// A request that differs.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The point of the stored session at which it asked.
    pub at: Point,
    /// The last line that both had reached.
    pub after: Option<Step>,
    /// Who is asked.
    pub whom: Asked,
    /// The first line of the question that is another: as it was, and as it is. Empty where there is none.
    pub line: [String; 2],
}

impl Backtest {
    /// With this text, which can call these tools besides those that a session had.
    pub fn new(text: ProgramText, tools: Vec<ToolSignature>) -> Backtest {
        Backtest { text, tools, read: Mutex::default() }
    }

    /// Whether a session is of the same program: its file has the same name, or one of its agents has. Of a text that
    /// cannot be read nobody knows.
    ///
    /// # Errors
    /// The records hold no session, or its own text cannot be read.
    pub fn is_of(&self, records: &[Record]) -> Result<bool, SessionError> {
        let begun = begun_of(records)?;
        if begun.roots.first().map(|root| file_name(root)) == self.text.roots.first().map(|root| file_name(root)) {
            return Ok(true);
        }
        let own = self.read(&ProgramText { roots: begun.roots.clone(), files: begun.files.clone() }, tools_of(begun));
        let own = own.program.map_err(SessionError::Program)?;
        let Ok(other) = self.read(&self.text, self.tools_beside(begun)).program else { return Ok(true) };
        Ok(own.agents.iter().any(|agent| other.agents.iter().any(|known| known.name == agent.name)))
    }

    /// What the text means for the session of these records.
    ///
    /// # Errors
    /// They hold no session, or the session's own machine does not follow them.
    pub fn fate(&self, records: &[Record]) -> Result<Fate, SessionError> {
        let begun = begun_of(records)?;
        let own = self.read(&ProgramText { roots: begun.roots.clone(), files: begun.files.clone() }, tools_of(begun));
        let other = self.read(&self.text, self.tools_beside(begun));
        let own_program = own.program.map_err(SessionError::Program)?;
        let program = match other.program {
            Ok(program) => program,
            Err(why) => return Ok(Fate::Unfit(why)),
        };
        let mut own = Side::own(records, (own_program.clone(), own.tools), program.clone())?;
        let mut other = match Side::other(records, (program, other.tools), &own_program) {
            Ok(other) => other,
            Err(error) => return Ok(Fate::Unfit(error.to_string())),
        };
        let mut compared = Compared::default();
        let fate = compared.follow(records, &mut own, &mut other)?;
        Ok(match compared.asking {
            Some(asking) => Fate::Asks(Box::new(asking), Box::new(fate)),
            None => fate,
        })
    }

    /// The tools of a session, and those of the other text that it did not have.
    fn tools_beside(&self, begun: &Begun) -> Vec<ToolSignature> {
        let mut tools = tools_of(begun);
        for tool in &self.tools {
            if tools.iter().all(|known| known.signature.name != tool.signature.name) {
                tools.push(tool.clone());
            }
        }
        tools
    }

    /// What a text is read as with these tools.
    fn read(&self, text: &ProgramText, tools: Vec<ToolSignature>) -> Reading {
        let hash = text.hash();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.iter().find(|reading| reading.hash == hash && *reading.tools == *tools) {
            return known.clone();
        }
        let signatures: Vec<_> = tools.iter().map(|tool| tool.signature.clone()).collect();
        let reading = Reading { hash, tools: tools.into(), program: text.load_good(&signatures) };
        read.push(reading.clone());
        reading
    }
}

fn tools_of(begun: &Begun) -> Vec<ToolSignature> {
    begun.tools.iter().map(|tool| tool.to_tool()).collect()
}

/// How far two machines have been compared.
#[derive(Default)]
struct Compared {
    /// The last line that both have reached.
    after: Option<Step>,
    /// The first thing that they ask otherwise.
    asking: Option<Asking>,
}

impl Compared {
    /// Follows the records with both machines, until one does what the other does not.
    fn follow(&mut self, records: &[Record], own: &mut Side, other: &mut Side) -> Result<Fate, SessionError> {
        for (index, record) in records.iter().enumerate() {
            let next = records.get(index + 1);
            let (mut was, mut is) = (Vec::new(), Vec::new());
            own.advance(next, &mut was)?;
            // Where it can't go as far as the session, it parts before that.
            let advanced = other.advance(next, &mut is);
            if let Some(parting) = self.parting(record.seq, &was, &is) {
                return Ok(Fate::Parts(Box::new(parting)));
            }
            let Some(next) = next else { break };
            if let RecordBody::ProgramChanged(_) = next.body {
                return Ok(Fate::Changed(was.last().map_or(Point::new(record.seq, 0), Deed::point)));
            }
            own.handle(next)?;
            if let Err(error) = advanced.and_then(|()| other.handle(next)) {
                return Ok(Fate::Unfit(error.to_string()));
            }
        }
        Ok(Fate::Same)
    }

    /// Where they part in what they did after the record `seq`, if they do.
    fn parting(&mut self, seq: u64, was: &[Deed], is: &[Deed]) -> Option<Parting> {
        for index in 0..was.len().max(is.len()) {
            let (was, is) = (was.get(index), is.get(index));
            if let (Some(was), Some(is)) = (was, is) {
                if was.is_same(is) {
                    self.after = was.line().or_else(|| self.after.take());
                    continue;
                }
                if let Some(asking) = asking(was, is) {
                    self.asking.get_or_insert_with(|| Asking { after: self.after.clone(), ..asking });
                    continue;
                }
            }
            let at = was.map_or(Point::new(seq, 0), Deed::point);
            let at = Point::new(at.seq, at.directive.saturating_sub(1));
            let (then, was) = (is.and_then(Deed::step), was.and_then(Deed::step));
            return Some(Parting { at, after: self.after.take(), then, was });
        }
        None
    }
}

/// What both ask the same one, in other words.
fn asking(was: &Deed, is: &Deed) -> Option<Asking> {
    match (was, is) {
        (Deed::Asked { whom, text: was, point }, Deed::Asked { whom: also, text: is, .. }) if whom == also => {
            Some(Asking { at: *point, after: None, whom: *whom, line: first_other_line(was, is) })
        }
        (Deed::Did { .. } | Deed::Asked { .. }, Deed::Did { .. } | Deed::Asked { .. }) => None,
    }
}

fn first_other_line(was: &[Arc<str>], is: &[Arc<str>]) -> [String; 2] {
    fn lines(texts: &[Arc<str>]) -> impl Iterator<Item = &str> {
        texts.iter().flat_map(|text| text.lines())
    }
    let n_same = lines(was).zip(lines(is)).take_while(|(was, is)| was == is).count();
    [lines(was).nth(n_same), lines(is).nth(n_same)].map(|line| line.unwrap_or_default().to_owned())
}
