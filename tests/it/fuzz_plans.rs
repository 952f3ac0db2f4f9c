//! What must hold for any plan text. `cargo test` runs a fixed number of made-up inputs; `cargo bolero` goes on.

use playhouse::diagnostic::{Severity, render};
use playhouse::lang::plan::json::{InstructionKind, PlanValueKind, Target};
use playhouse::lang::plan::{NodeId, Plan, PlanBody, decode, mermaid, outline};
use playhouse::span::{FileId, Sources, Span};
use playhouse::value::Value;

use crate::made_up::made_up;
use crate::plans;

/// Pieces of plans: bytes at random hardly ever make an instruction.
const PIECES: [&str; 72] = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\",
    " ",
    "\n",
    "\t",
    "[{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {",
    "}},\n{\"seq_no\": 1, \"type\": \"jmp\", \"parameters\": {",
    "}},\n{\"seq_no\": 2, \"type\": \"calling\", \"parameters\": {",
    "}},\n{\"seq_no\": 3, \"type\": \"condition\", \"parameters\": {",
    "}},\n{\"seq_no\": 4, \"type\": \"llm_generate\", \"parameters\": {",
    "}},\n{\"seq_no\": 5, \"type\": \"retrieve_embedded_chunks\", \"parameters\": {",
    "}},\n{\"seq_no\": 6, \"type\": \"reasoning\", \"parameters\": {",
    "}}]",
    "]}}",
    "\"true_branch\": [",
    "\"false_branch\": [",
    "{\"seq_no\": 7, \"type\": \"assign\", \"parameters\": {\"value\": 1, \"var_name\": \"x\"}}",
    "\"seq_no\": ",
    "\"type\": ",
    "\"parameters\": {",
    "\"condition_prompt\": ",
    "\"jump_if_true\": 1",
    "\"jump_if_false\": 2",
    "\"target_seq\": ",
    "\"tool\": \"search\"",
    "\"params\": {",
    "\"output_vars\": ",
    "\"output_var\": ",
    "\"prompt\": ",
    "\"embedding_query\": \"q\"",
    "\"top_k\": ",
    "\"value\": ",
    "\"var_name\": \"y\"",
    "\"final_answer\": ",
    "\"x\": ",
    "\"x\"",
    "\"${x}\"",
    "\"a ${y} é ${x.z} {{y}} ${ x } 🎉\"",
    "\"{{ x }}\"",
    "{\"var\": \"x\"}",
    "{\"var\": 1}",
    "${",
    "{{",
    "}}",
    "0",
    "1",
    "3",
    "-1",
    "1.0",
    "1e999",
    "007",
    "true",
    "null",
    "None",
    "tru",
    "'",
    "//",
    "/*",
    "*/",
    "\\n",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\u{a0}",
    "é🎉",
    "```json\n",
    "\u{1}",
];

fn text_of(bytes: &[u8]) -> String {
    let piece =
        |&byte: &u8| PIECES.get(byte as usize % 84).map_or_else(|| char::from(byte).to_string(), |p| p.to_string());
    bytes.iter().map(piece).collect()
}

/// Values with and without references, for plans whose skeleton is sound.
const VALUES: [&str; 8] = [
    "1",
    "null",
    "\"t\"",
    "\"${x}\"",
    "\"a ${y} é {{ x }}\"",
    "{\"var\": \"x\"}",
    "[\"${x}\", {\"k\": \"{{y}}\"}]",
    "\"${x.z}\"",
];

