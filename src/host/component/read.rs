//! YAML to values and to mappings with known keys.

use std::collections::HashMap;
use std::sync::Arc;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::source::yaml::{Node, NodeKind, Style};
use playhouse_lang::span::Span;
use playhouse_lang::spelling::nearest;
use playhouse_lang::value::{Map, Value};

use crate::component::findings::{Findings, head, kind};
use crate::component::identity;

/// A mapping while it is read: which keys there are, which have been asked for, which are missing.
pub(super) struct Members<'a> {
    /// What it is, for messages (`command`).
    what: &'static str,
    /// Where a missing key is reported.
    span: Span,
    entries: Vec<Entry<'a>>,
    asked: Vec<&'static str>,
    missing: Vec<(&'static str, &'static str)>,
}

struct Entry<'a> {
    key: &'a str,
    key_span: Span,
    value: &'a Node,
}

impl<'a> Members<'a> {
    /// The members of `node`, which must be a mapping; a key that stands twice counts once.
    pub(super) fn of(node: &'a Node, what: &'static str, findings: &mut Findings) -> Option<Members<'a>> {
        let NodeKind::Mapping(pairs) = &node.kind else {
            findings.wrong_kind(node, format_args!("{what} must be a mapping of keys to values"));
            return None;
        };
        let mut entries: Vec<Entry<'a>> = Vec::with_capacity(pairs.len());
        for (key, value) in keyed(pairs, findings) {
            let Some(scalar) = key.scalar() else { continue };
            entries.push(Entry { key: &scalar.text, key_span: key.span, value });
        }
        Some(Members { what, span: head(node), entries, asked: Vec::new(), missing: Vec::new() })
    }

    /// The place where something about all of it is said.
    pub(super) fn span(&self) -> Span {
        self.span
    }

    /// The keys with their places, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Span, &'a Node)> {
        self.entries.iter().map(|entry| (entry.key, entry.key_span, entry.value))
    }

    /// The value of a key and the place of the key.
    pub(super) fn entry(&mut self, key: &'static str) -> Option<(&'a Node, Span)> {
        self.asked.push(key);
        self.entries.iter().find(|entry| entry.key == key).map(|entry| (entry.value, entry.key_span))
    }

    /// The value of a key, unless it is null.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'a Node> {
        self.entry(key).map(|(value, _)| value).filter(|value| !value.is_null())
    }

    /// Notes that a key should have been there; `note` says what belongs there.
    pub(super) fn miss(&mut self, key: &'static str, note: &'static str) {
        self.missing.push((key, note));
    }

    /// A text, as it was written.
    pub(super) fn text(&mut self, key: &'static str, findings: &mut Findings) -> Option<Arc<str>> {
        let node = self.get(key)?;
        if node.scalar().is_none() {
            findings.error("config-wrong-kind", head(node), format!("`{key}` must be text, not {}", kind(node)));
        }
        node.scalar().map(|scalar| scalar.text.as_str().into())
    }

    /// A text that must be there and not be empty; `note` says what belongs there.
    pub(super) fn required_text(
        &mut self,
        key: &'static str,
        note: &'static str,
        findings: &mut Findings,
    ) -> Option<Arc<str>> {
        match (self.get(key), self.text(key, findings)) {
            (None, _) => self.miss(key, note),
            (Some(node), Some(text)) if text.trim().is_empty() => {
                findings.error_with("config-missing-key", node.span, format!("`{key}` is empty"), note);
            }
            (Some(_), text) => return text,
        }
        None
    }

    /// A truth value.
    pub(super) fn truth(&mut self, key: &'static str, findings: &mut Findings) -> Option<bool> {
        let node = self.get(key)?;
        let scalar = node.scalar();
        match scalar.map(|scalar| scalar.core_value()) {
            Some(Value::Bool(truth)) => Some(truth),
            _ if matches!(node.kind, NodeKind::Unread) => None,
            _ => {
                let message = format!("`{key}` must be `true` or `false`, not {}", kind(node));
                let mut found = Diagnostic::error("config-wrong-kind", head(node), message);
                let meant = scalar.and_then(|scalar| match scalar.text.to_lowercase().as_str() {
                    "true" | "yes" | "y" | "on" | "1" => Some("true"),
                    "false" | "no" | "n" | "off" | "0" => Some("false"),
                    _ => None,
                });
                if let Some(meant) = meant {
                    found = found.with_fix(format!("write `{meant}`"), node.span, meant);
                }
                findings.add(found);
                None
            }
        }
    }

    /// A mapping of anything.
    pub(super) fn map(&mut self, key: &'static str, findings: &mut Findings) -> Map {
        let Some(node) = self.get(key) else { return Map::new() };
        if matches!(node.kind, NodeKind::Mapping(_) | NodeKind::Unread) {
            return members(value(node, findings));
        }
        findings.wrong_kind(node, format_args!("`{key}` must be a mapping of keys to values"));
        Map::new()
    }

    /// What nobody asked for. Keys that are nearly one of `known`, or of those asked for, are findings; so is what is
    /// missing.
    pub(super) fn rest(mut self, known: &[&'static str], findings: &mut Findings) -> Map {
        let mut rest = Map::new();
        for entry in &self.entries {
            if self.asked.contains(&entry.key) {
                continue;
            }
            rest.insert(entry.key.into(), value(entry.value, findings));
            if known.contains(&entry.key) {
                continue;
            }
            let is_absent = |key: &&str| self.entries.iter().all(|other| other.key != *key);
            let candidates = self.asked.iter().chain(known).copied().filter(is_absent);
            let Some(meant) = nearest(entry.key, candidates) else { continue };
            let fix = format!("write `{meant}`");
            let missing = self.missing.iter().position(|(key, _)| *key == meant);
            let found = match missing {
                Some(position) => {
                    let (_, note) = self.missing.remove(position);
                    let message = format!("`{meant}` is missing; here is `{}`", entry.key);
                    Diagnostic::error("config-missing-key", entry.key_span, message).with_note(note)
                }
                None => {
                    let message =
                        format!("{} has no key `{}`; it is kept, but means nothing here", self.what, entry.key);
                    Diagnostic::warning("config-unknown-key", entry.key_span, message)
                }
            };
            findings.add(found.with_fix(fix, entry.key_span, meant));
        }
        for (key, note) in self.missing {
            findings.error_with("config-missing-key", self.span, format!("`{key}` is missing in {}", self.what), note);
        }
        rest
    }
}

