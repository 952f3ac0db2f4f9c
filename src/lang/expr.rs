//! Expressions: the tree of conditions, explicit lines and references, and (below) their one lexer and parser.
//!
//! The grammar is that of spec `language.md`, "Expressions". Evaluation is `vm::eval`.

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
}

/// Questions about a value's presence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// `is empty`: set, and `""`, `[]` or `{}`.
    Empty,
    /// `is provided`: set, not null, not `""`.
    Provided,
}
