//! What can be known of a callable without running it: its name, its parameters, their types.

use std::fmt;
use std::sync::Arc;

use crate::span::Span;
use crate::value::{Value, is_date};

/// The types of the language (spec `language.md`, "Steps").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// What kind of value.
    pub kind: TypeKind,
    /// Whether null is allowed too (`T | None`).
    pub optional: bool,
}

/// The kinds of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumIter, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum TypeKind {
    /// Anything.
    Any,
    /// Text.
    Str,
    /// A 64-bit integer.
    Int,
    /// A number; integers are accepted.
    Float,
    /// `true` or `false`.
    Bool,
    /// A list.
    List,
    /// A map.
    Dict,
    /// A text that is a day: `2026-05-03`.
    Date,
    /// A text that is a time of day: `14:30`.
    Time,
    /// A text that is an e-mail address.
    Email,
}

impl TypeKind {
    /// How a value is written, where not every text is one.
    pub fn form(self) -> Option<&'static str> {
        match self {
            TypeKind::Date => Some("a day such as 2026-05-03"),
            TypeKind::Time => Some("a time of day such as 14:30"),
            TypeKind::Email => Some("an e-mail address such as ida@example.org"),
            TypeKind::Any
            | TypeKind::Str
            | TypeKind::Int
            | TypeKind::Float
            | TypeKind::Bool
            | TypeKind::List
            | TypeKind::Dict => None,
        }
    }
}

impl From<TypeKind> for Type {
    fn from(kind: TypeKind) -> Type {
        Type { kind, optional: false }
    }
}

impl Type {
    /// Accepts every value.
    pub const ANY: Type = Type { kind: TypeKind::Any, optional: false };

    /// Whether `value` is of this type. There is no coercion; an integer is a `float`.
    pub fn accepts(self, value: &Value) -> bool {
        match (self.kind, value) {
            (TypeKind::Any, _)
            | (TypeKind::Str, Value::Str(_))
            | (TypeKind::Int, Value::Int(_))
            | (TypeKind::Float, Value::Int(_) | Value::Float(_))
            | (TypeKind::Bool, Value::Bool(_))
            | (TypeKind::List, Value::List(_))
            | (TypeKind::Dict, Value::Map(_)) => true,
            (TypeKind::Date, Value::Str(text)) => is_date(text),
            (TypeKind::Time, Value::Str(text)) => text.contains(':') && text.parse::<jiff::civil::Time>().is_ok(),
            (TypeKind::Email, Value::Str(text)) => is_email(text),
            (_, Value::Null) => self.optional,
            _ => false,
        }
    }
}

/// Whether a text has the form of an address: a name, one `@`, and a domain with a dot in it. Whether it exists, only
/// a letter to it can tell.
fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.split_once('@') else { return false };
    let is_part = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c == '@');
    is_part(name) && domain.contains('.') && domain.split('.').all(is_part)
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, if self.optional { " | None" } else { "" })
    }
}

/// A parameter of a playbook or tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, without `$`.
    pub name: Arc<str>,
    /// Its type; `any` if none was written.
    pub ty: Type,
    /// Its default value; a parameter without one is required.
    pub default: Option<Value>,
    /// What it is for, in one line; empty if unknown.
    pub description: Arc<str>,
    /// The place of the declaration; none for a tool's.
    pub span: Option<Span>,
}

impl Parameter {
    /// Whether a call must give it.
    pub fn required(&self) -> bool {
        self.default.is_none()
    }
}

/// `order_id: str = "x"`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.ty != Type::ANY {
            write!(f, ": {}", self.ty)?;
        }
        self.default.as_ref().map_or(Ok(()), |default| write!(f, " = {default}"))
    }
}

/// What one can know about a callable without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The name it is called by; may hold one dot (`plugin.command`, `Agent.Playbook`).
    pub name: Arc<str>,
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
    /// What it gives back; `any` if unknown.
    pub returns: Type,
    /// One line for the model and for people.
    pub summary: Arc<str>,
}

impl Signature {
    /// `Name(a: str, b = 3) -> dict` for what is called by `name`; `sign` stands before each parameter.
    pub fn written(&self, name: &str, sign: &str) -> String {
        let parameters: Vec<String> = self.parameters.iter().map(|parameter| format!("{sign}{parameter}")).collect();
        let returns = if self.returns == Type::ANY { String::new() } else { format!(" -> {}", self.returns) };
        format!("{name}({}){returns}", parameters.join(", "))
    }
}

/// Reads a type's name. The longer names of other languages are understood, and so is what stands in brackets
/// after a container (`list[str]`), which is not checked. `None` if it is no type.
pub(crate) fn read_type(text: &str) -> Option<Type> {
    let (mut kind, mut optional) = (None, false);
    let text = text.trim();
    let inner = text.strip_prefix("Optional[").and_then(|inner| inner.strip_suffix(']'));
    optional |= inner.is_some();
    for part in split_outside_brackets(inner.unwrap_or(text), &['|']) {
        let part = part.trim();
        let word = part.split('[').next().unwrap_or("").trim();
        let read = match word.to_lowercase().replace('-', "").as_str() {
            "none" | "null" => {
                optional = true;
                continue;
            }
            "str" | "string" | "text" => TypeKind::Str,
            "int" | "integer" => TypeKind::Int,
            "float" | "number" => TypeKind::Float,
            "bool" | "boolean" => TypeKind::Bool,
            "list" | "array" | "tuple" | "set" => TypeKind::List,
            "dict" | "object" | "map" => TypeKind::Dict,
            "any" => TypeKind::Any,
            "date" | "day" => TypeKind::Date,
            "time" => TypeKind::Time,
            "email" => TypeKind::Email,
            _ => return None,
        };
        // A union of two kinds can't be told apart here, so it allows everything.
        kind = Some(if kind.is_some_and(|kind| kind != read) { TypeKind::Any } else { read });
    }
    Some(Type { kind: kind.unwrap_or(TypeKind::Any), optional })
}

/// The parts between separators that stand outside of brackets; never empty.
pub(crate) fn split_outside_brackets<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if separators.contains(&character) && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
