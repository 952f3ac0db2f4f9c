//! What must hold for any dataflow document. `cargo test` runs a fixed number of made-up inputs; `cargo bolero` goes
//! on.

use playhouse::diagnostic::{Diagnostic, render};
use playhouse::lang::dataflow::{
    Alias, AliasBody, Dataflow, Expr, ExprKind, Template, TemplatePart, mermaid, outline, read,
};
use playhouse::lang::plan::{Plan, PlanBody};
use playhouse::span::{Sources, Span};
use playhouse::value::Value;
use playhouse::vm::dataflow::date::{Calendar, TimesOfDay, zone};
use playhouse::vm::dataflow::evaluate::{AliasValue, collapse, evaluate};
use playhouse::vm::protocol::Timestamp;
use playhouse::vm::protocol::{Origin, Tracked};

use crate::made_up::made_up;

/// Pieces of documents: bytes at random hardly ever make a mapping, let alone an expression.
const PIECES: [&str; 56] = [
    "\n",
    "\n  ",
    "\n    ",
    "\r\n",
    " ",
    "\t",
    ": ",
    ":",
    "- ",
    "-",
    "# ",
    " #x",
    "result: ",
    "\nresult: ${A}",
    "\nA:",
    "\nA: ",
    "\n  flights:",
    "\n    slot: ",
    "${",
    "}",
    "${A",
    "${A.from}",
    "${{ k: A, ",
    "{",
    "[",
    "]",
    "'",
    "\"",
    "''",
    "\\",
    "\\u00e9",
    "|\n",
    ">-\n",
    "|+2\n",
    "&a ",
    "*a",
    "!t ",
    "<<: ",
    "---",
    "...",
    "%YAML",
    "```yaml\n",
    "```\n",
    "?",
    "@",
    "~",
    "null",
    "A",
    ",",
    "(",
    ")",
    ".",
    "today",
    "next(Thursday)",
    ".plus(1, day)",
    "é🎉",
];

fn text_of(bytes: &[u8], pieces: &[&str]) -> String {
    let n = pieces.len() + pieces.len() / 4;
    let piece =
        |&byte: &u8| pieces.get(byte as usize % n).map_or_else(|| char::from(byte).to_string(), |p| p.to_string());
    bytes.iter().map(piece).collect()
}

fn assert_inside(sources: &Sources, span: Span) {
    let file = sources.get(span.file).unwrap();
    assert!(file.text.get(span.range()).is_some(), "{span:?} is no range of characters of {:?}", file.text);
}

fn assert_expr(sources: &Sources, n_aliases: usize, expr: &Expr) {
    assert_inside(sources, expr.span);
    let inner: Vec<&Expr> = match &expr.kind {
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Start(_) | ExprKind::Unit(_) | ExprKind::Relative(..) => vec![],
        ExprKind::Alias(id) => {
            assert!((id.0 as usize) < n_aliases);
            vec![]
        }
        ExprKind::List(items) => items.iter().collect(),
        ExprKind::Map(members) => members.iter().map(|(_, value)| value).collect(),
        ExprKind::Member(base, _) | ExprKind::Index(base, _) => vec![base],
        ExprKind::Method(base, _, arguments) => arguments.iter().chain([&**base]).collect(),
    };
    for inner in inner {
        assert_inside(sources, inner.span);
        assert!(expr.span.start <= inner.span.start && inner.span.end <= expr.span.end, "{expr:?}");
        assert_expr(sources, n_aliases, inner);
    }
}

fn templates(alias: &Alias) -> Vec<&Template> {
    match &alias.body {
        AliasBody::Parameter => vec![],
        AliasBody::Text(template) => vec![template],
        AliasBody::Domains(domains) => {
            domains.iter().flat_map(|domain| &domain.slots).flat_map(|slot| &slot.values).collect()
        }
    }
}

fn dataflow(plan: &Plan) -> &Dataflow {
    let PlanBody::Dataflow(dataflow) = &plan.body else { panic!("a document is no JSON plan") };
    dataflow
}

