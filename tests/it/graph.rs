//! Programs as graphs (`playhouse graph`): what is drawn, that texts never become syntax, and that any graph has a layout.

use std::fmt::Write as _;
use std::path::Path;

use playhouse::host::program::load_texts;
use playhouse::lang::SourceText;
use playhouse::lang::analysis::Analysis;
use playhouse::lang::analysis::chart::Chart;
use playhouse::lang::program::{Program, Signature};
use roxmltree::{Document, Node};

use crate::cli::transcript;
use crate::golden;
use crate::made_up::made_up;

#[test]
fn transcripts() {
    golden::check("graph", &["txt"], transcript);
}

fn program(text: &str) -> Program {
    let roots = vec![SourceText { name: "a<&\">.md".into(), text: text.into() }];
    load_texts(roots, &[] as &[Signature; 0], &mut |_: &Path| Err("none".into())).1.program
}

/// The charts of a program, and of each of its playbooks.
fn charts(program: &Program) -> Vec<Chart> {
    let analysis = Analysis::new(program);
    let flows = program.playbooks.iter().map(|playbook| analysis.flow_chart(playbook.id));
    std::iter::once(analysis.chart()).chain(flows).collect()
}

/// What names and words may not do anything with.
const NASTY: [&str; 24] = [
    "\"", "'", "]", "[", "}", "{", "|", "\\", "\\\"", "<script>", "</title>", "</svg>", "&", "&lt;", "#", ";", "%%",
    "-->", "end", "\u{1}", "\u{fffe}", "]]>", "日本", "👍🏽",
];

/// A program whose titles, lines and triggers are made of these bytes.
fn nasty(bytes: &[u8]) -> String {
    let mut words = bytes.chunks(3).map(|chunk| {
        let pieces = chunk.iter().map(|byte| NASTY[usize::from(*byte) % NASTY.len()]);
        pieces.collect::<Vec<_>>().join(if chunk[0] % 2 == 0 { " " } else { "" })
    });
    let mut word = || words.next().unwrap_or_default();
    format!(
        "# A{}\n\n## B{}\n\n### Triggers\n\n- When {}\n- When $x > 3\n\n### Steps\n\n- Tell {}\n- If {}\n  - Foo{}(\"{}\")\n- \
         $x = 4\n- Return {}\n\n## C{}\n\n{}\n",
        word(),
        word(),
        word(),
        word(),
        word(),
        word(),
        word(),
        word(),
        word(),
        word()
    )
}

/// Mermaid's lines are of these forms, and nothing else stands between quotation marks than what is no syntax there.
fn check_mermaid(text: &str) {
    let form = regex::Regex::new(concat!(
        r#"^( {4}(subgraph n\d+\["T"\]|end|n\d+ (-->|==>|-\.->)(\|"T"\|)? n\d+|linkStyle [\d,]+ stroke-dasharray:[\d ]+"#,
        r#"|( {4})?n\d+(\["T"\]|\{\{"T"\}\}|\[/"T"/\]|\[\["T"\]\]|>"T"\]|\(\["T"\]\))))$"#
    ));
    let (form, label) = (form.unwrap(), regex::Regex::new(r#""[^"]*""#).unwrap());
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("flowchart TD"));
    for line in lines {
        for label in label.find_iter(line) {
            let plain = label.as_str().trim_matches('"').replace("<br/>", "");
            let is_harmless = |c: char| c.is_alphanumeric() || " .,:/-_?!=…#;".contains(c);
            assert!(plain.chars().all(is_harmless), "{line}");
        }
        assert!(form.is_match(&label.replace_all(line, "\"T\"")), "{line}");
    }
}

/// Graphviz' lines end outside of quotation marks, and hold nothing but what we wrote there.
fn check_dot(text: &str) {
    let quoted = regex::Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap();
    for line in text.lines() {
        let outside = quoted.replace_all(line, "T");
        let is_ours = |c: char| c.is_ascii_alphanumeric() || " _=,->[]{}".contains(c);
        assert!(outside.chars().all(is_ours), "{line}");
    }
}

fn by_class<'d>(document: &'d Document<'_>, name: &str) -> Vec<Node<'d, 'd>> {
    let has_class = |node: &Node<'_, '_>| node.attribute("class").unwrap_or("").split(' ').any(|class| class == name);
    document.descendants().filter(|node| has_class(node) && node.attribute("data-id").is_some()).collect()
}

