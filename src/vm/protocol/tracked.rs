//! Values with their provenance: where each came from, and whether it may be shown.
//!
//! A [`Tracked`] is opaque. What is made of tracked values is made by its combinators, so that provenance cannot be
//! lost on the way: an item of a secret list is secret, a text with a secret in it is secret.

use std::sync::Arc;

use playhouse_lang::value::{Map, PathStep, Value};

/// Where a value came from (spec `execution.md`, "Where values come from"): a set, because text can be put
/// together from several sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin(u8);

impl Origin {
    /// The program's own text: literals of explicit lines, defaults, declared variables, arithmetic on them.
    pub const CODE: Origin = Origin(1);
    /// Given when the program was started (`--arg`).
    pub const ARGUMENT: Origin = Origin(2);
    /// A user's message.
    pub const USER: Origin = Origin(4);
    /// Written by the model.
    pub const MODEL: Origin = Origin(8);
    /// A tool's result.
    pub const TOOL: Origin = Origin(16);
    /// The data of an event from outside.
    pub const EVENT: Origin = Origin(32);

    const NAMES: [(Origin, &'static str); 6] = [
        (Origin::EVENT, "event"),
        (Origin::TOOL, "tool"),
        (Origin::MODEL, "model"),
        (Origin::USER, "user"),
        (Origin::ARGUMENT, "argument"),
        (Origin::CODE, "code"),
    ];

    /// Every source there is.
    pub const ALL: Origin = Origin(63);

    /// The source with this name, as people write it (`user`).
    pub fn named(name: &str) -> Option<Origin> {
        Origin::NAMES.iter().find(|(_, known)| *known == name).map(|(origin, _)| *origin)
    }

    /// The names of all sources in it, the most trusted first.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Origin::NAMES.iter().rev().filter(move |(origin, _)| self.0 & origin.0 != 0).map(|(_, name)| *name)
    }

    /// Both sources together.
    #[must_use]
    pub fn with(self, other: Origin) -> Origin {
        Origin(self.0 | other.0)
    }

    /// The sources that both have.
    #[must_use]
    pub fn and(self, other: Origin) -> Origin {
        Origin(self.0 & other.0)
    }

    /// Whether every source in `self` is one of `allowed`.
    pub fn within(self, allowed: Origin) -> bool {
        self.0 & !allowed.0 == 0
    }

    /// The one name shown to people: the least trusted of the sources; `code` for none.
    pub fn name(self) -> &'static str {
        Origin::NAMES.iter().find(|(origin, _)| self.0 & origin.0 != 0).map_or("code", |(_, name)| name)
    }
}

/// Where a value came from, and whether it may be shown: what is put together of several values has the sources of
/// all of them, and is secret if one of them is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    origin: Origin,
    secret: bool,
}

impl Provenance {
    /// Of what nothing has gone into yet but the source itself.
    pub fn of(origin: Origin) -> Provenance {
        Provenance { origin, secret: false }
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Provenance) -> Provenance {
        Provenance { origin: self.origin.with(other.origin), secret: self.secret || other.secret }
    }

    /// Takes a part out of its provenance, which becomes one of this.
    pub fn absorb(&mut self, part: Tracked) -> Value {
        *self = self.with(part.provenance);
        part.value
    }

    /// The value that has been made of all that was absorbed.
    pub fn track(self, value: Value) -> Tracked {
        Tracked { value, provenance: self }
    }

    /// Whether it may be shown.
    pub fn is_secret(self) -> bool {
        self.secret
    }
}

/// A value with its provenance. What is secret is shown as `"***"` by events, journal views and tracing, never as it
/// is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracked {
    value: Value,
    provenance: Provenance,
}

/// The mask that stands for a secret.
const MASK: &str = "***";

impl Tracked {
    /// A value that may be shown.
    pub fn new(value: Value, origin: Origin) -> Tracked {
        Provenance::of(origin).track(value)
    }

    /// Null, of the program's own.
    pub const NULL: Tracked =
        Tracked { value: Value::Null, provenance: Provenance { origin: Origin::CODE, secret: false } };

    /// The same value, which may not be shown if `is_secret`.
    #[must_use]
    pub fn secret_if(mut self, is_secret: bool) -> Tracked {
        self.provenance.secret |= is_secret;
        self
    }

    /// The value itself: to compute with and to hand to tools, never to show.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value itself, without its provenance: for what leaves the machine.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.provenance.origin
    }

    /// Whether it may not be shown.
    pub fn is_secret(&self) -> bool {
        self.provenance.secret
    }

    /// Where it came from, and whether it may be shown.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// The value as it may be shown to people: the mask for a secret.
    pub fn shown(&self) -> Value {
        if self.is_secret() { Value::str(MASK) } else { self.value.clone() }
    }

    /// Its text as it may be shown to people: the mask for a secret.
    pub fn shown_text(&self) -> String {
        if self.is_secret() { MASK.to_owned() } else { self.value.to_text() }
    }

    /// Another value that was made of this one alone.
    #[must_use]
    pub fn with_value(&self, value: Value) -> Tracked {
        self.provenance.track(value)
    }

    /// What stands at the end of a path; the error is how many steps were possible.
    ///
    /// # Errors
    /// The number of steps that were possible.
    pub fn at(&self, path: &[PathStep]) -> Result<Tracked, usize> {
        self.value.at(path).map(|part| self.with_value(part.clone()))
    }

    /// How many items it has, if it is a list.
    pub fn n_items(&self) -> Option<usize> {
        if let Value::List(items) = &self.value { Some(items.len()) } else { None }
    }

    /// One of the items of a list.
    pub fn item(&self, index: usize) -> Option<Tracked> {
        if let Value::List(items) = &self.value {
            items.get(index).map(|item| self.with_value(item.clone()))
        } else {
            None
        }
    }

    /// The members of a map, each as tracked as the whole.
    pub fn members(&self) -> Option<Vec<(Arc<str>, Tracked)>> {
        let Value::Map(members) = &self.value else { return None };
        Some(members.iter().map(|(name, member)| (name.clone(), self.with_value(member.clone()))).collect())
    }

    /// The list of all `items`, made by `origin`.
    ///
    /// # Errors
    /// The first error among the items.
    pub fn list<E>(origin: Origin, items: impl Iterator<Item = Result<Tracked, E>>) -> Result<Tracked, E> {
        let mut provenance = Provenance::of(origin);
        let values: Result<Vec<Value>, E> = items.map(|item| Ok(provenance.absorb(item?))).collect();
        Ok(provenance.track(Value::list(values?)))
    }

    /// The map of all `members`, made by `origin`.
    ///
    /// # Errors
    /// The first error among the members.
    pub fn map<E>(origin: Origin, members: impl Iterator<Item = Result<(Arc<str>, Tracked), E>>) -> Result<Tracked, E> {
        let mut provenance = Provenance::of(origin);
        let mut values = Map::new();
        for member in members {
            let (name, member) = member?;
            values.insert(name, provenance.absorb(member));
        }
        Ok(provenance.track(Value::map(values)))
    }
}
