//! Whoever hears a session's records one by one tells the same of it as whoever has them all.

use std::sync::Arc;

use playhouse::host::events::PublicEvent;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::Record;
use playhouse::host::program::ProgramCache;
use playhouse::host::session::SessionError;
use playhouse::host::travel::{Changes, Edit, Retelling, Timeline, fork, whole_history};
use playhouse::value::Value;

use crate::conversation::{Conversation, Ledger, run};
use crate::ideal_model::{IdealModel, Pace};
use crate::replay::for_each;
use crate::travel::cases::journals;
use crate::travel::{conversations, in_folders, points, unjoined};
use crate::world::Chunking;

/// What a journal says, record by record: as many events as the journal itself tells, and the same.
fn check(name: &str, records: &[Record], programs: &ProgramCache) -> usize {
    let told = whole_history(records).unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected: Vec<PublicEvent> = told.into_iter().map(|step| step.event).collect();
    let expected: Vec<&PublicEvent> = expected
        .iter()
        .enumerate()
        .filter(|(index, event)| *index == 0 || event.mark.is_some())
        .map(|(_, event)| event)
        .collect();
    let (mut retelling, mut heard) = Retelling::begin(&records[0], records.get(1), programs).unwrap();
    for (index, record) in records.iter().enumerate().skip(1) {
        let next = records.get(index + 1);
        if let Some(next) = next {
            assert!(retelling.add(next, None).is_err(), "{name}: {} is missing", record.seq);
        }
        heard.extend(retelling.add(record, next).unwrap_or_else(|error| panic!("{name}: {error}")));
        assert_eq!(retelling.next_seq(), record.seq + 1, "{name}");
        for again in &records[index / 2..=index] {
            assert_eq!(retelling.add(again, next).unwrap(), [], "{name}: {} a second time", again.seq);
        }
    }
    // Numbers count what a process tells, also what has no mark.
    let without_numbers = |event: &PublicEvent| PublicEvent { seq: 0, ..event.clone() };
    let heard: Vec<PublicEvent> = heard.iter().map(without_numbers).collect();
    let expected: Vec<PublicEvent> = expected.into_iter().map(without_numbers).collect();
    for (heard, expected) in heard.iter().zip(&expected) {
        assert_eq!(heard, expected, "{name}");
    }
    assert_eq!(heard.len(), expected.len(), "{name}");
    assert_eq!(Some(retelling.mark()), expected.iter().rev().find_map(|event| event.mark), "{name}");
    heard.len()
}

#[test]
fn examples_are_told_record_by_record() {
    let n_events = for_each(&conversations(), async |path| {
        let (conversation, programs) = (Conversation::read(path, None), ProgramCache::default());
        let mut n_events = 0;
        for n_bytes in [3, 1_000_000] {
            let (_, _, states) = conversation.record(n_bytes).await;
            let name = format!("{}, {n_bytes} bytes each", conversation.name);
            n_events += check(&name, states.last().unwrap(), &programs) + check(&name, &unjoined(&states), &programs);
        }
        n_events
    });
    assert!(n_events > 1_000, "{n_events}");
}

#[test]
fn plans_are_told_record_by_record() {
    let n_events = for_each(&in_folders(&["examples/plans"]), async |path| {
        let conversation = Conversation::read(path, None);
        let journal = MemoryJournal::new();
        let llm = Arc::new(IdealModel::learning(conversation.replies.clone(), Pace::pieces(5)));
        let (world, executed) = conversation.world(llm);
        let session = conversation.start(world, journal.clone());
        run(session, &conversation.lines, Ledger::default(), executed).await;
        let records = journal.snapshot();
        match whole_history(&records) {
            // One is wrong on purpose, and some call tools that only the command line brings.
            Err(SessionError::Program(_)) => 0,
            _ => check(&conversation.name, &records, &ProgramCache::default()),
        }
    });
    assert!(n_events > 20, "{n_events}");
}

#[test]
fn cases_of_the_machine_are_told_record_by_record() {
    let (programs, mut n_journals) = (ProgramCache::default(), 0);
    for chunking in [Chunking::Whole, Chunking::Size(5)] {
        for (name, records) in journals(chunking) {
            // Some cases tell a machine what no session would: late answers, timers that do not run.
            if Timeline::new(records.clone()).is_ok() {
                n_journals += 1;
                check(&name, &records, &programs);
            }
        }
    }
    assert!(n_journals > 200, "{n_journals}");
}

/// A variable is changed in the middle of what a record has set off.
#[test]
fn forks_are_told_record_by_record() {
    let n_inside = for_each(&conversations(), async |path| {
        let (conversation, programs) = (Conversation::read(path, None), ProgramCache::default());
        let (_, _, states) = conversation.record(7).await;
        let timeline = Timeline::new(states.last().unwrap().clone()).unwrap();
        let mut n_inside = 0;
        for point in points(&timeline).into_iter().step_by(5) {
            let view = timeline.at(point).unwrap().machine.view();
            let Some((frame, variable)) =
                view.stack.last().and_then(|top| top.variables.first().map(|first| (Some(top.id), first.name.clone())))
            else {
                continue;
            };
            let edit = Edit { frame, name: variable, value: Value::str("x") };
            let changes = Changes { edits: vec![edit], ..Changes::default() };
            let Ok(forked) = fork(&timeline, point, &changes, "s2".into()) else { continue };
            let name = format!("{} at {point}", conversation.name);
            check(&name, &forked.records, &programs);
            n_inside += usize::from(forked.records.iter().any(|record| record.body.after().is_some()));
        }
        n_inside
    });
    assert!(n_inside > 20, "{n_inside}");
}
