//! Expressions: the tree of conditions, explicit lines and references.
//!
//! The grammar is that of spec `language.md`, "Expressions"; it is read by `lexer` and `expr_parser`. Evaluation
//! is `vm::eval`.

use std::sync::Arc;

pub(crate) use crate::expr_parser::{Arguments, parse_arguments, parse_prefix};
pub use crate::expr_parser::{ExprError, MAX_DEPTH, parse};
use crate::span::Span;
use crate::value::{PathStep, Reference, Value};

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

/// Whether a variable's name may begin with `character`.
pub fn begins_name(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

/// Whether a variable's name may go on with `character`.
pub fn continues_name(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// Reads the name at the beginning of `text`; gives its length in bytes, 0 if there is none.
pub fn scan_name(text: &str) -> usize {
    if !text.starts_with(begins_name) {
        return 0;
    }
    text.find(|character| !continues_name(character)).unwrap_or(text.len())
}

/// Reads a reference (`$a.b[0]`) at the beginning of `text` and gives it with its length in bytes, the `$`
/// included. A `.` or `[` that no path step follows is not part of it. `None` if `text` does not begin with
/// `$` and a name.
pub fn scan_reference(text: &str) -> Option<(Reference, usize)> {
    let rest = text.strip_prefix('$')?;
    let name_length = scan_name(rest);
    if name_length == 0 {
        return None;
    }
    let mut length = 1 + name_length;
    let mut path = Vec::new();
    loop {
        let rest = &text[length..];
        if let Some(member) = rest.strip_prefix('.') {
            let member_length = scan_name(member);
            if member_length == 0 {
                break;
            }
            path.push(PathStep::Member(member[..member_length].into()));
            length += 1 + member_length;
        } else if let Some(index) = rest.strip_prefix('[') {
            let n_digits = index.bytes().take_while(u8::is_ascii_digit).count();
            match index[..n_digits].parse() {
                Ok(number) if index[n_digits..].starts_with(']') => {
                    path.push(PathStep::Index(number));
                    length += n_digits + 2;
                }
                _ => break,
            }
        } else {
            break;
        }
    }
    Some((Reference { name: rest[..name_length].into(), path }, length))
}

impl Expr {
    /// Calls `visit` with every reference, in order of mention.
    pub fn for_each_reference<'a>(&'a self, visit: &mut impl FnMut(&'a Reference)) {
        match &self.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Reference(reference) => visit(reference),
            ExprKind::List(items) => items.iter().for_each(|item| item.for_each_reference(visit)),
            ExprKind::Map(members) => members.iter().for_each(|(_, value)| value.for_each_reference(visit)),
            ExprKind::Unary(_, operand) | ExprKind::Length(operand) => operand.for_each_reference(visit),
            ExprKind::Test { subject, .. } => subject.for_each_reference(visit),
            ExprKind::Binary(_, left, right) => {
                left.for_each_reference(visit);
                right.for_each_reference(visit);
            }
        }
    }

    /// The value, if the expression is made of literals only (lists and maps of them included).
    pub fn as_constant(&self) -> Option<Value> {
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
            | ExprKind::Length(_)
            | ExprKind::Test { .. } => None,
        }
    }
}
