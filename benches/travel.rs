//! Time travel over 10,000 events: one step back from any place, and what the keyframes take.
//!
//! `cargo bench --bench travel`
#![allow(clippy::print_stdout, reason = "a bench prints")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a bench reads the time")]

#[path = "shared/conversation.rs"]
mod conversation;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use playhouse::host::journal::record::{Begun, FORMAT, Record, RecordBody};
use playhouse::host::journal::wire::{FileWire, ToolWire};
use playhouse::host::travel::{Changes, Point, Timeline, diff, fork};
use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::lang::{LoadOptions, SourceText, load};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{
    CallId, CallOutcome, Effect, EffectClass, Event, Finish, Progress, ReplyEnd, Timestamp, ToolSignature, TurnId, Wait,
};
use playhouse::vm::{Begin, Machine};

use crate::conversation::{CONVERSATION, REPLY};

/// So many events.
const N_EVENTS: usize = 10_000;

/// So many steps back.
const N_STEPS: usize = 100;

/// A program that works, with a tool and without a model: a call in each round.
const WORK: &str = "\
# Count
Counts.
## Main
### Triggers
- At the beginning
### Steps
- $n = 0
- $total = 0
- While $n < 1000000
  - $n = $n + 1
  - $found = Get($n)
  - $total = $total + $n
  - If $total > 1000
    - $total = Less($total)
## Less($what: int) -> int
### Steps
- $rest = $what - 1000
- Return $rest
";

fn main() {
    row("a conversation, replies joined as journals keep them", conversation(usize::MAX));
    row("a conversation, replies in pieces of 4 characters", conversation(4));
    row("a program that works: lines, calls of playbooks and a tool", work());
}

