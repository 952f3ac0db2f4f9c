//! What the names of an expression mean, and what can be said of dates before anything runs (spec `plans.md`, 3.2
//! and 3.5).

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::dataflow::expr::{Named, Raw, RawKind};
use crate::dataflow::types::{AliasId, Expr, ExprKind, Method, Relative, Start, TimeOfDay, Unit};
use crate::dataflow::words;
use crate::dataflow::words::names;
use crate::dataflow::yaml::Places;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;

/// How often names are compared before no more suggestions are made.
const MAX_COMPARED: usize = 50_000;

/// The names of a document.
pub(super) struct Names<'a> {
    pub(super) aliases: HashMap<&'a str, AliasId>,
    /// The names of domains, to say that they are not called in expressions.
    pub(super) domains: HashSet<&'a str>,
    comparisons_left: Cell<usize>,
}

impl<'a> Names<'a> {
    pub(super) fn new(aliases: HashMap<&'a str, AliasId>, domains: HashSet<&'a str>) -> Names<'a> {
        Names { aliases, domains, comparisons_left: MAX_COMPARED.into() }
    }

    /// The name that `name` was probably meant to be: one of `words`, or an alias if those count.
    pub(super) fn nearest<'w>(
        &self,
        name: &str,
        words: impl Iterator<Item = &'w str>,
        aliases: bool,
    ) -> Option<String> {
        let left = self.comparisons_left.get().checked_sub(if aliases { self.aliases.len() } else { 0 });
        self.comparisons_left.set(left.unwrap_or(0));
        let n_compared = if aliases && left.is_some() { self.aliases.len() } else { 0 };
        let aliases = self.aliases.keys().take(n_compared).map(|alias| (*alias).to_owned());
        nearest(name, words.map(str::to_owned).chain(aliases))
    }
}

/// What is known of a value before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It depends on services.
    Nothing,
    Date,
    Int,
    Text,
    List,
    Map,
}

impl Known {
    pub(super) fn of(expr: &Expr) -> Known {
        match &expr.kind {
            ExprKind::Int(_) => Known::Int,
            ExprKind::Str(_) => Known::Text,
            ExprKind::List(_) => Known::List,
            ExprKind::Map(_) => Known::Map,
            ExprKind::Start(_) | ExprKind::Relative(..) | ExprKind::Method(..) => Known::Date,
            ExprKind::Alias(_) | ExprKind::Unit(_) | ExprKind::Index(..) => Known::Nothing,
            // A date's members are the times of day.
            ExprKind::Member(base, _) => match Known::of(base) {
                Known::Date => Known::Date,
                Known::Nothing | Known::Int | Known::Text | Known::List | Known::Map => Known::Nothing,
            },
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Known::Nothing => "a value",
            Known::Date => "a date",
            Known::Int => "a number",
            Known::Text => "text",
            Known::List => "a list",
            Known::Map => "a map",
        }
    }
}

/// Gives one expression its meaning; every fault in it is found.
pub(super) struct Resolver<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) places: &'a Places,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    /// The aliases that are named.
    pub(super) needs: &'a mut Vec<AliasId>,
}

