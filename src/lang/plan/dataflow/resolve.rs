//! What the names of an expression mean, and what can be said of dates before anything runs (spec `plans.md`, 3.2
//! and 3.5).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::{Spelling, nearest};
use crate::plan::dataflow::expr::{Named, Raw, RawKind};
use crate::plan::dataflow::types::{AliasId, Expr, ExprKind, Method, Relative, Start, TimeOfDay, Unit};
use crate::plan::dataflow::words::names;

/// The names of a document.
pub(super) struct Names<'a> {
    pub(super) aliases: HashMap<&'a str, AliasId>,
    /// The names of domains, to say that they are not called in expressions.
    pub(super) domains: HashSet<&'a str>,
    pub(super) spelling: Spelling,
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
        Some(Expr { span: raw.span, kind: kind? })
    }

    fn all(&mut self, raws: &[Raw]) -> Option<Vec<Expr>> {
        // Not in one go: a fault in one of them must not hide those in others.
        let read: Vec<Option<Expr>> = raws.iter().map(|raw| self.resolve(raw)).collect();
        read.into_iter().collect()
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
        meant: Option<impl Into<String> + fmt::Display>,
        there_is: &str,
    ) -> Option<T> {
        if let Ok(method) = Method::from_str(&name.name) {
            let arguments = if method == Method::At { "'3:00pm'" } else { "2, days" };
            let example = format!("write, for example, `today.{method}({arguments})`");
            let message = format!("`{method}(…)` goes after a date; {example}");
            return self.refuse(Diagnostic::error(code, name.span, message));
        }
        let fault = Diagnostic::error(code, name.span, message);
        self.refuse(match meant {
            Some(meant) => fault.with_fix(format!("write `{meant}`"), name.span, meant),
            None if there_is.is_empty() => fault,
            None => fault.with_note(there_is),
        })
    }

    fn map(&mut self, members: &[(Named, Raw)]) -> Option<ExprKind> {
        let mut read: indexmap::IndexMap<Arc<str>, Option<Expr>> = indexmap::IndexMap::new();
        for (key, value) in members {
            let value = self.resolve(value);
            if read.insert(key.name.as_str().into(), value).is_some() {
                let message = format!("the key `{}` appears twice in this map; the last one counts", key.name);
                self.diagnostics.push(Diagnostic::warning("duplicate-key", key.span, message));
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
        if let Ok(start) = Start::from_str(name) {
            return Some(ExprKind::Start(start));
        }
        let place = raw.span;
        if let Some(unit) = Unit::from_name(name) {
            let message = format!(
                "`{unit}` is not a value by itself; use it in `next(…)` or `plus(1, …)`, or after a date: `today.night`"
            );
            return self.refuse(Diagnostic::error("unit-as-value", place, message));
        }
        if Relative::from_str(name).is_ok() {
            let message = format!("`{name}` needs a unit; write, for example, `{name}(Thursday)`");
            return self.refuse(Diagnostic::error("missing-argument", place, message));
        }
        let named = Named { name: name.to_owned(), span: raw.span };
        let aliases = self.names.aliases.keys().copied();
        let meant = self.names.spelling.nearest(name, names::<Start>().chain(aliases));
        let message = format!("unknown identifier `{name}`: there is no such alias or built-in");
        let is_domain = self.names.domains.contains(name);
        let there_is = "it is a domain; to use its result, name the alias it is under";
        self.unknown("unknown-name", &named, message, meant, if is_domain { there_is } else { "" })
    }

    fn member(&mut self, base: &Raw, name: &Named) -> Option<ExprKind> {
        let base = self.resolve(base)?;
        let known = Known::of(&base);
        let place = name.span;
        let is_time = TimeOfDay::from_str(&name.name).is_ok();
        match known {
            Known::Date if !is_time => {
                let meant = nearest(&name.name, names::<TimeOfDay>());
                let times: Vec<&str> = names::<TimeOfDay>().collect();
                let there_is = format!("after a date you can write {}, at(…), plus(…) or minus(…)", times.join(", "));
                self.unknown("unknown-member", name, format!("a date has no `{}`", name.name), meant, &there_is)
            }
            Known::Text if !is_time => {
                self.refuse(Diagnostic::error("unknown-member", place, format!("text has no `.{}`", name.name)))
            }
            Known::Int | Known::List => self.refuse(Diagnostic::error(
                "unknown-member",
                place,
                format!("{} has no `.{}`", known.name(), name.name),
            )),
            Known::Nothing | Known::Date | Known::Text | Known::Map => {
                Some(ExprKind::Member(Box::new(base), name.name.as_str().into()))
            }
        }
    }

    fn index(&mut self, base: &Raw, index: i64, raw: &Raw) -> Option<ExprKind> {
        let base = self.resolve(base)?;
        let known = Known::of(&base);
        let place = raw.span;
        if index < 0 {
            let message = format!("elements are counted from 0; there is no [{index}]");
            return self.refuse(Diagnostic::error("wrong-index", place, message));
        }
        match known {
            Known::Nothing | Known::List => Some(ExprKind::Index(Box::new(base), index)),
            Known::Date | Known::Int | Known::Text | Known::Map => {
                self.refuse(Diagnostic::error("wrong-index", place, format!("{} has no [{index}]", known.name())))
            }
        }
    }
}
