//! A program's graph as text, and what a session took of it: how often, at which cost, and where it stands.

use std::collections::HashMap;

use crate::coverage::{Names, reached};
use crate::events::{PublicBody, PublicEvent};
use crate::profile::{Node, Part as Spender, Profile};
use crate::travel::Run;
use serde::Deserialize;

use playhouse_lang::analysis::Analysis;
use playhouse_lang::analysis::chart::{Chart, Part, StackFrame, Taken};
use playhouse_lang::program::{Playbook, PlaybookId, Program, StepId};
use playhouse_lang::spelling::nearest;
use playhouse_vm::protocol::CallKind;

/// What a graph is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, strum::EnumString, strum::VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "the names are those of the formats")]
pub enum GraphFormat {
    #[default]
    Mermaid,
    Dot,
    Svg,
    Json,
}

impl GraphFormat {
    /// A graph as text.
    pub fn write(self, chart: &Chart) -> String {
        match self {
            GraphFormat::Mermaid => chart.mermaid(),
            GraphFormat::Dot => chart.dot(),
            GraphFormat::Svg => chart.svg(),
            GraphFormat::Json => format!("{}\n", serde_json::json!(chart)),
        }
    }
}

/// The graph of a program, or the lines of the playbook `flow`, `Agent.Playbook` where several have its name.
///
/// # Errors
/// There is none of this name, or several.
pub fn chart(program: &Program, flow: Option<&str>) -> Result<Chart, String> {
    let analysis = Analysis::new(program);
    match flow {
        Some(name) => Ok(analysis.flow_chart(playbook(program, name)?)),
        None => Ok(analysis.chart()),
    }
}

fn playbook(program: &Program, name: &str) -> Result<PlaybookId, String> {
    let found: Vec<PlaybookId> = program.playbooks_named(name).map(|playbook| playbook.id).collect();
    let names = || program.playbooks.iter().map(|playbook| program.unique_name(playbook.id));
    match found[..] {
        [only] => Ok(only),
        [] if program.find_plan(name).is_some() => {
            Err(format!("`{name}` is a plan; `playhouse plan explain FILE --format mermaid` draws it"))
        }
        [] => Err(match nearest(name, names()) {
            Some(near) => format!("there is no playbook `{name}`; did you mean `{near}`?"),
            None => {
                format!("there is no playbook `{name}`; the playbooks are {}", names().collect::<Vec<_>>().join(", "))
            }
        }),
        [..] => {
            let names: Vec<String> = found.iter().map(|id| program.unique_name(*id)).collect();
            Err(format!("several agents have a playbook `{name}`; name one of {}", names.join(", ")))
        }
    }
}

/// What a run took, with the tokens that `spent` has of it (nothing, where nobody counted). After a change of the program
/// nothing counts.
#[expect(clippy::wildcard_enum_match_arm, reason = "counted is what is named here")]
pub fn taken(run: &Run, spent: &Profile) -> Taken {
    let program = &*run.program;
    let names = Names::new(program);
    let mut taken = Taken { session: run.session.clone(), ..reached(run).taken() };
    for event in &run.events {
        let playbook = names.playbook(event);
        let line = playbook.and_then(|playbook| playbook.find_step(event.line.as_deref()?));
        let own = playbook.map(|playbook| Part::Playbook(playbook.id)).or_else(|| names.plan(event).map(Part::Plan));
        match &event.body {
            PublicBody::ProgramChanged { .. } => break,
            PublicBody::CallQueued { callable, kind, .. } => {
                if let (Some(caller), Some(callee)) = (own, callee(program, playbook, callable, *kind)) {
                    *taken.calls.entry((caller, line, callee)).or_default() += 1;
                }
            }
            _ => follow(&mut taken.stack, event, own, line),
        }
    }
    add_tokens(&mut taken, program, spent);
    taken
}

/// What was called; nothing, if it is none of the program's.
fn callee(program: &Program, caller: Option<&Playbook>, name: &str, kind: CallKind) -> Option<Part> {
    match kind {
        CallKind::Tool => Some(Part::Tool(name.into())),
        CallKind::Plan => program.find_plan(name).map(Part::Plan),
        CallKind::Playbook => {
            let own = caller.and_then(|caller| program.find_playbook(caller.agent, name));
            own.or_else(|| Some(program.playbooks_named(name).next()?.id)).map(Part::Playbook)
        }
        CallKind::Model => None,
    }
}

/// The stack after an event: a frame is pushed, comes to a line, or goes with all above it.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these move frames")]
fn follow(stack: &mut Vec<StackFrame>, event: &PublicEvent, own: Option<Part>, line: Option<StepId>) {
    let Some(depth) = event.depth else { return };
    match &event.body {
        PublicBody::FramePushed { .. } => {
            stack.truncate(depth);
            stack.extend(own.map(|part| StackFrame { part, line: None }));
        }
        PublicBody::LineReached {} => stack.iter_mut().skip(depth).take(1).for_each(|frame| frame.line = line),
        PublicBody::FramePopped { .. } | PublicBody::FrameElided { .. } => stack.truncate(depth),
        _ => {}
    }
}

/// Tokens of each playbook without what it has called, and of each of its lines.
fn add_tokens(taken: &mut Taken, program: &Program, spent: &Profile) {
    let named: HashMap<String, &Playbook> =
        program.playbooks.iter().map(|playbook| (program.unique_name(playbook.id), playbook)).collect();
    let mut pending = vec![&spent.root];
    while let Some(node) = pending.pop() {
        pending.extend(&node.children);
        if node.part != Spender::Playbook {
            continue;
        }
        if let Some(plan) = program.find_plan(&node.name) {
            taken.parts.entry(Part::Plan(plan)).or_default().tokens += own_tokens(node);
        }
        let Some(playbook) = named.get(&*node.name) else { continue };
        taken.parts.entry(Part::Playbook(playbook.id)).or_default().tokens += own_tokens(node);
        for line in node.children.iter().filter(|child| child.part == Spender::Line) {
            let label = line.name.split(' ').next().unwrap_or("");
            if let Some(step) = playbook.steps.iter().find(|step| *step.label == *label) {
                taken.lines.entry((playbook.id, step.id)).or_default().tokens += own_tokens(line);
            }
        }
    }
}

fn own_tokens(node: &Node) -> u64 {
    let children = node.children.iter().filter(|child| child.part != Spender::Playbook);
    node.spent.tokens() + children.map(own_tokens).sum::<u64>()
}
