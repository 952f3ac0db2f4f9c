//! Expressions to text: the operators' own signs, and every bracket, so that one sees how it was read.

use std::fmt;

use crate::expr::tree::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};
use crate::value::json::quoted;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(value) => write!(f, "{value}"),
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
            ExprKind::Binary(operator, left, right) => {
                write!(f, "{} {} {}", Operand(left), sign(*operator), Operand(right))
            }
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

/// An operand, in brackets if it has an operator of its own.
struct Operand<'a>(&'a Expr);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            ExprKind::Literal(_) | ExprKind::Reference(_) | ExprKind::List(_) | ExprKind::Map(_) => {
                write!(f, "{}", self.0)
            }
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Length(_) | ExprKind::Test { .. } => {
                write!(f, "({})", self.0)
            }
        }
    }
}

fn sign(operator: BinaryOperator) -> &'static str {
    match operator {
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
    }
}
