//! Values against the types that a component declares (spec `components.md`, 4.4): no coercion, all faults at once,
//! each with its path, so that a model can mend a call in one go.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;

use playhouse_lang::value::Value;

use crate::component::asset::AssetReference;
use crate::component::types::{DataType, Description, Field, SharedTypes};
use crate::text::cut;

/// Values that are nested deeper are not read to their end.
const MAX_DEPTH: usize = 200;

/// So many faults are told.
const MAX_FAULTS: usize = 50;

/// So many values of an `enum`, and so many characters of a value, are told.
pub(super) const MAX_TOLD: usize = 20;

/// What is wrong with a value, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Fault {
    /// The way from the whole: `param.rows[1].id`, `response.ok`. Of the arguments of a call the parameter's name comes
    /// first, also if it is missing or there is none of the name.
    pub path: String,
    /// What is wrong, in words that go on after the path: `must be int, not str`.
    pub message: String,
}

impl Fault {
    /// This is wrong there.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { path: path.into(), message: message.into() }
    }
}

/// Which way a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// To the plugin: nothing is passed that is not declared.
    Parameter,
    /// From the plugin: it may say more than it promised.
    Response,
}

/// All that is wrong with a value.
pub(super) fn check(description: &Description, value: Option<&Value>, shared: &SharedTypes, side: Side) -> Vec<Fault> {
    let path = match side {
        Side::Parameter => "param",
        Side::Response => "response",
    };
    let checker = Checker { shared, side, known: RefCell::default() };
    let mut faults = Faults::new(path, MAX_FAULTS);
    checker.described(description, value, &mut faults, 0);
    let Faults { mut list, n_more, .. } = faults;
    if n_more > 0 {
        list.push(Fault::new(path, format!("{n_more} more faults are not listed")));
    }
    list
}

/// Whether a value is of a type, as a parameter.
pub(super) fn fits(value: &Value, ty: &DataType, shared: &SharedTypes) -> bool {
    let checker = Checker { shared, side: Side::Parameter, known: RefCell::default() };
    AssetReference::read(value).is_some() && matches!(ty, DataType::Host(_)) || checker.fits(value, ty, 0)
}

/// What has been found, and where one is.
struct Faults {
    path: String,
    list: Vec<Fault>,
    n_more: usize,
    /// So many are put into words; of none it is only wanted whether there is one.
    max: usize,
}

impl Faults {
    fn new(path: &str, max: usize) -> Faults {
        Faults { path: path.to_owned(), list: Vec::new(), n_more: 0, max }
    }

    fn add(&mut self, message: impl FnOnce() -> String) {
        if self.list.len() < self.max {
            self.list.push(Fault::new(&*self.path, message()));
        } else {
            self.n_more += 1;
        }
    }

    /// How many there are.
    fn n(&self) -> usize {
        self.list.len() + self.n_more
    }

    /// Whether more would tell nothing.
    fn is_enough(&self) -> bool {
        self.max == 0 && self.n_more > 0
    }

    /// Does something one step further down.
    fn below(&mut self, step: &dyn fmt::Display, work: impl FnOnce(&mut Faults)) {
        if self.is_enough() {
            return;
        }
        let length = self.path.len();
        self.path.push_str(&step.to_string());
        work(self);
        self.path.truncate(length);
    }
}

/// A step to a member: `.name`, or `["odd name"]`.
struct Member<'a>(&'a str);

impl fmt::Display for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = !self.0.is_empty() && self.0.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if is_plain { write!(f, ".{}", self.0) } else { write!(f, "[{}]", short(&Value::str(self.0))) }
    }
}

struct Checker<'a> {
    shared: &'a SharedTypes,
    side: Side,
    /// Which value is of which type, by their addresses: the alternatives of nested unions are tried once per value,
    /// not once per way to it. Values and types stay where they are while they are checked.
    known: RefCell<HashMap<(*const Value, *const DataType), bool>>,
}

