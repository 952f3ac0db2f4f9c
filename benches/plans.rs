//! How long plans take. Checking one of 100,000 instructions is to take less than a second.
//!
//! `cargo bench --bench plans`

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use playhouse::lang::plan::json::Dialect;
use playhouse::lang::plan::{Surroundings, check_calls, decode};
use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::span::FileId;

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

criterion_group!(benches, plans);
criterion_main!(benches);