impl Resolver<'_> {
    /// `None`: something is wrong, and has been said.
    pub(super) fn resolve(&mut self, raw: &Raw) -> Option<Expr> {
        let kind = match &raw.kind {
            RawKind::Int(int) => Some(ExprKind::Int(*int)),
            RawKind::Str(text) => Some(ExprKind::Str(text.as_str().into())),
            RawKind::List(items) => self.all(items).map(ExprKind::List),
            RawKind::Map(members) => self.map(members),
            RawKind::Name(name) => self.name(name, raw),
            RawKind::Call(callee, arguments) => self.call(callee, arguments),
            RawKind::Member(base, name) => self.member(base, name),
            RawKind::Index(base, index) => self.index(base, *index, raw),
            RawKind::Method(base, name, arguments) => self.method(base, name, arguments),
        };
        Some(Expr { span: self.places.span(raw.start, raw.end), kind: kind? })
    }

    fn all(&mut self, raws: &[Raw]) -> Option<Vec<Expr>> {
        // Not in one go: a fault in one of them must not hide those in others.
        let read: Vec<Option<Expr>> = raws.iter().map(|raw| self.resolve(raw)).collect();
        read.into_iter().collect()
    }

    /// A fault at a place in the text that the expression stands in.
    pub(super) fn fault(&self, code: &'static str, place: (usize, usize), message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.places.span(place.0, place.1), message)
    }

    /// Keeps the fault; there is no value then.
    pub(super) fn refuse<T>(&mut self, fault: Diagnostic) -> Option<T> {
        self.diagnostics.push(fault);
        None
    }

    /// Says that a name is none, and what it may have been meant to be; else what there is.
    pub(super) fn unknown<T>(
        &mut self,
        code: &'static str,
        name: &Named,
        message: String,
        meant: Option<String>,
        there_is: &str,
    ) -> Option<T> {
        let fault = self.fault(code, (name.start, name.end), message);
        let span = fault.span;
        self.refuse(match meant {
            Some(meant) => fault.with_fix(format!("write `{meant}`"), span, meant),
            None if there_is.is_empty() => fault,
            None => fault.with_note(there_is),
        })
    }

    fn map(&mut self, members: &[(Named, Raw)]) -> Option<ExprKind> {
        let mut read: indexmap::IndexMap<Arc<str>, Option<Expr>> = indexmap::IndexMap::new();
        for (key, value) in members {
            let value = self.resolve(value);
            if read.insert(key.name.as_str().into(), value).is_some() {
                let span = self.places.span(key.start, key.end);
                let message = format!("the key `{}` stands twice in this map; the last one counts", key.name);
                self.diagnostics.push(Diagnostic::warning("duplicate-key", span, message));
            }
        }
        let members: Option<Vec<_>> = read.into_iter().map(|(key, value)| Some((key, value?))).collect();
        members.map(ExprKind::Map)
    }

    fn name(&mut self, name: &str, raw: &Raw) -> Option<ExprKind> {
        if let Some(alias) = self.names.aliases.get(name) {
            self.needs.push(*alias);
            return Some(ExprKind::Alias(*alias));
        }
        if let Some(start) = Start::from_name(name) {
            return Some(ExprKind::Start(start));
        }
        let place = (raw.start, raw.end);
        if let Some(unit) = Unit::from_name(name) {
            let example = match unit {
                Unit::Period(_) => format!("today.plus(1, {name})"),
                Unit::Weekday(_) => format!("next({name})"),
                Unit::TimeOfDay(_) => format!("today.{name}"),
            };
            let message = format!("`{name}` is no value of its own; write for instance `{example}`");
            return self.refuse(self.fault("unit-as-value", place, message));
        }
        if Relative::from_name(name).is_some() {
            let message = format!("`{name}` needs a unit; write for instance `{name}(Thursday)`");
            return self.refuse(self.fault("missing-argument", place, message));
        }
        if let Some(method) = Method::from_name(name) {
            let message = format!("`{name}` stands behind a date; write for instance `{}`", example(method));
            return self.refuse(self.fault("unknown-name", place, message));
        }
        let named = Named { name: name.to_owned(), start: raw.start, end: raw.end };
        let meant = self.names.nearest(name, names(&words::STARTS), true);
        let message = format!("unknown identifier `{name}`: there is no such alias or built-in");
        let is_domain = self.names.domains.contains(name);
        let there_is = "it is a domain; what a domain gives is named by the alias that it stands under";
        self.unknown("unknown-name", &named, message, meant, if is_domain { there_is } else { "" })
    }

    fn member(&mut self, base: &Raw, name: &Named) -> Option<ExprKind> {
        let base = self.resolve(base)?;
        let known = Known::of(&base);
        let place = (name.start, name.end);
        let is_time = TimeOfDay::from_name(&name.name).is_some();
        match known {
            Known::Date if !is_time => {
                if let Some(method) = Method::from_name(&name.name) {
                    let message = format!("`{}` is a function; write for instance `{}`", name.name, example(method));
                    return self.refuse(self.fault("missing-argument", place, message));
                }
                let words = names(&words::TIMES_OF_DAY).chain(names(&words::METHODS));
                let meant = nearest(&name.name, words.map(str::to_owned));
                let times: Vec<&str> = names(&words::TIMES_OF_DAY).collect();
                let there_is = format!("behind a date there are {}, and at(…), plus(…), minus(…)", times.join(", "));
                self.unknown("unknown-member", name, format!("a date has no `{}`", name.name), meant, &there_is)
            }
            Known::Text if !is_time => {
                self.refuse(self.fault("unknown-member", place, format!("text has no `.{}`", name.name)))
            }
            Known::Int | Known::List => {
                self.refuse(self.fault("unknown-member", place, format!("{} has no `.{}`", known.name(), name.name)))
            }
            Known::Nothing | Known::Date | Known::Text | Known::Map => {
                Some(ExprKind::Member(Box::new(base), name.name.as_str().into()))
            }
        }
    }

    fn index(&mut self, base: &Raw, index: i64, raw: &Raw) -> Option<ExprKind> {
        let base = self.resolve(base)?;
        let known = Known::of(&base);
        let place = (raw.start, raw.end);
        if index < 0 {
            let message = format!("elements are counted from 0; there is no [{index}]");
            return self.refuse(self.fault("wrong-index", place, message));
        }
        match known {
            Known::Nothing | Known::List => Some(ExprKind::Index(Box::new(base), index)),
            Known::Date | Known::Int | Known::Text | Known::Map => {
                self.refuse(self.fault("wrong-index", place, format!("{} has no [{index}]", known.name())))
            }
        }
    }
}

pub(super) fn example(method: Method) -> &'static str {
    match method {
        Method::At => "today.at('3:00pm')",
        Method::Plus => "today.plus(2, days)",
        Method::Minus => "today.minus(2, days)",
    }
}
