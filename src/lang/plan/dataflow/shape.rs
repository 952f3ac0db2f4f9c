//! A YAML tree as aliases, domains and slots (spec `plans.md`, 3.1). What has another shape is a finding.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::plan::dataflow::reader::Reader;
use crate::plan::dataflow::types::{AliasBody, Domain, Slot, Template};
use crate::source::yaml::{Node, NodeKind};
use crate::span::Span;

const WRITE_RESULT: &str = "write `result: ${alias}`, with the alias whose value you want";

/// A name in a mapping and what is bound to it.
pub(super) struct Pair<'a> {
    pub(super) name: &'a str,
    pub(super) key: &'a Node,
    pub(super) value: &'a Node,
}

/// The aliases of a document; what is no mapping has none.
pub(super) fn aliases<'a>(root: &'a Node, diagnostics: &mut Vec<Diagnostic>) -> Vec<Pair<'a>> {
    let NodeKind::Mapping(pairs) = &root.kind else {
        if let NodeKind::Unread = root.kind {
            return Vec::new();
        }
        let message = format!("a plan is a mapping of aliases, not {}", kind(root));
        let note = "write `result: …`, and above it the aliases that the result uses";
        diagnostics.push(Diagnostic::error("not-a-plan", first_line(root), message).with_note(note));
        return Vec::new();
    };
    let aliases = members(pairs, "an alias", diagnostics);
    if !aliases.iter().any(|alias| alias.name == "result") {
        let message = "the plan has no alias `result`, which is its value";
        let written = aliases.iter().map(|alias| alias.name);
        let missing = Diagnostic::error("no-result", first_line(root), message);
        let meant = nearest("result", written).and_then(|name| aliases.iter().find(|alias| alias.name == name));
        diagnostics.push(match meant {
            Some(meant) => missing.with_fix("call it `result`", meant.key.span, "result"),
            None => missing.with_note(WRITE_RESULT),
        });
    }
    aliases
}

/// The pairs of a mapping with a name as key, each name once.
fn members<'a>(pairs: &'a [(Node, Node)], what: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Pair<'a>> {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let mut members = Vec::new();
    for (key, value) in pairs {
        if let NodeKind::Unread = key.kind {
            continue;
        }
        let name = key.scalar().map_or("", |scalar| &*scalar.text);
        if name.is_empty() || name.contains(char::is_control) {
            let message = format!("{what} needs a name: text on one line");
            diagnostics.push(Diagnostic::error("bad-name", first_line(key), message));
        } else if name == "<<" {
            let message = "YAML merge keys (`<<`) mean nothing in a plan";
            diagnostics.push(Diagnostic::error("yaml-merge", key.span, message));
        } else if let Some(first) = seen.get(name) {
            let message = format!("`{name}` is already the name of {what}");
            let duplicate = Diagnostic::error("duplicate-name", key.span, message);
            diagnostics.push(duplicate.with_place(*first, "first here"));
        } else {
            seen.insert(name, key.span);
            members.push(Pair { name, key, value });
        }
    }
    members
}

impl Reader<'_> {
    /// What is bound to an alias; nothing, if a finding is made about that.
    pub(super) fn body(&mut self, alias: &Pair<'_>) -> AliasBody {
        let Pair { name, value, .. } = alias;
        match &value.kind {
            NodeKind::Scalar(_) if value.is_null() && *name != "result" => return AliasBody::Parameter,
            NodeKind::Scalar(scalar) if !value.is_null() => {
                return AliasBody::Text(self.template(scalar, value.span));
            }
            NodeKind::Mapping(pairs) if !pairs.is_empty() => return AliasBody::Domains(self.domains(name, pairs)),
            NodeKind::Unread => {}
            NodeKind::Scalar(_) => {
                let message = "`result` has no value, so the plan has none";
                self.diagnostics.push(Diagnostic::error("no-result", value.span, message).with_note(WRITE_RESULT));
            }
            NodeKind::Mapping(_) | NodeKind::List(_) => {
                self.wrong_shape(&format!("the alias `{name}`"), value, "an alias is text or calls domains");
            }
        }
        broken(value.span)
    }

    /// Says that `what` is bound to a node that it can't be bound to.
    fn wrong_shape(&mut self, what: &str, node: &Node, wanted: &str) {
        let message = format!("{what} is bound to {}; {wanted}", kind(node));
        let note = "a list or map of values is an expression: `\"${[first, second]}\"`, `\"${{key: value}}\"`";
        self.diagnostics.push(Diagnostic::error("bad-shape", first_line(node), message).with_note(note));
    }

    fn domains(&mut self, alias: &str, pairs: &[(Node, Node)]) -> Vec<Domain> {
        let mut domains = Vec::new();
        for Pair { name, key, value } in members(pairs, "a domain", &mut self.diagnostics) {
            let node = self.node(format!("{alias}.{name}").into(), key.span.to(value.span));
            let slots = match &value.kind {
                NodeKind::Mapping(pairs) => self.slots(pairs),
                NodeKind::Unread => Vec::new(),
                NodeKind::Scalar(_) if value.is_null() => Vec::new(),
                NodeKind::Scalar(_) | NodeKind::List(_) => {
                    let what = format!("the domain `{name}`");
                    self.wrong_shape(&what, value, "a domain has named slots below it");
                    Vec::new()
                }
            };
            domains.push(Domain { name: name.into(), name_span: key.span, node, slots });
        }
        domains
    }

    fn slots(&mut self, pairs: &[(Node, Node)]) -> Vec<Slot> {
        let mut slots = Vec::new();
        for Pair { name, key, value } in members(pairs, "a slot", &mut self.diagnostics) {
            let values = match &value.kind {
                NodeKind::Scalar(_) if value.is_null() => Vec::new(),
                NodeKind::Scalar(scalar) => vec![self.template(scalar, value.span)],
                NodeKind::List(items) => items.iter().filter_map(|item| self.element(name, item)).collect(),
                NodeKind::Mapping(_) => {
                    let what = format!("the slot `{name}`");
                    self.wrong_shape(&what, value, "a slot is text or a list of texts");
                    Vec::new()
                }
                NodeKind::Unread => Vec::new(),
            };
            slots.push(Slot { name: name.into(), name_span: key.span, values });
        }
        slots
    }

    fn element(&mut self, slot: &str, item: &Node) -> Option<Template> {
        match &item.kind {
            NodeKind::Scalar(_) if item.is_null() => {
                let message = format!("an element of the slot `{slot}` is empty, so it is left out");
                self.diagnostics.push(Diagnostic::warning("empty-element", item.span, message));
            }
            NodeKind::Scalar(scalar) => return Some(self.template(scalar, item.span)),
            NodeKind::List(_) | NodeKind::Mapping(_) => {
                let what = format!("an element of the slot `{slot}`");
                let wanted = "elements are texts; one that contains `: ` or begins with a bracket needs quotes";
                self.wrong_shape(&what, item, wanted);
            }
            NodeKind::Unread => {}
        }
        None
    }
}

/// What an alias is bound to about which a finding is made.
fn broken(span: Span) -> AliasBody {
    AliasBody::Text(Template { span, parts: Vec::new() })
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

/// Where a node begins: its first child, if it has one.
fn first_line(node: &Node) -> Span {
    match &node.kind {
        NodeKind::List(items) => items.first().map_or(node.span, |item| node.span.min(item.span)),
        NodeKind::Mapping(pairs) => pairs.first().map_or(node.span, |(key, _)| key.span),
        NodeKind::Scalar(_) | NodeKind::Unread => node.span,
    }
}
