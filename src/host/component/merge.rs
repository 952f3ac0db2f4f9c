//! What others may change of a component (spec `components.md`, 4.2): its `config`, and nothing else.

use std::sync::Arc;

use playhouse_lang::value::{Map, Value};

use crate::component::config::ComponentConfig;
use crate::component::identity::{KEYS, scalar_text};

/// Puts the `config` of an outer file's section over a component's: mappings are joined, everything else is
/// replaced, null replaces too. Call it once per outer file, the outermost last. `outer` is the section that holds
/// the identity; what it says besides its `config` is not applied, and the keys come back for a warning: a
/// `setup.package` from outside would be foreign code. A section that names another component changes nothing.
pub fn override_config(component: &mut Map, outer: &Map) -> Vec<Arc<str>> {
    let is_other = KEYS.iter().any(|key| match (component.get(*key), outer.get(*key)) {
        (Some(ours), Some(theirs)) => scalar_text(ours) != scalar_text(theirs),
        (_, None) | (None, _) => false,
    });
    if is_other {
        return outer.keys().cloned().collect();
    }
    // What says more than which component is meant and how it is configured.
    let is_known = |key: &str| KEYS.contains(&key) || key == "config" || key == "instance_id";
    let mut ignored: Vec<Arc<str>> = outer.keys().filter(|key| !is_known(key)).cloned().collect();
    match outer.get("config") {
        None | Some(Value::Null) => {}
        Some(Value::Map(theirs)) => {
            let ours = component.entry("config".into()).or_insert(Value::Null);
            if !matches!(ours, Value::Map(_)) {
                *ours = Value::map(Map::new());
            }
            if let Value::Map(ours) = ours {
                merge(Arc::make_mut(ours), theirs);
            }
        }
        Some(Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_)) => {
            ignored.push("config".into());
        }
    }
    ignored
}

impl ComponentConfig {
    /// Puts the `config` of an outer file's section over this component's, as [`override_config`] does.
    pub fn override_config(&mut self, outer: &Map) -> Vec<Arc<str>> {
        let identity = &self.identity;
        let texts = [&identity.group_id, &identity.artifact_id, &identity.version];
        let mut component: Map =
            KEYS.iter().zip(texts).map(|(key, text)| (Arc::from(*key), Value::Str(text.clone()))).collect();
        component.insert("config".into(), Value::map(std::mem::take(&mut self.config)));
        let ignored = override_config(&mut component, outer);
        if let Some(Value::Map(config)) = component.swap_remove("config") {
            self.config = Arc::unwrap_or_clone(config);
        }
        ignored
    }
}

/// Values come from texts whose nesting is bounded, so this is no deeper.
fn merge(ours: &mut Map, theirs: &Map) {
    for (key, value) in theirs {
        match (ours.get_mut(key), value) {
            (Some(Value::Map(inner)), Value::Map(outer)) => merge(Arc::make_mut(inner), outer),
            (Some(place), _) => *place = value.clone(),
            (None, _) => {
                ours.insert(key.clone(), value.clone());
            }
        }
    }
}
