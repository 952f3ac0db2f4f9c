//! A run: what one session did, as data for whoever judges, counts or draws it (spec `evaluate.md`, section 1).

use std::sync::Arc;

use playhouse_lang::program::Program;
use playhouse_lang::value::{Map, Value};

use crate::events::PublicEvent;
use crate::journal::record::Record;
use crate::program::ProgramCache;
use crate::replay::begun_of;
use crate::replay::error::SessionError;
use crate::secrets::MASK;
use crate::travel::point::Point;
use crate::travel::steps::whole;

/// What one session did. Of one that is stored, each event has its point; of one that was listened to, none has.
#[derive(Clone, Debug)]
pub struct Run {
    /// The session's id.
    pub session: Arc<str>,
    /// The program that it began with: what its events name stands there, unless the program was changed.
    pub program: Arc<Program>,
    /// What it was given to begin with; secrets are masked.
    pub arguments: Map,
    /// What happened, in order; secrets are masked.
    pub events: Vec<PublicEvent>,
    /// As many as events, or none.
    points: Vec<Point>,
}

impl Run {
    /// The run of a session that was listened to from its first event on, and that was given nothing to begin with.
    pub fn listened(session: Arc<str>, program: Arc<Program>, events: Vec<PublicEvent>) -> Run {
        Run { session, program, arguments: Map::new(), events, points: Vec::new() }
    }

    /// The run of a session that is stored.
    ///
    /// # Errors
    /// The records hold no session, or the machine does not follow them.
    pub fn stored(records: Vec<Record>) -> Result<Run, SessionError> {
        Run::one_of_many(&records, &ProgramCache::default())
    }

    /// The same, of one of many sessions: `programs` are those that were read for the others.
    ///
    /// # Errors
    /// The same.
    pub fn one_of_many(records: &[Record], programs: &ProgramCache) -> Result<Run, SessionError> {
        let (program, steps) = whole(records, Some(programs))?;
        let begun = begun_of(records)?;
        let (points, events) = steps.into_iter().map(|step| (step.point, step.event)).unzip();
        let run = Run { points, ..Run::listened(begun.session.clone(), program, events) };
        Ok(run.with_arguments(begun.arguments.as_map().cloned().unwrap_or_default()))
    }

    /// The same, of a session that was given this to begin with; what the program declares secret is masked.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Map) -> Run {
        let is_secret = |name: &str| self.program.agents.iter().any(|agent| agent.declares_secret(name));
        let shown = |(name, value): (Arc<str>, Value)| match is_secret(&name) {
            true => (name, Value::str(MASK)),
            false => (name, value),
        };
        self.arguments = arguments.into_iter().map(shown).collect();
        self
    }

    /// Where the event at this index stands in the stored session.
    pub fn point(&self, index: usize) -> Option<Point> {
        self.points.get(index).copied()
    }
}
