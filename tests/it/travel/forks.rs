//! Forks: they go their own way behind their point, and nobody else's changes.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{EndWire, Record, RecordBody};
use playhouse::host::journal::wire::ForkedFrom;
use playhouse::host::llm::script::{Repeat, Script, ScriptEntry};
use playhouse::host::replay::{Stop, replay};
use playhouse::host::travel::{Changes, Edit, Fork, Point, Timeline, fork};
use playhouse::value::Value;
use playhouse::vm::Machine;
use playhouse::vm::protocol::view::View;
use playhouse::vm::protocol::{Effect, Fact, FrameId, Outcome, Progress, TurnId, Wait};

use crate::conversation::Conversation;
use crate::ideal_model::{IdealModel, Pace};
use crate::replay::for_each;
use crate::travel::cases::records;
use crate::travel::{PIECE, conversations, go_on, points, unjoined};
use crate::world::{Chunking, World, begin, parse, play};

/// A fork in which nothing is different comes to the same end, wherever it begins: also in the middle of a reply, with
/// calls under way and questions open.
#[test]
fn without_a_change_they_come_to_the_same_end() {
    let n_tried = for_each(&conversations(), async |path| {
        let conversation = Conversation::read(path, Some("idempotent"));
        let (golden, known, states) = conversation.record(PIECE).await;
        let mut n_tried = 0;
        // Replies in pieces are many records that are all alike: each thirty-sixth stands for them.
        for (records, every) in [(states.last().unwrap().clone(), 1), (unjoined(&states), 36)] {
            let timeline = Timeline::new(records.clone()).unwrap();
            // What lies between the points of one event is tried for each event once.
            for (index, point) in points(&timeline).into_iter().enumerate() {
                if point.seq % every != 0 {
                    continue;
                }
                let last = timeline.last_directive(point.seq).unwrap();
                if point.directive != last && index % 17 != 0 {
                    continue;
                }
                let name = format!("{}, at {point}", conversation.name);
                let forked = fork(&timeline, point, &Changes::default(), "s2".into()).unwrap();
                replay(&forked.records, None).unwrap_or_else(|error| panic!("{name}: {error}"));
                // A model that knows its replies by heart cannot know which of them a trigger has cut short.
                if golden.ending.view.counters.trigger_matches > 0 {
                    continue;
                }
                let llm = Arc::new(IdealModel::knowing(conversation.replies.clone(), known.clone(), Pace::whole()));
                let run = conversation.resume(MemoryJournal::from_records(forked.records), llm).await;
                assert_eq!(run.account, golden.account, "{name}");
                n_tried += 1;
            }
            assert_eq!(timeline.records(), records);
        }
        n_tried
    });
    assert!(n_tried > 100, "{n_tried}");
}

/// Forks with another value for a variable, and what had been asked for where they began.
#[derive(Debug, Default)]
struct Tried {
    n: usize,
    /// Inside of what an event set off.
    n_inside: usize,
    n_with_chunks: usize,
    n_with_calls: usize,
    n_with_verdicts: usize,
    /// Right behind a trigger's match.
    n_at_matches: usize,
    n_to_an_end: usize,
}

/// The first variable of the top frame, or else of the others.
fn some_variable(view: &View) -> Option<(Option<FrameId>, Arc<str>)> {
    let of_top =
        view.stack.last().and_then(|top| top.variables.first().map(|first| (Some(top.id), first.name.clone())));
    let agent = &view.stack.last()?.agent;
    let others = view.globals.iter().find(|(name, _)| name == agent).and_then(|(_, variables)| variables.first());
    of_top.or_else(|| others.map(|first| (None, first.name.clone())))
}

fn value_of(view: &View, frame: Option<FrameId>, name: &str) -> Option<Value> {
    let variables = match frame {
        Some(id) => view.stack.iter().find(|frame| frame.id == id).map(|frame| &frame.variables)?,
        None => {
            let agent = &view.stack.last()?.agent;
            view.globals.iter().find(|(name, _)| name == agent).map(|(_, variables)| variables)?
        }
    };
    variables.iter().find(|variable| &*variable.name == name).map(|variable| variable.value.value().clone())
}

