//! Text that goes into a `say`: what an author or a user wrote is never scanned for references, and values go in as
//! references, so that only the machine puts them there.

use std::sync::Arc;

use playhouse_lang::expr::{continues_name, scan_name};
use playhouse_lang::value::{PathStep, Reference, Value};

use super::english::{Piece, name_words, pieces};

/// The longest reference in braces that is held together while it streams (spec `turn-protocol.md`, "References").
const MAX_BRACED: usize = 64;

/// So many leaves of a value are worded.
const MAX_LEAVES: usize = 12;

/// Where values are found.
pub(super) trait Values {
    /// The value of a visible variable.
    fn value(&self, name: &str) -> Option<&Value>;

    /// The names of all visible variables, nearest first.
    fn names(&self) -> Vec<Arc<str>>;

    /// The value that a reference means; none: there is none, or it is null or empty.
    fn told(&self, reference: &Reference) -> Option<&Value> {
        let value = self.value(&reference.name)?.at(&reference.path).ok()?;
        let is_empty = match value {
            Value::Null => true,
            Value::Str(text) => text.trim().is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Map(members) => members.is_empty(),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
        };
        (!is_empty).then_some(value)
    }
}

/// Text that is said as it stands.
pub(super) fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

/// A reference to a value as it stands in speech: lists and maps in words, leaf by leaf.
pub(super) fn spoken(reference: &Reference, value: &Value) -> String {
    let mut n_left = MAX_LEAVES;
    spoken_part(reference, value, &mut n_left)
}

fn spoken_part(reference: &Reference, value: &Value, n_left: &mut usize) -> String {
    let at = |step: PathStep| {
        let mut path = reference.path.clone();
        path.push(step);
        Reference { name: reference.name.clone(), path }
    };
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            *n_left = n_left.saturating_sub(1);
            let braced = format!("{{{reference}}}");
            let is_readable = reference.path.iter().all(|step| match step {
                PathStep::Member(name) => scan_name(name) == name.len() && name.chars().all(continues_name),
                PathStep::Index(_) => true,
            });
            if is_readable && braced.len() <= MAX_BRACED { braced } else { literal(&value.to_text()) }
        }
        Value::List(items) => {
            let mut parts = Vec::new();
            for (index, item) in items.iter().enumerate() {
                if *n_left == 0 {
                    parts.push("more".to_owned());
                    break;
                }
                parts.push(spoken_part(&at(PathStep::Index(index)), item, n_left));
            }
            let separator =
                if items.iter().any(|item| matches!(item, Value::Map(_) | Value::List(_))) { "; " } else { ", " };
            enumerated(&parts, separator)
        }
        Value::Map(members) => {
            let mut parts = Vec::new();
            for (key, member) in members.iter().filter(|(_, member)| !matches!(member, Value::Null)) {
                if *n_left == 0 {
                    parts.push("…".to_owned());
                    break;
                }
                let part = spoken_part(&at(PathStep::Member(key.clone())), member, n_left);
                parts.push(format!("{}: {part}", literal(&name_words(key))));
            }
            parts.join(", ")
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn enumerated(parts: &[String], separator: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(separator)),
    }
}

/// What an author wrote, where `$$` is a dollar sign.
fn written(text: &str) -> String {
    literal(&text.replace("$$", "$"))
}

/// A text with mentions as it stands in speech; none if a value that it mentions is not there.
pub(super) fn with_values(text: &str, values: &dyn Values) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Mention(reference, _) => {
                let value = values.told(&reference)?;
                result.push_str(&spoken(&reference, value));
            }
            Piece::Word(text) | Piece::Quoted(text) | Piece::Other(text) => result.push_str(&written(text)),
        }
    }
    Some(result)
}

/// A text without marks of the language: of a variable the words of its name.
pub(super) fn plain(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Mention(reference, _) => {
                result.push_str(&name_words(&reference.name));
                for step in &reference.path {
                    if let PathStep::Member(name) = step {
                        result.push(' ');
                        result.push_str(&name_words(name));
                    }
                }
            }
            Piece::Word(text) | Piece::Quoted(text) | Piece::Other(text) => result.push_str(text),
        }
    }
    written(result.trim())
}

/// A value as it is written so that nothing in it is a reference.
pub(super) fn literal_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Str(text) => text.replace('$', "$$").into(),
        Value::List(items) => items.iter().map(literal_json).collect::<Vec<_>>().into(),
        Value::Map(members) => {
            let members = members.iter().map(|(key, member)| (key.to_string(), literal_json(member)));
            serde_json::Value::Object(members.collect())
        }
        Value::Null => serde_json::Value::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Int(int) => (*int).into(),
        Value::Float(float) => (*float).into(),
    }
}
