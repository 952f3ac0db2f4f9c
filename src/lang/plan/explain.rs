//! A plan as text, as it was understood: one line per instruction.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::diagnostic::wording::cut;
use crate::plan::dataflow::explain as dataflow;
use crate::plan::dataflow::types::{Alias, AliasId};
use crate::plan::json::{
    Dialect, Instruction, InstructionKind, JsonPlan, Output, PlanValue, PlanValueKind, Target, TextPart,
};
use crate::plan::node::NodeId;
use crate::plan::types::{Plan, PlanBody};
use crate::value::json::quoted;

/// Longer values are cut.
const MAX_VALUE: usize = 72;

/// The plan for people: its name, language and parameters, then its instructions in document order, branches
/// indented, each with what it reads and sets and where it goes if not to the line below; of a dataflow plan what is
/// evaluated in which order. Ends with a line break.
pub fn outline(plan: &Plan) -> String {
    let mut text = format!("plan {} ({})", plan.name, plan.language());
    // Writing to a `String` can't fail.
    if !plan.parameters.is_empty() {
        let _ = write!(text, ", needs{}", names(plan.parameters.iter()));
    }
    text.push('\n');
    match &plan.body {
        PlanBody::Json(json) => json_outline(&mut text, plan, json),
        PlanBody::Dataflow(body) => {
            for line in dataflow::outline(body).lines().filter(|line| !line.starts_with("parameters: ")) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}

/// One place of a plan, as [`steps`] tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its label, and its place in the text.
    pub node: NodeId,
    /// What is done there, in one line.
    pub does: String,
    /// Where the plan continues, or which aliases use this one: labels. Computed targets and the end are left out.
    pub then: Vec<Arc<str>>,
}

/// The plan's instructions, or its aliases, in document order: the outline for programs.
pub fn steps(plan: &Plan) -> Vec<Step> {
    let label = |node: NodeId| plan.node(node).label.clone();
    match &plan.body {
        PlanBody::Json(json) => {
            let step = |(index, instruction): (u32, &Instruction)| {
                let node_of = |(_, target)| if let Target::Node(node) = target { node } else { None };
                let next: Vec<NodeId> = instruction.ways().into_iter().filter_map(node_of).collect();
                let does = what(plan, json.dialect, &instruction.kind);
                Step { node: NodeId(index), does, then: next.into_iter().map(label).collect() }
            };
            (0..).zip(&json.instructions).map(step).collect()
        }
        PlanBody::Dataflow(body) => {
            let step = |(index, alias): (u32, &Alias)| {
                let users = body.aliases.iter().filter(|user| user.needs.contains(&AliasId(index)));
                let then = users.map(|user| user.name.clone()).collect();
                Step { node: alias.node, does: dataflow::does(alias), then }
            };
            (0..).zip(&body.aliases).map(step).collect()
        }
    }
}

fn json_outline(text: &mut String, plan: &Plan, json: &JsonPlan) {
    if let Some(first) = json.first.filter(|first| first.0 != 0) {
        let _ = writeln!(text, "  begins with {}", plan.node(first).label);
    }
    for (index, instruction) in json.instructions.iter().enumerate() {
        let label = &plan.nodes[index].label;
        let depth = label.matches('/').count() / 2;
        let _ = write!(text, "  {}{label} {}", "  ".repeat(depth), what(plan, json.dialect, &instruction.kind));
        let mut read: BTreeSet<&Arc<str>> = BTreeSet::new();
        instruction.kind.inputs().iter().for_each(|value| read.extend(value.variables()));
        if !read.is_empty() {
            let _ = write!(text, "; reads{}", names(read));
        }
        let set = instruction.kind.outputs();
        if !set.is_empty() {
            let _ = write!(text, "; sets{}", names(set.into_iter().map(|(name, _)| name)));
        }
        let goes_on = !matches!(instruction.kind, InstructionKind::Branch(_) | InstructionKind::Jump(_));
        let below = u32::try_from(index + 1).ok().filter(|below| (*below as usize) < plan.nodes.len()).map(NodeId);
        if goes_on && instruction.next != below {
            let _ = write!(text, "; then {}", place(plan, instruction.next));
        }
        text.push('\n');
    }
}

/// What an instruction does, in one line.
pub(crate) fn what(plan: &Plan, dialect: Dialect, kind: &InstructionKind) -> String {
    match kind {
        InstructionKind::Assign(assignments) => {
            let each = assignments.iter().map(|assignment| {
                format!("{} = {}", one_line(&assignment.name), cut(&value_text(&assignment.value, dialect), MAX_VALUE))
            });
            format!("assign {}", each.collect::<Vec<_>>().join(", "))
        }
        InstructionKind::Call(call) => {
            let arguments = call
                .arguments
                .iter()
                .map(|(name, value)| format!("{}={}", one_line(name), cut(&value_text(value, dialect), MAX_VALUE)));
            let output = match &call.output {
                Output::Dropped => String::new(),
                Output::Whole(name) => format!(" -> {}", one_line(name)),
                Output::Members(names) => {
                    format!(" -> {{{}}}", names.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", "))
                }
            };
            format!("call {}({}){output}", one_line(&call.callee), arguments.collect::<Vec<_>>().join(", "))
        }
        InstructionKind::Branch(branch) => {
            let context = branch
                .context
                .as_ref()
                .map_or(String::new(), |context| format!(", given {}", cut(&value_text(context, dialect), MAX_VALUE)));
            let (yes, no) = (target(plan, dialect, &branch.if_true), target(plan, dialect, &branch.if_false));
            let prompt = cut(&value_text(&branch.prompt, dialect), MAX_VALUE);
            format!("if {prompt}{context} then {yes}, else {no}")
        }
        InstructionKind::Jump(to) => format!("go to {}", target(plan, dialect, to)),
        InstructionKind::Reasoning { text } => format!("reasoning {}", cut(&quoted(text), MAX_VALUE)),
    }
}

fn target(plan: &Plan, dialect: Dialect, target: &Target) -> String {
    match target {
        Target::Node(node) => place(plan, *node),
        Target::Computed(value) => value_text(value, dialect),
    }
}

fn place(plan: &Plan, node: Option<NodeId>) -> String {
    node.map_or_else(|| "the end".to_owned(), |node| plan.node(node).label.to_string())
}

/// A value as JSON with references as they are written, which for those outside of text is the name in braces.
fn value_text(value: &PlanValue, dialect: Dialect) -> String {
    match &value.kind {
        PlanValueKind::Literal(value) => value.to_json(),
        PlanValueKind::Variable(name) => one_line(&dialect.reference(name)),
        PlanValueKind::Text(parts) => {
            let pieces = parts.iter().map(|part| match part {
                TextPart::Text(text) => text.to_string(),
                TextPart::Variable(name) => dialect.reference(name),
            });
            quoted(&pieces.collect::<String>())
        }
        PlanValueKind::List(items) => {
            let items = items.iter().map(|item| value_text(item, dialect));
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        PlanValueKind::Map(members) => {
            let members = members.iter().map(|(key, value)| format!("{}:{}", quoted(key), value_text(value, dialect)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a Arc<str>>) -> String {
    names.into_iter().map(|name| format!(" {}", one_line(name))).collect()
}

/// A name as it is, or quoted if it has anything in it that could be taken for something else.
fn one_line(name: &str) -> String {
    let is_plain = |character: char| !character.is_control() && !character.is_whitespace();
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}
