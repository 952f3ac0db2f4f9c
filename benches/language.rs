//! How long loading takes: parse, lower and check a program of 10,000 lines. The aim is less than 100 ms. And what must
//! not grow faster than the program: suggestions for 6,000 unknown names (less than 1 s), and the names that can still
//! be mentioned, which are asked for at each of 3,000 calls (less than 100 ms).
//!
//! `cargo bench --bench language`

#[path = "shared/shop.rs"]
mod shop;

use std::hint::black_box;

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use playhouse::lang::program::Program;
use playhouse::lang::{LoadOptions, Loaded, SourceText, load};
use playhouse::value::Map;
use playhouse::vm::protocol::{Event, Outcome, Progress, Timestamp, Wait};
use playhouse::vm::{Begin, Machine};
use shop::program;

fn load_text(text: &str) -> Loaded {
    let root = SourceText { name: "bench.md".to_owned(), text: text.to_owned() };
    load(vec![root], &mut |_| Err("none".to_owned()), &LoadOptions::default())
}

/// `n` pieces of text, `{n}` being their numbers.
fn numbered(piece: &str, n: usize) -> String {
    (0..n).map(|n| piece.replace("{n}", &n.to_string())).collect()
}

/// Runs a program that needs no model.
fn run(program: &Arc<Program>) {
    let mut machine = Machine::begin(Begin {
        program: program.clone(),
        settings: Default::default(),
        tools: Arc::new([]),
        entry: None,
        arguments: Map::new(),
        time: Timestamp(0),
    });
    loop {
        match machine.advance() {
            Progress::Finished(outcome) => return assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}"),
            Progress::Blocked(wait) => {
                assert_eq!(wait, Wait::Budget);
                machine.handle(Timestamp(0), Event::GoOn);
            }
            progress @ (Progress::Emit(_) | Progress::Reached(_)) => drop(black_box(progress)),
        }
    }
}

fn language(criterion: &mut Criterion) {
    let long = |piece: &str, n: usize| format!("# A\n## Main\n### Steps\n{}", piece.repeat(n));
    let unknown = numbered("- Chekc{n}()\n", 6_000);
    let public = numbered("## Check{n}\npublic: true\n### Steps\n- Return\n", 6_000);
    let cases = [
        ("10,000 lines in 500 playbooks", program(10_000, 20)),
        ("10,000 lines in one playbook", program(10_000, 10_000)),
        ("1,000 lines in 50 playbooks", program(1_000, 20)),
        ("10,000 nested items", long("- + ", 5_000) + "deep"),
        ("6,000 unknown callees", long("", 0) + &unknown),
        ("6,000 unknown callees, 6,000 public playbooks", long("", 0) + &unknown + "# B\n" + &public),
        ("6,000 agents", numbered("# A{n}\n## Do\n### Steps\n- Return {n}\n", 6_000)),
        ("one line of 100 KB", long("- ", 1) + &"some $words, ".repeat(8_000)),
    ];
    for (name, text) in &cases {
        let loaded = load_text(text);
        assert!(!loaded.program.playbooks.is_empty());
        criterion.bench_function(name, |bencher| bencher.iter(|| load_text(black_box(text))));
    }
    let callee = "## Foo($x)\n### Steps\n- $y = $x\n- Return $y\n";
    let calls = numbered("- $v{n} = Foo({n})\n", 3_000);
    let program = Arc::new(
        load_text(&format!("# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n{calls}{callee}")).program,
    );
    criterion.bench_function("3,000 calls run", |bencher| bencher.iter(|| run(&program)));
}

criterion_group!(benches, language);
criterion_main!(benches);
