//! `playhouse plan explain FILE…`: what a plan does, needs and calls, as text, as a flowchart, for programs.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::diagnostic::{Severity, render};
use crate::host::launch::{Choices, Launch};
use crate::host::tool::generate;
use crate::host::tool::registry::Registry;
use crate::host::tool::retrieval::Retrieval;
use crate::lang::plan::{Plan, mermaid, outline, steps};
use crate::lang::program::Program;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::output::json_array;
use crate::serve::cli::machinery::world::{launch_failure, workshop};
use crate::serve::show::merge;

/// Findings that say no more than that a callee is not known, which the explanation itself tells.
const UNKNOWN: [&str; 2] = ["plan-unknown-callee", "unknown-domain"];

const EXAMPLES: &str = "\
Examples:
  playhouse plan explain refund.jmp.json --tools tools.json
  playhouse plan explain trip.yaml --format mermaid
  playhouse plan explain program.md             the plans that a program imports";

/// Shows what plans do, need and call, without running them and without a model
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// Plans, or programs that import plans
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Form::Outline)]
    format: Form,
    /// A file of canned tools, which count as declared (repeatable)
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text: one line per instruction or alias, then the calls.
    Outline,
    /// Mermaid flowcharts, one plan after the other.
    Mermaid,
    /// A JSON array for programs, with an object per plan.
    Json,
}

/// Explains the plans of the files.
pub(crate) fn explain(console: &Console, arguments: &ExplainArguments) -> Result<Exit, Failure> {
    let choices = Choices { tools: arguments.tools.clone(), ..Choices::default() };
    let surveyed = Launch::new(workshop(console), choices).survey(&arguments.files);
    let (equipment, mut loaded) = surveyed.map_err(|error| launch_failure(console, error))?;
    let program = &loaded.program;
    let has_errors = loaded.diagnostics.iter().any(|found| found.severity == Severity::Error);
    if program.plans.is_empty() && !has_errors {
        let files: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
        return Err(Failure::wrong(format!(
            "{}: there is no plan here; a plan is a `.json` or `.yaml` file, or is imported by a program",
            files.join(", ")
        )));
    }
    let around = Around { program, registry: &equipment.tools };
    let explained: Vec<String> = program.plans.iter().map(|plan| around.explain(plan, arguments.format)).collect();
    match arguments.format {
        Form::Outline | Form::Mermaid => put(&explained.join("\n"))?,
        Form::Json => put(&json_array(explained))?,
    }
    loaded.diagnostics.retain(|found| found.severity == Severity::Error && !UNKNOWN.contains(&found.code));
    if loaded.diagnostics.is_empty() {
        return Ok(Exit::Finished);
    }
    console.tell(&render(&loaded.diagnostics, &loaded.program.sources, console.color));
    console.tell("\n");
    Ok(Exit::Wrong)
}

struct Around<'a> {
    program: &'a Program,
    registry: &'a Registry,
}

/// What a plan calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CalleeKind {
    Tool,
    Playbook,
    Plan,
    Model,
    Retrieval,
    Unknown,
}

impl CalleeKind {
    fn words(self) -> &'static str {
        match self {
            CalleeKind::Tool => "a tool",
            CalleeKind::Playbook => "a playbook",
            CalleeKind::Plan => "a plan",
            CalleeKind::Model => "the model",
            CalleeKind::Retrieval => {
                "searches documents: `playhouse index add FOLDER` makes an index, and --tools FILE can add a tool of \
                 this name"
            }
            CalleeKind::Unknown => {
                "unknown; --tools FILE can add a tool of this name, and an importing program a playbook or plan"
            }
        }
    }
}

impl Around<'_> {
    fn explain(&self, plan: &Plan, form: Form) -> String {
        match form {
            Form::Mermaid => mermaid(plan),
            Form::Outline => {
                let mut text = outline(plan);
                let calls = self.calls(plan);
                if !calls.is_empty() {
                    text.push_str("  calls\n");
                }
                for (name, kind) in calls {
                    // Writing to a `String` can't fail.
                    let _ = writeln!(text, "    {name}: {}", kind.words());
                }
                text
            }
            Form::Json => {
                let file = self.program.sources.get(plan.file);
                let calls = self.calls(plan).into_iter().map(|(name, kind)| json!({"name": name, "kind": kind}));
                let steps = steps(plan).into_iter().map(|step| {
                    let node = plan.node(step.node);
                    let mut told = json!({"label": node.label});
                    merge(&mut told, json!(self.program.sources.file_range(node.span)));
                    merge(&mut told, json!({"does": step.does, "then": step.then}));
                    told
                });
                // A public interface: fields are added, never changed or removed.
                let told = json!({
                    "name": plan.name,
                    "language": plan.language().to_string(),
                    "file": file.map_or("", |file| &file.name),
                    "parameters": plan.parameters,
                    "calls": calls.collect::<Vec<_>>(),
                    "steps": steps.collect::<Vec<_>>(),
                });
                told.to_string()
            }
        }
    }

    /// What the plan calls, each once, in the order in which it is first named.
    fn calls<'p>(&self, plan: &'p Plan) -> Vec<(&'p str, CalleeKind)> {
        let mut names: Vec<&str> = plan.callees().into_iter().map(|(name, _)| name).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(*name));
        names.into_iter().map(|name| (name, self.kind(name))).collect()
    }

    fn kind(&self, name: &str) -> CalleeKind {
        let agents = &self.program.agents;
        if agents.iter().any(|agent| self.program.find_playbook(agent.id, name).is_some()) {
            CalleeKind::Playbook
        } else if self.program.find_plan(name).is_some() {
            CalleeKind::Plan
        } else {
            // A tool of the author's own may stand in for one that is there by itself.
            match self.registry.get(name).map(|tool| tool.signature()) {
                None => CalleeKind::Unknown,
                Some(found) if found == generate::signature() => CalleeKind::Model,
                Some(found) if Retrieval::ALL.iter().any(|tool| tool.signature() == found) => CalleeKind::Retrieval,
                Some(_) => CalleeKind::Tool,
            }
        }
    }
}