impl Checker<'_> {
    /// A value at a place that has a description.
    fn described(&self, description: &Description, value: Option<&Value>, faults: &mut Faults, depth: usize) {
        let value = match value {
            Some(Value::Null) | None if !description.required => return,
            Some(Value::Null) if allows_null(&description.ty) => return,
            None => return faults.add(|| format!("is missing ({} is required)", description.ty)),
            Some(Value::Null) => return faults.add(|| format!("must not be null ({} is required)", description.ty)),
            Some(value) => value,
        };
        if let Some(reference) = AssetReference::read(value) {
            let is_opaque = self.side == Side::Response && matches!(description.ty, DataType::Host(_));
            if description.asset_reference || is_opaque {
                return;
            }
            // Text that looks like one is text where text is wanted.
            let is_text = matches!(value, Value::Str(_));
            if !is_text || !self.fits(value, &description.ty, depth) {
                return faults.add(|| {
                    let message = format!("a reference to the asset `{}` is not accepted here", reference.id);
                    format!("{message}; give the value itself ({})", description.ty)
                });
            }
        }
        let n_before = faults.n();
        self.value(value, &description.ty, faults, depth);
        let is_of_type = faults.n() == n_before;
        if let Some(allowed) = description.allowed.as_ref().filter(|allowed| is_of_type && !allowed.contains(value)) {
            faults.add(|| {
                let mut listed: Vec<String> = allowed.iter().take(MAX_TOLD).map(short).collect();
                if allowed.len() > MAX_TOLD {
                    listed.push(format!("or {} others", allowed.len() - MAX_TOLD));
                }
                format!("must be one of {}, not {}", listed.join(", "), short(value))
            });
        }
    }

    fn value(&self, value: &Value, ty: &DataType, faults: &mut Faults, depth: usize) {
        if depth > MAX_DEPTH {
            return faults.add(|| format!("is nested deeper than {MAX_DEPTH} levels"));
        }
        match (ty, value) {
            (DataType::List(element), Value::List(items)) => {
                if **element != DataType::Any {
                    for (index, item) in items.iter().enumerate() {
                        faults.below(&format_args!("[{index}]"), |faults| self.value(item, element, faults, depth + 1));
                    }
                }
            }
            (DataType::Dict(inner), Value::Map(members)) => {
                if **inner != DataType::Any {
                    for (key, member) in members.iter() {
                        faults.below(&Member(key), |faults| self.value(member, inner, faults, depth + 1));
                    }
                }
            }
            (DataType::Object(fields), Value::Map(_)) => self.object(value, fields, faults, depth),
            (DataType::Shared(name), _) => match self.shared.get(name) {
                Some(ty) => self.value(value, ty, faults, depth),
                None => faults.add(|| format!("no type is called `{name}`")),
            },
            (DataType::Union(alternatives), _) => {
                if alternatives.iter().any(|ty| self.fits(value, ty, depth)) {
                    return;
                }
                if faults.max == 0 {
                    return faults.add(String::new);
                }
                // The one that was probably meant says more than that none fits.
                let mut similar = alternatives.iter().filter(|ty| self.is_similar(value, ty));
                match (similar.next(), similar.next()) {
                    (Some(meant), None) => self.value(value, meant, faults, depth),
                    (Some(_), Some(_)) | (None, _) => faults.add(|| mismatch(ty, value)),
                }
            }
            (DataType::Host(name), _) => {
                faults.add(|| format!("must be a reference to an asset that holds a {name}, not {}", told(value)));
            }
            (
                DataType::Any
                | DataType::Null
                | DataType::Str
                | DataType::Int
                | DataType::Float
                | DataType::Bool
                | DataType::List(_)
                | DataType::Dict(_)
                | DataType::Object(_),
                _,
            ) => {
                if !is_of_simple(value, ty) {
                    faults.add(|| mismatch(ty, value));
                }
            }
        }
    }

    fn object(&self, value: &Value, fields: &[Field], faults: &mut Faults, depth: usize) {
        let Value::Map(members) = value else { return };
        for field in fields {
            let member = members.get(&field.name);
            faults.below(&Member(&field.name), |faults| {
                self.described(&field.description, member, faults, depth + 1);
            });
        }
        if self.side == Side::Parameter && !members.is_empty() {
            let known: HashSet<&str> = fields.iter().map(|field| &*field.name).collect();
            for key in members.keys().filter(|key| !known.contains(&***key)) {
                let unknown = || {
                    let there = names(fields).unwrap_or_else(|| "nothing".to_owned());
                    format!("is not known here; there is {there}")
                };
                faults.below(&Member(key), |faults| faults.add(unknown));
            }
        }
    }

    /// Whether a value is of a type; what [`Checker::value`] finds nothing about.
    fn fits(&self, value: &Value, ty: &DataType, depth: usize) -> bool {
        let is_container = matches!(value, Value::List(_) | Value::Map(_));
        let key = (std::ptr::from_ref(value), std::ptr::from_ref(ty));
        if let Some(known) = self.known.borrow().get(&key).filter(|_| is_container) {
            return *known;
        }
        let mut faults = Faults::new("", 0);
        self.value(value, ty, &mut faults, depth);
        let fits = faults.n() == 0;
        if is_container {
            self.known.borrow_mut().insert(key, fits);
        }
        fits
    }

    /// Whether a value has at least the outer form of a type.
    fn is_similar(&self, value: &Value, ty: &DataType) -> bool {
        if let DataType::Union(alternatives) = ty {
            return alternatives.iter().any(|ty| self.is_similar(value, ty));
        }
        match value {
            Value::List(_) => matches!(ty, DataType::List(_)),
            Value::Map(_) => matches!(ty, DataType::Dict(_) | DataType::Object(_) | DataType::Shared(_)),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => false,
        }
    }
}

