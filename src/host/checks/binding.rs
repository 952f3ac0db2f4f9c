//! What the names in a check stand for: `$id` of `Refund($id)`.

use std::fmt;
use std::sync::Arc;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::Tracked;

/// Values by name, in the order in which they were bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Binding(Vec<(Arc<str>, Value)>);

/// The values of some names, to compare: equal values are equal texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Key(Vec<String>);

impl Binding {
    /// Gives a name its value. Answers false if it has another one.
    pub(super) fn bind(&mut self, name: &Arc<str>, value: &Value) -> bool {
        if let Some(known) = self.get(name) {
            return known == value;
        }
        self.0.push((name.clone(), value.clone()));
        true
    }

    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    /// The values of these names, as far as they are bound.
    pub(super) fn key(&self, names: &[Arc<str>]) -> Key {
        Key(names.iter().map(|name| self.get(name).map_or_else(String::new, canonical)).collect())
    }

    /// The same with what another one binds besides; that both bind the same is known.
    pub(super) fn with(&self, other: &Binding) -> Binding {
        let mut both = self.clone();
        for (name, value) in &other.0 {
            both.bind(name, value);
        }
        both
    }

    /// As variables, which stand before those of the session.
    pub(super) fn tracked(&self) -> Vec<(Arc<str>, Tracked)> {
        self.0.iter().map(|(name, value)| (name.clone(), Tracked::new(value.clone(), Default::default()))).collect()
    }
}

/// `$id = "4334"`
impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(|(name, value)| format!("${name} = {}", value.to_json())).collect();
        f.write_str(&texts.join(", "))
    }
}

/// JSON that is the same for equal values: members by name, whole numbers without a fraction.
fn canonical(value: &Value) -> String {
    match value {
        Value::Map(members) => {
            let mut members: Vec<(&Arc<str>, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members.into_iter().map(|(name, value)| format!("{name:?}:{}", canonical(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::List(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        #[expect(clippy::cast_possible_truncation, reason = "compared with the float again")]
        Value::Float(float) if *value == Value::Int(*float as i64) => (*float as i64).to_string(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => value.to_json(),
    }
}
