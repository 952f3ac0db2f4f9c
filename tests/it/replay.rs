//! A session is a function of its journal: every prefix of every example's journal resumes to the same end, and
//! a fresh machine fed with it is the live one.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]
#![allow(clippy::print_stdout, reason = "how many points were tried is what one wants to know")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::replay::replay;

use crate::conversation::{Account, Conversation, Ledger, Run, Snapshots, holds_replies, run, settle, views};
use crate::ideal_model::{IdealModel, Known, Pace};

/// Replies arrive in pieces of so many bytes: each is a place where the process may stop.
const PIECE: usize = 8;

/// All golden conversations of the examples and of the crash tests.
fn conversations() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<PathBuf> = ["examples", "tests/cases/crash"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .filter(|path| holds_replies(path))
        .collect();
    found.sort();
    assert!(found.len() >= 6, "{found:?}");
    found
}

/// Runs a test for each conversation on a few threads, each on a paused clock; what they count, together.
pub(crate) fn for_each(paths: &[PathBuf], test: impl AsyncFn(&Path) -> usize + Sync) -> usize {
    let (next, n_tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
                    let n = runtime.block_on(test(path));
                    n_tried.fetch_add(n, Ordering::Relaxed);
                }
            });
        }
    });
    n_tried.load(Ordering::Relaxed)
}

/// How often a journal says that each call was begun, and which of them have ended.
fn calls(records: &[Record]) -> BTreeMap<u64, (usize, bool)> {
    let mut calls: BTreeMap<u64, (usize, bool)> = BTreeMap::new();
    for record in records {
        match &record.body {
            RecordBody::CallStarted { call, .. } => calls.entry(*call).or_default().0 += 1,
            RecordBody::CallEnded { call, .. } => calls.entry(*call).or_default().1 = true,
            _ => {}
        }
    }
    calls
}

fn knowing(conversation: &Conversation, known: &Known) -> Arc<IdealModel> {
    Arc::new(IdealModel::knowing(conversation.replies.clone(), known.clone(), Pace::whole()))
}

/// A model that knows its replies by heart cannot know which of them a trigger has cut short: it would say the rest
/// after a restart. What a restart makes of triggers is tested in `watcher.rs` and by `state` below.
fn is_cut_by_triggers(run: &Run) -> bool {
    run.ending.view.counters.trigger_matches > 0
}

/// The calls that were executed before and after a cut: each once, but for those that were under way.
fn check_executions(prefix: &[Record], run: &Run, expected: &Account, name: &str) {
    let before = calls(prefix);
    for call in expected.calls.keys() {
        let (n_begun, has_ended) = before.get(call).copied().unwrap_or_default();
        let n_again = run.executed.iter().filter(|executed| *executed == call).count();
        if n_begun == 0 && n_again == 0 {
            // A playbook's.
            continue;
        }
        let n_wanted = usize::from(!has_ended);
        assert_eq!(n_again, n_wanted, "{name}: executions of call {call}, begun before: {n_begun}");
    }
}

/// Every prefix of every journal, resumed with a model that goes on where it was.
#[test]
fn every_prefix_resumes_to_the_same_end() {
    let n_tried = for_each(&conversations(), async |path| {
        let conversation = Conversation::read(path, Some("idempotent"));
        let (golden, known, states) = conversation.record(PIECE).await;
        if is_cut_by_triggers(&golden) {
            return 0;
        }
        for (index, records) in states.iter().enumerate() {
            let last = serde_json::to_string(records.last().unwrap()).unwrap();
            let name = format!("{}, cut {index} after {last}", conversation.name);
            let journal = MemoryJournal::from_records(records.clone());
            let run = conversation.resume(journal.clone(), knowing(&conversation, &known)).await;
            assert_eq!(run.account, golden.account, "{name}");
            check_executions(records, &run, &golden.account, &name);
            // What the resumed session wrote is the session it left.
            let replayed = replay(&journal.snapshot(), None).unwrap();
            assert_eq!(replayed.machine.view(), *run.ending.view, "{name}");
        }
        println!("replay: {}: {} prefixes", conversation.name, states.len());
        states.len()
    });
    println!("replay: {n_tried} prefixes resumed to the same end");
    assert!(n_tried > 400);
}

/// Cut again and again: each process has a dozen events.
#[test]
fn many_crashes_in_a_row() {
    let n_tried = for_each(&conversations(), async |path| {
        let conversation = Conversation::read(path, Some("idempotent"));
        let (golden, known, states) = conversation.record(PIECE).await;
        if is_cut_by_triggers(&golden) {
            return 0;
        }
        let mut records = states[0].clone();
        let mut n_crashes = 0;
        loop {
            let name = format!("{}, crash {n_crashes}", conversation.name);
            let llm = Arc::new(IdealModel::knowing(conversation.replies.clone(), known.clone(), Pace::pieces(10)));
            let journal = Snapshots::from_records(records.clone());
            let after = journal.states.clone();
            let run = conversation.resume(journal, llm).await;
            assert_eq!(run.account, golden.account, "{name}");
            let after = after.lock().unwrap();
            // `reopened`, and what the next process will find.
            match after.get(9) {
                Some(further) => records = further.clone(),
                None => break,
            }
            n_crashes += 1;
            assert!(n_crashes < 500, "{name}: no way forward");
        }
        n_crashes
    });
    println!("replay: {n_tried} crashes in a row came to the same end");
    assert!(n_tried > 40);
}

/// A machine fed with a journal is the live one, at every moment at which the live one can be looked at.
#[test]
fn state() {
    let n_compared = for_each(&conversations(), async |path| {
        let conversation = Conversation::read(path, None);
        let journal = Snapshots::default();
        let states = journal.states.clone();
        let pace = Pace { delay: Duration::from_millis(3), ..Pace::pieces(PIECE) };
        let llm = Arc::new(IdealModel::learning(conversation.replies.clone(), pace));
        let (world, executed) = conversation.world(llm);
        let session = conversation.start(world, journal);
        let handle = session.handle();
        let ledger = Ledger::default();
        let (run, seen) = tokio::join!(run(session, &conversation.lines, ledger, executed), views(&handle, &states));
        let states = states.lock().unwrap();
        let (mut machine, mut fed) = (conversation.machine(), Ledger::default());
        settle(&mut machine, &mut fed);
        let mut n_compared = 0;
        for (index, records) in states.iter().enumerate() {
            let name = format!("{}, after {} appends", conversation.name, index + 1);
            let replayed = replay(records, None).unwrap().machine.view();
            // One event after the other, each chunk as it came.
            if index > 0 {
                let record = records.last().unwrap();
                machine.handle(record.timestamp(), record.body.to_event().unwrap());
                settle(&mut machine, &mut fed);
            }
            assert_eq!(replayed, machine.view(), "{name}");
            for (_, view) in seen.iter().filter(|(n_appends, _)| *n_appends == index + 1) {
                assert_eq!(replayed, **view, "{name}");
                n_compared += 1;
            }
        }
        assert_eq!(replay(states.last().unwrap(), None).unwrap().machine.view(), *run.ending.view);
        // One that never waits for a clock is over before it can be looked at.
        let is_short = states.len() < 5;
        assert!(
            is_short || n_compared * 4 >= states.len(),
            "{}: only {n_compared} of {}",
            conversation.name,
            states.len()
        );
        println!("replay: {}: {} states, {n_compared} views of the live machine", conversation.name, states.len());
        n_compared
    });
    println!("replay: {n_compared} views of live machines equal those of replayed ones");
}
