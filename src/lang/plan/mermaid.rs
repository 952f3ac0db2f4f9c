//! A plan as a Mermaid flowchart.

use std::fmt::Write as _;

use crate::plan::dataflow::explain as dataflow;
use crate::plan::explain::what;
use crate::plan::json::{InstructionKind, JsonPlan, Target};
use crate::plan::node::NodeId;
use crate::plan::types::{Plan, PlanBody};
use crate::value::markup::mermaid_text;

/// The plan as a flowchart in Mermaid's language. Text from the plan is escaped: it can never become syntax. Ends
/// with a line break.
pub fn mermaid(plan: &Plan) -> String {
    match &plan.body {
        PlanBody::Json(json) => {
            let mut text = "flowchart TD\n".to_owned();
            json_chart(&mut text, plan, json);
            text
        }
        PlanBody::Dataflow(body) => dataflow::mermaid(body),
    }
}

fn json_chart(text: &mut String, plan: &Plan, json: &JsonPlan) {
    let id = |node: Option<NodeId>| node.map_or_else(|| "done".to_owned(), |node| format!("n{}", node.0));
    for (index, instruction) in json.instructions.iter().enumerate() {
        let label = format!("{}: {}", plan.nodes[index].label, what(plan, json.dialect, &instruction.kind));
        let (open, close) = match instruction.kind {
            InstructionKind::Branch(_) => ("{\"", "\"}"),
            InstructionKind::Reasoning { .. } => ("(\"", "\")"),
            InstructionKind::Assign(_) | InstructionKind::Call(_) | InstructionKind::Jump(_) => ("[\"", "\"]"),
        };
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "    n{index}{open}{}{close}", mermaid_text(&label));
    }
    let _ = writeln!(text, "    start((start))\n    done((end))\n    start --> {}", id(json.first));
    for (index, instruction) in json.instructions.iter().enumerate() {
        for (when, target) in instruction.ways() {
            let label = if when.is_empty() { String::new() } else { format!("|{when}|") };
            let _ = match target {
                Target::Node(node) => writeln!(text, "    n{index} -->{label} {}", id(node)),
                // Where it goes is known when it is executed.
                Target::Computed(_) => writeln!(text, "    n{index} -.->{label} c{index}{{{{\"computed\"}}}}"),
            };
        }
    }
}
