//! Which of the resources there are a plugin means (spec `components.md`, 4.7).

use std::sync::Arc;

/// A resource that there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceEntry {
    /// Its type (`model`, `disk`).
    pub kind: Arc<str>,
    /// Its id, if it has one.
    pub id: Option<Arc<str>>,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
}

/// What a plugin wants. What is given must agree; the id `default` is as good as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedResource {
    /// The type.
    pub kind: Option<Arc<str>>,
    /// The id.
    pub id: Option<Arc<str>>,
    /// The name.
    pub name: Option<Arc<str>>,
}

/// Why there is no resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// Nothing says which one is wanted.
    #[error("nothing says which resource is wanted; give its `type`, `id` or `name`")]
    NothingWanted,
    /// No entry agrees with all that is given.
    #[error("there is no resource with {wanted}; {known}")]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: String,
    },
}

/// The position of the first entry that agrees with all that is wanted.
///
/// # Errors
/// None does, or nothing is wanted. Both are errors of the plugin's configuration, before any command.
pub fn lookup(entries: &[ResourceEntry], wanted: &WantedResource) -> Result<usize, LookupError> {
    let id = wanted.id.as_deref().filter(|id| *id != "default");
    let kind = wanted.kind.as_deref();
    let name = wanted.name.as_deref();
    if kind.is_none() && id.is_none() && name.is_none() {
        return Err(LookupError::NothingWanted);
    }
    let agrees = |entry: &ResourceEntry| {
        kind.is_none_or(|kind| *entry.kind == *kind)
            && id.is_none_or(|id| entry.id.as_deref() == Some(id))
            && name.is_none_or(|name| entry.name.as_deref() == Some(name))
    };
    entries.iter().position(agrees).ok_or_else(|| LookupError::Unknown {
        wanted: told(kind, id, name),
        known: if entries.is_empty() {
            "there are no resources".to_owned()
        } else {
            let known = entries
                .iter()
                .take(20)
                .map(|entry| format!("({})", told(Some(&entry.kind), entry.id.as_deref(), entry.name.as_deref())));
            format!("there are {}", known.collect::<Vec<_>>().join(", "))
        },
    })
}

fn told(kind: Option<&str>, id: Option<&str>, name: Option<&str>) -> String {
    let parts = [("type", kind), ("id", id), ("name", name)];
    let parts = parts.iter().filter_map(|(key, value)| value.map(|value| format!("{key} `{value}`")));
    parts.collect::<Vec<_>>().join(", ")
}
