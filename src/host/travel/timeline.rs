//! The timeline of a session: a machine for each point of its past.
//!
//! A point is reached from the last *keyframe* before it, a clone of the machine at the end of what some record set
//! off. Keyframes lie at even distances of *work*, so that no point is far from one; when there are too many, every
//! second one goes and the distance doubles. A clone shares texts and values with the machine it was made of; its own
//! are the lists that hold them.

use std::ops::ControlFlow;

use playhouse_vm::Machine;
use playhouse_vm::protocol::{Progress, Timestamp};

use crate::events::Mark;
use crate::journal::record::{Begun, Record, RecordBody};
use crate::replay::error::SessionError;
use crate::replay::{Advanced, Follower, Stop, begun_of};
use crate::travel::point::{At, Point};

/// The work between two keyframes at first. A move of the machine and the handling of a record are one unit each:
/// some microseconds, so that this much takes a millisecond or two.
const FIRST_INTERVAL: u64 = 256;

/// This many bytes of a reply are read in the time of one unit.
const BYTES_PER_UNIT: usize = 256;

/// So many keyframes there may be.
const MAX_KEYFRAMES: usize = 64;

/// The past of one session.
#[derive(Debug)]
pub struct Timeline {
    records: Vec<Record>,
    /// By record: how often the machine moved after it.
    moves: Vec<u32>,
    /// In order; the first stands at the start, and is always there.
    keyframes: Vec<Keyframe>,
    /// The work between two of them.
    interval: u64,
}

/// A snapshot.
#[derive(Clone, Debug)]
struct Keyframe {
    /// So many records have been handled, with all that they set off; 0: the machine has not moved yet.
    n_records: usize,
    /// The work from the start to here.
    work: u64,
    cursor: Cursor,
}

/// A place in the records, and the machine there.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub(super) follower: Follower,
    pub(super) point: Point,
    /// What the last move did.
    pub(super) progress: Option<Progress>,
    /// Where the machine has stopped, if it has.
    pub(super) stop: Option<Stop>,
}

/// A session at one point.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The machine: a copy, which may be moved on.
    pub machine: Machine,
    /// The point.
    pub point: Point,
    /// The time of the point's record.
    pub time: Timestamp,
    /// Of the last event.
    pub mark: Mark,
    /// What the last move before the point did; none right after a record.
    pub progress: Option<Progress>,
    /// Where the machine stopped, if this is the last point after its record. None there, too, where it was paused
    /// and edited.
    pub stop: Option<Stop>,
}

impl Timeline {
    /// The timeline of a whole session. Takes as long as the machine needs for all events.
    ///
    /// # Errors
    /// The records hold no session, or the machine does not follow them.
    pub fn new(records: Vec<Record>) -> Result<Timeline, SessionError> {
        let mut timeline = Timeline { records, moves: Vec::new(), keyframes: Vec::new(), interval: FIRST_INTERVAL };
        timeline.follow()?;
        Ok(timeline)
    }

    /// Takes another list of records, most often a longer one. What lies before the first difference is not done again
    /// (of a session that runs, the chunks at the end are joined later).
    ///
    /// # Errors
    /// As [`Timeline::new`]; then the timeline is as it was.
    pub fn renew(&mut self, records: Vec<Record>) -> Result<(), SessionError> {
        let n_same = self.records.iter().zip(&records).take_while(|(old, new)| old == new).count();
        if n_same == self.records.len() && n_same == records.len() {
            return Ok(());
        }
        // How far the machine goes on after the last common record depends on the record after it: an edit may have
        // come in the middle.
        let is_kept = |keyframe: &&Keyframe| keyframe.n_records < n_same;
        let mut renewed = Timeline {
            records,
            moves: self.moves.clone(),
            keyframes: self.keyframes.iter().take_while(is_kept).cloned().collect(),
            interval: self.interval,
        };
        renewed.follow()?;
        *self = renewed;
        Ok(())
    }

