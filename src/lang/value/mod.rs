//! Values of the language: their kinds, their JSON form, their order and their bounds.
//!
//! A [`Value`] is cheap to clone (strings, lists and maps are shared), keeps the order of keys, and compares
//! by meaning: `1 == 1.0` (spec `language.md`, "Expressions").

pub mod json;
pub mod markup;

use std::cell::RefCell;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The members of a map value, in the order they were written.
pub type Map = IndexMap<Arc<str>, Value>;

/// The names of the months, in small letters.
pub const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Whether a text is a date as the language writes it: `2026-01-31`. Dates are texts, for such texts have the order of the
/// days.
pub fn is_date(text: &str) -> bool {
    let is_fit = |(at, byte): (usize, u8)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(is_fit) && text.parse::<jiff::civil::Date>().is_ok()
}

/// A JSON-shaped value. Integers are 64-bit; a larger one is read as a float.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(untagged)]
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

/// How large a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of its JSON, estimated from below.
    pub max_bytes: usize,
    /// How deep lists and maps may stand inside each other.
    pub max_depth: usize,
}

/// What a value has too much of, and how much is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// More bytes of JSON.
    Bytes(usize),
    /// Lists and maps deeper inside each other.
    Depth(usize),
}

/// The beginning of what is written, up to a bound.
struct Start {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl std::io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n_free = self.max_bytes - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(n_free)]);
        if bytes.len() > n_free { Err(std::io::ErrorKind::WriteZero.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
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

    /// The members, if it is a map.
    pub fn as_map(&self) -> Option<&Map> {
        if let Value::Map(members) = self { Some(members) } else { None }
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

    /// Writes compact JSON; a writer that fails gets no more.
    pub fn write_json(&self, writer: impl std::io::Write) {
        let _ = serde_json::to_writer(writer, self);
    }

    /// Compact JSON, as much of it as fits into `max_bytes`, and whether that is all. Costs no more than what is
    /// written, however large the value is.
    pub fn to_json_within(&self, max_bytes: usize) -> (String, bool) {
        let mut start = Start { bytes: Vec::new(), max_bytes };
        let is_whole = serde_json::to_writer(&mut start, self).is_ok();
        let mut text = String::from_utf8(start.bytes).unwrap_or_else(|error| {
            let n_valid = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..n_valid]).into_owned()
        });
        text.truncate(text.floor_char_boundary(max_bytes));
        (text, is_whole)
    }

    /// Whether the value is within bounds. What is shared counts as often as it occurs; the work is never more than
    /// the bound allows.
    ///
    /// # Errors
    /// What it has too much of.
    pub fn check_bounds(&self, bounds: Bounds) -> Result<(), Excess> {
        let mut n_left = bounds.max_bytes;
        self.measure(0, &mut n_left, bounds)
    }

    /// Takes the bytes of the value off those that are left. Goes no deeper than is allowed.
    fn measure(&self, depth: usize, n_left: &mut usize, bounds: Bounds) -> Result<(), Excess> {
        if depth > bounds.max_depth {
            return Err(Excess::Depth(bounds.max_depth));
        }
        let n_bytes = match self {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 4,
            Value::Str(text) => text.len() + 2,
            Value::List(items) => items.len() + 2,
            Value::Map(members) => members.keys().map(|key| key.len() + 4).sum::<usize>() + 2,
        };
        *n_left = n_left.checked_sub(n_bytes).ok_or(Excess::Bytes(bounds.max_bytes))?;
        match self {
            Value::List(items) => items.iter().try_for_each(|item| item.measure(depth + 1, n_left, bounds)),
            Value::Map(members) => members.values().try_for_each(|member| member.measure(depth + 1, n_left, bounds)),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => Ok(()),
        }
    }

    /// Reads JSON text.
    pub fn from_json(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Reads JSON text in which no object has a key twice.
    ///
    /// # Errors
    /// The key that an object has twice, or what keeps the text from being JSON.
    pub fn from_strict_json(text: &str) -> Result<Value, JsonFault> {
        // serde's errors carry text only.
        let twice = RefCell::new(None);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let read = ValueVisitor { twice: Some(&twice) }.deserialize(&mut deserializer);
        read.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| match twice.into_inner() {
            Some(key) => JsonFault::KeyTwice(key),
            None => JsonFault::NoJson(error),
        })
    }
}

/// Why [`Value::from_strict_json`] refuses a text.
#[derive(Debug)]
pub enum JsonFault {
    /// An object has this key twice.
    KeyTwice(Arc<str>),
    /// It is no JSON.
    NoJson(serde_json::Error),
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => {
                // No integer is equal to a float that only rounds to it.
                compare_int_float(*a, *b) == Some(Ordering::Equal)
            }
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            _ => false,
        }
    }
}

/// The exact order of an integer and a float; none for what is no number.
pub fn compare_int_float(int: i64, float: f64) -> Option<Ordering> {
    const BEYOND_INTS: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= BEYOND_INTS {
        return Some(Ordering::Less);
    }
    if float < -BEYOND_INTS {
        return Some(Ordering::Greater);
    }
    // What is left converts to an integer without loss, but for its fraction.
    #[allow(clippy::cast_possible_truncation)]
    let whole = float.trunc() as i64;
    Some(int.cmp(&whole).then_with(|| {
        if float.fract() > 0.0 {
            Ordering::Less
        } else if float.fract() < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }))
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

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueVisitor { twice: None }.deserialize(deserializer)
    }
}

/// Reads one value of anything like JSON.
#[derive(Clone, Copy)]
struct ValueVisitor<'a> {
    /// A key that stands twice in a map ends the reading and is put here; without this the last one counts.
    twice: Option<&'a RefCell<Option<Arc<str>>>>,
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key::<Arc<str>>()? {
            let value = map.next_value_seed(self)?;
            if let (index, Some(_)) = members.insert_full(key, value)
                && let Some(twice) = self.twice
            {
                *twice.borrow_mut() = members.get_index(index).map(|(key, _)| Arc::clone(key));
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(Value::map(members))
    }
}
