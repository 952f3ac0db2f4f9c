//! Files, and what a model has written, to plans; what it takes to call them.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity, render};
use crate::plan::check::{Surroundings, check_calls};
use crate::plan::dataflow::check::check_domains;
use crate::plan::dataflow::read as dataflow;
use crate::plan::json::Dialect;
use crate::plan::json::decode::decode;
use crate::plan::node::PlanLanguage;
use crate::plan::types::{Plan, PlanBody};
use crate::plan::wording::plan_name;
use crate::signature::{Parameter, Signature, Type};
use crate::span::{FileId, Sources};

/// Reads the plan in a file, whichever language it is in. A plan with an error among the diagnostics must not run.
pub fn read_plan(file: FileId, name: &str, text: &str) -> (Option<Plan>, Vec<Diagnostic>) {
    match PlanLanguage::of_file(name) {
        Some(Some(PlanLanguage::Dataflow)) => dataflow::read(file, &plan_name(name), text),
        Some(Some(PlanLanguage::Jmp | PlanLanguage::Branch) | None) | None => decode(file, name, text, None),
    }
}

/// Checks what a plan calls, and what it reads and nothing sets. `callables` knows the tools, playbooks and plans
/// there are, `candidates` are their names; with `open_world` there may be more.
pub fn check_plan(
    plan: &Plan,
    text: &str,
    callables: &dyn Fn(&str) -> Option<Signature>,
    candidates: &[String],
    open_world: bool,
) -> Vec<Diagnostic> {
    match &plan.body {
        PlanBody::Json(_) => {
            // A variable that nothing sets is a parameter, unless it looks like one that something sets.
            let around = Surroundings { callables, candidates, open_world, given: &|_| false, text };
            let mut found = check_calls(plan, &around);
            found.retain(|finding| finding.code != "plan-undefined-variable" || finding.fix.is_some());
            found
        }
        PlanBody::Dataflow(_) => check_domains(plan, callables, candidates),
    }
}

/// Reads a plan that a model has written, with what it wrote around it, and checks it. `name` is what the plan is
/// called by; the rest is as in [`check_plan`].
///
/// # Errors
/// All its faults as text for the model: what is wrong, the place in what it wrote, what to do about it.
pub fn read_written_plan(
    name: &str,
    text: &str,
    language: PlanLanguage,
    callables: &dyn Fn(&str) -> Option<Signature>,
    candidates: &[String],
) -> Result<Plan, String> {
    let mut sources = Sources::default();
    let file = sources.add(name.to_owned(), text);
    let (plan, mut found) = match language {
        PlanLanguage::Jmp => decode(file, name, text, Some(Dialect::Jmp)),
        PlanLanguage::Branch => decode(file, name, text, Some(Dialect::Branch)),
        PlanLanguage::Dataflow => dataflow::read(file, name, text),
    };
    if let Some(plan) = &plan {
        found.extend(check_plan(plan, text, callables, candidates, false));
    }
    found.retain(|finding| finding.severity == Severity::Error);
    match plan {
        Some(plan) if found.is_empty() => Ok(Plan { name: name.into(), ..plan }),
        Some(_) | None => Err(render(&found, &sources, false)),
    }
}

impl Plan {
    /// What a caller must know. Every parameter is required and takes any value.
    pub fn signature(&self) -> Signature {
        let parameter = |name: &Arc<str>| Parameter {
            name: name.clone(),
            ty: Type::ANY,
            default: None,
            description: "".into(),
            span: None,
        };
        Signature {
            name: self.name.clone(),
            parameters: self.parameters.iter().map(parameter).collect(),
            returns: Type::ANY,
            summary: format!("a {} plan", self.language()).into(),
        }
    }
}
