//! A dataflow document as it is run.

use std::sync::Arc;

use strum::{Display, EnumString, VariantNames};

use crate::plan::node::NodeId;
use crate::span::Span;

/// An alias, by its position in [`Dataflow::aliases`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AliasId(pub u32);

/// A dataflow document.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataflow {
    /// All aliases in document order.
    pub aliases: Vec<Alias>,
    /// The alias whose value is the plan's.
    pub result: AliasId,
}

/// One alias.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// Its name.
    pub name: Arc<str>,
    /// The place of the name.
    pub name_span: Span,
    /// Its node.
    pub node: NodeId,
    /// What it is bound to.
    pub body: AliasBody,
    /// The aliases its value is made of, each once, in the order in which they are named.
    pub needs: Vec<AliasId>,
    /// Whether the plan's result is made of it; what is not is never evaluated.
    pub reachable: bool,
}

/// What an alias is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum AliasBody {
    /// Nothing: whoever runs the plan gives it.
    Parameter,
    /// Text.
    Text(Template),
    /// Calls; at least one.
    Domains(Vec<Domain>),
}

/// One call of a service: a tool, a playbook or a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name.
    pub name: Arc<str>,
    /// The place of the name.
    pub name_span: Span,
    /// Its node.
    pub node: NodeId,
    /// Its arguments in document order.
    pub slots: Vec<Slot>,
}

/// One argument of a call: a list of texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its name.
    pub name: Arc<str>,
    /// The place of the name.
    pub name_span: Span,
    /// Its values; one for a single text.
    pub values: Vec<Template>,
}

/// Text with expressions in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Its place.
    pub span: Span,
    /// Its pieces; empty for the empty text. One expression alone gives its value, anything else text.
    pub parts: Vec<TemplatePart>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    /// As it is.
    Text(Arc<str>),
    /// The value of an expression.
    Expr(Expr),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its place.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An integer.
    Int(i64),
    /// Text.
    Str(Arc<str>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{key: a, b}`; of two of a key the last.
    Map(Vec<(Arc<str>, Expr)>),
    /// The value of an alias.
    Alias(AliasId),
    /// A built-in starting value (`today`).
    Start(Start),
    /// A unit as an argument (`Thursday`, `days`).
    Unit(Unit),
    /// `next(unit)`, `last(unit)`, `this(unit)`.
    Relative(Relative, Unit),
    /// `e.name`: a member, or a time of day.
    Member(Box<Expr>, Arc<str>),
    /// `e[i]`.
    Index(Box<Expr>, i64),
    /// `e.at(…)`, `e.plus(…)`, `e.minus(…)`.
    Method(Box<Expr>, Method, Vec<Expr>),
}

/// Where dates begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Start {
    /// The day of the plan's beginning.
    Today,
    /// The day after.
    Tomorrow,
    /// The day before.
    Yesterday,
    /// The moment of the plan's beginning.
    Now,
}

/// `next`, `last`, `this`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Relative {
    /// The nearest after now.
    Next,
    /// The nearest before now.
    Last,
    /// The one of the current week, day, ….
    This,
}

/// What can be done to a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Method {
    /// `at('3:00pm')`, `at(midday)`.
    At,
    /// `plus(2, days)`.
    Plus,
    /// `minus(1, hour)`.
    Minus,
}

/// Units of time, as arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A length: `hour`, `days`, …; singular and plural are one.
    Period(Period),
    /// A day of the week, from 0 for Sunday.
    Weekday(u8),
    /// A time of day.
    TimeOfDay(TimeOfDay),
}

/// Lengths of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Period {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// Times of day that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum TimeOfDay {
    /// `morning`.
    Morning,
    /// `midday`.
    Midday,
    /// `afternoon`.
    Afternoon,
    /// `evening`.
    Evening,
    /// `night`.
    Night,
    /// `endofday`.
    EndOfDay,
    /// `closeofbusiness`.
    CloseOfBusiness,
}

impl Alias {
    /// Its calls, in document order.
    pub fn domains(&self) -> &[Domain] {
        if let AliasBody::Domains(domains) = &self.body { domains } else { &[] }
    }
}

impl Dataflow {
    /// All calls, in document order.
    pub fn domains(&self) -> impl Iterator<Item = &Domain> {
        self.aliases.iter().flat_map(Alias::domains)
    }

    /// The alias with `id`.
    ///
    /// # Panics
    /// If `id` is of another plan.
    pub fn alias(&self, id: AliasId) -> &Alias {
        &self.aliases[id.0 as usize]
    }
}
