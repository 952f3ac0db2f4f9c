//! The machine alone, without any I/O: turns, explicit lines, references, snapshots.
//!
//! `cargo bench --bench machine`

#[path = "shared/conversation.rs"]
mod conversation;

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use playhouse::lang::{LoadOptions, SourceText, load};
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Effect, Event, Finish, Outcome, Progress, ReplyEnd, Timestamp, TurnId, Wait};
use playhouse::vm::{Begin, Machine};

use crate::conversation::{CONVERSATION, REPLY};

/// A machine and the little of the world that it needs.
#[derive(Clone)]
struct World {
    machine: Machine,
    now: i64,
    turn: Option<TurnId>,
    closed: Vec<TurnId>,
    n_said: usize,
}

impl World {
    fn new(program: &str) -> World {
        let root = SourceText { name: "bench.md".to_owned(), text: program.to_owned() };
        let options = LoadOptions { tools: &[], open_world: true, ..LoadOptions::default() };
        let loaded = load(vec![root], &mut |_| Err("none".to_owned()), &options);
        let settings = Settings { turns: u64::MAX, tokens: u64::MAX, ..Settings::default() };
        let machine = Machine::begin(Begin {
            program: Arc::new(loaded.program),
            settings,
            tools: Arc::new([]),
            entry: None,
            arguments: Map::new(),
            time: Timestamp(0),
        });
        World { machine, now: 0, turn: None, closed: Vec::new(), n_said: 0 }
    }

    fn handle(&mut self, event: Event) {
        self.now += 1;
        self.machine.handle(Timestamp(self.now), event);
    }

    /// Lets the machine move until it waits for something from outside.
    fn settle(&mut self) -> Result<Wait, Outcome> {
        loop {
            let stop = loop {
                match self.machine.advance() {
                    Progress::Emit(Effect::StartTurn(start)) => self.turn = Some(start.turn),
                    Progress::Emit(Effect::CloseReply { turn, .. }) => self.closed.push(turn),
                    Progress::Emit(Effect::Say { text, .. }) => self.n_said += text.len(),
                    Progress::Emit(effect) => {
                        black_box(effect);
                    }
                    Progress::Reached(place) => {
                        black_box(place);
                    }
                    Progress::Blocked(wait) => break Ok(wait),
                    Progress::Finished(outcome) => break Err(outcome),
                }
            };
            if let Some(turn) = self.closed.pop() {
                self.turn = None;
                self.handle(Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None });
            } else if stop == Ok(Wait::Budget) {
                self.handle(Event::GoOn);
            } else {
                return stop;
            }
        }
    }

    /// The model answers.
    fn reply(&mut self, reply: &str, size: usize) -> Result<Wait, Outcome> {
        let mut stop = self.settle();
        let Some(turn) = self.turn else { panic!("nothing is asked: {stop:?}") };
        for piece in reply.as_bytes().chunks(size) {
            self.handle(Event::Chunk { turn, bytes: piece.into() });
            stop = self.settle();
        }
        if self.turn == Some(turn) {
            self.turn = None;
            self.handle(Event::ReplyEnded { turn, end: ReplyEnd::Complete(Finish::Stop), usage: None });
            stop = self.settle();
        }
        stop
    }

    /// The user says something and the model answers.
    fn exchange(&mut self, reply: &str, size: usize) {
        self.handle(Event::Message { text: "43345678, please".into() });
        let stop = self.reply(reply, size);
        assert_eq!(stop, Ok(Wait::User));
    }
}

fn turns(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("turn");
    group.throughput(Throughput::Elements(1));
    for (name, size) in [("whole", usize::MAX), ("4-byte-chunks", 4)] {
        let mut world = World::new(CONVERSATION);
        assert_eq!(world.reply("{\"at\":\"01\",\"wait\":\"user\"}\n", size), Ok(Wait::User));
        group.bench_function(name, |bencher| bencher.iter(|| world.exchange(REPLY, size)));
    }
    group.finish();
}