/// One of some words; what else stands there is a finding.
pub(super) fn one_of<T: Copy>(
    node: &Node,
    key: &'static str,
    words: &[(&str, T)],
    findings: &mut Findings,
) -> Option<T> {
    let scalar = node.scalar();
    let word = scalar.and_then(|scalar| words.iter().find(|(word, _)| *word == scalar.text));
    if word.is_none() && !matches!(node.kind, NodeKind::Unread) {
        let listed = words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let got = scalar.map_or_else(|| kind(node).to_owned(), |scalar| format!("`{}`", scalar.text));
        let message = format!("`{key}` must be one of {listed}, not {got}");
        let mut found = Diagnostic::error("config-unknown-word", head(node), message);
        let meant = scalar.and_then(|scalar| nearest(&scalar.text, words.iter().map(|(word, _)| *word)));
        if let Some(meant) = meant {
            found = found.with_fix(format!("write `{meant}`"), node.span, meant);
        }
        findings.add(found);
    }
    word.map(|(_, value)| *value)
}

/// The pairs whose key is text that did not stand before.
fn keyed<'a>(pairs: &'a [(Node, Node)], findings: &mut Findings) -> Vec<(&'a Node, &'a Node)> {
    let mut first: HashMap<&str, Span> = HashMap::new();
    let mut kept = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let Some(scalar) = key.scalar() else {
            findings.wrong_kind(key, "a key must be text");
            continue;
        };
        if scalar.text == "<<" && scalar.style == Style::Plain {
            let message = "merge keys of YAML (`<<`) are not read";
            findings.error_with("config-yaml-anchor", key.span, message, "write the keys out");
        } else if let Some(before) = first.get(scalar.text.as_str()) {
            let message = format!("the key `{}` appears twice", scalar.text);
            findings.again("config-duplicate-key", (key.span, *before), message, "first given here");
        } else {
            first.insert(&scalar.text, key.span);
            kept.push((key, value));
        }
    }
    kept
}

/// A node as a value, scalars by the core schema. The keys of a component's identity and `instance_id` beside them
/// are text as it was written: version `1.10` is no number.
pub(super) fn value(node: &Node, findings: &mut Findings) -> Value {
    match &node.kind {
        NodeKind::Scalar(scalar) => scalar.core_value(),
        NodeKind::List(items) => Value::list(items.iter().map(|item| value(item, findings)).collect()),
        NodeKind::Mapping(pairs) => {
            let pairs = keyed(pairs, findings);
            let has = |wanted: &str| pairs.iter().any(|(key, _)| key.scalar().is_some_and(|key| key.text == wanted));
            let is_section = identity::KEYS.iter().all(|key| has(key));
            let mut members = Map::with_capacity(pairs.len());
            for (key, node) in pairs {
                let key = key.scalar().map_or("", |key| &key.text);
                let is_text = is_section && (identity::KEYS.contains(&key) || key == "instance_id");
                let value = match node.scalar() {
                    Some(scalar) if is_text && !node.is_null() => Value::str(scalar.text.as_str()),
                    Some(_) | None => value(node, findings),
                };
                members.insert(key.into(), value);
            }
            Value::map(members)
        }
        NodeKind::Unread => Value::Null,
    }
}

/// The members of a map; none of anything else.
fn members(value: Value) -> Map {
    if let Value::Map(members) = value { Arc::unwrap_or_clone(members) } else { Map::new() }
}
