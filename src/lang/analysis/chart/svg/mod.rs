//! A chart as a picture: SVG that needs no script and no other file, light or dark as its reader likes it.

mod face;
mod legend;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use self::face::{Face, LINE, face, outline};
use crate::analysis::chart::layered::{Boxes, Layout, layout};
use crate::analysis::chart::ranked::{GAP, Point, Size, number};
use crate::analysis::chart::text_size::{width, wrapped};
use crate::analysis::chart::types::{Chart, Edge, Node};
use crate::value::markup::xml_text;

const STYLE: &str = include_str!("style.css");

/// Of what is written beside arrows: its font's size, where it is wrapped, from a line to the next.
const LABEL: f64 = 11.0;
const LABEL_MOST: f64 = 170.0;
const LABEL_LINE: f64 = 14.0;
/// The space that an arrow from a box to itself takes beside it.
const LOOP: f64 = GAP;
/// Between a frame and what stands in it, and around the whole.
const PADDING: f64 = 18.0;

impl Chart {
    /// The chart as an SVG document. Each node is a `g` with its text as `title`, and with `data-id`, `data-file` and
    /// `data-line` (from 1), so that a page can lead to the line. Ends with a line break.
    pub fn svg(&self) -> String {
        Picture::new(self).render()
    }
}

/// A chart that is laid out.
struct Picture<'c> {
    chart: &'c Chart,
    /// The nodes that are boxes: all but the agents around others.
    boxes: BTreeMap<usize, (Face, Point)>,
    /// Agents with where they begin and end.
    frames: Vec<(usize, Face, Point)>,
    arrows: Vec<(Vec<Point>, Point)>,
}

impl<'c> Picture<'c> {
    fn new(chart: &'c Chart) -> Picture<'c> {
        let is_around = |index: usize| chart.inside(Some(index)).next().is_some();
        let around: Vec<usize> = chart.frames().map(|(index, _)| index).filter(|index| is_around(*index)).collect();
        let column = |node: &Node| around.iter().position(|agent| node.inside == Some(*agent)).unwrap_or(around.len());
        let shown = || chart.nodes.iter().enumerate().filter(|(index, _)| !around.contains(index));
        let faces: Vec<(usize, Face)> = shown().map(|(index, node)| (index, face(node))).collect();
        let place: BTreeMap<usize, usize> = faces.iter().zip(0..).map(|((index, _), place)| (*index, place)).collect();
        let mut graph = Boxes { n_columns: around.len() + 1, ..Boxes::default() };
        graph.boxes = faces.iter().map(|(index, face)| (face.size, column(&chart.nodes[*index]))).collect();
        for edge in &chart.edges {
            let (from, to) = (place[&edge.from], place[&edge.to]);
            let label = label_size(edge);
            if from == to {
                let room = &mut graph.boxes[from].0.width;
                *room = room.max(faces[from].1.size.width + 2.0 * (LOOP + label.width));
            }
            graph.arrows.push((from, to, label));
        }
        let Layout { boxes, arrows, columns } = layout(&graph);
        let boxes: BTreeMap<usize, (Face, Point)> =
            faces.into_iter().zip(boxes).map(|((index, face), middle)| (index, (face, middle))).collect();
        let frame = |(agent, (begin, end)): (&usize, &(f64, f64))| {
            let inside = boxes.iter().filter(|(index, _)| chart.nodes[**index].inside == Some(*agent));
            let edges = inside
                .map(|(_, (face, middle))| (middle.y - face.size.height / 2.0, middle.y + face.size.height / 2.0));
            let (top, bottom) = edges.fold((f64::MAX, f64::MIN), |all, one| (all.0.min(one.0), all.1.max(one.1)));
            let lines = wrapped(&chart.nodes[*agent].name, 13.0, end - begin);
            let header = lines_height(&lines, LINE) + PADDING / 2.0;
            let size = Size { width: end - begin + 2.0 * PADDING, height: bottom - top + 2.0 * PADDING + header };
            let corner = Point { x: begin - PADDING, y: top - PADDING - header };
            (*agent, Face { size, lines: lines.into_iter().map(|line| ("name", line)).collect() }, corner)
        };
        let frames = around.iter().zip(&columns).map(frame).collect();
        Picture { chart, boxes, frames, arrows }
    }

    fn render(&self) -> String {
        let (from, to) = self.bounds();
        let (legend, legend_size) = legend::legend(self.chart, (to.x - from.x).max(420.0));
        let width = (to.x - from.x).max(legend_size.width) + 2.0 * PADDING;
        let height = to.y - from.y + legend_size.height + 3.0 * PADDING;
        let (left, top) = (from.x - PADDING, from.y - PADDING);
        let title = xml_text(&self.chart.title);
        // Writing to a `String` can't fail.
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" aria-label=\"{title}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"{left:.0} {top:.0} {width:.0} {height:.0}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n<defs>\n"
        );
        for id in ["arrow", "arrow_trigger", "arrow_limit"] {
            let _ = writeln!(
                svg,
                "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" markerHeight=\"10\" \
                 markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0.8L10,5L0,9.2Z\"/></marker>"
            );
        }
        let _ = writeln!(
            svg,
            "</defs>\n<rect class=\"bg\" x=\"{left:.0}\" y=\"{top:.0}\" width=\"{width:.0}\" height=\"{height:.0}\"/>"
        );
        for (agent, face, corner) in &self.frames {
            self.node(&mut svg, *agent, face, *corner);
        }
        for (edge, (points, _)) in self.chart.edges.iter().zip(&self.arrows) {
            let class: &'static str = edge.kind.into();
            let left_out = if self.chart.is_left_out(edge.n_taken) { " left-out" } else { "" };
            let _ = writeln!(svg, "<path class=\"edge {class}{left_out}\" d=\"{}\"/>", self.path(edge, points));
        }
        for (index, (face, middle)) in &self.boxes {
            let corner = Point { x: middle.x - face.size.width / 2.0, y: middle.y - face.size.height / 2.0 };
            self.node(&mut svg, *index, face, corner);
        }
        for (edge, (points, middle)) in self.chart.edges.iter().zip(&self.arrows) {
            self.label(&mut svg, edge, points.is_empty(), *middle);
        }
        let (x, y) = (from.x, to.y + PADDING);
        let _ = writeln!(svg, "<g class=\"legend\" transform=\"translate({x:.1} {y:.1})\">\n{legend}</g>\n</svg>");
        svg
    }

