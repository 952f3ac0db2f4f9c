//! What people have written in a configuration, read by serde: every key known, every value of its kind, and what is
//! wrong in words for them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::spelling::nearest;
use playhouse_lang::value::Value;
use serde::de::value::SeqDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, MapAccess, Unexpected,
    Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

/// Reads a value.
///
/// # Errors
/// The first key or value that is wrong: "`timeout` must be …", "it must be …".
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(Reader(value)).map_err(|fault| match fault {
        Fault::Kind(kind) => format!("it must be {kind}"),
        Fault::Whole(words) => words,
    })
}

/// What to say of a key that is not among those that are known.
pub(crate) fn unknown_key<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(key, known.iter()) {
        Some(other) => format!("unknown key `{key}`; did you mean `{other}`?"),
        None => format!("unknown key `{key}`; known are {}", known.join(", ")),
    }
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
enum Fault {
    /// A value is not of this kind.
    #[error("{0}")]
    Kind(String),
    /// In words that say it all.
    #[error("{0}")]
    Whole(String),
}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(words: T) -> Fault {
        Fault::Whole(words.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        let expected = expected.to_string();
        let kind = match &*expected {
            "a string" => "text",
            "a boolean" => "true or false",
            "a sequence" => "a list",
            "f64" => "a number",
            "u32" | "u64" | "usize" => "a whole number that is not negative",
            other => other,
        };
        Fault::Kind(kind.to_owned())
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        Fault::invalid_type(found, expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Fault {
        let words: Vec<String> = expected.iter().map(|word| format!("\"{word}\"")).collect();
        Fault::Kind(match words.split_last() {
            Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
            Some(_) | None => words.concat(),
        })
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Fault {
        let mut known = expected.to_vec();
        known.sort_unstable();
        Fault::Whole(unknown_key(field, known.into_iter()))
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault::Whole(format!("it has no `{field}`"))
    }
}

struct Reader<'v>(&'v Value);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Int(int) => visitor.visit_i64(*int),
            Value::Float(float) => visitor.visit_f64(*float),
            Value::Str(text) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(Reader))),
            Value::Map(members) => visitor.visit_map(Members { rest: members.iter(), value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if *self.0 == Value::Null { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let word = self.0.as_str().ok_or_else(|| Fault::unknown_variant("", words))?;
        visitor.visit_enum(word.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'v> IntoDeserializer<'v, Fault> for Reader<'v> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct Members<'v> {
    rest: indexmap::map::Iter<'v, Arc<str>, Value>,
    value: Option<(&'v str, &'v Value)>,
}

impl<'v> MapAccess<'v> for Members<'v> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'v>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.value = self.rest.next().map(|(key, value)| (&**key, value));
        self.value.map(|(key, _)| seed.deserialize(key.into_deserializer())).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'v>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let (key, value) = self.value.take().ok_or_else(|| Fault::custom("a value without a key"))?;
        seed.deserialize(Reader(value)).map_err(|fault| match fault {
            Fault::Kind(kind) => Fault::Whole(format!("`{key}` must be {kind}")),
            whole @ Fault::Whole(_) => whole,
        })
    }
}

/// A value of this kind.
pub(crate) fn of_kind<'d, D: Deserializer<'d>, T>(
    deserializer: D,
    kind: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    read(&value).ok_or_else(|| D::Error::invalid_type(Unexpected::Other("another"), &kind))
}

/// A time: seconds above 0.
pub(crate) fn seconds<'d, D: Deserializer<'d>, T: From<Duration>>(deserializer: D) -> Result<T, D::Error> {
    of_kind(deserializer, "a number of seconds above 0", time_of).map(T::from)
}

/// So many seconds; none: it is no number above 0.
pub(crate) fn time_of(value: &Value) -> Option<Duration> {
    #[allow(clippy::cast_precision_loss, reason = "seconds")]
    let seconds = match value {
        Value::Int(seconds) => *seconds as f64,
        Value::Float(seconds) => *seconds,
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => 0.0,
    };
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

/// How many: 1 or more.
pub(crate) fn count<'d, D: Deserializer<'d>, T: From<usize>>(deserializer: D) -> Result<T, D::Error> {
    of_kind(deserializer, "a whole number above 0", |value| {
        let count = if let Value::Int(count) = value { usize::try_from(*count).ok() } else { None };
        count.filter(|count| *count > 0).map(T::from)
    })
}

/// Texts, or one.
pub(crate) fn texts<'d, D: Deserializer<'d>, T: From<Vec<String>>>(deserializer: D) -> Result<T, D::Error> {
    of_kind(deserializer, "a list of texts", texts_of).map(T::from)
}

/// The texts of a list, or one.
pub(crate) fn texts_of(value: &Value) -> Option<Vec<String>> {
    let texts = if let Value::List(items) = value { items } else { std::slice::from_ref(value) };
    texts.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Anything, as text: `id: 0` is the text "0".
pub(crate) fn as_text<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<Arc<str>>, D::Error> {
    Value::deserialize(deserializer).map(|value| Some(value.to_text().into()))
}

/// Names and texts.
pub(crate) fn pairs<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    of_kind(deserializer, "a map of names and texts", |value| {
        let Value::Map(members) = value else { return None };
        members.iter().map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned()))).collect()
    })
}
