//! What a session did, step by step, in the words of the public events.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::host::events::{EventMaker, PublicEvent};
use crate::host::journal::record::RecordBody;
use crate::host::session::SessionError;
use crate::host::session::replay::Stop;
use crate::host::travel::{Point, Timeline};
use crate::vm::Machine;
use crate::vm::protocol::{Location, Progress};

/// Something that watchers are told of.
#[derive(Clone, Debug)]
pub struct Step {
    /// The point behind it.
    pub point: Point,
    /// What it is; secrets are masked, and numbers count from the session's beginning.
    pub event: PublicEvent,
    /// The words of the line that is reached, if one is.
    pub words: Option<String>,
}

/// What happened behind `from` and up to `to`, the end of the program included if it is there.
///
/// # Errors
/// There is no such point.
pub fn steps(timeline: &Timeline, from: Point, to: Point) -> Result<Vec<Step>, SessionError> {
    let session = match timeline.records().first().map(|record| &record.body) {
        Some(RecordBody::Begun(begun)) => begun.session.clone(),
        _ => "".into(),
    };
    let start = timeline.at(timeline.start())?.machine;
    let mut program = start.program().clone();
    let mut maker = EventMaker::new(session.clone(), program.clone());
    let mut steps = Vec::new();
    // From the beginning: plans that were written meanwhile have names, too.
    timeline.walk(timeline.start(), to, &mut |machine, point, progress| {
        if !Arc::ptr_eq(&program, machine.program()) {
            program = machine.program().clone();
            maker = EventMaker::new(session.clone(), program.clone());
        }
        let event = maker.of_progress(progress);
        let words = match progress {
            Progress::Reached(place) => words_of(machine, place.location),
            Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => None,
        };
        steps.extend(event.filter(|_| point > from).map(|event| Step { point, event, words }));
        ControlFlow::Continue(())
    })?;
    if let Some(Stop::Finished(outcome)) = timeline.at(to)?.stop {
        let end = maker.of_progress(&Progress::Finished(outcome));
        steps.extend(end.map(|event| Step { point: to, event, words: None }));
    }
    Ok(steps)
}

fn words_of(machine: &Machine, location: Location) -> Option<String> {
    match location {
        Location::Line { playbook, step } => {
            Some(machine.program().playbook(playbook).steps.get(step?.0 as usize)?.text.to_string())
        }
        // Of a plan that a model wrote, the program's sources hold no text.
        Location::Plan { plan, node } => {
            let span = machine.program().plan(plan)?.nodes.get(node?.0 as usize)?.span;
            Some(machine.program().sources.text(span).to_owned())
        }
    }
}
