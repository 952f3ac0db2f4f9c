//! What a session did, step by step, in the words of the public events.

use std::ops::ControlFlow;
use std::sync::Arc;

use playhouse_lang::program::Program;
use playhouse_vm::protocol::Progress;

use crate::events::make::EventMaker;
use crate::events::{Mark, PublicEvent};
use crate::frames::words_of;
use crate::journal::record::{Begun, Record};
use crate::program::ProgramCache;
use crate::replay::error::SessionError;
use crate::replay::{Follower, Stop, begun_of};
use crate::travel::point::Point;
use crate::travel::timeline::{Timeline, misnumbered};

/// Something that watchers are told of.
#[derive(Clone, Debug)]
pub struct Step {
    /// The point after it.
    pub point: Point,
    /// What it is; secrets are masked, and numbers count from the session's beginning.
    pub event: PublicEvent,
    /// The words of the line that is reached, if one is.
    pub words: Option<String>,
}

/// What happened after `from` and up to `to`, the end of the program included if it is there.
///
/// # Errors
/// There is no such point.
pub fn steps(timeline: &Timeline, from: Point, to: Point) -> Result<Vec<Step>, SessionError> {
    Ok(history(timeline, to)?.into_iter().filter(|step| step.point > from).collect())
}

/// All that happened up to `to`, that the session has begun before everything: what `--events` would have had.
///
/// # Errors
/// There is no such point.
pub fn history(timeline: &Timeline, to: Point) -> Result<Vec<Step>, SessionError> {
    if to == timeline.end() {
        return whole_history(timeline.records());
    }
    // From the beginning: plans that were written meanwhile and changed programs have names, too.
    let start = timeline.start();
    let program = timeline.at(start)?.machine.program().clone();
    let mut told = Told::begun(timeline.begun()?, program, timeline.records());
    timeline.walk(start, to, &mut |_, point, progress| {
        told.note(point, progress);
        ControlFlow::Continue(())
    })?;
    told.end(to, timeline.at(to)?.stop);
    Ok(told.steps)
}

/// All that happened in a session, as [`history`] tells it, in one pass: for whoever wants no other point of its past.
///
/// # Errors
/// The records hold no session, or the machine does not follow them.
pub fn whole_history(records: &[Record]) -> Result<Vec<Step>, SessionError> {
    whole(records, None).map(|(_, steps)| steps)
}

/// The same, with the program that the session began with. `programs` are those that were read before.
pub(super) fn whole(
    records: &[Record],
    programs: Option<&ProgramCache>,
) -> Result<(Arc<Program>, Vec<Step>), SessionError> {
    let mut follower = Follower::begin(records, programs)?;
    let program = follower.machine.program().clone();
    let mut told = Told::begun(begun_of(records)?, program.clone(), records);
    let (mut point, mut stop) = (Point::START, None);
    for (index, record) in records.iter().enumerate() {
        if record.seq != index as u64 + 1 {
            return Err(SessionError::Replay { seq: index as u64, found: misnumbered(record) });
        }
        if index > 0 {
            follower.handle(record, stop.as_ref(), None)?;
        }
        point = Point::new(record.seq, 0);
        let advanced = follower.advance_before(records.get(index + 1), &mut |_, progress| {
            if !matches!(progress, Progress::Blocked(_) | Progress::Finished(_)) {
                point.directive += 1;
                told.note(point, progress);
            }
        })?;
        stop = advanced.stop;
        // It may have failed, and somebody has taken it up again.
        if follower.is_told_out() {
            told.end(point, stop.clone());
        }
    }
    told.end(point, stop);
    Ok((program, told.steps))
}

/// A session that is told while its records come: the events with marks that follow from each, once. Whoever hears them
/// need not have the session.
pub struct Retelling {
    follower: Follower,
    maker: EventMaker,
    stop: Option<Stop>,
    n_records: u64,
    /// Whether the machine stands where the next record, an edit, says that it was made: it has not gone as far as it can.
    stands_at_edit: bool,
}

