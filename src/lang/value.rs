//! Values of the language: their kinds, their JSON form, and where they came from.
//!
//! A [`Value`] is cheap to clone (strings, lists and maps are shared), keeps the order of keys, and compares
//! by meaning: `1 == 1.0` (spec `language.md`, "Expressions").

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The members of a map value, in the order they were written.
pub type Map = IndexMap<Arc<str>, Value>;

/// A JSON-shaped value. Integers are 64-bit; a larger one is read as a float.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A finite floating-point number.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// A map with text keys.
    Map(Arc<Map>),
}

/// One step of a path into a value: `.name` or `[index]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// `.name`: a member of a map.
    Member(Arc<str>),
    /// `[index]`: an element of a list, from 0.
    Index(usize),
}

/// A variable's name and a path into its value: `$a.b[0]` (the `$` is not part of the name).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The variable's name.
    pub name: Arc<str>,
    /// The way into its value, outermost first.
    pub path: Vec<PathStep>,
}

impl Value {
    /// A text value.
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        Value::Str(text.into())
    }

    /// A list value.
    pub fn list(items: Vec<Value>) -> Self {
        Value::List(Arc::new(items))
    }

    /// A map value.
    pub fn map(members: Map) -> Self {
        Value::Map(Arc::new(members))
    }

    /// The name of the value's kind, as types are written in a program.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "None",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::List(_) => "list",
            Value::Map(_) => "dict",
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(text) = self { Some(text) } else { None }
    }

    /// The value one step down the path, if there is one.
    pub fn step(&self, step: &PathStep) -> Option<&Value> {
        match (self, step) {
            (Value::Map(members), PathStep::Member(name)) => members.get(&**name),
            (Value::List(items), PathStep::Index(index)) => items.get(*index),
            _ => None,
        }
    }

    /// The value at the end of `path`; the error is how many steps were possible.
    pub fn at(&self, path: &[PathStep]) -> Result<&Value, usize> {
        let mut value = self;
        for (n_done, step) in path.iter().enumerate() {
            value = value.step(step).ok_or(n_done)?;
        }
        Ok(value)
    }

    /// Compact JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "null".to_owned())
    }

    /// The text form used inside other text: strings bare, everything else compact JSON.
    pub fn to_text(&self) -> String {
        match self {
            Value::Str(text) => text.to_string(),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
                self.to_json()
            }
        }
    }

    /// Reads JSON text.
    pub fn from_json(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => int_equals_float(*a, *b),
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            _ => false,
        }
    }
}

/// Exact comparison: no integer is equal to a float that only rounds to it.
fn int_equals_float(int: i64, float: f64) -> bool {
    // -2^63 and every integral float below 2^63 convert to i64 without loss.
    float.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float) && {
        #[allow(clippy::cast_possible_truncation)]
        let as_int = float as i64;
        as_int == int
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::str(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::str(text)
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Value::Int(int)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Bool(truth)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.name)?;
        for step in &self.path {
            match step {
                PathStep::Member(name) => write!(f, ".{name}")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Where a value came from (spec `execution.md`, "Where values come from"): a set, because text can be put
/// together from several sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin(u8);

impl Origin {
    /// The program's own text: literals of explicit lines, defaults, declared variables, arithmetic on them.
    pub const CODE: Origin = Origin(1);
    /// Given when the program was started (`--arg`).
    pub const ARGUMENT: Origin = Origin(2);
    /// A user's message.
    pub const USER: Origin = Origin(4);
    /// Written by the model.
    pub const MODEL: Origin = Origin(8);
    /// A tool's result.
    pub const TOOL: Origin = Origin(16);

    const NAMES: [(Origin, &'static str); 5] = [
        (Origin::TOOL, "tool"),
        (Origin::MODEL, "model"),
        (Origin::USER, "user"),
        (Origin::ARGUMENT, "argument"),
        (Origin::CODE, "code"),
    ];

    /// Every source there is.
    pub const ALL: Origin = Origin(31);

    /// The source with this name, as people write it (`user`).
    pub fn named(name: &str) -> Option<Origin> {
        Origin::NAMES.iter().find(|(_, known)| *known == name).map(|(origin, _)| *origin)
    }

    /// The names of all sources in it, the most trusted first.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Origin::NAMES.iter().rev().filter(move |(origin, _)| self.0 & origin.0 != 0).map(|(_, name)| *name)
    }

    /// Both sources together.
    #[must_use]
    pub fn with(self, other: Origin) -> Origin {
        Origin(self.0 | other.0)
    }

    /// The sources that both have.
    #[must_use]
    pub fn and(self, other: Origin) -> Origin {
        Origin(self.0 & other.0)
    }

    /// Whether every source in `self` is one of `allowed`.
    pub fn within(self, allowed: Origin) -> bool {
        self.0 & !allowed.0 == 0
    }

    /// The one name shown to people: the least trusted of the sources; `code` for none.
    pub fn name(self) -> &'static str {
        Origin::NAMES.iter().find(|(origin, _)| self.0 & origin.0 != 0).map_or("code", |(_, name)| name)
    }
}

/// A value with its origin and its secrecy. What is secret is shown as `"***"` by events, journal views and
/// tracing, never as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracked {
    /// The value itself.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
    /// Whether it may be shown.
    pub secret: bool,
}

impl Tracked {
    /// A value that may be shown.
    pub fn new(value: Value, origin: Origin) -> Self {
        Tracked { value, origin, secret: false }
    }

    /// The value as it may be shown to people: the mask for a secret.
    pub fn shown(&self) -> Value {
        if self.secret { Value::str("***") } else { self.value.clone() }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(truth) => serializer.serialize_bool(*truth),
            Value::Int(int) => serializer.serialize_i64(*int),
            Value::Float(float) => serializer.serialize_f64(*float),
            Value::Str(text) => serializer.serialize_str(text),
            Value::List(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            Value::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members.iter() {
                    map.serialize_entry(&**key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, int: i64) -> Result<Value, E> {
        Ok(Value::Int(int))
    }

    fn visit_u64<E>(self, int: u64) -> Result<Value, E> {
        #[allow(clippy::cast_precision_loss)]
        Ok(i64::try_from(int).map_or(Value::Float(int as f64), Value::Int))
    }

    fn visit_f64<E>(self, float: f64) -> Result<Value, E> {
        Ok(Value::Float(float))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::str(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::str(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Value::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            members.insert(key.into(), value);
        }
        Ok(Value::map(members))
    }
}
