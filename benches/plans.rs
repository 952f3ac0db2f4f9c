//! How long plans take. Checking one of 100,000 instructions is to take less than a second; a machine is to execute
//! 2 million instructions in one; calls that are independent are to be over when the longest of them is.
//!
//! `cargo bench --bench plans`
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a benchmark looks at the clock")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use playhouse::host::classify::off::Off;
use playhouse::host::clock::SystemClock;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::llm::script::Script;
use playhouse::host::program::load_texts;
use playhouse::host::session::{Session, SessionOptions, Start, World};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome};
use playhouse::lang::plan::json::Dialect;
use playhouse::lang::plan::{Surroundings, check_calls, decode};
use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::lang::{LoadOptions, SourceText, load};
use playhouse::span::FileId;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{EffectClass, Event, Outcome, Progress, Timestamp, ToolSignature, Wait};
use playhouse::vm::{Begin, Machine};

const N_INSTRUCTIONS: usize = 100_000;

/// Assignments, calls with nested references, conditional jumps, all that dialect A has.
fn jmp_plan(n: usize) -> String {
    let mut text = "[".to_owned();
    for n in 0..n - 1 {
        let (kind, parameters) = match n % 4 {
            0 => ("assign", format!("{{\"a{n}\": {n}, \"b{n}\": \"${{a{n}}} and so on\"}}")),
            1 => {
                let params =
                    format!("{{\"query\": \"about ${{b{}}}\", \"filter\": {{\"tags\": [\"${{a0}}\"]}}}}", n - 1);
                ("calling", format!("{{\"tool\": \"search\", \"params\": {params}, \"output_vars\": \"r{n}\"}}"))
            }
            2 => {
                let prompt = format!("Is ${{r{}}}\\nenough?", n - 1);
                (
                    "jmp",
                    format!(
                        "{{\"condition_prompt\": \"{prompt}\", \"jump_if_true\": {}, \"jump_if_false\": 0}}",
                        n + 1
                    ),
                )
            }
            _ => ("reasoning", "{\"chain_of_thoughts\": \"Line one\nline two\"}".to_owned()),
        };
        let _ = writeln!(text, "{{\"seq_no\": {n}, \"type\": \"{kind}\", \"parameters\": {parameters}}},");
    }
    let _ = write!(text, "{{\"seq_no\": {}, \"type\": \"assign\", \"parameters\": {{\"final_answer\": 1}}}}]", n - 1);
    text
}

/// Conditions with two calls each, ten deep again and again.
fn branch_plan(n: usize) -> String {
    let mut text = "[".to_owned();
    let mut number = 0;
    while number < n {
        let depth = 10;
        for _ in 0..depth {
            let _ = write!(
                text,
                "{{\"seq_no\": {number}, \"type\": \"llm_generate\", \"parameters\": \
                 {{\"prompt\": \"more than {{{{v}}}}\", \"context\": null, \"output_var\": \"v\"}}}},\n\
                 {{\"seq_no\": {}, \"type\": \"condition\", \"parameters\": {{\"prompt\": {{\"var\": \"v\"}}, \"true_branch\": [",
                number + 1
            );
            number += 2;
        }
        let _ = write!(
            text,
            "{{\"seq_no\": {number}, \"type\": \"assign\", \"parameters\": {{\"value\": [1, null], \"var_name\": \"final_answer\"}}}}"
        );
        number += 1;
        text.push_str(&"], \"false_branch\": []}}".repeat(depth));
        text.push_str(if number < n { ",\n" } else { "]" });
    }
    text
}

fn tool(name: &str, parameters: &[&str]) -> Signature {
    let parameter = |name: &&str| Parameter {
        name: (*name).into(),
        ty: Type::ANY,
        default: Some(playhouse::value::Value::Null),
        description: "".into(),
        span: None,
    };
    Signature {
        name: name.into(),
        parameters: parameters.iter().map(parameter).collect(),
        returns: Type::ANY,
        summary: "".into(),
    }
}

/// Reads and checks a plan, and gives how many instructions it has.
fn check(text: &str, dialect: Dialect) -> usize {
    let (plan, mut diagnostics) = decode(FileId(0), "bench.json", text, Some(dialect));
    let plan = plan.expect("a plan");
    let callables = |name: &str| match name {
        "search" => Some(tool("search", &["query", "filter"])),
        "llm_generate" => Some(tool("llm_generate", &["prompt", "context"])),
        _ => None,
    };
    let around = Surroundings { text, callables: &callables, candidates: &[], open_world: false, given: &|_| false };
    diagnostics.extend(check_calls(&plan, &around));
    assert!(diagnostics.is_empty(), "{:?}", diagnostics.first());
    plan.nodes.len()
}

fn plans(criterion: &mut Criterion) {
    let cases = [
        ("checking a plan of 100,000 instructions, jmp", Dialect::Jmp, jmp_plan(N_INSTRUCTIONS)),
        ("checking a plan of 100,000 instructions, branch", Dialect::Branch, branch_plan(N_INSTRUCTIONS)),
    ];
    let mut group = criterion.benchmark_group("plans");
    group.sample_size(10);
    for (name, dialect, text) in &cases {
        assert!(check(text, *dialect) >= N_INSTRUCTIONS);
        group.bench_function(*name, |bencher| bencher.iter(|| check(black_box(text), *dialect)));
    }
}

/// Without end: a reference is copied, and back.
const LOOP: &str = r#"[
  {"seq_no": 0, "type": "assign", "parameters": {"a": {"rows": [1, 2, 3]}}},
  {"seq_no": 1, "type": "assign", "parameters": {"b": "${a}"}},
  {"seq_no": 2, "type": "jmp", "parameters": {"target_seq": 1}},
  {"seq_no": 3, "type": "assign", "parameters": {"final_answer": "${b}"}}
]"#;

