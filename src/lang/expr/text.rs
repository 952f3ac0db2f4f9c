//! Expressions to text: the operators' own signs, and every bracket, so that one sees how it was read.

use std::fmt;

use crate::expr::names::LAST_CALL_FAILED;
use crate::expr::tree::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};
use crate::value::Value;
use crate::value::json::quoted;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(value) => write!(f, "{value}"),
            ExprKind::Reference(reference) if *reference.name == *LAST_CALL_FAILED => {
                f.write_str("the last call failed")
            }
            ExprKind::Reference(reference) => write!(f, "{reference}"),
            ExprKind::List(items) => {
                let items: Vec<String> = items.iter().map(Expr::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            ExprKind::Map(members) => {
                let members = members.iter().map(|(key, value)| format!("{}: {value}", quoted(key)));
                write!(f, "{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            // `-0` would be read as a number, not as the negation of one.
            ExprKind::Unary(UnaryOperator::Negate, operand) if matches!(operand.kind, ExprKind::Literal(_)) => {
                write!(f, "-({})", Operand(operand))
            }
            ExprKind::Unary(UnaryOperator::Negate, operand) => write!(f, "-{}", Operand(operand)),
            ExprKind::Unary(UnaryOperator::Not, operand) => write!(f, "not {}", Operand(operand)),
            ExprKind::Unary(UnaryOperator::Lowercase, operand) => write!(f, "lower case of {}", Operand(operand)),
            ExprKind::Text(pieces) => {
                write!(f, "{}", quoted(&pieces.iter().map(Expr::as_piece).collect::<String>()))
            }
            ExprKind::Binary(operator, left, right) if folded(left).is_some() && folded(right).is_some() => {
                let (left, right) = (folded(left).unwrap_or(left), folded(right).unwrap_or(right));
                write!(f, "{} {} {}, any case", Operand(left), operator, Operand(right))
            }
            ExprKind::Binary(operator, left, right) => {
                write!(f, "{} {} {}", Operand(left), operator, Operand(right))
            }
            ExprKind::Range(first, last) => write!(f, "{} to {}", Operand(first), Operand(last)),
            ExprKind::Length(operand) => write!(f, "length of {}", Operand(operand)),
            ExprKind::Test { subject, test, negated } => {
                let not = if *negated { " not" } else { "" };
                let test = match test {
                    Test::Empty => "empty",
                    Test::Provided => "provided",
                };
                write!(f, "{} is{not} {test}", Operand(subject))
            }
        }
    }
}

/// What is compared in any case.
fn folded(expr: &Expr) -> Option<&Expr> {
    if let ExprKind::Unary(UnaryOperator::Lowercase, operand) = &expr.kind { Some(operand) } else { None }
}

impl Expr {
    /// It as a piece of a quoted text: a text as it is, a reference in braces.
    pub(crate) fn as_piece(&self) -> String {
        if let ExprKind::Literal(Value::Str(text)) = &self.kind { text.to_string() } else { format!("{{{self}}}") }
    }
}

/// An operand, in brackets if it has an operator of its own.
struct Operand<'a>(&'a Expr);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            ExprKind::Literal(_)
            | ExprKind::Reference(_)
            | ExprKind::List(_)
            | ExprKind::Map(_)
            | ExprKind::Text(_) => {
                write!(f, "{}", self.0)
            }
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Range(..)
            | ExprKind::Length(_)
            | ExprKind::Test { .. } => {
                write!(f, "({})", self.0)
            }
        }
    }
}

/// The operators' own signs.
impl fmt::Display for BinaryOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Remainder => "%",
            BinaryOperator::Equal => "==",
            BinaryOperator::NotEqual => "!=",
            BinaryOperator::Less => "<",
            BinaryOperator::LessOrEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterOrEqual => ">=",
            BinaryOperator::And => "and",
            BinaryOperator::Or => "or",
            BinaryOperator::In => "in",
            BinaryOperator::Contains => "contains",
            BinaryOperator::StartsWith => "starts with",
            BinaryOperator::EndsWith => "ends with",
            BinaryOperator::Says => "says",
        })
    }
}
