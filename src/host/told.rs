//! All that a session has told of itself since it began, from its records: what `--events` would have had.

use crate::host::events::{EventMaker, PublicEvent};
use crate::host::journal::record::{Begun, Record};
use crate::host::session::SessionError;
use crate::host::session::replay::{Replayed, replay_watched};
use crate::vm::protocol::{Location, Progress, Timestamp};

/// One event of a session's past.
#[derive(Clone, Debug)]
pub struct Told {
    /// When: the time of the record that set it off.
    pub time: Timestamp,
    /// What; numbered from 1 at the session's beginning, whatever processes it had.
    pub event: PublicEvent,
    /// Of a line that was reached: which.
    pub line: Option<Location>,
}

/// Replays `records` and gives all events in order. `begun` is the first record.
///
/// # Errors
/// The machine does not follow them.
pub fn told(begun: &Begun, records: &[Record]) -> Result<(Replayed, Vec<Told>), SessionError> {
    let mut seen = Vec::new();
    let replayed = replay_watched(records, None, &mut |time, progress| seen.push((time, progress.clone())))?;
    let mut maker = EventMaker::new(begun.session.clone(), replayed.machine.program().clone());
    let mut all = vec![Told { time: replayed.began, event: maker.started(begun.model.clone()), line: None }];
    for (time, progress) in seen {
        let line = if let Progress::Reached(place) = &progress { Some(place.location) } else { None };
        all.extend(maker.of_progress(&progress).map(|event| Told { time, event, line }));
    }
    Ok((replayed, all))
}
