//! Plans: the second and third language of the machine. A plan is one file: a list of instructions in one of two
//! JSON dialects ([`json`]), or a dataflow document in YAML ([`crate::dataflow`]) (spec `plans.md`).
//!
//! What is here is what both have in common: a name, parameters, and the nodes by which a machine says where it is.

mod check;
mod decode;
mod dialect;
mod explain;
mod extract;
mod instructions;
pub mod json;
mod json_reader;
mod json_text;
mod layout;
mod mermaid;
mod parameters;
mod references;
mod values;
mod wording;

pub use check::{Surroundings, check_calls};
pub use decode::{FINAL_ANSWER, RESULT, decode};
pub use explain::{Step, outline, steps};
pub use mermaid::mermaid;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::dataflow::Dataflow;
use crate::diagnostic::{Diagnostic, Severity, render};
use crate::plan::json::{Dialect, JsonPlan};
use crate::program::{Parameter, Signature, Type};
use crate::signature::identifier;
use crate::span::{FileId, Sources, Span};

/// A plan, by its position in [`crate::program::Program::plans`]. Plans that a model wrote while a session ran get
/// the next numbers, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanId(pub u32);

/// A place in a plan, by its position in [`Plan::nodes`]: an instruction, an alias, or one of an alias's domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// One plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The name it is called by: its file's stem, made an identifier; unique among the plans of a program.
    pub name: Arc<str>,
    /// Its text.
    pub file: FileId,
    /// The whole of it inside the file (what a model wrote around it left out).
    pub span: Span,
    /// The variables it reads and does not set, in the order of their first reading; of a dataflow plan the aliases
    /// without a value. A call binds them.
    pub parameters: Vec<Arc<str>>,
    /// The places in it, in document order.
    pub nodes: Vec<PlanNode>,
    /// What it does.
    pub body: PlanBody,
}

/// One place in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNode {
    /// How people name it. JSON plans: the path of sequence numbers (`3`, `6/false/9`); dataflow plans: the alias
    /// (`outbound`), or alias and domain (`outbound.flights`).
    pub label: Arc<str>,
    /// Its place in the text.
    pub span: Span,
}

/// What a plan does.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanBody {
    /// A list of instructions.
    Json(JsonPlan),
    /// A dataflow document.
    Dataflow(Dataflow),
}

/// Which language a plan is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlanLanguage {
    /// JSON with jumps: source 000.
    Jmp,
    /// JSON with branches: source 001.
    Branch,
    /// YAML: source 002.
    Dataflow,
}

/// The name that a plan of this file is called by.
pub fn plan_name(name: &str) -> Arc<str> {
    let stem = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name);
    let lower = stem.to_ascii_lowercase();
    let ending =
        [".jmp.json", ".branch.json", ".json", ".yaml", ".yml"].into_iter().find(|ending| lower.ends_with(ending));
    let identifier = identifier(&stem[..stem.len() - ending.map_or(0, str::len)]);
    if identifier.is_empty() { "Plan".into() } else { identifier.into() }
}

/// Reads the plan in a file, whichever language it is in. A plan with an error among the diagnostics must not run.
pub fn read_plan(file: FileId, name: &str, text: &str) -> (Option<Plan>, Vec<Diagnostic>) {
    match PlanLanguage::of_file(name) {
        Some(Some(PlanLanguage::Dataflow)) => crate::dataflow::read(file, &plan_name(name), text),
        Some(Some(PlanLanguage::Jmp | PlanLanguage::Branch) | None) | None => decode::decode(file, name, text, None),
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
            let around = check::Surroundings { callables, candidates, open_world, given: &|_| false, text };
            let mut found = check::check_calls(plan, &around);
            found.retain(|finding| finding.code != "plan-undefined-variable" || finding.fix.is_some());
            found
        }
        PlanBody::Dataflow(_) => crate::dataflow::check_domains(plan, callables, candidates),
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
        PlanLanguage::Jmp => decode::decode(file, name, text, Some(Dialect::Jmp)),
        PlanLanguage::Branch => decode::decode(file, name, text, Some(Dialect::Branch)),
        PlanLanguage::Dataflow => crate::dataflow::read(file, name, text),
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

impl PlanLanguage {
    /// The language of a file, by its name: `.jmp.json`, `.branch.json`, `.json` (`Some(None)`: which of
    /// the two is seen in the text), `.yaml`, `.yml`; none: it is no plan.
    pub fn of_file(name: &str) -> Option<Option<PlanLanguage>> {
        let name = name.to_ascii_lowercase();
        if name.ends_with(".jmp.json") {
            Some(Some(PlanLanguage::Jmp))
        } else if name.ends_with(".branch.json") {
            Some(Some(PlanLanguage::Branch))
        } else if name.ends_with(".json") {
            Some(None)
        } else {
            (name.ends_with(".yaml") || name.ends_with(".yml")).then_some(Some(PlanLanguage::Dataflow))
        }
    }
}

impl fmt::Display for PlanLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlanLanguage::Jmp => "jmp",
            PlanLanguage::Branch => "branch",
            PlanLanguage::Dataflow => "dataflow",
        })
    }
}

impl Plan {
    /// Its language.
    pub fn language(&self) -> PlanLanguage {
        match &self.body {
            PlanBody::Json(plan) => plan.dialect.language(),
            PlanBody::Dataflow(_) => PlanLanguage::Dataflow,
        }
    }

    /// What is to be known to call it. Every parameter is required and takes any value.
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

    /// The names it calls, with repetitions, in document order.
    pub fn callees(&self) -> Vec<&str> {
        match &self.body {
            PlanBody::Json(plan) => {
                plan.instructions.iter().filter_map(|instruction| Some(&*instruction.kind.call()?.callee)).collect()
            }
            PlanBody::Dataflow(dataflow) => dataflow.domains().map(|domain| &*domain.name).collect(),
        }
    }

    /// The node with `id`.
    ///
    /// # Panics
    /// If `id` is of another plan.
    pub fn node(&self, id: NodeId) -> &PlanNode {
        &self.nodes[id.0 as usize]
    }
}
