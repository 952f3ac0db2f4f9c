//! `playhouse plan explain FILE…`: what a plan does, needs and calls, as text, as a flowchart, for programs.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::diagnostic::{Severity, render};
use crate::host::launch::{Choices, Launch, surveyed};
use crate::host::program::load_files;
use crate::host::tool::registry::Registry;
use crate::host::tool::retrieval::Retrieval;
use crate::host::tool::{Tool, generate};
use crate::lang::plan::{Plan, mermaid, outline, steps};
use crate::lang::program::Program;
use crate::serve::cli::check::{WirePlace, to_place};
use crate::serve::cli::console::{Console, Exit, Failure, put};
use crate::serve::cli::world::{launch_failure, workshop};

/// Findings that say no more than that a callee is not known, which the explanation itself tells.
const UNKNOWN: [&str; 2] = ["plan-unknown-callee", "unknown-domain"];

const EXAMPLES: &str = "\
Examples:
  playhouse plan explain refund.jmp.json --tools tools.json
  playhouse plan explain trip.yaml --format mermaid
  playhouse plan explain program.md             the plans that a program imports";

/// Shows what plans do, what they need and what they call, without running them and without a model
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// Plans, or programs that import plans
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How it is shown
    #[arg(long, value_enum, default_value_t = Form::Outline)]
    format: Form,
    /// A file of canned tools, which count as declared
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text: one line per instruction or alias, then what is called.
    Outline,
    /// A flowchart in Mermaid's language; a plan after the other.
    Mermaid,
    /// One array for programs, an object per plan.
    Json,
}

/// Explains the plans of the files.
pub(crate) fn explain(console: &Console, arguments: &ExplainArguments) -> Result<Exit, Failure> {
    let choices = Choices { tools: arguments.tools.clone(), ..Choices::default() };
    let equipment = Launch::new(workshop(console), choices).survey(&arguments.files);
    let equipment = equipment.map_err(|error| launch_failure(console, error))?;
    let tools = surveyed(&equipment);
    let (_, mut loaded) = load_files(&arguments.files, &tools).map_err(|error| Failure::wrong(error.to_string()))?;
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
        Form::Json if explained.is_empty() => put("[]\n")?,
        Form::Json => put(&format!("[\n{}\n]\n", explained.join(",\n")))?,
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
                "no store is connected, so the call fails; --tools FILE can give a tool of this name"
            }
            CalleeKind::Unknown => {
                "unknown; --tools FILE gives a tool of this name, an importing program a playbook or plan"
            }
        }
    }
}

/// A plan in `--format json`. A public interface: fields are added, never changed or removed.
#[derive(Serialize)]
struct WirePlan<'a> {
    name: &'a str,
    language: String,
    file: &'a str,
    parameters: &'a [std::sync::Arc<str>],
    calls: Vec<WireCall<'a>>,
    steps: Vec<WireStep<'a>>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    name: &'a str,
    kind: CalleeKind,
}

#[derive(Serialize)]
struct WireStep<'a> {
    label: &'a str,
    #[serde(flatten)]
    place: WirePlace<'a>,
    does: String,
    then: Vec<std::sync::Arc<str>>,
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
                for WireCall { name, kind } in calls {
                    // Writing to a `String` can't fail.
                    let _ = writeln!(text, "    {name}: {}", kind.words());
                }
                text
            }
            Form::Json => {
                let file = self.program.sources.get(plan.file);
                let step = |step: crate::lang::plan::Step| {
                    let node = plan.node(step.node);
                    let place = to_place(node.span, &self.program.sources);
                    WireStep { label: &node.label, place, does: step.does, then: step.then }
                };
                let wire = WirePlan {
                    name: &plan.name,
                    language: plan.language().to_string(),
                    file: file.map_or("", |file| &file.name),
                    parameters: &plan.parameters,
                    calls: self.calls(plan),
                    steps: steps(plan).into_iter().map(step).collect(),
                };
                // Text and numbers: writing them as JSON cannot fail.
                serde_json::to_string(&wire).unwrap_or_default()
            }
        }
    }

    /// What the plan calls, each once, in the order in which it is first named.
    fn calls<'p>(&self, plan: &'p Plan) -> Vec<WireCall<'p>> {
        let mut names: Vec<&str> = plan.callees().into_iter().map(|(name, _)| name).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(*name));
        names.into_iter().map(|name| WireCall { name, kind: self.kind(name) }).collect()
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