const N_STEPS: u64 = 2_000_000;

fn machine(name: &str, text: &str, settings: Settings) -> Machine {
    let root = SourceText { name: name.to_owned(), text: text.to_owned() };
    let loaded =
        load(vec![root], &mut |_| Err("none".to_owned()), &LoadOptions { tools: &[], ..LoadOptions::default() });
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics.first());
    let (program, tools) = (Arc::new(loaded.program), Arc::new([]));
    Machine::begin(Begin { program, settings, tools, entry: None, arguments: Map::new(), time: Timestamp(0) })
}

/// Advances to the end; gives how many places of the plan it has reached.
fn run(machine: &mut Machine) -> (Outcome, u64) {
    let mut n_reached = 0;
    loop {
        match machine.advance() {
            Progress::Emit(effect) => drop(black_box(effect)),
            Progress::Reached(_) => n_reached += 1,
            Progress::Blocked(Wait::Budget) => machine.handle(Timestamp(0), Event::GoOn),
            Progress::Blocked(wait) => panic!("it waits for {wait:?}"),
            Progress::Finished(outcome) => return (outcome, n_reached),
        }
    }
}

fn instructions(criterion: &mut Criterion) {
    let settings = Settings { plan_steps: N_STEPS, ..Settings::default() };
    let begun = machine("loop.jmp.json", LOOP, settings);
    let mut group = criterion.benchmark_group("plans");
    group.sample_size(10).throughput(Throughput::Elements(N_STEPS));
    group.bench_function("2,000,000 instructions: assign, jmp", |bencher| {
        bencher.iter_batched_ref(
            || begun.clone(),
            |machine| {
                let (outcome, n_reached) = run(machine);
                assert!(matches!(outcome, Outcome::Failed(fault) if fault.message.contains("plan_steps")));
                assert_eq!(n_reached, N_STEPS + 1);
            },
            BatchSize::PerIteration,
        );
    });
}

/// `n` aliases between one and the result; each needs the one.
fn diamond(n: usize) -> String {
    let mut text = "top: word\n".to_owned();
    for index in 0..n {
        let _ = writeln!(text, "a{index}: ${{top}} {index}");
    }
    let names: Vec<String> = (0..n).map(|index| format!("a{index}")).collect();
    let _ = writeln!(text, "left: ${{[{0}]}}\nright: ${{[{0}]}}\nresult: ${{[left, right]}}", names.join(", "));
    text
}

fn diamonds(criterion: &mut Criterion) {
    const N_ALIASES: usize = 10_000;
    let text = diamond(N_ALIASES);
    let begun = machine("diamond.yaml", &text, Settings::default());
    let mut group = criterion.benchmark_group("plans");
    group.sample_size(10);
    group.bench_function("a diamond of 10,000 aliases", |bencher| {
        bencher.iter_batched_ref(
            || begun.clone(),
            |machine| {
                let (outcome, n_reached) = run(machine);
                assert!(matches!(outcome, Outcome::Done { .. }));
                // Each alias once: the one, those between, both lists, the result.
                assert_eq!(n_reached, N_ALIASES as u64 + 4);
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("reading and checking that plan", |bencher| {
        bencher.iter(|| machine("diamond.yaml", black_box(&text), Settings::default()));
    });
}

const LATENCY: Duration = Duration::from_millis(50);

/// A service that takes its time.
struct Service;

impl Tool for Service {
    fn signature(&self) -> ToolSignature {
        ToolSignature::new(tool("service", &["n"]), EffectClass::ReadOnly)
    }

    fn call(&self, _context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            tokio::time::sleep(LATENCY).await;
            ToolOutcome::Value(Value::map(arguments))
        })
    }
}

/// Runs a plan of `n` independent calls in a session, and says how long it took.
async fn fan_out(n: usize) -> Duration {
    let mut text = String::new();
    for index in 0..n {
        let _ = writeln!(text, "a{index}: {{service: {{n: \"{index}\"}}}}");
    }
    let names: Vec<String> = (0..n).map(|index| format!("a{index}")).collect();
    let _ = writeln!(text, "result: ${{[{}]}}", names.join(", "));
    let tools = Registry::new();
    tools.add(Arc::new(Service)).unwrap();
    let signatures: Vec<Signature> = tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let world = World {
        llm: Arc::new(Script::from_entries("none", Vec::new())),
        classifier: Arc::new(Off),
        tools: Arc::new(tools),
        clock: Arc::new(SystemClock),
        options: SessionOptions::default(),
    };
    let root = SourceText { name: "fan.yaml".to_owned(), text };
    let (text, loaded) = load_texts(vec![root], &signatures, &mut |_: &Path| Err("none".to_owned()));
    let (program, settings) = (Arc::new(loaded.program), Settings::default());
    let start = Start {
        id: "bench".into(),
        program,
        text,
        settings,
        entry: None,
        arguments: Map::new(),
        given: Default::default(),
    };
    let session = Session::start(world, Box::new(MemoryJournal::new()), start).unwrap();
    let begun = Instant::now();
    let ending = session.spawn().outcome().await.unwrap();
    let Some(Outcome::Done { value }) = &ending.outcome else { panic!("{:?}", ending.outcome) };
    assert!(matches!(value.value(), Value::List(items) if items.len() == n));
    begun.elapsed()
}

fn calls(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let mut group = criterion.benchmark_group("plans");
    group.sample_size(10);
    group.bench_function("1,000 independent calls of 50 ms in a session", |bencher| {
        bencher.iter_custom(|n| (0..n).map(|_| runtime.block_on(fan_out(1_000))).sum());
    });
}

criterion_group!(benches, plans, instructions, diamonds, calls);
criterion_main!(benches);