    /// All records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// How the session began.
    ///
    /// # Errors
    /// The records hold no session.
    pub fn begun(&self) -> Result<&Begun, SessionError> {
        begun_of(&self.records)
    }

    /// The point before everything.
    pub fn start(&self) -> Point {
        Point::START
    }

    /// The last point.
    pub fn end(&self) -> Point {
        let seq = self.records.len() as u64;
        Point::new(seq, self.last_directive(seq).unwrap_or(0))
    }

    /// The point that is meant. Whether there is one is said by whoever uses it.
    pub fn point_at(&self, at: At) -> Point {
        let last = || self.last_directive(at.seq).unwrap_or(0);
        Point::new(at.seq, at.directive.unwrap_or_else(last))
    }

    /// The number of the last point after a record; none: there is no such record.
    pub fn last_directive(&self, seq: u64) -> Option<u32> {
        self.moves.get(usize::try_from(seq).ok()?.checked_sub(1)?).copied()
    }

    /// How many snapshots are kept: the memory of a timeline beside its records.
    pub fn n_keyframes(&self) -> usize {
        self.keyframes.len()
    }

    /// The session at a point.
    ///
    /// # Errors
    /// There is no such point; the message names those there are.
    pub fn at(&self, point: Point) -> Result<Moment, SessionError> {
        let Cursor { follower, point, progress, stop } = self.cursor_at(point)?;
        let (time, mark) = (follower.time, follower.maker.mark());
        Ok(Moment { machine: follower.machine, point, time, mark, progress, stop })
    }

    /// The same, with what has been asked of the world.
    pub(super) fn cursor_at(&self, point: Point) -> Result<Cursor, SessionError> {
        let mut cursor = self.keyframe_before(self.check(point)?).cursor.clone();
        while cursor.point < point {
            self.step(&mut cursor)?;
        }
        self.settle(&mut cursor);
        Ok(cursor)
    }

