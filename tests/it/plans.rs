//! JSON plans: text to plan, findings, outline, flowchart.

use std::fmt::Write as _;

use playhouse::diagnostic::{Diagnostic, Severity, render};
use playhouse::lang::plan::json::{Dialect, InstructionKind, JsonPlan, PlanValueKind, Target};
use playhouse::lang::plan::{Plan, PlanBody, Surroundings, check_calls, decode, mermaid, outline};
use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::span::{FileId, Sources};
use playhouse::value::Value;

use crate::golden;

/// What the cases can call; `?` marks what may be left out.
const TOOLS: [(&str, &[&str]); 6] = [
    ("llm_generate", &["prompt", "context?", "response_format?"]),
    ("now", &[]),
    ("retrieve_embedded_chunks", &["embedding_query", "top_k"]),
    ("retrieve_knowledge_graph", &["query"]),
    ("search", &["query", "limit?"]),
    ("vector_search", &["query", "top_k"]),
];

fn tool(name: &str) -> Option<Signature> {
    let (name, parameters) = TOOLS.iter().find(|(known, _)| *known == name)?;
    let parameter = |name: &&str| Parameter {
        name: name.trim_end_matches('?').into(),
        ty: Type::ANY,
        default: name.ends_with('?').then_some(Value::Null),
        description: "".into(),
        span: None,
    };
    Some(Signature {
        name: (*name).into(),
        parameters: parameters.iter().map(parameter).collect(),
        returns: Type::ANY,
        summary: "".into(),
    })
}

/// Reads and checks a plan; variables that begin with `given` are given.
pub(crate) fn check(name: &str, text: &str) -> (Option<Plan>, Vec<Diagnostic>) {
    let (plan, mut diagnostics) = decode(FileId(0), name, text, None);
    if let Some(plan) = &plan {
        let candidates = TOOLS.map(|(name, _)| name.to_owned());
        let around = Surroundings {
            text,
            callables: &tool,
            candidates: &candidates,
            open_world: false,
            given: &|name| name.starts_with("given"),
        };
        diagnostics.extend(check_calls(plan, &around));
    }
    (plan, diagnostics)
}

fn rendered(name: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut sources = Sources::default();
    sources.add(name, text);
    render(diagnostics, &sources, false)
}

fn json(plan: &Plan) -> &JsonPlan {
    match &plan.body {
        PlanBody::Json(json) => json,
        PlanBody::Dataflow(_) => panic!("{} is a dataflow plan", plan.name),
    }
}

fn n_errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

#[test]
fn bad_plans_are_refused() {
    golden::check("plans/json/bad", &["json"], |name, text| {
        let (_, diagnostics) = check(name, text);
        let shown = rendered(name, text, &diagnostics);
        assert_ne!(n_errors(&diagnostics), 0, "{name}: {shown}");
        shown
    });
}

#[test]
fn doubtful_plans_are_warned_of() {
    golden::check("plans/json/doubtful", &["json"], |name, text| {
        let (plan, diagnostics) = check(name, text);
        let shown = rendered(name, text, &diagnostics);
        assert_eq!(n_errors(&diagnostics), 0, "{name}: {shown}");
        assert!(!diagnostics.is_empty(), "{name} has no doubts");
        format!("{shown}\n{}", outline(&plan.unwrap()))
    });
}

#[test]
fn good_plans() {
    golden::check("plans/json/good", &["json"], |name, text| {
        let (plan, diagnostics) = check(name, text);
        assert!(diagnostics.is_empty(), "{name}: {}", rendered(name, text, &diagnostics));
        let plan = plan.unwrap();
        let mut sources = Sources::default();
        sources.add(name, text);
        let mut shown = format!("{}\nnodes:\n", outline(&plan));
        for node in &plan.nodes {
            let _ = writeln!(shown, "  {} at {}", node.label, sources.place(node.span));
        }
        format!("{shown}\n{}", mermaid(&plan))
    });
}

/// A condition in the branch of a condition, `depth` branches deep.
fn nested(depth: usize) -> String {
    let open: String = (0..depth)
        .map(|n| {
            format!(
                "{{\"seq_no\": {n}, \"type\": \"condition\", \"parameters\": {{\"prompt\": \"Is it?\", \
                 \"false_branch\": [], \"true_branch\": ["
            )
        })
        .collect();
    let inner = format!(
        "{{\"seq_no\": {depth}, \"type\": \"assign\", \"parameters\": {{\"value\": 1, \"var_name\": \"result\"}}}}"
    );
    format!("[{open}{inner}{}]", "]}}".repeat(depth))
}