    /// The corners of what is drawn.
    fn bounds(&self) -> (Point, Point) {
        let boxes = self.boxes.values().map(|(face, middle)| {
            (Point { x: middle.x - face.size.width / 2.0, y: middle.y - face.size.height / 2.0 }, face.size)
        });
        let frames = self.frames.iter().map(|(_, face, corner)| (*corner, face.size));
        let points = self.arrows.iter().flat_map(|(points, _)| points.iter().map(|point| (*point, Size::default())));
        // What is written beside an arrow that leads back to its box.
        let loops = self.chart.edges.iter().filter(|edge| edge.from == edge.to).filter_map(|edge| {
            let (face, middle) = self.boxes.get(&edge.from)?;
            let size = Size { width: face.size.width / 2.0 + LOOP + label_size(edge).width, height: 0.0 };
            Some((*middle, size))
        });
        let all = boxes.chain(frames).chain(points).chain(loops);
        let bounds = all.fold(None, |bounds: Option<(Point, Point)>, (corner, size)| {
            let end = Point { x: corner.x + size.width, y: corner.y + size.height };
            let (from, to) = bounds.unwrap_or((corner, end));
            Some((
                Point { x: from.x.min(corner.x), y: from.y.min(corner.y) },
                Point { x: to.x.max(end.x), y: to.y.max(end.y) },
            ))
        });
        bounds.unwrap_or_default()
    }

