//! Scopes and variables: what a frame can read and what is to be known of it, as lists that open on demand.
//!
//! A list has a number while the program stands still; when it moves, the numbers mean nothing any more.

use serde_json::{Value as Json, json};

use crate::lang::expr::scan_name;
use crate::serve::dap::lists::{Entry, Inner, List, Owner, ScopeKind, members_of};
use crate::serve::dap::rows::{chat, counters, queue, trigger_row};
use crate::serve::dap::wire::{Refusal, RefusalKind, VariablesArguments};
use crate::serve::show::variables::{Group, groups, kind_and_origin};
use crate::serve::show::{merge, short_value};
use crate::value::{PathStep, Value};
use crate::vm::protocol::view::{VariableView, View};
use crate::vm::protocol::{FrameId, Tracked};

const SCOPES: [(ScopeKind, &str); 7] = [
    (ScopeKind::Own, "Own"),
    (ScopeKind::Below, "Visible from below"),
    (ScopeKind::Others, "Others"),
    (ScopeKind::Queue, "Queue"),
    (ScopeKind::Triggers, "Triggers"),
    (ScopeKind::Chat, "Chat session"),
    (ScopeKind::Counters, "Counters"),
];

/// The lists that a client may open.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    lists: Vec<List>,
    /// Numbers are never used again: an old one must not mean something else.
    n_gone: usize,
}

impl Lists {
    /// The program moves.
    pub(crate) fn clear(&mut self) {
        self.n_gone += self.lists.len();
        self.lists.clear();
    }

    fn put(&mut self, list: List) -> i64 {
        self.lists.push(list);
        i64::try_from(self.n_gone + self.lists.len()).unwrap_or(0)
    }

    fn get(&self, reference: i64) -> Result<&List, Refusal> {
        let index = usize::try_from(reference).ok().and_then(|reference| reference.checked_sub(self.n_gone + 1));
        index.and_then(|index| self.lists.get(index)).ok_or_else(|| {
            RefusalKind::Gone.told("the program has continued since this list was shown; request the scopes again")
        })
    }

    /// The scopes of a frame; those with nothing in them are left out.
    pub(crate) fn scopes(&mut self, view: &View, frame: FrameId) -> Vec<Json> {
        let mut scopes = Vec::new();
        for (kind, name) in SCOPES {
            let n = self.scope_rows(view, frame, kind).len();
            if n == 0 && kind != ScopeKind::Own {
                continue;
            }
            let mut scope = json!({"name": name});
            if kind == ScopeKind::Own {
                scope["presentationHint"] = "locals".into();
            }
            scope["variablesReference"] = self.put(List::Scope(frame, kind)).into();
            let is_list = matches!(kind, ScopeKind::Queue | ScopeKind::Chat);
            scope[if is_list { "indexedVariables" } else { "namedVariables" }] = n.into();
            scope["expensive"] = matches!(kind, ScopeKind::Chat | ScopeKind::Triggers | ScopeKind::Counters).into();
            scopes.push(scope);
        }
        scopes
    }

    /// The rows of a list that are wanted.
    ///
    /// # Errors
    /// The list is not there any more.
    pub(crate) fn rows(&mut self, view: &View, wanted: &VariablesArguments) -> Result<Vec<Json>, Refusal> {
        let list = self.get(wanted.variables_reference)?.clone();
        let rows = match list {
            List::Scope(frame, kind) => self.scope_rows(view, frame, kind),
            List::Value(inner) => members(&inner),
            List::Rows(rows) => rows.into_iter().map(Entry::Row).collect(),
        };
        let is_wanted = |entry: &Entry| match wanted.filter.as_deref() {
            Some("indexed") => entry.is_indexed(),
            Some("named") => !entry.is_indexed(),
            Some(_) | None => true,
        };
        let count = if wanted.count == 0 { usize::MAX } else { wanted.count };
        let rows = rows.into_iter().filter(is_wanted).skip(wanted.start).take(count);
        Ok(rows.map(|entry| self.variable(entry)).collect())
    }

    /// A value as the client gets it: its text under `key` (`value`, or `result` of an expression), and what is to be
    /// known of it. `name` is how it is written in an expression.
    pub(crate) fn value(&mut self, key: &str, value: &Tracked, owner: Option<Owner>, name: Option<String>) -> Json {
        let secret = if value.is_secret() { ", secret" } else { "" };
        let mut told = json!({
            key: short_value(&value.shown()),
            "type": format!("{}{secret}", kind_and_origin(value)),
            "presentationHint": {"kind": "data"},
            "variablesReference": 0,
        });
        if owner.is_none() {
            told["presentationHint"]["attributes"] = json!(["readOnly"]);
        }
        if let Some((counted, n)) = members_of(value) {
            if n > 0 {
                let inner = Inner { value: value.clone(), owner, name };
                told["variablesReference"] = self.put(List::Value(Box::new(inner))).into();
            }
            told[counted] = n.into();
        }
        told
    }