#[test]
fn branches_are_deep_but_not_endless() {
    let (plan, diagnostics) = check("deep.json", &nested(256));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let plan = plan.unwrap();
    assert_eq!(plan.nodes.len(), 257);
    assert_eq!(plan.nodes[2].label.as_ref(), "0/true/1/true/2");
    assert!(outline(&plan).lines().count() == 258 && mermaid(&plan).contains("n255 -->|true| n256"));
    // Whatever the depth: the message, and no stack that overflows.
    for depth in [257, 300, 20_000] {
        let (plan, diagnostics) = check("deep.json", &nested(depth));
        let messages: Vec<&str> = diagnostics.iter().map(|diagnostic| &*diagnostic.message).collect();
        assert!(messages.contains(&"branches are nested deeper than 256 levels"), "{depth}: {messages:?}");
        assert_eq!(plan.unwrap().nodes.len(), 257);
    }
}

#[test]
fn data_is_deep_but_not_endless() {
    let plan_of = |depth: usize| {
        let data = "[".repeat(depth) + &"]".repeat(depth);
        format!("[{{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {{\"final_answer\": {data}}}}}]")
    };
    assert!(check("data.json", &plan_of(100)).1.is_empty());
    for depth in [101, 300, 100_000] {
        let (_, diagnostics) = check("data.json", &plan_of(depth));
        let [error] = &diagnostics[..] else { panic!("{diagnostics:?}") };
        assert_eq!(
            (error.code, &*error.message),
            ("plan-data-too-deep", "this value is nested deeper than 100 levels")
        );
    }
}

/// Looking for a plan takes time in proportion to the text: with an algorithm that begins anew at every bracket each
/// of these would take hours.
#[test]
fn a_plan_is_found_in_linear_time() {
    const LENGTH: usize = 150_000;
    let pieces = [
        "[",
        "[{",
        "[{\"a\":",
        "[{\"seq_no\":",
        "[{\"",
        "[{\"\\\"",
        "[{\\",
        "[{/*",
        "[{//",
        "[ \n",
        "[{}",
        "[{},",
        "{\"a\":[{",
        "[{\"a\":1},",
        "[{\"a\":\"[{\",",
        "[{'",
        "[{\"a\":None,",
        "\"true_branch\":[{",
        "[{-",
        "[{\"\\u",
        "[{\u{a0}",
    ];
    for piece in pieces {
        let text = piece.repeat(LENGTH / piece.len());
        let (_, diagnostics) = check("x.json", &text);
        assert_ne!(n_errors(&diagnostics), 0, "{piece}");
    }
    // The same before a plan.
    let plan = "\n[{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {\"final_answer\": 1}}]";
    for piece in ["[", "[{", "[ \n", "[{\\", "[draft] "] {
        let (plan, diagnostics) = check("x.json", &(piece.repeat(LENGTH / piece.len()) + plan));
        assert!(diagnostics.is_empty(), "{piece}: {diagnostics:?}");
        assert_eq!(plan.unwrap().nodes.len(), 1);
    }
}

