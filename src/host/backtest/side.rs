//! One of the two machines of a backtest, and what it does, in a form in which the two can be compared.

use std::collections::HashSet;
use std::sync::Arc;

use playhouse_lang::program::{PlaybookId, Program, StepId};
use playhouse_vm::migrate::Migration;
use playhouse_vm::protocol::{Effect, Location, Place, Progress, Question, ToolSignature};

use crate::events::make::EventMaker;
use crate::events::{PublicBody, PublicEvent};
use crate::journal::record::Record;
use crate::replay::error::SessionError;
use crate::replay::{Follower, Stop, begun_of};
use crate::travel::{Point, Step, is_same, words_of};

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Asked {
    /// The model.
    Model,
    /// The trigger classifier.
    Classifier,
}

/// A machine that follows a session's records.
pub(super) struct Side {
    follower: Follower,
    /// Tells what it does in its own words.
    teller: EventMaker,
    seen_as: SeenAs,
    /// After which record it is.
    seq: u64,
    /// Where it has stopped, if it has.
    stop: Option<Stop>,
}

/// How what a machine does is compared.
enum SeenAs {
    /// As the same thing in the other text's program; a line that is not there, or has other words, as none.
    Mapped { migration: Box<Migration>, teller: Box<EventMaker> },
    /// As it is; a line that the session's own program has not, as none.
    Plain { known: HashSet<(PlaybookId, StepId)> },
}

/// Something that a machine does of itself.
pub(super) enum Deed {
    /// What watchers are told of.
    Did {
        /// What is compared; none: the other program has nothing like it.
        compared: Option<Box<PublicEvent>>,
        /// What is told.
        step: Box<Step>,
    },
    /// It asks somebody.
    Asked { whom: Asked, text: Vec<Arc<str>>, point: Point },
}

impl Deed {
    pub(super) fn point(&self) -> Point {
        match self {
            Deed::Did { step, .. } => step.point,
            Deed::Asked { point, .. } => *point,
        }
    }

    pub(super) fn step(&self) -> Option<Step> {
        match self {
            Deed::Did { step, .. } => Some(Step::clone(step)),
            Deed::Asked { .. } => None,
        }
    }

    /// The line that is reached, if one is.
    pub(super) fn line(&self) -> Option<Step> {
        self.step().filter(|step| step.event.body == PublicBody::LineReached {})
    }

    /// Whether both machines do the same here.
    pub(super) fn is_same(&self, other: &Deed) -> bool {
        match (self, other) {
            (Deed::Did { compared: Some(a), .. }, Deed::Did { compared: Some(b), .. }) => is_same(a, b),
            (Deed::Asked { whom: a, text: of_a, .. }, Deed::Asked { whom: b, text: of_b, .. }) => {
                a == b && of_a == of_b
            }
            (Deed::Did { .. } | Deed::Asked { .. }, Deed::Did { .. } | Deed::Asked { .. }) => false,
        }
    }
}

type Read = (Arc<Program>, Arc<[ToolSignature]>);

impl Side {
    /// The session's own machine, seen with the eyes of the other text's program.
    pub(super) fn own(records: &[Record], own: Read, other: Arc<Program>) -> Result<Side, SessionError> {
        let session = begun_of(records)?.session.clone();
        let migration = Box::new(Migration::new(own.0.clone(), other.clone()));
        let teller = Box::new(EventMaker::new(session, other));
        Side::new(records, own, SeenAs::Mapped { migration, teller })
    }

    /// The machine with the other text, in place of the session's `own` program.
    pub(super) fn other(records: &[Record], other: Read, own: &Arc<Program>) -> Result<Side, SessionError> {
        let migration = Migration::new(own.clone(), other.0.clone());
        let lines =
            own.playbooks.iter().flat_map(|playbook| playbook.steps.iter().map(move |step| (playbook.id, step)));
        let known = lines.filter_map(|(playbook, step)| {
            match migration.location(Location::Line { playbook, step: Some(step.id) })? {
                Location::Line { playbook, step } => Some((playbook, step?)),
                Location::Plan { .. } => None,
            }
        });
        let known = known.collect();
        Side::new(records, other, SeenAs::Plain { known })
    }

