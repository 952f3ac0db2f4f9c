//! How a node looks: its texts, wrapped, and the shape around them.

use crate::analysis::chart::ranked::{Size, number};
use crate::analysis::chart::text_size::{width, wrapped};
use crate::analysis::chart::types::{Node, Part};

/// Of names, and of what stands below them.
const NAME: f64 = 13.0;
const DETAIL: f64 = 12.0;
/// Texts are wrapped at this width.
const MOST: f64 = 250.0;
/// From the top of a line to that of the next.
pub(super) const LINE: f64 = 17.0;
/// Between a text and the edge of its box.
const PADDING: Size = Size { width: 14.0, height: 9.0 };

pub(super) struct Face {
    pub(super) size: Size,
    /// The texts from top to bottom, with the class of each.
    pub(super) lines: Vec<(&'static str, String)>,
}

/// The face of a node.
pub(super) fn face(node: &Node) -> Face {
    let name = wrapped(&node.name, NAME, MOST).into_iter().map(|line| ("name", line));
    let detail = node.paragraphs().flat_map(|text| wrapped(&text, DETAIL, MOST)).map(|line| ("detail", line));
    let lines: Vec<(&'static str, String)> = name.chain(detail).collect();
    let widths = lines.iter().map(|(class, line)| width(line, if *class == "name" { BOLD } else { DETAIL }));
    let text = widths.fold(0.0, f64::max);
    let height = number(lines.len()) * LINE + 2.0 * PADDING.height;
    Face { size: Size { width: text + 2.0 * (PADDING.width + slant(node, height)), height }, lines }
}

/// Names are bold, which is wider.
const BOLD: f64 = NAME * 1.06;

/// How much of the width of a shape is no room for text, on either side.
fn slant(node: &Node, height: f64) -> f64 {
    match node.part {
        Part::Trigger(_) => 8.0,
        Part::Tool(_) => 5.0,
        Part::Line(_) if node.is_branching => 8.0,
        Part::Begin | Part::End => height / 4.0,
        Part::Agent(_) | Part::Playbook(_) | Part::Plan(_) | Part::Line(_) => 0.0,
    }
}

/// The outline of a node of this size whose upper left corner is at 0, 0, as the `d` of a path.
pub(super) fn outline(node: &Node, Size { width: w, height: h }: Size) -> String {
    let m = h / 2.0;
    match node.part {
        // A flag, a box with two lines at its sides, a hexagon, one with a corner folded.
        Part::Trigger(_) => format!("M0,0H{}L{w},{m}L{},{h}H0L10,{m}Z", w - 10.0, w - 10.0),
        Part::Tool(_) => format!("M0,0H{w}V{h}H0ZM5,0V{h}M{},0V{h}", w - 5.0),
        Part::Line(_) if node.is_branching => {
            format!("M10,0H{}L{w},{m}L{},{h}H10L0,{m}Z", w - 10.0, w - 10.0)
        }
        Part::Plan(_) => format!("M0,0H{0}L{w},10V{h}H0ZM{0},0V10H{w}", w - 10.0),
        Part::Agent(_) => rounded(w, h, 10.0),
        Part::Begin | Part::End => rounded(w, h, m),
        Part::Playbook(_) | Part::Line(_) => rounded(w, h, 6.0),
    }
}

fn rounded(w: f64, h: f64, r: f64) -> String {
    let (right, bottom) = (w - r, h - r);
    format!(
        "M{r},0H{right}A{r},{r} 0 0 1 {w},{r}V{bottom}A{r},{r} 0 0 1 {right},{h}H{r}A{r},{r} 0 0 1 0,{bottom}V{r}A{r},{r} 0 \
         0 1 {r},0Z"
    )
}