/// Hostile plans in which everything is wrong: as many findings as there are faults, and no time that grows with
/// their square.
#[test]
fn many_faults_take_linear_time() {
    const N: usize = 10_000;
    let plan = |instruction: &dyn Fn(usize) -> String| {
        let instructions: Vec<String> = (0..N).map(instruction).collect();
        format!("[{}]", instructions.join(",\n"))
    };
    let one =
        |parameters: String| format!("[{{\"seq_no\": 0, \"type\": \"calling\", \"parameters\": {{{parameters}}}}}]");
    let references: String = (0..N).map(|n| format!("${{nowhere_{n}}} {{{{a{n}}}}} ")).collect();
    let texts = [
        plan(&|n| format!("{{\"seq_no\": {n}, \"type\": \"asign{n}\", \"parameters\": {{\"a{n}\": \"${{b{n}}}\"}}}}")),
        plan(&|n| format!("{{\"seq_no\": {n}, \"type\": \"calling\", \"parameters\": {{\"tool\": \"tool_{n}\"}}}}")),
        plan(&|n| format!("{{\"seq_no\": 7, \"type\": \"jmp\", \"parameters\": {{\"target_seq\": {n}}}}}")),
        plan(&|n| format!("{{\"seqno\": 7, \"x{n}\": None, }}")),
        plan(&|n| {
            format!(
                "{{\"seq_no\": {n}, \"type\": \"assign\", \"parameters\": {{\"a{n}\": \"${{b{n}}}\", \"b{n}\": 1}}}}"
            )
        }),
        one((0..N).map(|n| format!("\"tool{n}\": {n}")).collect::<Vec<_>>().join(",")),
        one((0..N).map(|_| "\"tool\": 1".to_owned()).collect::<Vec<_>>().join(",")),
        one(format!("\"tool\": \"now\", \"params\": {{\"a\": \"{references}\"}}, \"output_vars\": \"final_answer\"")),
        one(format!(
            "\"tool\": \"now\", \"params\": {{\"a\": \"\\n{references}\"}}, \"output_vars\": \"final_answer\""
        )),
        one(format!("\"tool\": \"{}\", \"output_vars\": \"{}\"", "searc".repeat(N), "final_answe".repeat(N))),
    ];
    for text in texts {
        let (_, diagnostics) = check("x.json", &text);
        assert!(!diagnostics.is_empty(), "{}", &text[..100]);
    }
}

#[test]
fn raw_line_breaks_and_tabs_are_text() {
    let text = "[{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {\"final_answer\": \"a\n\tb\r\n\\n\\u00e9\"}}]";
    let (plan, diagnostics) = check("x.json", text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let plan = plan.unwrap();
    let InstructionKind::Assign(assignments) = &json(&plan).instructions[0].kind else { panic!("no assign") };
    let PlanValueKind::Literal(value) = &assignments[0].value.kind else { panic!("no literal") };
    assert_eq!(value.as_str(), Some("a\n\tb\r\n\né"));
}

#[test]
fn branches_lead_back_to_the_main_list() {
    let text = "[{\"seq_no\": 5, \"type\": \"assign\", \"parameters\": {\"value\": 1, \"var_name\": \"result\"}},
        {\"seq_no\": 1, \"type\": \"condition\", \"parameters\": {\"prompt\": \"p\", \"false_branch\": [],
          \"true_branch\": [{\"seq_no\": 3, \"type\": \"reasoning\", \"parameters\": {}},
                            {\"seq_no\": 2, \"type\": \"reasoning\", \"parameters\": {}}]}}]";
    let (plan, _) = check("x.json", text);
    let plan = plan.unwrap();
    let json = json(&plan);
    let labels: Vec<&str> = plan.nodes.iter().map(|node| &*node.label).collect();
    assert_eq!(labels, ["5", "1", "1/true/3", "1/true/2"]);
    let next: Vec<Option<u32>> = json.instructions.iter().map(|instruction| instruction.next.map(|id| id.0)).collect();
    assert_eq!((json.first.map(|id| id.0), &next[..]), (Some(1), &[None, Some(0), Some(0), Some(2)][..]));
    let InstructionKind::Branch(branch) = &json.instruction(json.first.unwrap()).kind else { panic!("no condition") };
    let ways = [&branch.if_true, &branch.if_false].map(|target| match target {
        Target::Node(node) => node.map(|id| id.0),
        Target::Computed(_) => panic!("computed"),
    });
    assert_eq!(ways, [Some(3), Some(0)]);
    assert_eq!(json.by_seq_no.iter().map(|(number, id)| (*number, id.0)).collect::<Vec<_>>(), [(1, 1), (5, 0)]);
}

#[test]
fn the_name_of_the_file_is_a_declaration() {
    let text = "[{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {\"value\": 1, \"var_name\": \"result\"}}]";
    let dialect = |name: &str, dialect| {
        let plan = decode(FileId(0), name, text, dialect).0.unwrap();
        (json(&plan).dialect, plan.name.to_string())
    };
    assert_eq!(dialect("plans/a-b.json", None), (Dialect::Branch, "AB".to_owned()));
    assert_eq!(dialect("plans/a.JMP.json", None), (Dialect::Jmp, "a".to_owned()));
    assert_eq!(dialect("a.jmp.json", Some(Dialect::Branch)), (Dialect::Branch, "a".to_owned()));
    assert_eq!(dialect("a reply", None), (Dialect::Branch, "AReply".to_owned()));
    assert_eq!(dialect("…", None), (Dialect::Branch, "Plan".to_owned()));
}
