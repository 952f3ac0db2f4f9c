//! The values of expressions and texts (spec `plans.md`, 3.2 to 3.5). Pure, and total: whatever a service gives,
//! there is a value or a fault.

use std::ops::Range;
use std::sync::Arc;

use playhouse_lang::dataflow::{
    AliasId, Dataflow, Expr, ExprKind, Method, Slot, Template, TemplatePart, TimeOfDay, Unit, path, read_clock,
};
use playhouse_lang::spelling::nearest;
use playhouse_lang::value::{Bounds, Excess, Map, Value};

use crate::dataflow::date::{Calendar, When};
use crate::protocol::settings::MAX_VALUE_DEPTH;
use crate::protocol::{Origin, Provenance, Tracked};
use crate::variables::fault::told_keys;

/// A value may not be larger, in bytes of JSON: aliases that use each other twice double it each time.
pub const MAX_SIZE: usize = 4 << 20;

/// What an expression gives. Dates keep what they are until they leave the plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A value as services know them.
    Value(Value),
    /// A day or a moment.
    When(When),
}

impl Datum {
    /// As others see it: dates are text.
    pub fn to_value(&self) -> Value {
        match self {
            Datum::Value(value) => value.clone(),
            Datum::When(when) => Value::from(when.to_string()),
        }
    }

    /// Inside of other text: text as it is, everything else as compact JSON.
    pub fn to_text(&self) -> String {
        match self {
            Datum::Value(value) => value.to_text(),
            Datum::When(when) => when.to_string(),
        }
    }
}

/// The value of an alias.
#[derive(Clone, Debug, PartialEq)]
pub struct AliasValue {
    /// The value.
    pub datum: Datum,
    /// Where it came from, and whether it may be shown.
    pub provenance: Provenance,
    /// Of an alias with one domain: what the service returned.
    pub returned: Option<Returned>,
}

/// What the one service of an alias returned, as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// The domain.
    pub domain: Arc<str>,
    /// Its result, before a list of one element became the element.
    pub result: Value,
}

impl AliasValue {
    /// The value as others see it.
    pub fn tracked(&self) -> Tracked {
        self.provenance.track(self.datum.to_value())
    }
}

impl From<Tracked> for AliasValue {
    /// A value that was given: a parameter's.
    fn from(given: Tracked) -> AliasValue {
        AliasValue { provenance: given.provenance(), datum: Datum::Value(given.into_value()), returned: None }
    }
}

/// The value of an alias whose domains returned `results` (name and result, in document order): of one domain its
/// result, a list of one element being the element; of several a map (spec `plans.md`, 3.4).
pub fn collapse(results: Vec<(Arc<str>, Tracked)>) -> AliasValue {
    let joined = results.iter().map(|(_, result)| result.provenance()).reduce(Provenance::with);
    let provenance = joined.unwrap_or(Provenance::of(Origin::CODE));
    if let [(domain, result)] = &*results {
        let value = result.item(0).filter(|_| result.n_items() == Some(1)).unwrap_or_else(|| result.clone());
        let (value, result) = (value.into_value(), result.value().clone());
        let returned = Some(Returned { domain: domain.clone(), result });
        return AliasValue { datum: Datum::Value(value), provenance, returned };
    }
    let members: Map = results.into_iter().map(|(domain, result)| (domain, result.into_value())).collect();
    AliasValue { datum: Datum::Value(Value::map(members)), provenance, returned: None }
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationFault {
    /// The expression, or the part of it, that has none: bytes of the plan's file.
    pub place: Range<usize>,
    /// For people: what is wrong and what there is instead, in lower case without a full stop. Holds nothing of
    /// values that may not be shown.
    pub message: String,
}

/// The values of aliases that have one, by their ids. An expression asks only for those that its alias needs.
pub type AliasValues = [Option<AliasValue>];

/// The value of `template`: that of its expression if it is nothing else, else text. What comes out of services is
/// data; it is not looked at for expressions.
pub fn evaluate(
    dataflow: &Dataflow,
    template: &Template,
    aliases: &AliasValues,
    calendar: &Calendar,
) -> Result<AliasValue, EvaluationFault> {
    let mut evaluator = Evaluator { dataflow, aliases, calendar, provenance: None };
    let datum = evaluator.template(template)?;
    Ok(AliasValue { datum, provenance: evaluator.provenance(), returned: None })
}

/// What a service gets for `slot`: the list of its values, each with the type that its expression has.
pub fn slot_values(
    dataflow: &Dataflow,
    slot: &Slot,
    aliases: &AliasValues,
    calendar: &Calendar,
) -> Result<Tracked, EvaluationFault> {
    let mut evaluator = Evaluator { dataflow, aliases, calendar, provenance: None };
    let mut values = Vec::new();
    for template in &slot.values {
        values.push(evaluator.template(template)?.to_value());
    }
    Ok(evaluator.provenance().track(Value::list(values)))
}

struct Evaluator<'a> {
    dataflow: &'a Dataflow,
    aliases: &'a AliasValues,
    calendar: &'a Calendar,
    /// Of all aliases that went in so far.
    provenance: Option<Provenance>,
}

