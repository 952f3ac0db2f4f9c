//! What shapes and lines of a picture mean: those that it has.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use strum::IntoEnumIterator;

use crate::analysis::chart::ranked::Size;
use crate::analysis::chart::text_size::width;
use crate::analysis::chart::types::{Chart, EdgeKind, Node, Part};

/// The height of a row, and the width of what stands before its words.
const ROW: f64 = 22.0;
const SAMPLE: f64 = 34.0;

/// The legend as markup whose upper left corner is at 0, 0, in rows that are not wider than `most` if they have more than
/// one entry; and its size.
pub(super) fn legend(chart: &Chart, most: f64) -> (String, Size) {
    let mut markup = String::new();
    let (mut x, mut y, mut wide) = (0.0, 0.0, 0.0);
    for (sample, words) in entries(chart) {
        let width = SAMPLE + 8.0 + width(words, 12.0) + 18.0;
        if x > 0.0 && x + width > most {
            (x, y) = (0.0, y + ROW);
        }
        // Writing to a `String` can't fail.
        let _ = write!(markup, "<g transform=\"translate({x:.1} {y:.1})\">{sample}");
        let _ = writeln!(markup, "<text x=\"{}\" y=\"15\">{words}</text></g>", SAMPLE + 8.0);
        x += width;
        wide = f64::max(wide, x);
    }
    (markup, Size { width: wide, height: if wide > 0.0 { y + ROW } else { 0.0 } })
}

fn entries(chart: &Chart) -> Vec<(String, &'static str)> {
    let class = |node: &Node| match node.part {
        Part::Playbook(_) => Some(("playbook", "playbook")),
        Part::Tool(_) => Some(("tool", "tool")),
        Part::Plan(_) => Some(("plan", "plan")),
        Part::Trigger(_) => Some(("trigger", "trigger")),
        Part::Line(_) if node.is_explicit => Some(("explicit", "no model call")),
        Part::Line(_) => Some(("line", "by the model")),
        Part::Agent(_) | Part::Begin | Part::End => None,
    };
    let shapes: BTreeSet<(&'static str, &'static str)> = chart.nodes.iter().filter_map(class).collect();
    let shape = |(class, words)| {
        let sample = format!("<g class=\"node {class}\"><path d=\"M12,3H{SAMPLE}V19H12Z\"/></g>");
        (sample, words)
    };
    let lines = EdgeKind::iter().filter(|kind| chart.edges.iter().any(|edge| edge.kind == *kind));
    let line = |kind: EdgeKind| {
        let words = match kind {
            EdgeKind::Call => "call",
            EdgeKind::TailCall => "tail call",
            EdgeKind::InlinedCall => "inlined call",
            EdgeKind::Trigger => "sets off",
            EdgeKind::Limit => "when a limit is reached",
            EdgeKind::Next | EdgeKind::Then | EdgeKind::Else => return None,
        };
        let class: &'static str = kind.into();
        Some((format!("<path class=\"edge {class}\" d=\"M0,11H{SAMPLE}\"/>"), words))
    };
    shapes.into_iter().map(shape).chain(lines.filter_map(line)).collect()
}