/// A plan whose skeleton is sound: every three bytes are an instruction of one dialect.
fn structured(bytes: &[u8]) -> String {
    let is_jmp = bytes.first().is_some_and(|byte| byte % 2 == 0);
    let n_instructions = bytes.len() / 3;
    let mut instructions = vec![Vec::new()];
    for (n, chunk) in bytes.chunks_exact(3).enumerate() {
        let value = VALUES[chunk[2] as usize % VALUES.len()];
        let text = VALUES[2 + chunk[2] as usize % 3];
        // Now and then a number that is there already, and a target that is not.
        let seq_no = if chunk[0] == 255 { 0 } else { n };
        let target = chunk[1] as usize % (n_instructions + 1 + usize::from(chunk[2] > 250));
        let (kind, parameters) = match (is_jmp, chunk[0] % 5) {
            (true, 0) => ("jmp", format!("\"target_seq\": {target}")),
            (true, 1) => (
                "jmp",
                format!("\"condition_prompt\": {text}, \"jump_if_true\": {target}, \"jump_if_false\": \"${{x}}\""),
            ),
            (true, 2) => {
                ("calling", format!("\"tool\": \"search\", \"params\": {{\"query\": {value}}}, \"output_vars\": \"x\""))
            }
            (true, _) => ("assign", format!("\"x\": {value}, \"y{n}\": {text}")),
            (false, 0) => ("llm_generate", format!("\"prompt\": {text}, \"context\": {value}, \"output_var\": \"x\"")),
            (false, 1 | 2) if instructions.len() < 6 => {
                instructions
                    .push(vec![format!("{seq_no}, \"type\": \"condition\", \"parameters\": {{\"prompt\": {text}")]);
                continue;
            }
            (false, 3) if instructions.len() > 1 => {
                end_branch(&mut instructions);
                continue;
            }
            (false, _) => ("assign", format!("\"value\": {value}, \"var_name\": \"x\"")),
        };
        let instruction = format!("{{\"seq_no\": {seq_no}, \"type\": \"{kind}\", \"parameters\": {{{parameters}}}}}");
        instructions.last_mut().unwrap().push(instruction);
    }
    while instructions.len() > 1 {
        end_branch(&mut instructions);
    }
    let last = if is_jmp { "\"final_answer\": 1" } else { "\"value\": 1, \"var_name\": \"result\"" };
    instructions[0].push(format!("{{\"seq_no\": {n_instructions}, \"type\": \"assign\", \"parameters\": {{{last}}}}}"));
    format!("[{}]", instructions[0].join(",\n"))
}

/// The innermost list, whose first element is what its condition begins with, becomes an instruction of the one
/// around it.
fn end_branch(instructions: &mut Vec<Vec<String>>) {
    let branch = instructions.pop().unwrap();
    let (condition, branch) = branch.split_first().unwrap();
    let whole =
        format!("{{\"seq_no\": {condition}, \"true_branch\": [{}], \"false_branch\": []}}}}", branch.join(",\n"));
    instructions.last_mut().unwrap().push(whole);
}

fn assert_inside(text: &str, span: Span) {
    assert!(text.get(span.range()).is_some(), "{span:?} is no range of characters of {text:?}");
}

fn assert_sound(text: &str, plan: &Plan) {
    assert_inside(text, plan.span);
    plan.nodes.iter().for_each(|node| assert_inside(text, node.span));
    let PlanBody::Json(json) = &plan.body else { panic!("no JSON plan") };
    assert_eq!(json.instructions.len(), plan.nodes.len());
    let is_inside = |node: Option<NodeId>| node.is_none_or(|node| (node.0 as usize) < plan.nodes.len());
    assert!(is_inside(json.first));
    assert_eq!(json.first.is_none(), json.instructions.is_empty());
    for instruction in &json.instructions {
        assert!(is_inside(instruction.next));
        let targets = match &instruction.kind {
            InstructionKind::Branch(branch) => vec![&branch.if_true, &branch.if_false],
            InstructionKind::Jump(target) => vec![target],
            InstructionKind::Assign(_) | InstructionKind::Call(_) | InstructionKind::Reasoning { .. } => vec![],
        };
        for target in targets {
            match target {
                Target::Node(node) => assert!(is_inside(*node)),
                Target::Computed(value) => assert_inside(text, value.span),
            }
        }
    }
    // Every path through `next` ends.
    for (index, instruction) in json.instructions.iter().enumerate() {
        let mut next = instruction.next;
        let mut n_steps = 0;
        while let Some(node) = next {
            next = json.instruction(node).next;
            n_steps += 1;
            assert!(n_steps <= json.instructions.len(), "instruction {index} leads round and round");
        }
    }
    for (number, node) in &json.by_seq_no {
        assert_eq!(json.instruction(*node).seq_no, *number);
    }
}

