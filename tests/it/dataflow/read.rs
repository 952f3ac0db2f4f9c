//! Documents to plans and diagnostics.

use std::fmt::Write as _;

use playhouse::diagnostic::{Severity, render};
use playhouse::lang::dataflow::{AliasBody, Dataflow, Template, TemplatePart, check_domains, mermaid, outline, path};
use playhouse::lang::program::{Parameter, Signature, Type};

use super::{Case, dataflow};
use crate::golden;

/// A text as it was read: expressions in `${ }`, text in quotes.
fn template(plan: &Dataflow, template: &Template) -> String {
    let part = |part: &TemplatePart| match part {
        TemplatePart::Text(text) => format!("{text:?}"),
        TemplatePart::Expr(expr) => format!("${{{}}}", path(plan, expr)),
    };
    template.parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// Everything a plan consists of.
fn shown(case: &Case) -> String {
    let Some(plan) = &case.plan else { return "no plan\n".to_owned() };
    let document = dataflow(plan);
    let mut text = format!("parameters: {:?}\n", plan.parameters);
    let place = |span| case.sources.place(span).split_once(':').map(|(_, place)| place.to_owned()).unwrap();
    for alias in &document.aliases {
        let needs: Vec<&str> = alias.needs.iter().map(|need| &*document.alias(*need).name).collect();
        let node = plan.node(alias.node);
        let reachable = if alias.reachable { "" } else { " (not reachable)" };
        writeln!(text, "{} at {}: needs {needs:?}{reachable}", node.label, place(node.span)).unwrap();
        match &alias.body {
            AliasBody::Parameter => text.push_str("    parameter\n"),
            AliasBody::Text(read) => writeln!(text, "    {}", template(document, read)).unwrap(),
            AliasBody::Domains(domains) => {
                for domain in domains {
                    let node = plan.node(domain.node);
                    writeln!(text, "  {} at {}", node.label, place(node.span)).unwrap();
                    for slot in &domain.slots {
                        let values: Vec<String> = slot.values.iter().map(|value| template(document, value)).collect();
                        writeln!(text, "    {}: [{}]", slot.name, values.join(", ")).unwrap();
                    }
                }
            }
        }
    }
    writeln!(text, "\n{}\n{}", outline(document), mermaid(document)).unwrap();
    text
}

#[test]
fn good_documents() {
    golden::check("plans/dataflow/good", &["yaml"], |name, text| {
        let case = Case::new(name, text);
        let errors = case.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        assert_eq!(errors.count(), 0, "{}", case.shown());
        format!("{}{}", shown(&case), case.shown())
    });
}

#[test]
fn bad_documents() {
    golden::check("plans/dataflow/bad", &["yaml"], |name, text| {
        let case = Case::new(name, text);
        assert!(case.diagnostics.iter().any(|found| found.severity == Severity::Error), "{name} is not bad");
        case.shown()
    });
}

fn signature(name: &str, parameters: &[(&str, bool)]) -> Signature {
    let parameter = |(name, required): &(&str, bool)| Parameter {
        name: (*name).into(),
        ty: Type::ANY,
        default: (!required).then(|| "".into()),
        description: "".into(),
        span: None,
    };
    let parameters = parameters.iter().map(parameter).collect();
    Signature { name: name.into(), parameters, returns: Type::ANY, summary: "".into() }
}

#[test]
fn domains_are_held_against_what_can_be_called() {
    let world = [
        signature("flights", &[("origin", true), ("destination", true), ("cabin", false)]),
        signature("car", &[("location", true), ("pickup", true)]),
        signature("hotel", &[("city", true)]),
        signature("ping", &[]),
    ];
    let candidates: Vec<String> = world.iter().map(|signature| signature.name.to_string()).collect();
    let callables = |name: &str| world.iter().find(|signature| &*signature.name == name).cloned();
    golden::check("plans/dataflow/domains", &["yaml"], |name, text| {
        let case = Case::new(name, text);
        let found = check_domains(case.plan.as_ref().unwrap(), &callables, &candidates);
        render(&found, &case.sources, false)
    });
}

#[test]
fn a_text_of_another_shape_gives_no_plan() {
    for text in ["", "- a", "text", "a: {d: {s: x}}", "a: [", "a: b: c"] {
        let case = Case::new("a.yaml", text);
        assert!(case.plan.is_none(), "{text:?}");
    }
    // With a result there is one, so that its domains can be checked too.
    let case = Case::new("a.yaml", "a: [1]\nresult: ${b}\n");
    assert!(case.plan.is_some());
    assert_eq!(case.codes(), ["bad-shape", "unknown-name"]);
}
