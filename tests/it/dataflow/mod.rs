//! Dataflow documents: reading and checking them, and the values of their expressions.

mod evaluate;
mod limits;
mod read;

use playhouse::diagnostic::{Diagnostic, render};
use playhouse::lang::dataflow::{Dataflow, read};
use playhouse::lang::plan::{Plan, PlanBody};
use playhouse::span::Sources;

/// A document that was read, with what was found.
struct Case {
    sources: Sources,
    plan: Option<Plan>,
    diagnostics: Vec<Diagnostic>,
}

impl Case {
    fn new(name: &str, text: &str) -> Case {
        let mut sources = Sources::default();
        let file = sources.add(name, text);
        let (plan, diagnostics) = read(file, "case", text);
        Case { sources, plan, diagnostics }
    }

    fn shown(&self) -> String {
        render(&self.diagnostics, &self.sources, false)
    }

    fn codes(&self) -> Vec<&'static str> {
        self.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
    }
}

fn dataflow(plan: &Plan) -> &Dataflow {
    match &plan.body {
        PlanBody::Dataflow(dataflow) => dataflow,
        PlanBody::Json(_) => panic!("a document is no JSON plan"),
    }
}
