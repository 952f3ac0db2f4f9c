//! What a session did, step by step, in the words of the public events.

use std::ops::ControlFlow;

use crate::host::events::PublicEvent;
use crate::host::events::make::EventMaker;
use crate::host::frames::words_of;
use crate::host::journal::record::Record;
use crate::host::replay::Stop;
use crate::host::replay::error::SessionError;
use crate::host::travel::point::Point;
use crate::host::travel::timeline::Timeline;
use crate::vm::protocol::Progress;

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
    let begun = timeline.begun()?;
    // From the beginning: plans that were written meanwhile and changed programs have names, too.
    let start = timeline.start();
    let mut maker = EventMaker::new(begun.session.clone(), timeline.at(start)?.machine.program().clone());
    // The event as it was told then.
    let at = |point: Point, event: PublicEvent| {
        let record = usize::try_from(point.seq - 1).ok().and_then(|index| timeline.records().get(index));
        PublicEvent { time: record.map(Record::timestamp).unwrap_or_default(), ..event }
    };
    let began = Step { point: start, event: at(start, maker.started(begun.model.clone())), words: None };
    let mut steps = vec![began];
    timeline.walk(start, to, &mut |machine, point, progress| {
        let event = maker.of_progress(progress);
        let words = match progress {
            Progress::Reached(place) => words_of(machine.program(), place.location),
            Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => None,
        };
        steps.extend(event.map(|event| Step { point, event: at(point, event), words }));
        ControlFlow::Continue(())
    })?;
    if let Some(Stop::Finished(outcome)) = timeline.at(to)?.stop {
        let end = maker.of_progress(&Progress::Finished(outcome));
        steps.extend(end.map(|event| Step { point: to, event: at(to, event), words: None }));
    }
    Ok(steps)
}
