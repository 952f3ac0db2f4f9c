//! Forks: a session that leaves another one at an earlier point and goes its own way.
//!
//! A fork begins with the records of the original up to the point, then come the changes, then the answers to all that
//! had been asked of the world before the point: they are on their way whatever the changes are, so that they arrive
//! as they did. What nobody has answered in the original is like what a killed process had asked for: the session that
//! resumes the fork asks again.

use std::sync::Arc;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::{CallId, Close, FrameId, Outcome, QuestionId, Timestamp, TurnId};

use crate::journal::record::{EndWire, Record, RecordBody};
use crate::journal::secrets;
use crate::journal::wire::ForkedFrom;
use crate::replay::error::SessionError;
use crate::replay::{Follower, Outstanding, Stop};
use crate::travel::point::Point;
use crate::travel::timeline::{Moment, Timeline};

/// What is different in a fork from its point on.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Variables that have other values. All are set before the machine moves.
    pub edits: Vec<Edit>,
    /// What else happens there, after the edits. The machine handles it when it has nothing more to do.
    pub records: Vec<RecordBody>,
}

/// A variable's new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The frame whose variable it is; none: the agent's others.
    pub frame: Option<FrameId>,
    /// The variable's name.
    pub name: Arc<str>,
    /// The value.
    pub value: Value,
}

/// The records of a new session.
#[derive(Clone, Debug)]
pub struct Fork {
    /// All of them: what a journal is to hold that [`crate::session::Session::resume`] goes on with.
    pub records: Vec<Record>,
    /// So many of them lie before the fork: the original's, and the changes. The others are answers to what had been
    /// asked for. Whoever wants to stand at the fork before they arrive writes only these at first.
    pub n_kept: usize,
    /// The fork's own point that is the point of the original, after the changes: `n_kept` records and so many moves.
    pub point: Point,
}

/// A new session with the id `id` that leaves the timeline's at `point`.
///
/// Inside of what an event set off, an edit takes effect exactly there. Without an edit nothing is different before the
/// next event: what the machine does up to there it does in the fork, too, and what it asks for there is asked again.
///
/// # Errors
/// There is no such point, or no such frame at it; the message names those there are. Or a secret value is missing that
/// the fork would need.
pub fn fork(timeline: &Timeline, point: Point, changes: &Changes, id: Arc<str>) -> Result<Fork, SessionError> {
    check_secrets(timeline.records())?;
    let cursor = timeline.cursor_at(point)?;
    let (kept, later) = timeline.records().split_at(usize::try_from(point.seq).unwrap_or(usize::MAX));
    let mut records = kept.to_vec();
    if let Some(RecordBody::Begun(begun)) = records.first_mut().map(|first| &mut first.body) {
        let from = std::mem::replace(&mut begun.session, id);
        begun.forked_from = Some(ForkedFrom { session: from, seq: point.seq, directive: point.directive });
    }
    let is_paused = cursor.stop.is_none();
    let time = cursor.follower.time;
    let mut branch = Branch { open: cursor.follower.outstanding(), follower: cursor.follower, records };
    for (index, edit) in changes.edits.iter().enumerate() {
        branch.check_frame(edit, point)?;
        let Edit { frame, name, value } = edit.clone();
        let after = match index {
            0 => is_paused.then_some(point.directive),
            _ => Some(0),
        };
        branch.happen(time, RecordBody::Edited { frame: frame.map(|frame| frame.0), name, value, after, by: None })?;
    }
    for body in &changes.records {
        branch.advance()?;
        branch.happen(time, body.clone())?;
    }
    let n_kept = branch.records.len();
    let is_changed = !(changes.edits.is_empty() && changes.records.is_empty());
    let point = Point::new(n_kept as u64, if is_changed { 0 } else { point.directive });
    branch.answer(later)?;
    Ok(Fork { records: branch.records, n_kept, point })
}

/// A journal whose secrets have been taken away can be looked at, but nothing goes on from it.
fn check_secrets(records: &[Record]) -> Result<(), SessionError> {
    let names = secrets::names_of(records);
    match records.iter().find(|record| secrets::is_masked(record, &names)) {
        Some(record) => Err(SessionError::NoPoint(format!(
            "the secret values of the journal are missing (record {} has one), so nothing can continue from it; put \
             the file with the secrets back beside it",
            record.seq
        ))),
        None => Ok(()),
    }
}

/// A fork that is being made.
struct Branch {
    /// What had been asked for before the point, and has no answer yet.
    open: Outstanding,
    follower: Follower,
    records: Vec<Record>,
}

