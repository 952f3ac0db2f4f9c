//! Values inside an object that is closed: as [`Value`] reads them, but a key twice is an error at any depth.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use playhouse_lang::value::{Map, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::ReadFaultKind;
use super::speech::HALF_SURROGATE;

/// Reads the JSON text of one value.
pub(super) fn read_value(text: &str) -> Result<Value, (ReadFaultKind, String)> {
    let twice = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Strict { twice: &twice }.deserialize(&mut deserializer).map_err(|error| match twice.into_inner() {
        Some(key) => (ReadFaultKind::DuplicateKey, format!("the key `{key}` stands twice in one object")),
        None => (ReadFaultKind::Json, json_message(&error)),
    })
}

/// serde_json's words without its line and column, which count from the value's beginning.
pub(super) fn json_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    if message.contains("surrogate") || message.contains("hex escape") {
        return HALF_SURROGATE.to_owned();
    }
    message.split(" at line ").next().unwrap_or(&message).to_owned()
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    /// The key that was found twice: serde's errors carry text only.
    twice: &'a RefCell<Option<Arc<str>>>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
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
        #[allow(clippy::cast_precision_loss)] // What is too large for an integer is a float, as in `Value`.
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
        while let Some(key) = map.next_key_seed(MemberKey)? {
            let value = map.next_value_seed(self)?;
            if let (index, Some(_)) = members.insert_full(key, value) {
                *self.twice.borrow_mut() = members.get_index(index).map(|(key, _)| Arc::clone(key));
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(Value::map(members))
    }
}

/// A key, without a `String` on the way.
struct MemberKey;

impl<'de> DeserializeSeed<'de> for MemberKey {
    type Value = Arc<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Arc<str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberKey {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<Arc<str>, E> {
        Ok(text.into())
    }
}
