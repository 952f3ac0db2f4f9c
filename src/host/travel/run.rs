//! A run: what one session did, as data for whoever judges, counts or draws it (spec `evaluate.md`, section 1).

use std::sync::Arc;

use crate::host::events::PublicEvent;
use crate::host::journal::record::Record;
use crate::host::replay::error::SessionError;
use crate::host::travel::point::Point;
use crate::host::travel::steps::history;
use crate::host::travel::timeline::Timeline;
use crate::lang::program::Program;

/// What one session did. Of one that is stored, each event has its point; of one that was listened to, none has.
#[derive(Clone, Debug)]
pub struct Run {
    /// The session's id.
    pub session: Arc<str>,
    /// The program that it began with: what its events name stands there, unless the program was changed.
    pub program: Arc<Program>,
    /// What happened, in order; secrets are masked.
    pub events: Vec<PublicEvent>,
    /// As many as events, or none.
    points: Vec<Point>,
}

impl Run {
    /// The run of a session that was listened to from its first event on.
    pub fn listened(session: Arc<str>, program: Arc<Program>, events: Vec<PublicEvent>) -> Run {
        Run { session, program, events, points: Vec::new() }
    }

    /// The run of a session that is stored.
    ///
    /// # Errors
    /// The records hold no session, or the machine does not follow them.
    pub fn stored(records: Vec<Record>) -> Result<Run, SessionError> {
        let timeline = Timeline::new(records)?;
        let program = timeline.at(timeline.start())?.machine.program().clone();
        let session = timeline.begun()?.session.clone();
        let steps = history(&timeline, timeline.end())?;
        let (points, events) = steps.into_iter().map(|step| (step.point, step.event)).unzip();
        Ok(Run { session, program, events, points })
    }

    /// Where the event at this index stands in the stored session.
    pub fn point(&self, index: usize) -> Option<Point> {
        self.points.get(index).copied()
    }
}
