//! A chart as a Mermaid flowchart.

use std::fmt::Write as _;

use crate::analysis::chart::types::{Chart, Edge, EdgeKind, Node, Part};
use crate::value::markup::mermaid_text;

impl Chart {
    /// The chart in Mermaid's language. Text from the program is escaped: it can never become syntax. Ends with a line
    /// break.
    pub fn mermaid(&self) -> String {
        let mut text = "flowchart TD\n".to_owned();
        // Writing to a `String` can't fail.
        for (agent, frame) in self.frames() {
            let _ = writeln!(text, "    subgraph n{agent}[\"{}\"]", mermaid_text(&frame.name));
            self.inside(Some(agent)).for_each(|(index, node)| write_node(&mut text, "        ", index, node));
            text.push_str("    end\n");
        }
        self.inside(None).for_each(|(index, node)| write_node(&mut text, "    ", index, node));
        for edge in &self.edges {
            let _ = writeln!(text, "    n{} {}{} n{}", edge.from, arrow(edge.kind), label(edge), edge.to);
        }
        // Mermaid has one arrow of dots and none of dashes.
        for (kind, dashes) in [(EdgeKind::InlinedCall, "2 4"), (EdgeKind::Trigger, "8 5"), (EdgeKind::Limit, "9 4 2 4")]
        {
            let numbers = self.edges.iter().enumerate().filter(|(_, edge)| edge.kind == kind);
            let numbers: Vec<String> = numbers.map(|(number, _)| number.to_string()).collect();
            if !numbers.is_empty() {
                let _ = writeln!(text, "    linkStyle {} stroke-dasharray:{dashes}", numbers.join(","));
            }
        }
        let standing: Vec<String> = self.classed(|node| !node.frames.is_empty());
        if !standing.is_empty() {
            let _ = writeln!(text, "    classDef standing stroke-width:4px\n    class {} standing", standing.join(","));
        }
        let left_out = self.classed(|node| self.is_left_out(node.n_taken()));
        if !left_out.is_empty() {
            let _ = writeln!(text, "    classDef leftOut opacity:0.5\n    class {} leftOut", left_out.join(","));
        }
        text
    }

    fn classed(&self, has_class: impl Fn(&Node) -> bool) -> Vec<String> {
        let has_class = |(_, node): &(usize, &Node)| has_class(node);
        self.nodes.iter().enumerate().filter(has_class).map(|(index, _)| format!("n{index}")).collect()
    }
}

fn write_node(text: &mut String, indent: &str, index: usize, node: &Node) {
    let (open, close) = match node.part {
        Part::Agent(_) | Part::Playbook(_) => ("[", "]"),
        Part::Line(_) if node.is_branching => ("{{", "}}"),
        Part::Line(_) => ("[", "]"),
        Part::Tool(_) => ("[/", "/]"),
        Part::Plan(_) => ("[[", "]]"),
        Part::Trigger(_) => (">", "]"),
        Part::Begin | Part::End => ("([", "])"),
    };
    let lines = std::iter::once(node.name.clone()).chain(node.paragraphs());
    let label: Vec<String> = lines.map(|line| mermaid_text(&line)).collect();
    let _ = writeln!(text, "{indent}n{index}{open}\"{}\"{close}", label.join("<br/>"));
}

fn arrow(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::TailCall => "==>",
        EdgeKind::InlinedCall | EdgeKind::Trigger | EdgeKind::Limit => "-.->",
        EdgeKind::Call | EdgeKind::Next | EdgeKind::Then | EdgeKind::Else => "-->",
    }
}

fn label(edge: &Edge) -> String {
    let words = edge.words();
    if words.is_empty() { words } else { format!("|\"{}\"|", mermaid_text(&words)) }
}