impl Retelling {
    /// From a session's first record on. `next` is the one after it, if it is there: an edit in the middle of what a record
    /// has set off comes with that record.
    ///
    /// # Errors
    /// It is not the beginning of a session, or its program cannot be loaded.
    pub fn begin(
        first: &Record,
        next: Option<&Record>,
        programs: &ProgramCache,
    ) -> Result<(Retelling, Vec<PublicEvent>), SessionError> {
        let records = std::slice::from_ref(first);
        let follower = Follower::begin(records, Some(programs))?;
        let mut maker = EventMaker::new(follower.session.clone(), follower.machine.program().clone());
        let began = maker.started(begun_of(records)?.model.clone());
        let mut retelling = Retelling { follower, maker, stop: None, n_records: 1, stands_at_edit: false };
        let mut events = vec![PublicEvent { time: first.timestamp(), ..began }];
        retelling.advance(next, &mut events)?;
        Ok((retelling, events))
    }

    /// The events that follow from a record; none from one that it has. `next` is the one after it, if it is there.
    ///
    /// # Errors
    /// There is a gap before it, or the machine does not follow it: it is to be told anew, from the first record.
    pub fn add(&mut self, record: &Record, next: Option<&Record>) -> Result<Vec<PublicEvent>, SessionError> {
        let mut events = Vec::new();
        if record.seq <= self.n_records {
            return Ok(events);
        }
        if record.seq != self.n_records + 1 || record.body.after().is_some() != self.stands_at_edit {
            return Err(SessionError::Replay { seq: self.n_records, found: misnumbered(record) });
        }
        self.follower.handle(record, self.stop.take().as_ref(), None)?;
        self.n_records = record.seq;
        self.advance(next, &mut events)?;
        Ok(events)
    }

    /// The number of the next record.
    pub fn next_seq(&self) -> u64 {
        self.n_records + 1
    }

    /// Of the last event with a mark.
    pub fn mark(&self) -> Mark {
        self.maker.mark()
    }

    /// Whether the program has come to its end, and all is told.
    pub fn is_over(&self) -> bool {
        matches!(self.stop, Some(Stop::Finished(_))) && self.follower.is_told_out()
    }

    fn advance(&mut self, next: Option<&Record>, events: &mut Vec<PublicEvent>) -> Result<(), SessionError> {
        self.stands_at_edit = next.is_some_and(|next| next.body.after().is_some());
        let Retelling { follower, maker, .. } = self;
        let time = follower.time;
        let mut tell = |progress: &Progress| {
            let event = maker.of_progress(progress).filter(|event| event.mark.is_some());
            events.extend(event.map(|event| PublicEvent { time, ..event }));
        };
        let advanced = follower.advance_before(next, &mut |_, progress| {
            // The end is told when nothing else comes any more.
            if !matches!(progress, Progress::Finished(_)) {
                tell(progress);
            }
        });
        self.stop = advanced?.stop;
        if let Some(Stop::Finished(outcome)) = &self.stop
            && self.follower.is_told_out()
        {
            tell(&Progress::Finished(outcome.clone()));
        }
        Ok(())
    }
}

/// What has been told of a session.
struct Told<'r> {
    maker: EventMaker,
    records: &'r [Record],
    steps: Vec<Step>,
}

impl<'r> Told<'r> {
    /// That it has begun, with this program.
    fn begun(begun: &Begun, program: Arc<Program>, records: &'r [Record]) -> Told<'r> {
        let mut maker = EventMaker::new(begun.session.clone(), program);
        let event = maker.started(begun.model.clone());
        let mut told = Told { maker, records, steps: Vec::new() };
        told.push(Point::START, event, None);
        told
    }

    fn push(&mut self, point: Point, event: PublicEvent, words: Option<String>) {
        // The event as it was told then.
        let record = usize::try_from(point.seq - 1).ok().and_then(|index| self.records.get(index));
        let event = PublicEvent { time: record.map(Record::timestamp).unwrap_or_default(), ..event };
        self.steps.push(Step { point, event, words });
    }

    /// What the machine did before the point.
    fn note(&mut self, point: Point, progress: &Progress) {
        let Some(event) = self.maker.of_progress(progress) else { return };
        let words = match progress {
            Progress::Reached(place) => words_of(self.maker.program(), place.location),
            Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => None,
        };
        self.push(point, event, words);
    }

    /// The end of the program, if it is there.
    fn end(&mut self, point: Point, stop: Option<Stop>) {
        if let Some(Stop::Finished(outcome)) = stop {
            self.note(point, &Progress::Finished(outcome));
        }
    }
}
