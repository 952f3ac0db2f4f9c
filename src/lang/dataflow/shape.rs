//! A YAML tree as aliases, domains and slots (spec `plans.md`, 3.1). What has another shape is a finding.

use std::collections::HashMap;

use crate::callables::nearest;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::yaml::{Node, NodeKind, Scalar};

/// An alias as it was written.
pub(super) struct ShapedAlias<'a> {
    pub(super) name: &'a str,
    pub(super) name_span: Span,
    /// Name and value.
    pub(super) span: Span,
    pub(super) body: ShapedBody<'a>,
}

pub(super) enum ShapedBody<'a> {
    /// Nothing is written.
    Parameter,
    Text(ShapedText<'a>),
    Domains(Vec<ShapedDomain<'a>>),
    /// A finding has been made about it.
    Broken,
}

pub(super) struct ShapedDomain<'a> {
    pub(super) name: &'a str,
    pub(super) name_span: Span,
    pub(super) span: Span,
    pub(super) slots: Vec<ShapedSlot<'a>>,
}

pub(super) struct ShapedSlot<'a> {
    pub(super) name: &'a str,
    pub(super) name_span: Span,
    pub(super) values: Vec<ShapedText<'a>>,
}

pub(super) struct ShapedText<'a> {
    pub(super) scalar: &'a Scalar,
    pub(super) span: Span,
}

/// The aliases of a document; what is no mapping has none.
pub(super) fn shape<'a>(root: &'a Node, diagnostics: &mut Vec<Diagnostic>) -> Vec<ShapedAlias<'a>> {
    let NodeKind::Mapping(pairs) = &root.kind else {
        if let NodeKind::Unread = root.kind {
            return Vec::new();
        }
        let message = format!("a plan is a mapping of aliases, not {}", kind(root));
        let note = "write `result: …`, and above it the aliases that the result is made of";
        diagnostics.push(Diagnostic::error("not-a-plan", first_line(root), message).with_note(note));
        return Vec::new();
    };
    let mut aliases = Vec::new();
    for (name, name_span, key, value) in members(pairs, "alias", diagnostics) {
        let body = alias(name, value, diagnostics);
        aliases.push(ShapedAlias { name, name_span, span: key.span.to(value.span), body });
    }
    if !aliases.iter().any(|alias| alias.name == "result") {
        let message = "the plan has no alias `result`, which is its value";
        let written = aliases.iter().map(|alias| alias.name.to_owned());
        let missing = Diagnostic::error("no-result", first_line(root), message);
        let meant = nearest("result", written).and_then(|name| aliases.iter().find(|alias| alias.name == name));
        diagnostics.push(match meant {
            Some(meant) => missing.with_fix("call it `result`", meant.name_span, "result"),
            None => missing.with_note("add `result: ${alias}`, with the alias whose value is wanted"),
        });
    }
    aliases
}

/// The pairs of a mapping with a name as key, each name once.
fn members<'a>(
    pairs: &'a [(Node, Node)],
    what: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(&'a str, Span, &'a Node, &'a Node)> {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let mut members = Vec::new();
    for (key, value) in pairs {
        let Some(scalar) = key.scalar() else {
            if !matches!(key.kind, NodeKind::Unread) {
                let message = format!("the name of {} is text, not {}", article(what), kind(key));
                diagnostics.push(Diagnostic::error("bad-name", first_line(key), message));
            }
            continue;
        };
        let name = &*scalar.text;
        if name.is_empty() {
            let message = format!("here the name of {} is missing", article(what));
            diagnostics.push(Diagnostic::error("bad-name", key.span, message));
        } else if name.contains(char::is_control) {
            let message = format!("the name of {} has a line break or another control character in it", article(what));
            diagnostics.push(Diagnostic::error("bad-name", key.span, message));
        } else if name == "<<" {
            let message = "merge keys of YAML (`<<`) have no meaning in a plan";
            diagnostics.push(Diagnostic::error("yaml-merge", key.span, message));
        } else if let Some(first) = seen.get(name) {
            let message = format!("the {what} `{name}` stands twice");
            let duplicate = Diagnostic::error("duplicate-name", key.span, message);
            diagnostics.push(duplicate.with_place(*first, "first here"));
        } else {
            seen.insert(name, key.span);
            members.push((name, key.span, key, value));
        }
    }
    members
}

