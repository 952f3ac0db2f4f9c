//! Whatever is long, deep or many takes no more than linear time and bounded stack, and ends in a finding.

use std::fmt::Write as _;

use playhouse::diagnostic::Severity;
use playhouse::lang::dataflow::{MAX_TEXT, mermaid, outline};
use playhouse::value::Value;
use playhouse::vm::dataflow::evaluate::{AliasValue, evaluate};
use playhouse::vm::protocol::{Origin, Tracked};

use super::evaluate::{calendar, template_of};
use super::{Case, dataflow};

#[test]
fn ten_thousand_aliases_are_read_at_once() {
    let mut text = String::new();
    for n in 0..10_000 {
        writeln!(text, "A{n}: ${{[A{}, A{}]}}", n + 1, n + 2).unwrap();
    }
    text.push_str("A10000: x\nA10001: y\nresult: ${A0}\n");
    let case = Case::new("a.yaml", &text);
    assert_eq!(case.codes(), [""; 0]);
    let plan = case.plan.unwrap();
    assert_eq!(outline(dataflow(&plan)).lines().count(), 10_004);
    assert!(mermaid(dataflow(&plan)).lines().count() > 30_000);
}

#[test]
fn a_long_circle_is_shown_in_short() {
    let mut text = String::new();
    for n in 0..10_000 {
        writeln!(text, "A{n}: ${{A{}}}", (n + 1) % 10_000).unwrap();
    }
    text.push_str("result: ${A0}\n");
    let case = Case::new("a.yaml", &text);
    assert_eq!(case.codes(), ["alias-cycle"]);
    let message = &case.diagnostics[0].message;
    assert!(message.starts_with("`A0` depends on itself: A0 -> A1 -> "), "{message}");
    assert!(message.contains(" -> … -> ") && message.ends_with(" -> A9999 -> A0"), "{message}");
}

#[test]
fn circles_that_share_aliases_are_one_finding() {
    let mut text = String::new();
    for n in 0..200 {
        let all: Vec<String> = (0..200).map(|other| format!("A{other}")).collect();
        writeln!(text, "A{n}: ${{[{}]}}", all.join(", ")).unwrap();
    }
    text.push_str("result: ${A0}\n");
    let case = Case::new("a.yaml", &text);
    assert_eq!(case.codes(), ["alias-cycle"]);
    assert_eq!(case.diagnostics[0].message, "`A0` depends on itself: A0 -> A0");
}

#[test]
fn too_long_a_text_is_not_read() {
    let case = Case::new("a.yaml", &format!("result: {}", "x".repeat(MAX_TEXT)));
    assert_eq!(case.codes(), ["too-large"]);
    assert!(case.plan.is_none());
}

#[test]
fn of_many_findings_errors_are_shown_first() {
    let unused: String = (0..200).map(|n| format!("a{n}:\n  d: {{s: }}\n")).collect();
    let faults: String = (0..98).map(|_| "${nobody}").collect();
    let case = Case::new("a.yaml", &format!("{unused}bad: [x]\nresult: '{faults}'\n"));
    assert_eq!(case.diagnostics.len(), 99);
    let case = Case::new("a.yaml", &format!("{unused}bad: [x]\nresult: '{faults}{faults}'\n"));
    assert_eq!(case.diagnostics.len(), 101);
    assert!(case.diagnostics[..100].iter().all(|found| found.severity == Severity::Error));
    assert_eq!(case.diagnostics[100].message, "97 more findings are not shown");
    let case = Case::new("a.yaml", &format!("{unused}result: x\n"));
    assert_eq!(case.diagnostics[100].message, "100 more findings are not shown");
}

/// Whatever is slow here is slow for everybody who opens such a file.
#[test]
fn hostile_texts_take_no_more_than_linear_time_or_stack() {
    let long = |piece: &str, n: usize| piece.repeat(n);
    let texts = [
        long("a: ${\n", 15_000),
        long("a: \"${\n", 15_000),
        format!("result: {}", long("${", 15_000)),
        format!("result: '{}'", long("${ '} ", 15_000)),
        format!("result: '${{{}'", long("[", 15_000)),
        format!("result: '${{a{}}}'", long(".a", 15_000)),
        format!("result: '${{{}}}'", long("a,", 15_000)),
        format!("result: '${{[{}]}}'", long("a,", 15_000)),
        format!("result: '{}'", long("${nobody}", 5_000)),
        format!("result: {}", long("[", 15_000)),
        format!("result: {}", long("{a: ", 15_000)),
        (0..500).map(|n| format!("{}a:\n", " ".repeat(n))).collect(),
        (0..500).map(|n| format!("{}a: ${{\n", " ".repeat(n))).collect(),
        long("- ", 15_000),
        long("? ", 15_000),
        long("&a ", 15_000),
        long("*a\n", 15_000),
        long("```yaml\n", 15_000),
        long("#", 50_000),
        long("a: &a [*a, *a]\n", 5_000),
        (0..5_000).map(|n| format!("a{n}: ${{a{n}x}}\n")).collect::<String>() + "result: x",
        (0..5_000).map(|n| format!("a{n}:\n  d{n}: {{s: x}}\n")).collect::<String>() + "result: ${A}",
        format!("result: |\n{}", long("  ${today} 'é\n", 5_000)),
        format!("result: \"{}\"", long("\\u00e9\\\n  ", 5_000)),
    ];
    for text in texts {
        let case = Case::new("hostile.yaml", &text);
        assert!(!case.diagnostics.is_empty() || case.plan.is_some());
        assert!(case.diagnostics.len() <= 101);
    }
}

/// Evaluates aliases that use the one before twice.
fn doubled(template: &str, n: usize) -> Result<AliasValue, String> {
    let (plan, template) = template_of("a:\n", template);
    let start = Tracked::new(Value::from("x"), Origin::CODE);
    let mut value = AliasValue::from(start);
    for _ in 0..n {
        let values = vec![Some(value.clone())];
        value = evaluate(dataflow(&plan), &template, &values, &calendar()).map_err(|fault| fault.message)?;
    }
    Ok(value)
}

#[test]
fn values_that_double_end_in_a_fault() {
    for template in ["${a}${a}", "${[a, a]}", "${{x: a, y: a}}", "<${[a, a]}>"] {
        assert!(doubled(template, 10).is_ok(), "{template}");
        let fault = doubled(template, 60).unwrap_err();
        assert!(fault.starts_with("the value is larger than "), "{template}: {fault}");
    }
    for template in ["${[a]}", "${{x: a}}"] {
        assert!(doubled(template, 100).is_ok(), "{template}");
        let fault = doubled(template, 10_000).unwrap_err();
        assert!(fault.starts_with("lists and maps are nested deeper than "), "{template}: {fault}");
    }
}