fn is_match(progress: Option<&Progress>) -> bool {
    let fact = match progress {
        Some(Progress::Emit(Effect::Report(report))) => &report.fact,
        _ => return false,
    };
    matches!(fact, Fact::TriggerMatched { .. })
}

/// A model that ends the program whenever it is asked.
fn ender() -> Arc<Script> {
    let entry = ScriptEntry { repeat: Repeat::Always, ..ScriptEntry::reply("{\"end\":true}\n") };
    Arc::new(Script::from_entries("ender", vec![entry]))
}

/// Another value at a point changes nothing before it, is seen behind it, and the session comes to an end with a model.
#[test]
fn an_edit_takes_effect_at_its_point_and_not_before() {
    let tried = Mutex::new(Tried::default());
    for_each(&conversations(), async |path| {
        let conversation = Conversation::read(path, Some("idempotent"));
        let (_, _, states) = conversation.record(PIECE).await;
        for (records, every) in [(states.last().unwrap().clone(), 19), (unjoined(&states), 37)] {
            let timeline = Timeline::new(records.clone()).unwrap();
            for (index, point) in points(&timeline).into_iter().enumerate() {
                let moment = timeline.at(point).unwrap();
                let is_match = is_match(moment.progress.as_ref());
                if index % every != 0 && !is_match {
                    continue;
                }
                let name = format!("{}, at {point}", conversation.name);
                let before = moment.machine.view();
                let Some((frame, variable)) = some_variable(&before) else { continue };
                let edit = Edit { frame, name: variable.clone(), value: Value::str("edited") };
                let changes = Changes { edits: vec![edit], records: Vec::new() };
                let forked = fork(&timeline, point, &changes, "s2".into()).unwrap();
                let travelled = Timeline::new(forked.records.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
                // The state that was left, the edit, and nothing else.
                let last = forked.n_kept as u64 - 1;
                let left = travelled.at(Point::new(last, travelled.last_directive(last).unwrap())).unwrap();
                assert_eq!(left.machine.view(), before, "{name}");
                let after = travelled.at(forked.point).unwrap().machine.view();
                assert_eq!(value_of(&after, frame, &variable), Some(Value::str("edited")), "{name}");
                let same =
                    if forked.n_kept == records.len().min(point.seq as usize) + 1 { point.seq as usize } else { 1 };
                assert_eq!(forked.records[1..same], records[1..same], "{name}");
                let mut tried_now = Tried { n: 1, ..Tried::default() };
                tried_now.n_inside = usize::from(moment.stop.is_none());
                tried_now.n_at_matches = usize::from(is_match);
                for answer in &forked.records[forked.n_kept..] {
                    match answer.body {
                        RecordBody::Chunk { .. } => tried_now.n_with_chunks = 1,
                        RecordBody::CallEnded { .. } => tried_now.n_with_calls = 1,
                        RecordBody::Verdict { .. } => tried_now.n_with_verdicts = 1,
                        _ => {}
                    }
                }
                if index % 3 == 0 {
                    let (ending, written) = go_on(&conversation, &forked.records, ender()).await;
                    assert_eq!(replay(&written, None).unwrap().machine.view(), *ending.view, "{name}");
                    assert!(ending.outcome.is_some(), "{name}: {:?}", ending.view.wait);
                    tried_now.n_to_an_end = 1;
                    // Its own past, with an edit in the middle of something, is a past like any other.
                    if index % 4 == 0 {
                        crate::travel::points::check(&name, &written, 5);
                        let again = Timeline::new(written.to_vec()).unwrap();
                        let twice = fork(&again, again.end(), &Changes::default(), "s3".into()).unwrap();
                        assert_eq!(twice.records[1..], written[1..], "{name}");
                    }
                }
                tried.lock().unwrap().add(&tried_now);
            }
            assert_eq!(timeline.records(), records);
        }
        0
    });
    let tried = tried.into_inner().unwrap();
    println!("{tried:?}");
    assert!(tried.n > 150 && tried.n_inside > 80 && tried.n_with_chunks > 20, "{tried:?}");
    assert!(tried.n_with_calls > 4 && tried.n_with_verdicts > 0 && tried.n_at_matches > 0, "{tried:?}");
    assert!(tried.n_to_an_end > 30, "{tried:?}");
}

impl Tried {
    fn add(&mut self, more: &Tried) {
        self.n += more.n;
        self.n_inside += more.n_inside;
        self.n_with_chunks += more.n_with_chunks;
        self.n_with_calls += more.n_with_calls;
        self.n_with_verdicts += more.n_with_verdicts;
        self.n_at_matches += more.n_at_matches;
        self.n_to_an_end += more.n_to_an_end;
    }
}

/// A program whose trigger cuts a reply off, if `$n` is more than `$limit`.
const BIG: &str = r#"--- program
# A
variables:
  limit: {type: int, value: 3}

Likes numbers.
## Main
### Triggers
- At the beginning
### Steps
- Think of a number $n:int
- Say something nice
- Return $n
## Big
### Triggers
- When $n > $limit
### Steps
- Say "That is big."
--- chunk
{"at":"01","set":{"n":NUMBER}}
"#;

/// The timeline of the program with this number and what follows, and the point behind the update of `$n`.
fn big(number: i64, rest: &str) -> (Timeline, Point) {
    let case = parse(&(BIG.replace("NUMBER", &number.to_string()) + rest));
    let world = play(World::new(begin(&case)), &case, Chunking::Whole);
    let timeline = Timeline::new(records(&case, &world)).unwrap();
    let mut found = None;
    let mut visit = |_: &Machine, point, progress: &Progress| match progress {
        Progress::Emit(Effect::Report(report)) if matches!(&report.fact, Fact::VariableSet { name, .. } if &**name == "n") =>
        {
            found = Some(point);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    timeline.walk(timeline.start(), timeline.end(), &mut visit).unwrap();
    (timeline, found.unwrap())
}

fn with(timeline: &Timeline, point: Point, name: &str, value: i64) -> Fork {
    let frame = (name == "n").then(|| timeline.at(point).unwrap().machine.view().stack[0].id);
    let edit = Edit { frame, name: name.into(), value: Value::Int(value) };
    fork(timeline, point, &Changes { edits: vec![edit], records: Vec::new() }, "s2".into()).unwrap()
}

fn said(records: &[Record]) -> Vec<String> {
    let view = replay(records, None).unwrap().machine.view();
    view.conversation.iter().map(|utterance| utterance.text.to_string()).collect()
}

/// The original's reply was cut off by a trigger that does not fire in the fork: what is missing of it is asked again.
#[test]
fn a_reply_that_only_the_original_cut_off_is_still_open() {
    let (timeline, point) = big(7, "--- reply\n{\"at\":\"02\",\"say\":\"Nice.\"}\n{\"at\":\"03\"}\n");
    assert_eq!(said(timeline.records()), ["That is big.", "Nice."]);
    let cut = &timeline.records()[2].body;
    assert_eq!(*cut, RecordBody::ReplyEnded { turn: 1, end: EndWire::Closed, usage: None });
    // Behind the update the machine has made up its mind: the fork's reply is cut off, too.
    let forked = with(&timeline, point, "n", 1);
    let RecordBody::Edited { after, .. } = &forked.records[forked.n_kept - 1].body else { panic!("no edit") };
    assert_eq!(*after, Some(point.directive));
    assert_eq!(forked.records[forked.n_kept..].iter().map(|record| &record.body).collect::<Vec<_>>(), [cut]);
    // Before it, the number is not big if the limit is higher.
    let before = Point::new(1, timeline.last_directive(1).unwrap());
    let forked = with(&timeline, before, "limit", 10);
    let answers: Vec<&RecordBody> = forked.records[forked.n_kept..].iter().map(|record| &record.body).collect();
    assert_eq!(answers, [&timeline.records()[1].body]);
    let replayed = replay(&forked.records, None).unwrap();
    assert_eq!(replayed.stop, Stop::Blocked(Wait::Reply(TurnId(1))));
    assert_eq!(said(&forked.records), [""; 0]);
}

/// The fork's trigger cuts a reply off that the original has read to its end: the rest does not come.
#[test]
fn a_reply_that_only_the_fork_cuts_off_is_closed() {
    let rest = "--- chunk\n{\"at\":\"02\",\"say\":\"Nice.\"}\n--- reply\n{\"at\":\"03\"}\n";
    let (timeline, _) = big(1, rest);
    assert_eq!(said(timeline.records()), ["Nice."]);
    let before = Point::new(1, timeline.last_directive(1).unwrap());
    let forked = with(&timeline, before, "limit", 0);
    let answers: Vec<&RecordBody> = forked.records[forked.n_kept..].iter().map(|record| &record.body).collect();
    let closed = RecordBody::ReplyEnded { turn: 1, end: EndWire::Closed, usage: None };
    assert_eq!(answers, [&timeline.records()[1].body, &closed]);
    assert_eq!(said(&forked.records), ["That is big."]);
    // Where the trigger stays quiet, all of it comes.
    let unchanged = with(&timeline, before, "limit", 2);
    assert_eq!(said(&unchanged.records), ["Nice."]);
    let replayed = replay(&unchanged.records, None).unwrap();
    assert!(matches!(replayed.stop, Stop::Finished(Outcome::Done { value }) if *value.value() == Value::Int(1)));
}

/// Several edits take effect together, before the machine moves; what the caller adds comes behind them.
#[test]
fn several_changes_are_one_point() {
    let (timeline, point) = big(1, "--- reply\n{\"at\":\"02\",\"say\":\"Nice.\"}\n{\"at\":\"03\"}\n");
    let frame = timeline.at(point).unwrap().machine.view().stack[0].id;
    let edit = |name: &str, n| Edit { frame: Some(frame), name: name.into(), value: Value::Int(n) };
    let changes = Changes {
        edits: vec![edit("n", 2), edit("n", 3), edit("m", 3)],
        records: vec![RecordBody::Message { text: "Hello".into(), id: None, by: None }],
    };
    let forked = fork(&timeline, point, &changes, "s2".into()).unwrap();
    let afters: Vec<_> = forked.records[..forked.n_kept].iter().map(|record| record.body.after()).collect();
    let expected = [Some(point.directive), Some(0), Some(0), None];
    assert_eq!(afters[afters.len() - 4..], expected);
    assert_eq!(forked.point, Point::new(forked.n_kept as u64, 0));
    assert_eq!(forked.records[forked.n_kept - 1].body, changes.records[0]);
    assert_eq!(said(&forked.records), ["Nice."]);
    let RecordBody::Begun(begun) = &forked.records[0].body else { panic!("no beginning") };
    let from = ForkedFrom { session: "s1".into(), seq: point.seq, directive: point.directive };
    assert_eq!((&*begun.session, &begun.forked_from), ("s2", &Some(from)));
}

#[test]
fn what_is_not_there_is_told() {
    let (timeline, point) = big(1, "");
    let fault = |point, frame| {
        let edit = Edit { frame: Some(FrameId(frame)), name: "n".into(), value: Value::Null };
        let changes = Changes { edits: vec![edit], records: Vec::new() };
        fork(&timeline, point, &changes, "s2".into()).unwrap_err().to_string()
    };
    assert_eq!(fault(point, 7), format!("there is no frame 7 at {point}; there are: 1"));
    let end = timeline.end();
    let far = Point::new(end.seq + 1, 0);
    assert_eq!(fault(far, 1), format!("there is no point {far}: the session goes from 1.0 to {end}"));
    let deep = Point::new(end.seq, end.directive + 1);
    assert_eq!(fault(deep, 1), format!("there is no point {deep}: after record {} come {0}.0 to {end}", end.seq));
}

/// A journal without its secrets can be looked at; a fork of it could not go on.
#[test]
fn a_fork_needs_the_secrets() {
    let (timeline, point) = big(1, "");
    let mut records = timeline.records().to_vec();
    let RecordBody::Begun(begun) = &mut records[0].body else { panic!("no beginning") };
    begun.secrets = vec!["pin".into()];
    begun.arguments = Value::map([("pin".into(), Value::str("***"))].into_iter().collect());
    let masked = Timeline::new(records).unwrap();
    let fault = fork(&masked, point, &Changes::default(), "s2".into()).unwrap_err().to_string();
    assert!(fault.contains("(record 1 has one)"), "{fault}");
}