    /// The variable, or the place in one, that a row of a list shows, and its value now.
    ///
    /// # Errors
    /// The list or the row is not there, or it is no value that can be set.
    pub(crate) fn owner(&self, view: &View, reference: i64, name: &str) -> Result<(Owner, Tracked), Refusal> {
        let entries = match self.get(reference)? {
            List::Scope(frame, kind) => self.scope_rows(view, *frame, *kind),
            List::Value(inner) => members(inner),
            List::Rows(_) => Vec::new(),
        };
        let found = entries.into_iter().find_map(|entry| match entry {
            Entry::Value(label, inner) if label == name => inner.owner.map(|owner| (owner, inner.value)),
            Entry::Value(..) | Entry::Row(_) => None,
        });
        found.ok_or_else(|| RefusalKind::Value.told(format!("{name} cannot be set; set a variable")))
    }

    fn variable(&mut self, entry: Entry) -> Json {
        match entry {
            Entry::Value(name, inner) => {
                let mut told = json!({"name": name});
                merge(&mut told, self.value("value", &inner.value, inner.owner, inner.name.clone()));
                if let Some(name) = inner.name {
                    told["evaluateName"] = name.into();
                }
                told
            }
            Entry::Row(row) => {
                let mut told = json!({
                    "name": row.name,
                    "value": row.value,
                    "presentationHint": {"kind": "virtual", "attributes": ["readOnly"]},
                    "variablesReference": row.list.map_or(0, |list| self.put(list)),
                });
                if let Some(kind) = row.kind {
                    told["type"] = kind.into();
                }
                told
            }
        }
    }

    fn scope_rows(&self, view: &View, frame: FrameId, kind: ScopeKind) -> Vec<Entry> {
        let of = |is_wanted: &dyn Fn(&Group<'_>) -> bool| -> Vec<Entry> {
            let groups = groups(view, Some(frame)).into_iter().filter(is_wanted);
            groups.flat_map(|group| entries(&group)).collect()
        };
        let frame_view = || view.stack.iter().find(|known| known.id == frame);
        match kind {
            ScopeKind::Own => of(&|group| group.frame == Some(frame)),
            ScopeKind::Below => of(&|group| group.is_visible && group.frame.is_some_and(|keeper| keeper != frame)),
            ScopeKind::Others => of(&|group| group.is_visible && group.frame.is_none()),
            ScopeKind::Queue => frame_view().map(queue).unwrap_or_default(),
            ScopeKind::Triggers => view.triggers.iter().map(|trigger| Entry::Row(trigger_row(trigger))).collect(),
            ScopeKind::Chat => frame_view().map(chat).unwrap_or_default(),
            ScopeKind::Counters => counters(&view.counters, frame_view()),
        }
    }
}

impl Entry {
    fn is_indexed(&self) -> bool {
        let name = match self {
            Entry::Value(name, _) => name,
            Entry::Row(row) => &row.name,
        };
        name.starts_with('[') && name.ends_with(']')
    }
}

fn entries(group: &Group<'_>) -> Vec<Entry> {
    let entry = |variable: &VariableView| {
        let owner =
            Owner { frame: group.frame, agent: group.agent.clone(), name: variable.name.clone(), path: Vec::new() };
        let name = format!("${}", variable.name);
        Entry::Value(name.clone(), Inner { value: variable.value.clone(), owner: Some(owner), name: Some(name) })
    };
    group.variables.iter().map(entry).collect()
}

/// The members of a value; of a secret none.
fn members(inner: &Inner) -> Vec<Entry> {
    if inner.value.is_secret() {
        return Vec::new();
    }
    let member = |label: String, step: PathStep, value: &Value| {
        let owner = inner.owner.clone().map(|mut owner| {
            owner.path.push(step.clone());
            owner
        });
        let name = inner.name.as_ref().and_then(|name| match &step {
            PathStep::Index(index) => Some(format!("{name}[{index}]")),
            // Only names can stand after a point.
            PathStep::Member(member) => {
                (!member.is_empty() && scan_name(member) == member.len()).then(|| format!("{name}.{member}"))
            }
        });
        let value = inner.value.with_value(value.clone());
        Entry::Value(label, Inner { value, owner, name })
    };
    match inner.value.value() {
        Value::List(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, item)| member(format!("[{index}]"), PathStep::Index(index), item)).collect()
        }
        Value::Map(members) => {
            let members = members.iter();
            members.map(|(name, value)| member(name.to_string(), PathStep::Member(name.clone()), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => Vec::new(),
    }
}

/// `whole` with `value` at the end of `path`.
///
/// # Errors
/// The way is not there any more.
pub(crate) fn with_member(whole: &Value, path: &[PathStep], value: Value) -> Result<Value, Refusal> {
    let Some((step, rest)) = path.split_first() else { return Ok(value) };
    let gone = || RefusalKind::Gone.told("the value has changed since it was shown; ask for it again");
    match (whole, step) {
        (Value::List(items), PathStep::Index(index)) => {
            let mut items = items.to_vec();
            let item = items.get_mut(*index).ok_or_else(gone)?;
            *item = with_member(item, rest, value)?;
            Ok(Value::list(items))
        }
        (Value::Map(members), PathStep::Member(name)) => {
            let mut members = (**members).clone();
            let member = members.get_mut(name).ok_or_else(gone)?;
            *member = with_member(member, rest, value)?;
            Ok(Value::map(members))
        }
        _ => Err(gone()),
    }
}
