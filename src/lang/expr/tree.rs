//! The tree of expressions.

use std::sync::Arc;

use crate::span::Span;
use crate::value::{Reference, Value};

/// An expression and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `3`, `"text"`, `true`, `null`.
    Literal(Value),
    /// `$x.a[0]`.
    Reference(Reference),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{"k": e}`.
    Map(Vec<(Arc<str>, Expr)>),
    /// `- e`, `not e`.
    Unary(UnaryOperator, Box<Expr>),
    /// `a + b`, `a and b`, `a is at least b`, ….
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `"Hello {$name}"`: a text with references in it; its pieces are literals and references.
    Text(Vec<Expr>),
    /// `1 to 3`: the whole numbers from the first to the last.
    Range(Box<Expr>, Box<Expr>),
    /// `length of e`.
    Length(Box<Expr>),
    /// `e is empty`, `e is not provided`, ….
    Test {
        /// What is asked about.
        subject: Box<Expr>,
        /// The question.
        test: Test,
        /// Whether the answer is turned round (`is not …`).
        negated: bool,
    },
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-`.
    Negate,
    /// `not`.
    Not,
    /// The text in small letters: what is compared in any case.
    Lowercase,
}

/// Operators with two operands; the English forms are read as these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`: numbers, two strings, two lists.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`: an integer when exact.
    Divide,
    /// `%`.
    Remainder,
    /// `==`, `is`.
    Equal,
    /// `!=`, `is not`.
    NotEqual,
    /// `<`, `is less than`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`, `is more than`.
    Greater,
    /// `>=`, `is at least`.
    GreaterOrEqual,
    /// `and`.
    And,
    /// `or`.
    Or,
    /// `a in b`: element of a list, key of a map, part of a string.
    In,
    /// `b contains a`: `in`, the other way round.
    Contains,
    /// `starts with`: of two texts.
    StartsWith,
    /// `ends with`: of two texts.
    EndsWith,
    /// `says`: the words of a text stand in another one, whole and in this order, in any case.
    Says,
}

impl BinaryOperator {
    /// Whether it gives a number, text or list, and never a truth.
    pub(crate) fn is_arithmetic(self) -> bool {
        matches!(
            self,
            BinaryOperator::Add
                | BinaryOperator::Subtract
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Remainder
        )
    }
}

/// Questions about a value's presence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// `is empty`: set, and `""`, `[]` or `{}`.
    Empty,
    /// `is provided`: set, not null, not `""`.
    Provided,
}

impl Expr {
    /// Calls `visit` with it and every expression in it, in order of mention.
    pub(crate) fn for_each<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Reference(_) => {}
            ExprKind::List(items) | ExprKind::Text(items) => items.iter().for_each(|item| item.for_each(visit)),
            ExprKind::Map(members) => members.iter().for_each(|(_, value)| value.for_each(visit)),
            ExprKind::Unary(_, operand) | ExprKind::Length(operand) => operand.for_each(visit),
            ExprKind::Test { subject, .. } => subject.for_each(visit),
            ExprKind::Binary(_, left, right) | ExprKind::Range(left, right) => {
                left.for_each(visit);
                right.for_each(visit);
            }
        }
    }

    /// Calls `visit` with every reference, in order of mention.
    pub fn for_each_reference<'a>(&'a self, visit: &mut impl FnMut(&'a Reference)) {
        self.for_each(&mut |expr| {
            if let ExprKind::Reference(reference) = &expr.kind {
                visit(reference);
            }
        });
    }

    /// The value, if the expression is made of literals only (lists and maps of them included).
    pub(crate) fn as_constant(&self) -> Option<Value> {
        match &self.kind {
            ExprKind::Literal(value) => Some(value.clone()),
            ExprKind::List(items) => items.iter().map(Expr::as_constant).collect::<Option<_>>().map(Value::list),
            ExprKind::Map(members) => members
                .iter()
                .map(|(key, value)| Some((key.clone(), value.as_constant()?)))
                .collect::<Option<_>>()
                .map(Value::map),
            ExprKind::Reference(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Text(_)
            | ExprKind::Range(..)
            | ExprKind::Length(_)
            | ExprKind::Test { .. } => None,
        }
    }
}
