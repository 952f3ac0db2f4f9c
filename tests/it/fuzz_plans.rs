//! What must hold for any plan text. `cargo test` runs a fixed number of made-up inputs; `cargo bolero` goes on.

use bolero::check;
use playhouse::diagnostic::render;
use playhouse::lang::plan::json::{InstructionKind, Target};
use playhouse::lang::plan::{NodeId, Plan, PlanBody, decode, mermaid, outline};
use playhouse::span::{FileId, Sources, Span};
use playhouse::value::Value;

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

/// A plan whose skeleton is sound: every three bytes are an instruction.
fn structured(bytes: &[u8]) -> String {
    let types = ["assign", "jmp", "calling", "reasoning", "llm_generate", "condition", "retrieve_knowledge_graph"];
    let mut text = "[".to_owned();
    let mut n_open = 0;
    for (n, chunk) in bytes.chunks_exact(3).enumerate() {
        let kind = types[chunk[0] as usize % types.len()];
        let value = PIECES[40 + chunk[2] as usize % 19];
        let value = if Value::from_json(value).is_ok() { value } else { "\"${x}{{x}}\"" };
        let seq_no = if chunk[0] < 240 { n } else { 0 };
        let target = chunk[1] % 16;
        if !text.ends_with('[') {
            text.push_str(",\n");
        }
        text += &format!("{{\"seq_no\": {seq_no}, \"type\": \"{kind}\", \"parameters\": {{");
        let parameters = match kind {
            "jmp" if chunk[1] < 128 => format!("\"target_seq\": {target}"),
            "jmp" => format!("\"condition_prompt\": {value}, \"jump_if_true\": {target}, \"jump_if_false\": {n}"),
            "calling" => format!("\"tool\": \"search\", \"params\": {{\"query\": {value}}}, \"output_vars\": \"x\""),
            "assign" if chunk[1] < 128 => format!("\"value\": {value}, \"var_name\": \"x\""),
            "assign" => format!("\"final_answer\": {value}"),
            "condition" if chunk[1] < 200 => {
                text += &format!("\"prompt\": {value}, \"false_branch\": [], \"true_branch\": [");
                n_open += 1;
                continue;
            }
            "reasoning" if n_open > 0 => {
                n_open -= 1;
                "}}]".to_owned()
            }
            _ => format!("\"prompt\": {value}, \"query\": {value}, \"output_var\": \"x\", \"true_branch\": []"),
        };
        text += &parameters;
        text += "}}";
    }
    text + &"]}}".repeat(n_open) + "]"
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
                assert_eq!(outline(plan).lines().filter(|line| line.starts_with("  ")).count(), {
                    let begins_elsewhere = outline(plan).contains("\n  begins with ");
                    plan.nodes.len() + usize::from(begins_elsewhere)
                });
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

/// A value in a plan is what `serde_json` reads.
fn same_as_serde(text: &str) {
    let Ok(value) = Value::from_json(text) else { return };
    let plan = format!("[{{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {{\"final_answer\": [{text}]}}}}]");
    let (read, diagnostics) = decode(FileId(0), "x.json", &plan, None);
    if !diagnostics.is_empty() {
        return; // A key that is there twice, a depth that only we refuse.
    }
    let PlanBody::Json(json) = read.unwrap().body else { panic!("no JSON plan") };
    let InstructionKind::Assign(assignments) = &json.instructions[0].kind else { panic!("no assign") };
    if let playhouse::lang::plan::json::PlanValueKind::Literal(read) = &assignments[0].value.kind {
        assert_eq!(read.to_json(), Value::list(vec![value]).to_json());
    }
}

#[test]
fn plan_decode() {
    check!().with_iterations(3_000).with_max_len(200).for_each(plan_decode_one);
}

#[test]
fn values_are_read_as_by_serde() {
    for text in ["-0", "0", "-0.0", "1e3", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1E-7"]
    {
        same_as_serde(text);
    }
    for text in ["0.1", "123456789012345678901234567890", "\"\\u0000\\/\\b\\f\"", "{\"b\":1,\"a\":[{}]}", "5e-324"] {
        same_as_serde(text);
    }
}