type Evaluated = Result<Datum, EvaluationFault>;

impl<'a> Evaluator<'a> {
    fn provenance(&self) -> Provenance {
        self.provenance.unwrap_or(Provenance::of(Origin::CODE))
    }

    fn is_secret(&self) -> bool {
        self.provenance().is_secret()
    }

    fn template(&mut self, template: &Template) -> Evaluated {
        if let [TemplatePart::Expr(expr)] = &*template.parts {
            let datum = self.expr(expr)?;
            // What is only looked up was measured where it was made, or is a service's own.
            if let Datum::Value(value) = &datum
                && matches!(expr.kind, ExprKind::List(_) | ExprKind::Map(_))
            {
                bounded(value, &template.span.range())?;
            }
            return Ok(datum);
        }
        let mut text = String::new();
        for part in &template.parts {
            match part {
                TemplatePart::Text(piece) => text.push_str(piece),
                TemplatePart::Expr(expr) => {
                    let datum = self.expr(expr)?;
                    if let Datum::Value(value) = &datum {
                        bounded(value, &expr.span.range())?;
                    }
                    text.push_str(&datum.to_text());
                }
            }
            if text.len() > MAX_SIZE {
                return Err(too_large(&template.span.range()));
            }
        }
        Ok(Datum::Value(Value::from(text)))
    }

