//! Every point of every past: back to it, and forward again.

use std::ops::ControlFlow;
use std::sync::Arc;

use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::Record;
use playhouse::host::replay::replay;
use playhouse::host::session::SessionError;
use playhouse::host::travel::{Point, Timeline, diff};
use playhouse::vm::protocol::view::View;
use playhouse::vm::protocol::{Outcome, Progress};

use crate::conversation::{Conversation, Ledger, run};
use crate::ideal_model::{IdealModel, Pace};
use crate::replay::for_each;
use crate::travel::cases::journals;
use crate::travel::{PIECE, conversations, in_folders, points, unjoined};
use crate::world::Chunking;

/// A point, what the last move did, and the state there.
type Seen = (Point, Option<Progress>, View);

/// Every point, forward, as one walk sees them. Behind a record nothing has moved: these are added from `at`.
fn all(timeline: &Timeline) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    timeline
        .walk(timeline.start(), timeline.end(), &mut |machine, point, progress| {
            seen.push((point, Some(progress.clone()), machine.view()));
            ControlFlow::Continue(())
        })
        .unwrap();
    for record in timeline.records() {
        let point = Point::new(record.seq, 0);
        seen.push((point, None, timeline.at(point).unwrap().machine.view()));
    }
    seen.sort_by_key(|(point, ..)| *point);
    seen
}

/// Back to every point, from the last to the first, and from some of them forward again; every `every`th event is the
/// end of a fresh replay, too.
pub(crate) fn check(name: &str, records: &[Record], every: usize) -> usize {
    let timeline = Timeline::new(records.to_vec()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let forward = all(&timeline);
    assert_eq!(forward.iter().map(|(point, ..)| *point).collect::<Vec<_>>(), points(&timeline), "{name}");
    for (index, (point, progress, view)) in forward.iter().enumerate().rev() {
        let moment = timeline.at(*point).unwrap();
        assert_eq!(moment.machine.view(), *view, "{name} at {point}");
        assert_eq!(moment.progress, *progress, "{name} at {point}");
        if index % 23 == 0 {
            let mut again = Vec::new();
            let mut visit = |machine: &playhouse::vm::Machine, point, progress: &Progress| {
                again.push((point, Some(progress.clone()), machine.view()));
                ControlFlow::Continue(())
            };
            timeline.walk(*point, timeline.end(), &mut visit).unwrap();
            let moves = forward[index + 1..].iter().filter(|(_, progress, _)| progress.is_some());
            assert!(moves.eq(&again), "{name} from {point}");
        }
    }
    for n_records in (1..=records.len()).rev().step_by(every) {
        let point = Point::new(n_records as u64, timeline.last_directive(n_records as u64).unwrap());
        let moment = timeline.at(point).unwrap();
        if records.get(n_records).is_some_and(|next| next.body.after().is_some()) {
            continue;
        }
        let fresh = replay(&records[..n_records], None).unwrap();
        assert_eq!(moment.machine.view(), fresh.machine.view(), "{name} at {point}");
        assert_eq!((moment.stop, moment.time), (Some(fresh.stop), fresh.time), "{name} at {point}");
    }
    forward.len()
}

#[test]
fn every_example_goes_back_and_forward_again() {
    let n_points = for_each(&conversations(), async |path| {
        let conversation = Conversation::read(path, None);
        let (_, _, states) = conversation.record(PIECE).await;
        let name = &conversation.name;
        let (joined, unjoined) = (states.last().unwrap(), unjoined(&states));
        // Where a reply was cut into chunks is no difference.
        let [a, b] = [joined, &unjoined].map(|records| Timeline::new(records.clone()).unwrap());
        let difference = diff(&a, &b).unwrap();
        assert!(difference.then.iter().all(Vec::is_empty), "{name}: {:?}", difference.then);
        assert_eq!((difference.same_up_to[0].seq, difference.variables), (a.end().seq, Vec::new()), "{name}");
        check(name, joined, 1) + check(&format!("{name}, while it ran"), &unjoined, 5)
    });
    assert!(n_points > 4_500, "{n_points}");
}

#[test]
fn every_plan_of_the_examples_goes_back_and_forward_again() {
    let n_points = for_each(&in_folders(&["examples/plans"]), async |path| {
        let conversation = Conversation::read(path, None);
        let journal = MemoryJournal::new();
        let llm = Arc::new(IdealModel::learning(conversation.replies.clone(), Pace::whole()));
        let (world, executed) = conversation.world(llm);
        let session = conversation.start(world, journal.clone());
        let run = run(session, &conversation.lines, Ledger::default(), executed).await;
        let records = journal.snapshot();
        match Timeline::new(records.clone()) {
            // One is wrong on purpose, and some call tools that only the command line brings.
            Err(SessionError::Program(_)) => 0,
            Err(error) => panic!("{}: {error}", conversation.name),
            Ok(timeline) => {
                assert!(matches!(run.ending.outcome, Some(Outcome::Done { .. })), "{}", conversation.name);
                assert_eq!(timeline.at(timeline.end()).unwrap().machine.view(), *run.ending.view);
                check(&conversation.name, &records, 1)
            }
        }
    });
    assert!(n_points > 200, "{n_points}");
}

#[test]
fn every_case_of_the_machine_goes_back_and_forward_again() {
    let (mut n_points, mut n_journals) = (0, 0);
    for (chunking, every) in [(Chunking::Whole, 2), (Chunking::Size(7), 5)] {
        for (name, records) in journals(chunking).into_iter().step_by(every) {
            // Some cases tell a machine what no session would: late answers, timers that do not run.
            if Timeline::new(records.clone()).is_ok() {
                n_journals += 1;
                n_points += check(&name, &records, 1);
            }
        }
    }
    assert!(n_journals > 100 && n_points > 3_000, "{n_journals} journals, {n_points} points");
}