/// Reads what the bytes stand for as a plan: never a panic, every place inside the text, every target in the plan.
pub(crate) fn plan_decode_one(bytes: &[u8]) {
    for text in [text_of(bytes), structured(bytes), String::from_utf8_lossy(bytes).into_owned()] {
        for name in ["fuzz.json", "fuzz.jmp.json", "fuzz.branch.json"] {
            let (plan, diagnostics) = plans::check(name, &text);
            for diagnostic in &diagnostics {
                assert_inside(&text, diagnostic.span);
                diagnostic.notes.iter().filter_map(|note| note.span).for_each(|span| assert_inside(&text, span));
                diagnostic.fix.iter().for_each(|fix| assert_inside(&text, fix.span));
            }
            let mut sources = Sources::default();
            sources.add(name, &*text);
            render(&diagnostics, &sources, false);
            assert!(plan.is_some() || !diagnostics.is_empty());
            if let Some(plan) = &plan {
                assert_sound(&text, plan);
                let outline = outline(plan);
                let n_lines = outline.lines().skip(1).filter(|line| !line.starts_with("  begins with ")).count();
                assert_eq!(n_lines, plan.nodes.len(), "{outline}");
                // No line of the chart but ours: text can't become syntax.
                for line in mermaid(plan).lines().skip(1) {
                    let quotes = line.matches('"').count();
                    assert!(quotes == 0 || quotes == 2, "{line}");
                }
            }
        }
        same_as_serde(&text);
    }
}

/// A value in a plan is what `serde_json` reads. False: it can't be compared.
fn same_as_serde(text: &str) -> bool {
    let Ok(value) = Value::from_json(text) else { return false };
    let plan = format!("[{{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {{\"final_answer\": [{text}]}}}}]");
    let (read, diagnostics) = decode(FileId(0), "x.jmp.json", &plan, None);
    if !diagnostics.is_empty() {
        return false; // A key that is there twice, a depth that only we refuse, a doubtful reference.
    }
    let PlanBody::Json(json) = read.unwrap().body else { panic!("no JSON plan") };
    let InstructionKind::Assign(assignments) = &json.instructions[0].kind else { panic!("no assign") };
    let PlanValueKind::Literal(read) = &assignments[0].value.kind else { return false };
    assert_eq!(read.to_json(), Value::list(vec![value]).to_json());
    true
}

#[test]
fn plan_decode() {
    made_up!(300, 200).for_each(plan_decode_one);
}

#[test]
fn values_are_read_as_by_serde() {
    let numbers = ["-0", "0", "-0.0", "1e3", "0.1", "9223372036854775807", "9223372036854775808", "1E-7", "5e-324"];
    let others =
        ["-9223372036854775809", "123456789012345678901234567890", "{\"b\":1,\"a\":[{}]}", " [ null ,\ttrue]\n"];
    let texts = ["\"\\u0000\\/\\b\\f\\n\\r\\t\\\"\\\\\"", "\"\\ud83d\\ude00 é 🎉\\u00e9\"", "\"\""];
    for text in numbers.into_iter().chain(others).chain(texts) {
        assert!(same_as_serde(text), "{text}");
    }
}

#[test]
fn many_of_the_structured_plans_are_sound() {
    let mut n_sound = 0;
    for seed in 0..1000_u32 {
        let bytes: Vec<u8> =
            (1..=12_u32).map(|n| (seed.wrapping_mul(2_654_435_761) >> (n % 17)) as u8 ^ n as u8).collect();
        let (_, diagnostics) = plans::check("x.json", &structured(&bytes));
        n_sound += u32::from(diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error));
    }
    // Otherwise the harness would test little but messages.
    assert!(n_sound >= 500, "{n_sound}");
}