    fn value(&self, id: AliasId) -> Option<&'a AliasValue> {
        self.aliases.get(id.0 as usize)?.as_ref()
    }

    fn alias(&mut self, id: AliasId, expr: &Expr) -> Result<&'a AliasValue, EvaluationFault> {
        let Some(value) = self.value(id) else {
            let name = self.dataflow.aliases.get(id.0 as usize).map_or("?", |alias| &alias.name);
            return Err(fault(expr, format!("the alias `{name}` has no value yet")));
        };
        self.provenance = Some(self.provenance.map_or(value.provenance, |all| all.with(value.provenance)));
        Ok(value)
    }

    fn expr(&mut self, expr: &Expr) -> Evaluated {
        match &expr.kind {
            ExprKind::Int(int) => Ok(Datum::Value(Value::Int(*int))),
            ExprKind::Str(text) => Ok(Datum::Value(Value::Str(text.clone()))),
            ExprKind::List(items) => {
                let items: Result<Vec<Value>, _> = items.iter().map(|item| Ok(self.expr(item)?.to_value())).collect();
                Ok(Datum::Value(Value::list(items?)))
            }
            ExprKind::Map(members) => {
                let mut map = Map::new();
                for (key, value) in members {
                    map.insert(key.clone(), self.expr(value)?.to_value());
                }
                Ok(Datum::Value(Value::map(map)))
            }
            ExprKind::Alias(id) => Ok(self.alias(*id, expr)?.datum.clone()),
            ExprKind::Start(start) => self.when(expr, self.calendar.start(*start)),
            ExprKind::Relative(relative, unit) => self.when(expr, self.calendar.relative(*relative, *unit)),
            ExprKind::Unit(unit) => Err(fault(expr, format!("`{unit}` is not a value by itself"))),
            ExprKind::Member(base, name) => self.member(expr, base, name),
            ExprKind::Index(base, index) => self.index(expr, base, *index),
            ExprKind::Method(base, method, arguments) => self.method(expr, base, *method, arguments),
        }
    }

    fn when(&self, expr: &Expr, when: Result<When, String>) -> Evaluated {
        when.map(Datum::When).map_err(|message| fault(expr, format!("`{}`: {message}", path(self.dataflow, expr))))
    }

    /// What the service of `base` returned, if `base` is an alias with one domain.
    fn returned(&self, base: &Expr) -> Option<&'a Returned> {
        if let ExprKind::Alias(id) = base.kind { self.value(id)?.returned.as_ref() } else { None }
    }

    fn member(&mut self, expr: &Expr, base: &Expr, name: &Arc<str>) -> Evaluated {
        let datum = self.expr(base)?;
        if let Datum::Value(Value::Map(members)) = &datum
            && let Some(member) = members.get(&**name)
        {
            return Ok(Datum::Value(member.clone()));
        }
        // Plans that were written for the long form.
        if let Some(returned) = self.returned(base).filter(|returned| returned.domain == *name) {
            return Ok(Datum::Value(returned.result.clone()));
        }
        if let Ok(time) = name.parse::<TimeOfDay>()
            && let Some(when) = self.read(&datum)
        {
            return self.when(expr, self.calendar.at_name(&when, time));
        }
        Err(fault(expr, self.missing(base, &datum, name)))
    }

    /// Why a value has no such member.
    fn missing(&self, base: &Expr, datum: &Datum, name: &str) -> String {
        let at = path(self.dataflow, base);
        match datum {
            Datum::Value(Value::Map(members)) => {
                let told = told_keys(members, self.is_secret());
                let near = nearest(name, members.keys()).filter(|_| !self.is_secret());
                let meant = near.map_or(String::new(), |key| format!("; did you mean `{key}`?"));
                format!("`{at}` has no `{name}`{told}{meant}")
            }
            Datum::Value(Value::List(items)) => match (self.returned(base), items.len()) {
                (Some(returned), 0) => format!("`{at}` has no `{name}`: {} returned no results", returned.domain),
                (Some(returned), n) => format!(
                    "`{at}` has no `{name}`: {} returned {n} results; choose one, as in `{at}[0].{name}`",
                    returned.domain
                ),
                (None, n) => {
                    let plural = if n == 1 { "" } else { "s" };
                    format!("`{at}` is a list of {n} element{plural}, which has no `.{name}`")
                }
            },
            Datum::Value(_) | Datum::When(_) => {
                format!("`{at}` is {}, which has no `.{name}`", self.describe_datum(datum))
            }
        }
    }

    fn index(&mut self, expr: &Expr, base: &Expr, index: i64) -> Evaluated {
        let datum = self.expr(base)?;
        let list = match (&datum, self.returned(base).map(|returned| &returned.result)) {
            (Datum::Value(Value::List(items)), _) | (_, Some(Value::List(items))) => items,
            _ => {
                let (at, what) = (path(self.dataflow, base), self.describe_datum(&datum));
                return Err(fault(expr, format!("`{at}` is {what}, which has no [{index}]")));
            }
        };
        let item = usize::try_from(index).ok().and_then(|index| list.get(index));
        item.map(|item| Datum::Value(item.clone())).ok_or_else(|| {
            let n = list.len();
            let plural = if n == 1 { "" } else { "s" };
            fault(expr, format!("`{}` has {n} element{plural}, no [{index}]", path(self.dataflow, base)))
        })
    }

    fn read(&self, datum: &Datum) -> Option<When> {
        match datum {
            Datum::When(when) => Some(when.clone()),
            Datum::Value(value) => self.calendar.read(value.as_str()?),
        }
    }

    fn method(&mut self, expr: &Expr, base: &Expr, method: Method, arguments: &[Expr]) -> Evaluated {
        let datum = self.expr(base)?;
        let Some(when) = self.read(&datum) else {
            let at = path(self.dataflow, base);
            let what = self.describe(&datum.to_value());
            let message = format!(
                "`{at}` is {what}, which is not a date, so it has no `{method}`; write dates as 2023-12-02 or \
                 2023-12-02T16:00:00-0800"
            );
            return Err(fault(expr, message));
        };
        match (method, arguments) {
            (Method::At, [time]) => self.at(expr, &when, time),
            (Method::Plus, [quantity, Expr { kind: ExprKind::Unit(Unit::Period(period)), .. }]) => {
                let quantity = self.quantity(quantity)?;
                self.when(expr, self.calendar.shift(&when, quantity, *period))
            }
            (Method::Minus, [quantity, Expr { kind: ExprKind::Unit(Unit::Period(period)), .. }]) => {
                let back = self.quantity(quantity)?.checked_neg().unwrap_or(i64::MAX);
                self.when(expr, self.calendar.shift(&when, back, *period))
            }
            // The reader lets nothing else through.
            (Method::At | Method::Plus | Method::Minus, _) => {
                Err(fault(expr, format!("`{method}` has the wrong arguments")))
            }
        }
    }

    fn at(&mut self, expr: &Expr, when: &When, time: &Expr) -> Evaluated {
        if let ExprKind::Unit(Unit::TimeOfDay(name)) = time.kind {
            return self.when(expr, self.calendar.at_name(when, name));
        }
        let datum = self.expr(time)?.to_value();
        if let Some(name) = datum.as_str().and_then(|name| name.parse::<TimeOfDay>().ok()) {
            return self.when(expr, self.calendar.at_name(when, name));
        }
        let Some(clock) = datum.as_str().and_then(read_clock) else {
            let message = format!("`at` takes a time such as '3:00pm', not {}", self.describe(&datum));
            return Err(fault(time, message));
        };
        self.when(expr, self.calendar.at_clock(when, clock))
    }

    /// An integer; services and aliases may give it as text.
    fn quantity(&mut self, expr: &Expr) -> Result<i64, EvaluationFault> {
        let value = self.expr(expr)?.to_value();
        let read = value.to_text().parse().ok();
        read.ok_or_else(|| fault(expr, format!("a quantity must be an integer, not {}", self.describe(&value))))
    }

    fn describe_datum(&self, datum: &Datum) -> String {
        if let Datum::Value(value) = datum { self.describe(value) } else { "a date".to_owned() }
    }

    /// A value in a few words; of what may not be shown only the kind.
    fn describe(&self, value: &Value) -> String {
        let kind = match value {
            Value::Null => return "null".to_owned(),
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::Float(_) => "the number",
            Value::Str(_) => "the text",
            Value::List(_) => return "a list".to_owned(),
            Value::Map(_) => return "a map".to_owned(),
        };
        if self.is_secret() || matches!(value, Value::Bool(_)) {
            return kind.replace("the ", "a ").replace("a text", "text");
        }
        let shown = value.to_json();
        let cut: String = shown.chars().take(40).collect();
        if cut.len() < shown.len() { format!("{kind} {cut}…") } else { format!("{kind} {shown}") }
    }
}

fn fault(expr: &Expr, message: String) -> EvaluationFault {
    EvaluationFault { place: expr.span.range(), message }
}

fn too_large(place: &Range<usize>) -> EvaluationFault {
    EvaluationFault { place: place.clone(), message: format!("the value is larger than {MAX_SIZE} bytes") }
}

/// Refuses what is too large or too deep.
fn bounded(value: &Value, place: &Range<usize>) -> Result<(), EvaluationFault> {
    value.check_bounds(Bounds { max_bytes: MAX_SIZE, max_depth: MAX_VALUE_DEPTH }).map_err(|excess| match excess {
        Excess::Bytes(_) => too_large(place),
        Excess::Depth(limit) => {
            let message = format!("lists and maps are nested deeper than {limit} levels in the value");
            EvaluationFault { place: place.clone(), message }
        }
    })
}
