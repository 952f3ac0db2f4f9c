//! The functions of dates in an expression, and what can be said of their arguments before anything runs
//! (spec `plans.md`, 3.5).

use std::str::FromStr;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::plan::dataflow::expr::{Named, Raw, RawKind};
use crate::plan::dataflow::resolve::{Known, Resolver};
use crate::plan::dataflow::types::{Expr, ExprKind, Method, Period, Relative, Start, TimeOfDay, Unit};
use crate::plan::dataflow::words;
use crate::plan::dataflow::words::{names, read_clock};
use crate::span::Span;

/// The unit that a name stands for.
fn unit_of(raw: &Raw) -> Option<Unit> {
    if let RawKind::Name(name) = &raw.kind { Unit::from_name(name) } else { None }
}

impl Resolver<'_> {
    /// `next(unit)`, `last(unit)`, `this(unit)`; nothing else is called.
    pub(super) fn call(&mut self, callee: &Named, arguments: &[Raw]) -> Option<ExprKind> {
        let name = &*callee.name;
        let at = callee.span;
        let Ok(relative) = Relative::from_str(name) else {
            return self.unknown_call(callee, arguments);
        };
        let [argument] = arguments else {
            let message = format!("`{name}` takes one unit, not {} arguments", arguments.len());
            let note = format!("write, for example, `{name}(Thursday)` or `{name}(week)`");
            return self.refuse(Diagnostic::error("wrong-arguments", at, message).with_note(note));
        };
        let unit = self.unit(argument, name, words::calendar_names().collect())?;
        if !unit.is_calendar() {
            let fault = Diagnostic::error("wrong-unit", argument.span, format!("`{name}` does not take `{unit}`"));
            let note = "it takes day, week, month, year, a day of the week or a time of day";
            return self.refuse(fault.with_note(note));
        }
        Some(ExprKind::Relative(relative, unit))
    }

    fn unknown_call(&mut self, callee: &Named, arguments: &[Raw]) -> Option<ExprKind> {
        let name = &*callee.name;
        let at = callee.span;
        // Faults in the arguments are faults, whatever is called.
        for argument in arguments.iter().filter(|argument| unit_of(argument).is_none()) {
            self.resolve(argument);
        }
        if self.names.domains.contains(name) {
            return self.domain_call(callee);
        }
        if self.names.aliases.contains_key(name) {
            let message = format!("`{name}` is an alias, and aliases cannot be called");
            return self.refuse(Diagnostic::error("not-a-function", at, message));
        }
        let meant = self.names.spelling.nearest(name, names::<Relative>());
        let there_is = "the functions are next, last and this, and at, plus and minus after a date; to call a service, \
                        put it under an alias";
        self.unknown("unknown-function", callee, format!("unknown function `{name}`"), meant, there_is)
    }

    fn domain_call<T>(&mut self, callee: &Named) -> Option<T> {
        let message = format!("`{}` is a domain: expressions cannot call services", callee.name);
        let fault = Diagnostic::error("call-in-expression", callee.span, message);
        self.refuse(fault.with_note("call it under an alias of its own, and use that alias here"))
    }

    /// A unit where only a unit can stand.
    fn unit(&mut self, argument: &Raw, taker: &str, candidates: Vec<&'static str>) -> Option<Unit> {
        let at = argument.span;
        let there_is = format!("`{taker}` takes {}", candidates.join(", "));
        if let RawKind::Name(name) = &argument.kind {
            if let Some(unit) = Unit::from_name(name) {
                return Some(unit);
            }
            let named = Named { name: name.clone(), span: argument.span };
            let meant = nearest(name, candidates.iter().copied());
            return self.unknown("unknown-unit", &named, format!("unknown unit `{name}`"), meant, &there_is);
        }
        if let RawKind::Str(name) = &argument.kind
            && Unit::from_name(name).is_some()
        {
            return self.unit_in_quotes(name, at);
        }
        self.refuse(Diagnostic::error("wrong-unit", at, format!("`{taker}` takes a unit here")).with_note(there_is))
    }

    fn unit_in_quotes<T>(&mut self, name: &str, at: Span) -> Option<T> {
        let fault = Diagnostic::error("wrong-unit", at, format!("a unit is written without quotes: `{name}`"));
        self.refuse(fault.with_fix("remove the quotes", at, name))
    }

    /// `at(…)`, `plus(…)`, `minus(…)` after a date.
    pub(super) fn method(&mut self, base: &Raw, name: &Named, arguments: &[Raw]) -> Option<ExprKind> {
        let at = name.span;
        let Ok(method) = Method::from_str(&name.name) else {
            self.resolve(base);
            if self.names.domains.contains(&*name.name) {
                return self.domain_call(name);
            }
            let meant = nearest(&name.name, names::<Method>());
            let there_is = "after a date you can write at(…), plus(…), minus(…), or a time of day without brackets";
            let message = format!("unknown function `{}`", name.name);
            return self.unknown("unknown-function", name, message, meant, there_is);
        };
        let base = self.resolve(base);
        let known = base.as_ref().map_or(Known::Nothing, Known::of);
        if matches!(known, Known::Int | Known::List | Known::Map) {
            let message = format!("`{method}` goes after a date, not after {}", known.name());
            return self.refuse(Diagnostic::error("not-a-date", at, message));
        }
        let arguments = match method {
            Method::At => self.time(at, arguments),
            Method::Plus | Method::Minus => self.shift(method, at, arguments),
        };
        Some(ExprKind::Method(Box::new(base?), method, arguments?))
    }

    /// The argument of `at`.
    fn time(&mut self, at: Span, arguments: &[Raw]) -> Option<Vec<Expr>> {
        const EXAMPLE: &str = "write, for example, `at('3:00pm')`, `at('15:00')` or `at(midday)`";
        let [argument] = arguments else {
            let message = format!("`at` takes one time, not {} arguments", arguments.len());
            return self.refuse(Diagnostic::error("wrong-arguments", at, message).with_note(EXAMPLE));
        };
        let at = argument.span;
        if let RawKind::Name(name) = &argument.kind
            && !self.names.aliases.contains_key(&**name)
            && Start::from_str(name).is_err()
        {
            let unit = self.unit(argument, "at", names::<TimeOfDay>().collect())?;
            if let Unit::TimeOfDay(_) = unit {
                return Some(vec![Expr { span: at, kind: ExprKind::Unit(unit) }]);
            }
            let message = format!("`at` takes a time, and `{name}` is not one");
            return self.refuse(Diagnostic::error("wrong-unit", at, message).with_note(EXAMPLE));
        }
        let read = self.resolve(argument)?;
        if let ExprKind::Str(text) = &read.kind
            && read_clock(text).is_none()
        {
            if TimeOfDay::from_str(text).is_ok() {
                return self.unit_in_quotes(text, at);
            }
            let fault = Diagnostic::error("wrong-time", at, format!("`{text}` is not a time of day"));
            return self.refuse(fault.with_note(EXAMPLE));
        }
        match Known::of(&read) {
            Known::Text | Known::Nothing => Some(vec![read]),
            known @ (Known::Date | Known::Int | Known::List | Known::Map) => {
                let message = format!("`at` takes a time, not {}", known.name());
                self.refuse(Diagnostic::error("wrong-time", at, message).with_note(EXAMPLE))
            }
        }
    }

    /// The arguments of `plus` and `minus`.
    fn shift(&mut self, method: Method, at: Span, arguments: &[Raw]) -> Option<Vec<Expr>> {
        let example = format!("write, for example, `{method}(2, days)`");
        let [quantity, unit] = arguments else {
            let n = arguments.len();
            let plural = if n == 1 { "" } else { "s" };
            let message = format!("`{method}` takes a quantity and a unit, not {n} argument{plural}");
            return self.refuse(Diagnostic::error("wrong-arguments", at, message).with_note(example));
        };
        let is_alias = matches!(&quantity.kind, RawKind::Name(name) if self.names.aliases.contains_key(&**name));
        if unit_of(quantity).is_some() && !is_alias {
            let message = format!("the quantity comes first in `{method}`");
            return self.refuse(Diagnostic::error("wrong-arguments", quantity.span, message).with_note(example));
        }
        let mut read = self.resolve(quantity);
        let known = read.as_ref().map_or(Known::Nothing, Known::of);
        if !matches!(known, Known::Nothing | Known::Int) {
            let message = format!("the quantity of `{method}` must be an integer, not {}", known.name());
            read = self.refuse(Diagnostic::error("wrong-quantity", quantity.span, message).with_note(example));
        }
        let found = self.unit(unit, &method.to_string(), names::<Period>().collect())?;
        if !matches!(found, Unit::Period(_)) {
            let message = format!("`{method}` takes a length of time, and `{found}` is not one");
            let names: Vec<&str> = names::<Period>().collect();
            let note = format!("it takes {}, singular or plural", names.join(", "));
            return self.refuse(Diagnostic::error("wrong-unit", unit.span, message).with_note(note));
        }
        Some(vec![read?, Expr { span: unit.span, kind: ExprKind::Unit(found) }])
    }
}