    /// All that the machine did after `from` up to `to`, forward: `visit` sees the machine after each move, the point
    /// there and what the move did, until it breaks. Nothing, if `to` is not after `from`.
    ///
    /// # Errors
    /// There is no such point.
    pub fn walk(
        &self,
        from: Point,
        to: Point,
        visit: &mut dyn FnMut(&Machine, Point, &Progress) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let (from, to) = (self.check(from)?, self.check(to)?);
        let mut cursor = self.keyframe_before(from).cursor.clone();
        while cursor.point < to {
            self.step(&mut cursor)?;
            if cursor.point > from
                && let Some(progress) = &cursor.progress
                && visit(&cursor.follower.machine, cursor.point, progress).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    /// All that lies before a point, as stretches for [`Timeline::walk`], the latest first, each short: whoever looks
    /// for the last point before another one that is like this or that walks one after the other.
    ///
    /// # Errors
    /// There is no such point.
    pub fn segments(&self, before: Point) -> Result<impl Iterator<Item = (Point, Point)>, SessionError> {
        let mut to = self.check(before)?;
        let earlier = self.keyframes.iter().rev().map(|keyframe| keyframe.cursor.point);
        Ok(earlier.filter(move |from| *from < before).map(move |from| (from, std::mem::replace(&mut to, from))))
    }

    /// The point, if there is such a one.
    fn check(&self, point: Point) -> Result<Point, SessionError> {
        let is_one = |last| if point.directive <= last { Ok(point) } else { Err(Some(last)) };
        self.last_directive(point.seq).ok_or(None).and_then(is_one).map_err(|last| {
            SessionError::NoPoint(match last {
                Some(last) => format!("there is no point {point}: after record {} come {0}.0 to {0}.{last}", point.seq),
                None => format!("there is no point {point}: the session goes from {} to {}", self.start(), self.end()),
            })
        })
    }

    fn keyframe_before(&self, point: Point) -> &Keyframe {
        let n_before = self.keyframes.partition_point(|keyframe| keyframe.cursor.point <= point);
        // The first stands at the start, before which no point lies.
        &self.keyframes[n_before.saturating_sub(1)]
    }

    /// Moves on by one point: a move of the machine, or the next record. There must be one.
    fn step(&self, cursor: &mut Cursor) -> Result<(), SessionError> {
        let last = self.last_directive(cursor.point.seq).unwrap_or(0);
        if cursor.point.directive < last {
            let (progress, stop) = cursor.follower.advance();
            if let Some(stop) = stop {
                return Err(cursor.differs(&format!("the machine stops at {stop:?}, and moved {last} times before")));
            }
            cursor.progress = Some(progress);
            cursor.point.directive += 1;
        } else {
            let next = usize::try_from(cursor.point.seq).ok().and_then(|index| self.records.get(index));
            let next = next.ok_or_else(|| cursor.differs("there is no record after it"))?;
            self.settle(cursor);
            cursor.handle(next)?;
        }
        self.settle(cursor);
        Ok(())
    }

    /// Lets the machine say where it has stopped, as it did in the session, if it has not been paused before.
    fn settle(&self, cursor: &mut Cursor) {
        let next = usize::try_from(cursor.point.seq).ok().and_then(|index| self.records.get(index));
        let is_last = self.last_directive(cursor.point.seq) == Some(cursor.point.directive);
        if is_last && cursor.stop.is_none() && next.is_none_or(|next| next.body.after().is_none()) {
            cursor.stop = cursor.follower.advance().1;
        }
    }

    /// Follows the records from the last keyframe to their end.
    fn follow(&mut self) -> Result<(), SessionError> {
        if self.keyframes.is_empty() {
            let follower = Follower::begin(&self.records, None)?;
            let cursor = Cursor { follower, point: Point::START, progress: None, stop: None };
            self.keyframes.push(Keyframe { n_records: 0, work: 0, cursor });
        }
        let Some(Keyframe { n_records, mut work, mut cursor }) = self.keyframes.last().cloned() else { return Ok(()) };
        self.moves.truncate(n_records);
        for index in n_records..self.records.len() {
            let record = &self.records[index];
            if record.seq != index as u64 + 1 {
                return Err(cursor.differs(&misnumbered(record)));
            }
            if index > 0 {
                cursor.handle(record)?;
            }
            let Advanced { n, last, stop } =
                cursor.follower.advance_before(self.records.get(index + 1), &mut |_, _| {})?;
            cursor.point.directive = n;
            cursor.progress = last;
            cursor.stop = stop;
            self.moves.push(n);
            work += work_of(record) + u64::from(n);
            let since = self.keyframes.last().map_or(0, |keyframe| keyframe.work);
            if work - since >= self.interval {
                self.keyframes.push(Keyframe { n_records: index + 1, work, cursor: cursor.clone() });
                self.thin_out();
            }
        }
        Ok(())
    }

    /// Takes every second keyframe away if there are too many.
    fn thin_out(&mut self) {
        if self.keyframes.len() <= MAX_KEYFRAMES {
            return;
        }
        self.interval *= 2;
        let mut is_kept = false;
        self.keyframes.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
    }
}

impl Cursor {
    /// Handles the next record. The machine has been advanced to where it was handled.
    fn handle(&mut self, record: &Record) -> Result<(), SessionError> {
        self.follower.handle(record, self.stop.as_ref(), None)?;
        self.point = Point::new(record.seq, 0);
        self.progress = None;
        self.stop = None;
        Ok(())
    }

    fn differs(&self, found: &str) -> SessionError {
        SessionError::Replay { seq: self.point.seq, found: found.to_owned() }
    }
}

/// That a record does not follow the one before it.
pub(super) fn misnumbered(record: &Record) -> String {
    format!("the record after it has the number {}", record.seq)
}

/// What it takes to handle a record, in the unit of [`FIRST_INTERVAL`].
fn work_of(record: &Record) -> u64 {
    if let RecordBody::Chunk { text, .. } = &record.body { 1 + (text.0.len() / BYTES_PER_UNIT) as u64 } else { 1 }
}