fn alias<'a>(name: &str, value: &'a Node, diagnostics: &mut Vec<Diagnostic>) -> ShapedBody<'a> {
    match &value.kind {
        NodeKind::Scalar(_) if value.is_null() && name == "result" => {
            let message = "`result` has no value, so the plan has none";
            let note = "write `result: ${alias}`, with the alias whose value is wanted";
            diagnostics.push(Diagnostic::error("no-result", value.span, message).with_note(note));
            ShapedBody::Broken
        }
        NodeKind::Scalar(_) if value.is_null() => ShapedBody::Parameter,
        NodeKind::Scalar(scalar) => ShapedBody::Text(ShapedText { scalar, span: value.span }),
        NodeKind::Mapping(pairs) if pairs.is_empty() => {
            let message = format!("the alias `{name}` has no domain");
            let note = format!("write text or the name of a domain below `{name}:`");
            diagnostics.push(Diagnostic::error("bad-shape", value.span, message).with_note(note));
            ShapedBody::Broken
        }
        NodeKind::Mapping(pairs) => ShapedBody::Domains(domains(name, pairs, diagnostics)),
        NodeKind::List(_) => {
            let message = format!("the alias `{name}` is bound to a list; an alias is text or calls domains");
            let note = format!("a list of values is written as an expression: `{name}: ${{[first, second]}}`");
            diagnostics.push(Diagnostic::error("bad-shape", first_line(value), message).with_note(note));
            ShapedBody::Broken
        }
        NodeKind::Unread => ShapedBody::Broken,
    }
}

fn domains<'a>(alias: &str, pairs: &'a [(Node, Node)], diagnostics: &mut Vec<Diagnostic>) -> Vec<ShapedDomain<'a>> {
    let mut domains = Vec::new();
    for (name, name_span, key, value) in members(pairs, "domain", diagnostics) {
        let slots = match &value.kind {
            NodeKind::Mapping(pairs) => slots(pairs, diagnostics),
            NodeKind::Scalar(_) if value.is_null() => Vec::new(),
            NodeKind::Scalar(_) | NodeKind::List(_) => {
                let message = format!("the domain `{name}` is bound to {}; a domain has named slots", kind(value));
                let wrong = Diagnostic::error("bad-shape", first_line(value), message);
                diagnostics.push(wrong.with_note(format!(
                    "write the slots of `{name}` below it; a map of values is an expression: \
                     `{alias}: ${{{{{name}: other}}}}`"
                )));
                Vec::new()
            }
            NodeKind::Unread => Vec::new(),
        };
        domains.push(ShapedDomain { name, name_span, span: key.span.to(value.span), slots });
    }
    domains
}

fn slots<'a>(pairs: &'a [(Node, Node)], diagnostics: &mut Vec<Diagnostic>) -> Vec<ShapedSlot<'a>> {
    let mut slots = Vec::new();
    for (name, name_span, _, value) in members(pairs, "slot", diagnostics) {
        let values = match &value.kind {
            NodeKind::Scalar(_) if value.is_null() => Vec::new(),
            NodeKind::Scalar(scalar) => vec![ShapedText { scalar, span: value.span }],
            NodeKind::List(items) => items.iter().filter_map(|item| element(name, item, diagnostics)).collect(),
            NodeKind::Mapping(_) => {
                let message = format!("the slot `{name}` is bound to a mapping; a slot is text or a list of texts");
                let note = "a map of values is an expression: `\"${{key: value}}\"`";
                diagnostics.push(Diagnostic::error("bad-shape", first_line(value), message).with_note(note));
                Vec::new()
            }
            NodeKind::Unread => Vec::new(),
        };
        slots.push(ShapedSlot { name, name_span, values });
    }
    slots
}

fn element<'a>(slot: &str, item: &'a Node, diagnostics: &mut Vec<Diagnostic>) -> Option<ShapedText<'a>> {
    match &item.kind {
        NodeKind::Scalar(_) if item.is_null() => {
            let message = format!("an element of the slot `{slot}` is empty, so it is left out");
            diagnostics.push(Diagnostic::warning("empty-element", item.span, message));
            None
        }
        NodeKind::Scalar(scalar) => Some(ShapedText { scalar, span: item.span }),
        NodeKind::List(_) | NodeKind::Mapping(_) => {
            let message = format!("an element of the slot `{slot}` is {}; elements are texts", kind(item));
            let note = "text with `: ` in it, or with a bracket in front, needs quotes";
            diagnostics.push(Diagnostic::error("bad-shape", first_line(item), message).with_note(note));
            None
        }
        NodeKind::Unread => None,
    }
}

fn kind(node: &Node) -> &'static str {
    match node.kind {
        NodeKind::Scalar(_) if node.is_null() => "nothing",
        NodeKind::Scalar(_) => "text",
        NodeKind::List(_) => "a list",
        NodeKind::Mapping(_) => "a mapping",
        NodeKind::Unread => "something else",
    }
}

fn article(what: &str) -> String {
    let article = if what.starts_with('a') { "an" } else { "a" };
    format!("{article} {what}")
}

/// Where a node begins: its first child, if it has one.
fn first_line(node: &Node) -> Span {
    match &node.kind {
        NodeKind::List(items) => items.first().map_or(node.span, |item| node.span.min(item.span)),
        NodeKind::Mapping(pairs) => pairs.first().map_or(node.span, |(key, _)| key.span),
        NodeKind::Scalar(_) | NodeKind::Unread => node.span,
    }
}