impl Branch {
    /// A frame that is not there could not be told from one that has gone: the machine would ignore the edit.
    fn check_frame(&self, edit: &Edit, point: Point) -> Result<(), SessionError> {
        let stack = self.follower.machine.view().stack;
        match edit.frame {
            Some(id) if stack.iter().all(|frame| frame.id != id) => {
                let there: Vec<String> = stack.iter().map(|frame| frame.id.0.to_string()).collect();
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                Err(SessionError::NoPoint(format!("there is no frame {} at {point}; there are: {there}", id.0)))
            }
            _ => Ok(()),
        }
    }

    fn happen(&mut self, time: Timestamp, body: RecordBody) -> Result<(), SessionError> {
        let record = Record { seq: self.records.len() as u64 + 1, time: time.0, body };
        self.follower.handle(&record, None, None)?;
        self.records.push(record);
        Ok(())
    }

    /// Lets the machine do what the last event set off.
    fn advance(&mut self) -> Result<(), SessionError> {
        self.follower.advance_before(None, &mut |_, _| {}).map(|_| ())
    }

    /// Copies the answers from what the original handled after the point.
    fn answer(&mut self, later: &[Record]) -> Result<(), SessionError> {
        self.advance()?;
        for (index, record) in later.iter().enumerate() {
            self.close_unwanted(&later[index..])?;
            // After this, the original has asked again itself.
            if self.open == Outstanding::default() || record.body.reopens() {
                break;
            }
            if self.takes(&record.body) {
                self.happen(record.timestamp(), record.body.clone())?;
                self.advance()?;
            }
        }
        Ok(())
    }

    /// Whether this answers something that had been asked for. It is not waited for any more then.
    fn takes(&mut self, body: &RecordBody) -> bool {
        let open = &mut self.open;
        match body {
            RecordBody::Chunk { turn, .. } => open.turns.contains(&TurnId(*turn)),
            RecordBody::ReplyEnded { turn, end, .. } => {
                let turn = TurnId(*turn);
                // It was cut off because the original's machine wanted that. Ours may want to read on.
                let is_cut = *end == EndWire::Closed && self.follower.closing(turn).is_none();
                remove(&mut open.turns, &turn) && !is_cut
            }
            RecordBody::CallStarted { call, .. } => open.calls.contains(&CallId(*call)),
            RecordBody::CallEnded { call, .. } => remove(&mut open.calls, &CallId(*call)),
            RecordBody::Verdict { question, .. } => remove(&mut open.questions, &QuestionId(*question)),
            RecordBody::Begun(_)
            | RecordBody::Message { .. }
            | RecordBody::Signal { .. }
            | RecordBody::TimerFired { .. }
            | RecordBody::Approved { .. }
            | RecordBody::Interrupted { .. }
            | RecordBody::Edited { .. }
            | RecordBody::SignaturesChanged { .. }
            | RecordBody::ProgramChanged(_)
            | RecordBody::GoOn
            | RecordBody::Reopened => false,
        }
    }

    /// Ends the replies that the machine has closed and of which the original has read more.
    fn close_unwanted(&mut self, later: &[Record]) -> Result<(), SessionError> {
        let goes_on = |turn: &TurnId| {
            let mut bodies = later.iter().map(|record| &record.body).take_while(|body| !body.reopens());
            bodies.any(|body| matches!(body, RecordBody::Chunk { turn: of, .. } if *of == turn.0))
        };
        let is_unwanted =
            |branch: &Branch, turn: &TurnId| branch.follower.closing(*turn) == Some(Close::Now) && goes_on(turn);
        while let Some(turn) = self.open.turns.iter().copied().find(|turn| is_unwanted(self, turn)) {
            remove(&mut self.open.turns, &turn);
            let end = RecordBody::ReplyEnded { turn: turn.0, end: EndWire::Closed, usage: None };
            self.happen(self.follower.time, end)?;
            self.advance()?;
        }
        Ok(())
    }
}

/// Takes one out; false if it was not there.
fn remove<T: PartialEq>(list: &mut Vec<T>, item: &T) -> bool {
    let index = list.iter().position(|found| found == item);
    index.is_some_and(|index| {
        list.remove(index);
        true
    })
}

/// Whether a fork at this moment has anything to do: a program that is over has not. One that has failed may go on where
/// its text is another one, or where a model could not be reached, which may answer another time.
pub fn can_go_on(moment: &Moment, changes_text: bool) -> bool {
    match &moment.stop {
        Some(Stop::Finished(Outcome::Failed(fault))) => fault.kind.can_go_on() || changes_text,
        Some(Stop::Finished(Outcome::Done { .. })) => false,
        Some(Stop::Blocked(_)) | None => true,
    }
}