fn allows_null(ty: &DataType) -> bool {
    if let DataType::Union(alternatives) = ty { alternatives.iter().any(allows_null) } else { *ty == DataType::Null }
}

/// Whether a value is of a type, as far as its outer form tells.
fn is_of_simple(value: &Value, ty: &DataType) -> bool {
    match ty {
        DataType::Any => true,
        DataType::Null => matches!(value, Value::Null),
        DataType::Str => matches!(value, Value::Str(_)),
        DataType::Int => matches!(value, Value::Int(_)),
        DataType::Float => matches!(value, Value::Int(_) | Value::Float(_)),
        DataType::Bool => matches!(value, Value::Bool(_)),
        DataType::List(_) => matches!(value, Value::List(_)),
        DataType::Dict(_) | DataType::Object(_) => matches!(value, Value::Map(_)),
        DataType::Union(_) | DataType::Shared(_) | DataType::Host(_) => false,
    }
}

/// What the members of an object are called; none: it has none.
fn names(fields: &[Field]) -> Option<String> {
    let names: Vec<&str> = fields.iter().map(|field| &*field.name).take(MAX_TOLD).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn mismatch(ty: &DataType, value: &Value) -> String {
    let wanted = if let DataType::Object(fields) = ty {
        names(fields).map_or_else(|| "an empty object".to_owned(), |names| format!("an object with {names}"))
    } else if matches!(ty, DataType::List(element) if matches!(**element, DataType::Object(_))) {
        "a list of objects".to_owned()
    } else {
        ty.to_string()
    };
    format!("must be {wanted}, not {}", told(value))
}

/// A value in a message: what it is, and the value itself if it is short.
fn told(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => value.to_json(),
        Value::Str(_) => format!("the text {}", short(value)),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "an object".to_owned(),
    }
}

/// JSON, cut where it gets long.
fn short(value: &Value) -> String {
    // The whole of a long text need not be written out to show its beginning.
    match value.as_str() {
        Some(text) if text.chars().count() > 2 * MAX_TOLD => {
            let beginning: String = text.chars().take(2 * MAX_TOLD).collect();
            format!("{}…", Value::str(beginning).to_json())
        }
        Some(_) | None => cut(&value.to_json(), 4 * MAX_TOLD),
    }
}
