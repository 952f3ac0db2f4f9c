//! A chart in Graphviz' language.

use std::fmt::Write as _;

use crate::analysis::chart::types::{Chart, EdgeKind, Node, Part};
use crate::value::markup::dot_text;

impl Chart {
    /// The chart as a `digraph`. Text from the program is quoted: it can never become syntax. Ends with a line break.
    pub fn dot(&self) -> String {
        // Writing to a `String` can't fail.
        let mut text = format!("digraph {} {{\n", dot_text(&self.title));
        text.push_str("    node [fontname=\"sans-serif\", shape=box, style=rounded]\n");
        text.push_str("    edge [fontname=\"sans-serif\", fontsize=11]\n");
        for (agent, frame) in self.frames() {
            let label = dot_text(&frame.name);
            let _ = writeln!(text, "    subgraph cluster_{agent} {{\n        label={label}\n        style=rounded");
            self.inside(Some(agent)).for_each(|(index, node)| self.write_node(&mut text, "        ", index, node));
            text.push_str("    }\n");
        }
        self.inside(None).for_each(|(index, node)| self.write_node(&mut text, "    ", index, node));
        for edge in &self.edges {
            let style = match edge.kind {
                EdgeKind::TailCall => "bold",
                EdgeKind::InlinedCall => "dotted",
                EdgeKind::Trigger | EdgeKind::Limit => "dashed",
                EdgeKind::Call | EdgeKind::Next | EdgeKind::Then | EdgeKind::Else => "solid",
            };
            let label = dot_text(&edge.words());
            let _ = writeln!(text, "    n{} -> n{} [style={style}, label={label}]", edge.from, edge.to);
        }
        text.push_str("}\n");
        text
    }

    fn write_node(&self, text: &mut String, indent: &str, index: usize, node: &Node) {
        let shape = match node.part {
            Part::Agent(_) | Part::Playbook(_) => "box",
            Part::Line(_) if node.is_branching => "hexagon",
            Part::Line(_) => "box",
            Part::Tool(_) => "component",
            Part::Plan(_) => "note",
            Part::Trigger(_) => "cds",
            Part::Begin | Part::End => "oval",
        };
        let label = std::iter::once(node.name.clone()).chain(node.paragraphs()).collect::<Vec<_>>().join("\n");
        let standing = if node.frames.is_empty() { "" } else { ", penwidth=3" };
        let left_out = if self.is_left_out(node.n_taken()) { ", color=gray, fontcolor=gray" } else { "" };
        let (label, about) = (dot_text(&label), dot_text(&node.about));
        let look = format!("shape={shape}{standing}{left_out}");
        let _ = writeln!(text, "{indent}n{index} [{look}, label={label}, tooltip={about}]");
    }
}