    fn node(&self, svg: &mut String, index: usize, face: &Face, corner: Point) {
        let node = &self.chart.nodes[index];
        let kind: &'static str = (&node.part).into();
        let mut class = format!("node {kind}");
        for (has_class, name) in [
            (node.is_explicit, " explicit"),
            (!node.frames.is_empty(), " here"),
            (self.chart.is_left_out(node.n_taken()), " left-out"),
        ] {
            class.push_str(if has_class { name } else { "" });
        }
        let id = xml_text(&node.id);
        let place = node.place.as_ref().map_or(String::new(), |place| {
            format!(" data-file=\"{}\" data-line=\"{}\"", xml_text(&place.file), place.line)
        });
        let Point { x, y } = corner;
        let _ = write!(svg, "<g class=\"{class}\" data-id=\"{id}\"{place} transform=\"translate({x:.1} {y:.1})\">");
        let title = if node.about.is_empty() { &node.name } else { &node.about };
        let _ = write!(svg, "<title>{}</title><path d=\"{}\"/>", xml_text(title), outline(node, face.size));
        // A frame's name stands at its top, a node's texts in its middle.
        let padding = (face.size.height - lines_height(&face.lines, LINE)) / 2.0;
        let mut base = if node.is_frame() { PADDING / 2.0 } else { padding } + 12.5;
        let middle = face.size.width / 2.0;
        for (class, line) in &face.lines {
            let text = xml_text(line);
            let _ = write!(
                svg,
                "<text class=\"{class}\" x=\"{middle:.1}\" y=\"{base:.1}\" text-anchor=\"middle\">{text}</text>"
            );
            base += LINE;
        }
        svg.push_str("</g>\n");
    }

    /// What is written beside an arrow.
    fn label(&self, svg: &mut String, edge: &Edge, is_loop: bool, middle: Point) {
        let lines = label_lines(edge);
        let mut at = middle;
        if let Some((face, middle)) = self.boxes.get(&edge.from).filter(|_| is_loop) {
            let x = middle.x + face.size.width / 2.0 + LOOP + label_size(edge).width / 2.0;
            at = Point { x, y: middle.y };
        }
        let inside = if self.chart.nodes[edge.from].inside.is_some() { " inside" } else { "" };
        let mut y = at.y - lines_height(&lines, LABEL_LINE) / 2.0 + 10.5;
        for line in &lines {
            let _ =
                writeln!(svg, "<text class=\"label{inside}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>", at.x, xml_text(line));
            y += LABEL_LINE;
        }
    }

    /// The way of an arrow, as the `d` of a path: upright at its ends, never to and fro between two points.
    fn path(&self, edge: &Edge, points: &[Point]) -> String {
        let Some(first) = points.first() else {
            let Some((face, middle)) = self.boxes.get(&edge.from) else { return String::new() };
            let (x, y) = (middle.x + face.size.width / 2.0, middle.y);
            let (far, [a, b, c, d]) = (x + LOOP * 1.2, [y - 6.0, y - 18.0, y + 18.0, y + 6.0]);
            return format!("M{x:.1},{a:.1}C{far:.1},{b:.1} {far:.1},{c:.1} {x:.1},{d:.1}");
        };
        let mut path = format!("M{:.1},{:.1}", first.x, first.y);
        let slope = |a: Point, b: Point| if a.y == b.y { 0.0 } else { (b.x - a.x) / (b.y - a.y) };
        // How far to the right for a step down: none at the ends and where it turns, else the lesser of both sides.
        let tangent = |index: usize| {
            let Some([before, at, after]) = index.checked_sub(1).and_then(|from| points.get(from..from + 3)) else {
                return 0.0;
            };
            let (coming, leaving) = (slope(*before, *at), slope(*at, *after));
            if coming * leaving <= 0.0 { 0.0 } else { coming.abs().min(leaving.abs()) * coming.signum() }
        };
        for (index, pair) in points.windows(2).enumerate() {
            let (a, b) = (pair[0], pair[1]);
            // Ends that are far to the side are left and come to in a wider bow.
            let third = (b.y - a.y) * if points.len() == 2 { 0.5 } else { 0.4 };
            let (ax, bx) = (a.x + tangent(index) * third, b.x - tangent(index + 1) * third);
            let (ay, by) = (a.y + third, b.y - third);
            let _ = write!(path, "C{ax:.1},{ay:.1} {bx:.1},{by:.1} {:.1},{:.1}", b.x, b.y);
        }
        path
    }
}

fn label_lines(edge: &Edge) -> Vec<String> {
    let words = edge.words();
    if words.is_empty() { Vec::new() } else { wrapped(&words, LABEL, LABEL_MOST) }
}

fn label_size(edge: &Edge) -> Size {
    let lines = label_lines(edge);
    let widest = lines.iter().map(|line| width(line, LABEL)).fold(0.0, f64::max);
    Size { width: widest, height: lines_height(&lines, LABEL_LINE) }
}

fn lines_height<T>(lines: &[T], line: f64) -> f64 {
    number(lines.len()) * line
}