fn row(what: &str, records: Vec<Record>) {
    assert!(records.len() >= N_EVENTS, "{}", records.len());
    let copy = records.clone();
    let before = resident_kib();
    let start = Instant::now();
    let timeline = Timeline::new(copy).unwrap_or_else(|error| panic!("{error}"));
    let followed = start.elapsed();
    let kept = resident_kib().saturating_sub(before);
    let points: Vec<Point> = (1..=records.len() as u64)
        .flat_map(|seq| {
            (0..=timeline.last_directive(seq).unwrap_or(0)).map(move |directive| Point::new(seq, directive))
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(1);
    let mut steps: Vec<Duration> = (0..N_STEPS)
        .map(|_| {
            let index = random.usize(1..points.len());
            let start = Instant::now();
            black_box(timeline.at(points[index - 1]).unwrap_or_else(|error| panic!("{error}")));
            start.elapsed()
        })
        .collect();
    steps.sort();
    let start = Instant::now();
    let mut n_moves = 0_u64;
    for (from, to) in timeline.segments(timeline.end()).unwrap_or_else(|error| panic!("{error}")) {
        let mut visit = |_: &Machine, _, _: &Progress| {
            n_moves += 1;
            ControlFlow::Continue(())
        };
        timeline.walk(from, to, &mut visit).unwrap_or_else(|error| panic!("{error}"));
    }
    let searched = start.elapsed();
    let start = Instant::now();
    let middle = points[points.len() / 2];
    let forked = fork(&timeline, middle, &Changes::default(), "fork".into()).unwrap_or_else(|error| panic!("{error}"));
    let forking = start.elapsed();
    let other = Timeline::new(forked.records).unwrap_or_else(|error| panic!("{error}"));
    let start = Instant::now();
    black_box(diff(&timeline, &other).unwrap_or_else(|error| panic!("{error}")));
    let compared = start.elapsed();
    println!("{what}: {} events, {} points", records.len(), points.len());
    println!("  timeline made in {followed:.1?}; {} keyframes, {kept} KiB beside the records", timeline.n_keyframes());
    println!("  one step back: median {:.2?}, worst of {N_STEPS} {:.2?}", steps[N_STEPS / 2], steps[N_STEPS - 1]);
    println!("  search back to the beginning: {searched:.1?} for {n_moves} moves");
    println!("  fork in the middle: {forking:.1?}; diff with it: {compared:.1?}");
}

/// A machine and the records of what happens to it.
struct World {
    machine: Machine,
    records: Vec<Record>,
    turn: Option<TurnId>,
    closed: Vec<TurnId>,
    asked: Vec<(CallId, u32)>,
}

impl World {
    fn new(program: &str, tools: Vec<ToolSignature>) -> World {
        let root = SourceText { name: "bench.md".to_owned(), text: program.to_owned() };
        let signatures: Vec<Signature> = tools.iter().map(|tool| tool.signature.clone()).collect();
        let options = LoadOptions { tools: &signatures, ..LoadOptions::default() };
        let loaded = load(vec![root], &mut |_| Err("none".to_owned()), &options);
        let settings = Settings { turns: 1_000_000, tokens: 1_000_000_000_000, ..Settings::default() };
        let file = FileWire { name: "bench.md".into(), text: program.into(), imports: Default::default() };
        let begun = Begun {
            format: FORMAT,
            session: "bench".into(),
            forked_from: None,
            model: "script:bench".into(),
            classifier: None,
            hash: String::new(),
            roots: vec!["bench.md".into()],
            files: vec![file],
            settings: settings.clone(),
            tools: tools.iter().map(ToolWire::from_tool).collect(),
            entry: None,
            arguments: Value::map(Map::new()),
            secrets: Vec::new(),
            given: Default::default(),
            trace_parent: None,
        };
        let machine = Machine::begin(Begin {
            program: loaded.program.into(),
            settings,
            tools: tools.into(),
            entry: None,
            arguments: Map::new(),
            time: Timestamp(0),
        });
        let records = vec![Record { seq: 1, time: 0, body: RecordBody::Begun(Box::new(begun)) }];
        World { machine, records, turn: None, closed: Vec::new(), asked: Vec::new() }
    }

    fn handle(&mut self, event: Event) {
        let seq = self.records.len() as u64 + 1;
        let time = i64::try_from(seq).unwrap_or(i64::MAX);
        self.records.push(Record { seq, time, body: RecordBody::from_event(&event).unwrap() });
        self.machine.handle(Timestamp(time), event);
    }

    /// Lets the machine move until it waits for something from outside.
    fn settle(&mut self) -> Wait {
        loop {
            let wait = loop {
                match self.machine.advance() {
                    Progress::Emit(Effect::StartTurn(start)) => self.turn = Some(start.turn),
                    Progress::Emit(Effect::CloseReply { turn, .. }) => self.closed.push(turn),
                    Progress::Emit(Effect::StartCall(call)) => self.asked.push((call.call, call.attempt)),
                    Progress::Emit(_) | Progress::Reached(_) => {}
                    Progress::Blocked(wait) => break wait,
                    Progress::Finished(outcome) => panic!("{outcome:?}"),
                }
            };
            if let Some(turn) = self.closed.pop() {
                self.turn = None;
                self.handle(Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None });
            } else if wait == Wait::Budget {
                self.handle(Event::GoOn);
            } else {
                return wait;
            }
        }
    }

    /// The model answers.
    fn reply(&mut self, reply: &str, size: usize) {
        let wait = self.settle();
        let Some(turn) = self.turn else { panic!("nothing is asked: {wait:?}") };
        for piece in reply.as_bytes().chunks(size) {
            if self.turn != Some(turn) {
                break;
            }
            self.handle(Event::Chunk { turn, bytes: piece.into() });
            self.settle();
        }
        if self.turn == Some(turn) {
            self.turn = None;
            self.handle(Event::ReplyEnded { turn, end: ReplyEnd::Complete(Finish::Stop), usage: None });
        }
        assert_eq!(self.settle(), Wait::User);
    }
}

fn conversation(size: usize) -> Vec<Record> {
    let mut world = World::new(CONVERSATION, Vec::new());
    world.reply("{\"at\":\"01\",\"wait\":\"user\"}\n", size);
    while world.records.len() < N_EVENTS {
        world.handle(Event::Message { text: "43345678, please".into() });
        world.reply(REPLY, size);
    }
    world.records
}

fn work() -> Vec<Record> {
    let parameter = Parameter { name: "n".into(), ty: Type::ANY, default: None, description: "".into(), span: None };
    let signature =
        Signature { name: "Get".into(), parameters: vec![parameter], returns: Type::ANY, summary: "gets".into() };
    let mut world = World::new(WORK, vec![ToolSignature::new(signature, EffectClass::ReadOnly)]);
    while world.records.len() < N_EVENTS {
        let wait = world.settle();
        let Some((call, attempt)) = world.asked.pop() else { panic!("nothing is called: {wait:?}") };
        world.handle(Event::CallStarted { call, attempt });
        world.settle();
        let outcome = CallOutcome::Value { value: Value::str("found"), secret: false };
        world.handle(Event::CallEnded { call, outcome, usage: None });
    }
    world.records
}

/// The process' memory. Linux only; elsewhere nothing is said of it.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