fn assert_sound(sources: &Sources, plan: Option<&Plan>, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        assert_inside(sources, diagnostic.span);
        diagnostic.notes.iter().filter_map(|note| note.span).for_each(|span| assert_inside(sources, span));
        diagnostic.fix.iter().for_each(|fix| assert_inside(sources, fix.span));
    }
    let Some(plan) = plan else { return };
    assert_inside(sources, plan.span);
    plan.nodes.iter().for_each(|node| assert_inside(sources, node.span));
    let document = dataflow(plan);
    assert!(document.alias(document.result).reachable);
    for alias in &document.aliases {
        assert_inside(sources, alias.name_span);
        assert_eq!(plan.node(alias.node).label, alias.name);
        for template in templates(alias) {
            assert_inside(sources, template.span);
            for part in &template.parts {
                if let TemplatePart::Expr(expr) = part {
                    assert_expr(sources, document.aliases.len(), expr);
                }
            }
        }
    }
}

/// Values of all kinds; the aliases take them in turns.
fn values(n: usize) -> Vec<Option<AliasValue>> {
    let json = [
        "{\"from\": \"DEN\", \"departs\": \"2023-12-02T16:00:00-0800\", \"n\": [1, {\"from\": null}]}",
        "[{\"from\": 1}, {\"from\": 2}]",
        "\"2024-02-29\"",
        "\"${today}\"",
        "3",
        "null",
    ];
    let value = |index: usize| {
        let given = Tracked::new(Value::from_json(json[index % json.len()]).unwrap(), Origin::TOOL);
        Some(if index.is_multiple_of(2) { collapse(vec![("flights".into(), given)]) } else { AliasValue::from(given) })
    };
    (0..n).map(value).collect()
}

fn evaluate_all(sources: &Sources, plan: &Plan) {
    let document = dataflow(plan);
    let zone = zone("America/Los_Angeles").unwrap();
    let calendar = Calendar::new(Timestamp(1_710_064_800_000), zone, TimesOfDay::default());
    let values = values(document.aliases.len());
    for template in document.aliases.iter().flat_map(templates) {
        match evaluate(document, template, &values, &calendar) {
            Ok(value) => assert!(value.tracked().value().to_json().len() < 1_000_000),
            Err(fault) => assert!(sources.get(plan.file).unwrap().text.get(fault.place).is_some()),
        }
    }
}

fn check_text(text: &str) {
    let mut sources = Sources::default();
    let file = sources.add("fuzz.yaml", text);
    let (plan, diagnostics) = read(file, "fuzz", text);
    assert_sound(&sources, plan.as_ref(), &diagnostics);
    assert!(plan.is_some() || !diagnostics.is_empty(), "{text:?}");
    render(&diagnostics, &sources, false);
    if let Some(plan) = &plan {
        outline(dataflow(plan));
        assert!(mermaid(dataflow(plan)).lines().all(|line| line.is_ascii() || line.contains('"')));
        evaluate_all(&sources, plan);
    }
}

/// Reads what the bytes stand for as a document: never a panic, every span inside the file, values or faults.
pub(crate) fn dataflow_read_one(bytes: &[u8]) {
    check_text(&text_of(bytes, &PIECES));
    check_text(&String::from_utf8_lossy(bytes));
}

#[test]
fn dataflow_read() {
    made_up!(3_000, 120).for_each(dataflow_read_one);
}

/// Pieces of expressions.
const EXPRESSIONS: [&str; 40] = [
    "A",
    "B",
    "C.from",
    "D[0]",
    "E.departs",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    ", ",
    ".",
    ":",
    "k: ",
    "1",
    "-2",
    "1.5",
    "'x'",
    "\"",
    "'",
    "\\",
    "today",
    "tomorrow",
    "now",
    "next(week)",
    "last(Friday)",
    "this(night)",
    ".plus(",
    ".minus(",
    ".at('3:00pm')",
    ".at(A)",
    "days)",
    "1, month)",
    ".morning",
    ".closeofbusiness",
    "[0]",
    "?",
    "é",
];

/// Reads what the bytes stand for as an expression: never a panic, spans inside, a value or a fault.
pub(crate) fn dataflow_expr_one(bytes: &[u8]) {
    let expression = text_of(bytes, &EXPRESSIONS);
    for quoted in [expression.clone(), format!("${{{expression}}}"), format!("a ${{{expression}}} b")] {
        let quoted = quoted.replace('\'', "''").replace(['\n', '\r'], " ");
        check_text(&format!("A:\nB:\nC:\nD:\nE:\nresult: '{quoted}'\n"));
    }
}

#[test]
fn dataflow_expr() {
    made_up!(1_000, 40).for_each(dataflow_expr_one);
}