/// A picture is XML with the elements that we draw with, and has each node of its chart once.
fn check_svg(chart: &Chart) {
    let svg = chart.svg();
    let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
    for element in document.descendants().filter(Node::is_element) {
        let name = element.tag_name().name();
        let known = ["svg", "title", "style", "defs", "marker", "rect", "g", "path", "text"];
        assert!(known.contains(&name), "{name}");
        assert!(!element.attributes().any(|attribute| attribute.value().contains("NaN")), "{svg}");
    }
    let nodes = by_class(&document, "node");
    let ids: Vec<&str> = nodes.iter().filter_map(|node| node.attribute("data-id")).collect();
    assert_eq!(ids.len(), chart.nodes().len());
    for (node, drawn) in
        nodes.iter().map(|node| (chart.nodes().iter().find(|n| Some(&*n.id) == node.attribute("data-id")), node))
    {
        // Characters that XML has no place for are others there.
        let Some(node) = node else { continue };
        let line = node.place.as_ref().map(|place| place.line.to_string());
        assert_eq!(drawn.attribute("data-line"), line.as_deref());
    }
}

#[test]
fn texts_never_become_syntax() {
    made_up!(400, 40).for_each(|bytes: &[u8]| {
        for chart in charts(&program(&nasty(bytes))) {
            check_mermaid(&chart.mermaid());
            check_dot(&chart.dot());
            check_svg(&chart);
            let told: serde_json::Value = serde_json::from_str(&serde_json::json!(chart).to_string()).unwrap();
            assert_eq!(told["nodes"].as_array().unwrap().len(), chart.nodes().len());
        }
    });
}

/// Agents with playbooks that call each other as the bytes say: each other, themselves, in circles.
fn tangled(bytes: &[u8], n_playbooks: usize) -> String {
    let mut text = String::new();
    let mut bytes = bytes.iter().map(|byte| usize::from(*byte));
    for playbook in 0..n_playbooks {
        if playbook % 7 == 0 {
            let _ = writeln!(text, "# Agent{}\n", playbook / 7);
        }
        let _ =
            writeln!(text, "## P{playbook}\n\npublic: true\n\n### Triggers\n\n- When $v{playbook} > 3\n\n### Steps\n");
        for _ in 0..2 {
            let Some(to) = bytes.next().map(|byte| byte % n_playbooks) else { continue };
            let _ = writeln!(text, "- Agent{}.P{to}()\n- If $v{to} > 3\n  - $v{to} = 3\n  - Tool{}()", to / 7, to % 9);
        }
        text.push_str("- Return 1\n\n");
    }
    text
}

/// Where a node's outline is: left, top, right, bottom.
fn bounds(node: &Node<'_, '_>) -> [f64; 4] {
    let moved = node.attribute("transform").unwrap().trim_start_matches("translate(").trim_end_matches(')');
    let (x, y) = moved.split_once(' ').unwrap();
    let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
    let base = node.children().filter(|child| child.has_tag_name("text")).map(|text| {
        let at = |name| text.attribute(name).unwrap().parse::<f64>().unwrap();
        (at("x"), at("y"))
    });
    // A text stands in the middle of its box.
    let (middle, last) = base.fold((0.0, 0.0), |_, at| at);
    [x, y, x + 2.0 * middle, y + last]
}

fn no_boxes_overlap(svg: &str) {
    let document = Document::parse(svg).unwrap();
    let nodes = by_class(&document, "node");
    let boxes: Vec<_> = nodes.iter().filter(|node| !node.attribute("class").unwrap().contains("agent")).collect();
    for (index, node) in boxes.iter().enumerate() {
        let [left, top, right, bottom] = bounds(node);
        for other in &boxes[index + 1..] {
            let [from, above, to, below] = bounds(other);
            let is_apart = right <= from || to <= left || bottom <= above || below <= top;
            assert!(is_apart, "{:?} and {:?}", node.attribute("data-id"), other.attribute("data-id"));
        }
    }
}

#[test]
fn any_graph_has_a_layout_without_overlaps() {
    made_up!(150, 40).for_each(|bytes: &[u8]| {
        for chart in charts(&program(&tangled(bytes, 1 + bytes.len() / 2))) {
            let svg = chart.svg();
            assert_eq!(svg, chart.svg());
            no_boxes_overlap(&svg);
        }
    });
}

/// 1,000 nodes, and the longest arrows there can be: all stand somewhere, however far an arrow goes.
#[test]
fn large_graphs_are_drawn() {
    let mut chain = "# Chain\n\n".to_owned();
    for index in 0..1_000 {
        let next = index + 1;
        let _ = writeln!(chain, "## P{index}\n\n### Steps\n\n- P{next}()\n- P999()\n- P{}()\n- Return 1\n", index / 2);
    }
    let bytes: Vec<u8> = (0..=255).cycle().take(900).collect();
    for text in [chain, tangled(&bytes, 300)] {
        let program = program(&text);
        let svg = Analysis::new(&program).chart().svg();
        assert!(svg.ends_with("</svg>\n"));
        no_boxes_overlap(&svg);
    }
}
