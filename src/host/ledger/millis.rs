//! Times in JSON: milliseconds since the Unix epoch.

/// A time.
pub(crate) mod as_millis {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use playhouse_vm::protocol::Timestamp;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands references on")]
    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        time.0.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp)
    }
}

/// The same of a time that may be missing.
pub(crate) mod as_millis_if_any {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use playhouse_vm::protocol::Timestamp;

    #[allow(clippy::ref_option, reason = "serde hands references on")]
    pub(crate) fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.0).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(Timestamp))
    }
}