fn explicit_lines(criterion: &mut Criterion) {
    const N_ROUNDS: u64 = 2_000;
    let program = |rest: &str| {
        format!(
            "# Count\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $n = 0\n- $total = 0\n\
             - While $n < {N_ROUNDS}\n  - $n = $n + 1\n  - $total = $total + $n * 2\n  - If $n > {N_ROUNDS}\n    \
             - $total = 0\n- Return $total\n{rest}"
        )
    };
    let many_lines: String = (0..500).fold(String::new(), |mut text, n| {
        let _ = write!(text, "\n## Other{n}\n### Steps\n- $own = {n}\n- Tell the user about $own\n");
        text
    });
    let long_playbook = format!(
        "# Count\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $n = 0\n- $total = 0\n\
         - While $n < {N_ROUNDS}\n  - $n = $n + 1\n  - $total = $total + $n * 2\n  - If $n > {N_ROUNDS}\n    \
         - $total = 0\n- Return $total\n{}",
        "- Tell the user about $total\n".repeat(1_000)
    );
    let mut group = criterion.benchmark_group("explicit lines");
    group.throughput(Throughput::Elements(4 * N_ROUNDS));
    let cases =
        [("alone", program("")), ("beside 500 playbooks", program(&many_lines)), ("before 1,000 lines", long_playbook)];
    for (name, text) in cases {
        let world = World::new(&text);
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || world.clone(),
                |mut world| assert!(matches!(world.settle(), Err(Outcome::Done { .. }))),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn calls(criterion: &mut Criterion) {
    const DEPTH: u64 = 100;
    let program = format!(
        "# Deep\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Sum({DEPTH})\n- Return $x\n\
         ## Sum($n)\n### Steps\n- If $n < 1, return 0\n- $m = $n - 1\n- $rest = Sum($m)\n- Return $rest + $n\n"
    );
    let world = World::new(&program);
    let mut group = criterion.benchmark_group("calls of playbooks");
    group.throughput(Throughput::Elements(DEPTH));
    group.bench_function("recursion, 100 deep", |bencher| {
        bencher.iter_batched(
            || world.clone(),
            |mut world| assert!(matches!(world.settle(), Err(Outcome::Done { .. }))),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn references(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("references");
    group.throughput(Throughput::Elements(1));
    let setup = concat!(
        r#"{"at":"01","set":{"order_id":"43345678","person":{"name":"Anna","street":"Elm","orders":[1,2,3]}}}"#,
        "\n",
        r#"{"at":"01","wait":"user"}"#,
        "\n",
    );
    let said = |reference: &str| {
        format!(
            "{{\"at\":\"01\",\"set\":{{\"order_id\":\"1\"}}}}\n{{\"at\":\"02\",\"say\":\"{}\"}}\n{{\"at\":\"01\",\"wait\":\"user\"}}\n",
            format!("It is {reference} now, ").repeat(20)
        )
    };
    let members: Vec<String> = (0..20).map(|n| format!("\"k{n}\":{{\"v\":\"$person.orders[1]\"}}")).collect();
    let set = |members: &str| {
        format!("{{\"at\":\"01\",\"set\":{{\"x\":{{{members}}}}}}}\n{{\"at\":\"01\",\"wait\":\"user\"}}\n")
    };
    let cases = [
        ("say, 20 of them", said("{$person.name}")),
        ("say, none in as many words", said("Anna, who is")),
        ("set, 20 of them", set(&members.join(","))),
        ("set, none in as many members", set(&members.join(",").replace("$person.orders[1]", "person.orders"))),
    ];
    for (name, reply) in cases {
        let mut world = World::new(CONVERSATION);
        assert_eq!(world.reply(setup, usize::MAX), Ok(Wait::User));
        group.bench_function(name, |bencher| bencher.iter(|| world.exchange(&reply, usize::MAX)));
    }
    group.finish();
}

/// Looking at a machine and copying it: three frames, 60 variables, a conversation.
fn snapshots(criterion: &mut Criterion) {
    let steps = (0..20).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "- $v{n} = \"value number {n}\"");
        text
    });
    let program = format!(
        "# A\n## One\n### Triggers\n- At the beginning\n### Steps\n{steps}- Two()\n- Tell the user about $v1\n\
         ## Two\n### Steps\n{}- Three()\n- Tell the user about $w1\n## Three\n### Steps\n{}\
         - Ask the user for $order_id\n- Tell the user about $order_id\n- Ask the user for $more and go back to step 21\n",
        steps.replace("$v", "$w"),
        steps.replace("$v", "$u"),
    );
    let mut world = World::new(&program);
    assert_eq!(world.reply("{\"at\":\"21\",\"wait\":\"user\"}\n", usize::MAX), Ok(Wait::User));
    for _ in 0..5 {
        world.exchange(
            "{\"at\":\"21\",\"say\":\"Tell me your number.\"}\n{\"at\":\"21\",\"wait\":\"user\"}\n",
            usize::MAX,
        );
    }
    let view = world.machine.view();
    assert_eq!(view.stack.len(), 3);
    assert!(view.stack.iter().map(|frame| frame.variables.len()).sum::<usize>() >= 60);
    criterion.bench_function("view, 3 frames and 60 variables", |bencher| bencher.iter(|| world.machine.view()));
    criterion.bench_function("clone, 3 frames and 60 variables", |bencher| bencher.iter(|| world.machine.clone()));
    // In the middle of a reply.
    world.handle(Event::Message { text: "43345678".into() });
    assert!(matches!(world.settle(), Ok(Wait::Reply(_))));
    criterion.bench_function("clone, in a turn", |bencher| bencher.iter(|| world.machine.clone()));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_secs(1));
    targets = turns, explicit_lines, calls, references, snapshots
}
criterion_main!(benches);
