//! Scopes and variables: what a frame can read and what is to be known of it, as lists that open on demand.
//!
//! A list has a number while the program stands still; when it moves, the numbers mean nothing any more.

use crate::lang::expr::scan_name;
use crate::serve::dap::lists::{Entry, Inner, List, Owner, ScopeKind};
use crate::serve::dap::rows::{chat, counters, queue, trigger_row};
use crate::serve::dap::wire::{PresentationHint, Refusal, RefusalKind, Scope, Variable};
use crate::serve::show::short_value;
use crate::serve::show::variables::{Group, groups, kind_and_origin};
use crate::value::{PathStep, Value};
use crate::vm::protocol::FrameId;
use crate::vm::protocol::Tracked;
use crate::vm::protocol::view::{VariableView, View};

const SCOPES: [(ScopeKind, &str); 7] = [
    (ScopeKind::Own, "Own"),
    (ScopeKind::Below, "Visible from below"),
    (ScopeKind::Others, "Others"),
    (ScopeKind::Queue, "Queue"),
    (ScopeKind::Triggers, "Triggers"),
    (ScopeKind::Chat, "Chat session"),
    (ScopeKind::Counters, "Counters"),
];

/// Which of the rows of a list are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Members with numbers, members with names, or both.
    pub(crate) filter: Option<Filter>,
    /// The first one.
    pub(crate) start: usize,
    /// How many; 0: all.
    pub(crate) count: usize,
}

/// Kinds of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Indexed,
    Named,
}

/// A value as the client gets it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) kind: String,
    pub(crate) hint: Option<PresentationHint>,
    pub(crate) reference: i64,
    pub(crate) n_named: Option<usize>,
    pub(crate) n_indexed: Option<usize>,
}

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
            Refusal::new(
                RefusalKind::Gone,
                "the program has gone on since this list was shown; ask for the scopes again",
            )
        })
    }

    /// The scopes of a frame; those with nothing in them are left out.
    pub(crate) fn scopes(&mut self, view: &View, frame: FrameId) -> Vec<Scope> {
        let mut scopes = Vec::new();
        for (kind, name) in SCOPES {
            let n = self.scope_rows(view, frame, kind).len();
            if n == 0 && kind != ScopeKind::Own {
                continue;
            }
            let variables_reference = self.put(List::Scope(frame, kind));
            let is_list = matches!(kind, ScopeKind::Queue | ScopeKind::Chat);
            scopes.push(Scope {
                name,
                presentation_hint: (kind == ScopeKind::Own).then_some("locals"),
                variables_reference,
                named_variables: (!is_list).then_some(n),
                indexed_variables: is_list.then_some(n),
                expensive: matches!(kind, ScopeKind::Chat | ScopeKind::Triggers | ScopeKind::Counters),
            });
        }
        scopes
    }

    /// The rows of a list.
    ///
    /// # Errors
    /// The list is not there any more.
    pub(crate) fn rows(&mut self, view: &View, reference: i64, page: Page) -> Result<Vec<Variable>, Refusal> {
        let list = self.get(reference)?.clone();
        let rows = match list {
            List::Scope(frame, kind) => self.scope_rows(view, frame, kind),
            List::Value(inner) => members(&inner),
            List::Rows(rows) => rows.into_iter().map(Entry::Row).collect(),
        };
        let is_wanted = |entry: &Entry| match page.filter {
            None => true,
            Some(Filter::Indexed) => entry.is_indexed(),
            Some(Filter::Named) => !entry.is_indexed(),
        };
        let count = if page.count == 0 { usize::MAX } else { page.count };
        let wanted = rows.into_iter().filter(is_wanted).skip(page.start).take(count).collect::<Vec<_>>();
        Ok(wanted.into_iter().map(|entry| self.variable(entry)).collect())
    }

    /// A value that stands by itself: the result of an expression, which is written `name`.
    pub(crate) fn value(&mut self, value: &Tracked, owner: Option<Owner>, name: Option<String>) -> Shown {
        let (n_named, n_indexed) = match value.value() {
            _ if value.is_secret() => (None, None),
            Value::List(items) => (None, Some(items.len())),
            Value::Map(members) => (Some(members.len()), None),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => (None, None),
        };
        let has_members = n_named.unwrap_or(0) + n_indexed.unwrap_or(0) > 0;
        let secret = if value.is_secret() { ", secret" } else { "" };
        let is_settable = owner.is_some();
        let inner = Inner { value: value.clone(), owner, name };
        Shown {
            text: short_value(&value.shown()),
            kind: format!("{}{secret}", kind_and_origin(value)),
            hint: Some(PresentationHint {
                kind: Some("data"),
                attributes: if is_settable { Vec::new() } else { vec!["readOnly"] },
            }),
            reference: if has_members { self.put(List::Value(Box::new(inner))) } else { 0 },
            n_named,
            n_indexed,
        }
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
        found.ok_or_else(|| {
            Refusal::new(RefusalKind::Value, format!("{name} is nothing that can be set; set a variable"))
        })
    }

    fn variable(&mut self, entry: Entry) -> Variable {
        match entry {
            Entry::Value(name, inner) => {
                let shown = self.value(&inner.value, inner.owner, inner.name.clone());
                Variable {
                    name,
                    value: shown.text,
                    kind: Some(shown.kind),
                    presentation_hint: shown.hint,
                    evaluate_name: inner.name,
                    variables_reference: shown.reference,
                    named_variables: shown.n_named,
                    indexed_variables: shown.n_indexed,
                }
            }
            Entry::Row(row) => {
                let reference = row.list.map_or(0, |list| self.put(list));
                let attributes = vec!["readOnly"];
                Variable {
                    name: row.name,
                    value: row.value,
                    kind: row.kind,
                    presentation_hint: Some(PresentationHint { kind: Some("virtual"), attributes }),
                    variables_reference: reference,
                    ..Variable::default()
                }
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
    let gone = || Refusal::new(RefusalKind::Gone, "the value has changed since it was shown; ask for it again");
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
