//! A model's reply to a plan, or to what is wrong with it.

use playhouse_lang::dataflow::{self, AliasBody, check_domains};
use playhouse_lang::diagnostic::{Diagnostic, Severity, render};
use playhouse_lang::plan::json::Dialect;
use playhouse_lang::plan::{Plan, PlanBody, PlanLanguage, Surroundings, check_calls, decode, plan_name};
use playhouse_lang::program::Signature;
use playhouse_lang::span::Sources;
use playhouse_vm::plan::prompts::Order;

/// The code of a finding: the plan reads what neither it nor anybody else sets.
const UNSET: &str = "plan-undefined-variable";

/// A plan without errors.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its text alone; ends with a line break.
    pub text: String,
    /// The plan in that text.
    pub plan: Plan,
    /// Findings that are not errors, rendered.
    pub warnings: String,
}

/// The plan in `reply`, which may have prose and fences around it. `name` is what the text is called in findings.
///
/// # Errors
/// What is wrong, rendered as `check` shows it.
pub fn check(order: &Order<'_>, name: &str, reply: &str) -> Result<Checked, String> {
    if reply.trim().is_empty() {
        return Err("the reply is empty".to_owned());
    }
    let (plan, _) = read(order, name, reply)?;
    // Once more without what stands around it: what is written to a file is what was checked.
    let alone = reply.get(plan.span.range()).unwrap_or(reply).trim();
    let text = format!("{alone}\n");
    let (plan, findings) = read(order, name, &text)?;
    let mut sources = Sources::default();
    sources.add(name, text.as_str());
    Ok(Checked { warnings: render(&findings, &sources, false), text, plan })
}

/// The plan in a text, and what was found that is no error; the error is what was found, rendered.
fn read(order: &Order<'_>, name: &str, text: &str) -> Result<(Plan, Vec<Diagnostic>), String> {
    let mut sources = Sources::default();
    let file = sources.add(name, text);
    let (plan, mut findings) = match order.language {
        PlanLanguage::Jmp => decode(file, name, text, Some(Dialect::Jmp)),
        PlanLanguage::Branch => decode(file, name, text, Some(Dialect::Branch)),
        PlanLanguage::Dataflow => dataflow::read(file, &plan_name(name), text),
    };
    if let Some(plan) = &plan {
        findings.extend(check_plan(order, plan, text));
    }
    let has_error = findings.iter().any(|finding| finding.severity == Severity::Error);
    match plan {
        Some(plan) if !has_error => Ok((plan, findings)),
        Some(_) | None => {
            // What is only doubtful would distract from what must be mended.
            findings.retain(|finding| finding.severity == Severity::Error);
            findings.sort_by(|a, b| (a.span, a.code).cmp(&(b.span, b.code)));
            Err(render(&findings, &sources, false))
        }
    }
}

/// What is wrong with its calls, and what it reads and nobody sets: nobody gives a generated plan what it was not
/// ordered to take.
fn check_plan(order: &Order<'_>, plan: &Plan, text: &str) -> Vec<Diagnostic> {
    let find = |name: &str| -> Option<Signature> { order.tools.iter().find(|tool| &*tool.name == name).cloned() };
    let candidates: Vec<String> = order.tools.iter().map(|tool| tool.name.to_string()).collect();
    let is_given = |name: &str| order.given.iter().any(|given| **given == *name);
    match &plan.body {
        PlanBody::Json(_) => {
            let around =
                Surroundings { text, callables: &find, candidates: &candidates, open_world: false, given: &is_given };
            let mut findings = check_calls(plan, &around);
            for finding in findings.iter_mut().filter(|finding| finding.code == UNSET) {
                finding.severity = Severity::Error;
                // That it can be given with `--arg` is true for people.
                finding.notes.retain(|note| !note.message.contains("--arg"));
            }
            findings
        }
        PlanBody::Dataflow(dataflow) => {
            let mut findings = check_domains(plan, &find, &candidates);
            let parameters = dataflow.aliases.iter().filter(|alias| matches!(alias.body, AliasBody::Parameter));
            findings.extend(parameters.filter(|alias| !is_given(&alias.name)).map(|alias| {
                let message = format!("`{}` has no value, and nothing provides one", alias.name);
                Diagnostic::error(UNSET, alias.name_span, message)
            }));
            findings
        }
    }
}
