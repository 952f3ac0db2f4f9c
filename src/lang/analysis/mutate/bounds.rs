//! Conditions with a bound that is moved, up and down once each: another operator lets the bound itself in or out,
//! another number goes the other way.

use crate::expr::{BinaryOperator, Expr, ExprKind};
use crate::value::Value;

/// All that an expression can become by one bound that is moved, each with what it was and is: `> to >=`, `26 to 27`.
pub(super) fn moved(expr: &Expr) -> Vec<(String, Expr)> {
    let with = |kind| Expr { kind, span: expr.span };
    if let ExprKind::Unary(operator, operand) = &expr.kind {
        let inner = moved(operand).into_iter();
        return inner.map(|(words, operand)| (words, with(ExprKind::Unary(*operator, Box::new(operand))))).collect();
    }
    let ExprKind::Binary(operator, left, right) = &expr.kind else { return Vec::new() };
    let binary = |operator, left: &Expr, right: &Expr| {
        with(ExprKind::Binary(operator, Box::new(left.clone()), Box::new(right.clone())))
    };
    let mut all = Vec::new();
    if let Some(other) = neighbour(*operator) {
        all.push((format!("{operator} to {other}"), binary(other, left, right)));
    }
    if let Some(step) = other_way(*operator) {
        all.extend(counted(right, step).map(|(words, right)| (words, binary(*operator, left, &right))));
        all.extend(counted(left, -step).map(|(words, left)| (words, binary(*operator, &left, right))));
    }
    if matches!(operator, BinaryOperator::And | BinaryOperator::Or) {
        all.extend(moved(left).into_iter().map(|(words, left)| (words, binary(*operator, &left, right))));
        all.extend(moved(right).into_iter().map(|(words, right)| (words, binary(*operator, left, &right))));
    }
    all
}

/// A number that stands there, so much higher: `3 to 4`.
pub(super) fn counted(expr: &Expr, step: i8) -> Option<(String, Expr)> {
    let ExprKind::Literal(number) = &expr.kind else { return None };
    let other = match number {
        Value::Int(number) => Value::Int(number.checked_add(step.into())?),
        Value::Float(number) => Value::Float(number + f64::from(step)),
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => return None,
    };
    let words = format!("{} to {}", number.to_json(), other.to_json());
    Some((words, Expr { kind: ExprKind::Literal(other), span: expr.span }))
}

/// The comparison that differs at the bound only.
fn neighbour(operator: BinaryOperator) -> Option<BinaryOperator> {
    const NEIGHBOURS: [(BinaryOperator, BinaryOperator); 2] = [
        (BinaryOperator::Less, BinaryOperator::LessOrEqual),
        (BinaryOperator::Greater, BinaryOperator::GreaterOrEqual),
    ];
    let (strict, other) = NEIGHBOURS.into_iter().find(|(strict, other)| [*strict, *other].contains(&operator))?;
    Some(if operator == strict { other } else { strict })
}

/// How a number on the right side is moved: to where the neighbour does not move the bound.
fn other_way(operator: BinaryOperator) -> Option<i8> {
    if let BinaryOperator::Less | BinaryOperator::GreaterOrEqual = operator {
        return Some(-1);
    }
    let is_up = matches!(
        operator,
        BinaryOperator::Greater | BinaryOperator::LessOrEqual | BinaryOperator::Equal | BinaryOperator::NotEqual
    );
    is_up.then_some(1)
}
