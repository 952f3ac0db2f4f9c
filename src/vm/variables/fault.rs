//! Why an expression has no value, and how that is told without showing what may not be shown.

use std::fmt;
use std::sync::Arc;

use playhouse_lang::value::{Excess, Map, PathStep, Reference, Value};

use crate::protocol::Tracked;
use crate::variables::bounds::describe_excess;

/// Why an expression has no value. It holds the values concerned; its text ([`fmt::Display`]) shows nothing of those
/// that are secret, so that it can be given to whoever wants to know.
#[derive(Clone, Debug, PartialEq)]
pub enum EvalFault {
    /// A variable that is not set. Its value may still be on its way.
    Unset(Arc<str>),
    /// A path leaves the value: what was reached, and the step that is not there.
    NoStep {
        /// As far as the path led.
        reached: Reference,
        /// What stands there.
        found: Tracked,
        /// What it does not have.
        step: PathStep,
    },
    /// Values that an operator or a place has no use for: a text with `{}` for each.
    Operands(String, Vec<Tracked>),
    /// A computation without a result.
    Number(&'static str),
    /// A result that is larger or deeper than a value may be.
    Excess(Excess),
    /// Anything else, in words that hold no value.
    Words(String),
}

impl EvalFault {
    /// A fault that shows no value.
    pub(crate) fn words(words: impl Into<String>) -> EvalFault {
        EvalFault::Words(words.into())
    }

    /// A value that does not fit; `{}` in the text stands for it.
    pub(crate) fn operand(text: impl Into<String>, operand: &Tracked) -> EvalFault {
        EvalFault::Operands(text.into(), vec![operand.clone()])
    }

    /// Two values that do not fit each other.
    pub(crate) fn operands(text: impl Into<String>, left: &Tracked, right: &Tracked) -> EvalFault {
        EvalFault::Operands(text.into(), vec![left.clone(), right.clone()])
    }

    /// Whether what was asked for is not there, and not of a wrong kind.
    pub fn is_missing(&self) -> bool {
        match self {
            EvalFault::Unset(_) => true,
            EvalFault::NoStep { found, step, .. } => matches!(
                (found.value(), step),
                (Value::Map(_), PathStep::Member(_)) | (Value::List(_), PathStep::Index(_)) | (Value::Null, _)
            ),
            EvalFault::Operands(..) | EvalFault::Number(_) | EvalFault::Excess(_) | EvalFault::Words(_) => false,
        }
    }
}

impl fmt::Display for EvalFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalFault::Unset(name) => write!(f, "${name} is not set"),
            EvalFault::NoStep { reached, found, step } => match (found.value(), step) {
                (Value::Map(members), PathStep::Member(name)) => {
                    write!(f, "{reached} has no `{name}`{}", told_keys(members, found.is_secret()))
                }
                (Value::List(_), PathStep::Index(index)) if found.is_secret() => {
                    write!(f, "{reached} has no [{index}]")
                }
                (Value::List(items), PathStep::Index(index)) => {
                    write!(f, "{reached} has {} items, no [{index}]", items.len())
                }
                (_, PathStep::Member(name)) => write!(f, "{reached} is {}, which has no .{name}", describe(found)),
                (_, PathStep::Index(index)) => write!(f, "{reached} is {}, which has no [{index}]", describe(found)),
            },
            EvalFault::Operands(text, operands) => {
                let mut pieces = text.split("{}");
                f.write_str(pieces.next().unwrap_or_default())?;
                operands.iter().zip(pieces).try_for_each(|(operand, piece)| write!(f, "{}{piece}", describe(operand)))
            }
            EvalFault::Number(words) => f.write_str(words),
            EvalFault::Excess(excess) => write!(f, "the result would be {}", describe_excess(*excess)),
            EvalFault::Words(words) => f.write_str(words),
        }
    }
}

/// What a map has instead of the member that was asked for, as the end of a sentence. The keys of a secret are secret.
pub(crate) fn told_keys(members: &Map, is_secret: bool) -> String {
    if is_secret {
        return String::new();
    }
    if members.is_empty() {
        return "; it is empty".to_owned();
    }
    let keys: Vec<&str> = members.keys().take(10).map(|key| &**key).collect();
    format!("; it has: {}{}", keys.join(", "), if members.len() > keys.len() { ", …" } else { "" })
}

/// A value in a few words; of what is secret only the kind.
fn describe(value: &Tracked) -> String {
    let kind = value.value().kind();
    if value.is_secret() {
        return format!("a secret {kind}");
    }
    // Forty characters have at most 160 bytes.
    let (json, is_whole) = value.value().to_json_within(160);
    if is_whole && json.chars().count() <= 40 { format!("{kind} {json}") } else { kind.to_owned() }
}