    fn new(records: &[Record], (program, tools): Read, seen_as: SeenAs) -> Result<Side, SessionError> {
        let teller = EventMaker::new(begun_of(records)?.session.clone(), program.clone());
        let follower = Follower::begin_with(records, program, tools)?;
        Ok(Side { follower, teller, seen_as, seq: 1, stop: None })
    }

    /// Goes on to where the next record was handled, or as far as it can, and adds all that it does to `deeds`.
    ///
    /// # Errors
    /// It cannot go as far as the machine of the session had gone there.
    pub(super) fn advance(&mut self, next: Option<&Record>, deeds: &mut Vec<Deed>) -> Result<(), SessionError> {
        let Side { follower, teller, seen_as, seq, stop } = self;
        let program = follower.machine.program().clone();
        let mut n_moves = 0;
        let mut watch = |_, progress: &Progress| {
            n_moves += u32::from(!matches!(progress, Progress::Blocked(_) | Progress::Finished(_)));
            let point = Point::new(*seq, n_moves);
            if let Some((whom, text)) = question_of(progress) {
                deeds.push(Deed::Asked { whom, text, point });
            }
            let Some(event) = teller.of_progress(progress).filter(is_deed) else { return };
            let compared = seen_as.event(progress, &event).map(Box::new);
            let words = match progress {
                Progress::Reached(place) => words_of(&program, place.location),
                Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => None,
            };
            deeds.push(Deed::Did { compared, step: Box::new(Step { point, event, words }) });
        };
        *stop = follower.advance_before(next, &mut watch)?.stop;
        Ok(())
    }

    /// Is given the next record.
    pub(super) fn handle(&mut self, record: &Record) -> Result<(), SessionError> {
        self.seq = record.seq;
        self.follower.handle(record, self.stop.take().as_ref(), None)
    }
}

impl SeenAs {
    fn event(&mut self, progress: &Progress, event: &PublicEvent) -> Option<PublicEvent> {
        match self {
            SeenAs::Mapped { migration, teller } => teller.of_progress(&migration.progress(progress)?),
            SeenAs::Plain { known } => {
                let line = match place_of(progress).map(|place| place.location) {
                    Some(Location::Line { playbook, step: Some(step) }) if !known.contains(&(playbook, step)) => None,
                    Some(_) | None => event.line.clone(),
                };
                Some(PublicEvent { line, ..event.clone() })
            }
        }
    }
}

fn place_of(progress: &Progress) -> Option<Place> {
    match progress {
        Progress::Reached(place) => Some(*place),
        Progress::Emit(Effect::Report(report)) => report.place,
        Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => None,
    }
}

/// What a machine does of itself and what tells two texts apart. Pieces of speech are in the utterances, the end of a reply
/// is the world's; a trigger that was judged and did not match, and a line that was left out, change nothing.
fn is_deed(event: &PublicEvent) -> bool {
    !matches!(
        event.body,
        PublicBody::SaidDelta { .. }
            | PublicBody::TurnFinished { .. }
            | PublicBody::TriggerEvaluated { .. }
            | PublicBody::LinesSkipped { .. }
    )
}

/// Who is asked, and the texts of the question.
fn question_of(progress: &Progress) -> Option<(Asked, Vec<Arc<str>>)> {
    match progress {
        Progress::Emit(Effect::StartTurn(start)) => {
            Some((Asked::Model, start.messages.iter().map(|message| message.text.clone()).collect()))
        }
        Progress::Emit(Effect::Classify(question)) => Some((Asked::Classifier, question_text(question))),
        Progress::Emit(_) | Progress::Reached(_) | Progress::Blocked(_) | Progress::Finished(_) => None,
    }
}

/// What the classifier is asked, without ids: the triggers, and what has changed.
fn question_text(question: &Question) -> Vec<Arc<str>> {
    let candidates = question.candidates.iter().map(|candidate| candidate.text.clone());
    let updates = question.updates.iter().map(|update| format!("${} = {}", update.name, update.new).into());
    candidates.chain(updates).collect()
}
