//! YAML: white space at the ends of lines, where it is no part of a text.

use std::ops::Range;

use crate::files::format::writer::{has_carriage_returns, with_line_breaks};
use crate::source::yaml::{Node, NodeKind, parse};
use crate::span::FileId;

/// Lists and mappings may stand so many levels inside each other.
const MAX_NESTING: usize = 100;

/// The text with one kind of line breaks, and one at its end.
pub(super) fn write(text: &str) -> String {
    let unified = text.replace("\r\n", "\n");
    // A plan can be read that is not quite YAML; then the proof alone says where white space is text.
    let mut texts = Vec::new();
    if let Some(root) = &read(&unified) {
        add_texts(root, &unified, &mut texts);
    }
    let (mut written, mut at) = (String::with_capacity(unified.len()), 0);
    for line in unified.split('\n') {
        let end = at + line.len();
        let is_text = texts.iter().any(|text| text.contains(&end));
        written.push_str(if is_text { line } else { line.trim_end_matches([' ', '\t']) });
        written.push('\n');
        at = end + 1;
    }
    let length = written.trim_end_matches('\n').len();
    written.truncate(length);
    if length > 0 {
        written.push('\n');
    }
    with_line_breaks(written, has_carriage_returns(text))
}

/// Whether a text is one YAML document with something in it.
pub(super) fn is_document(text: &str) -> bool {
    read(text).is_some()
}

fn read(text: &str) -> Option<Node> {
    parse(text, FileId(0), MAX_NESTING, &|at| at).0
}

/// The places of texts of several lines.
fn add_texts(node: &Node, text: &str, texts: &mut Vec<Range<usize>>) {
    match &node.kind {
        NodeKind::Scalar(scalar) if text.get(scalar.range.clone()).is_some_and(|words| words.contains('\n')) => {
            texts.push(scalar.range.clone());
        }
        NodeKind::Scalar(_) | NodeKind::Unread => {}
        NodeKind::List(nodes) => nodes.iter().for_each(|node| add_texts(node, text, texts)),
        NodeKind::Mapping(pairs) => pairs.iter().for_each(|(key, value)| {
            add_texts(key, text, texts);
            add_texts(value, text, texts);
        }),
    }
}
