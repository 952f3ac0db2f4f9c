//! Whether a condition holds (spec `triggers.md`, "When a trigger fires").

use playhouse_lang::expr::{BinaryOperator, Expr, ExprKind, UnaryOperator};

use crate::eval::{EvalFault, Lookup, eval_condition};

/// Whether a trigger's condition holds. Each comparison with a name that is not set is false, also `is not …` and
/// `is not provided`: nothing can have become true of what was never there.
///
/// # Errors
/// The condition cannot be evaluated (a wrong type, a missing path); it counts as false.
pub(crate) fn holds(condition: &Expr, scope: &dyn Lookup) -> Result<bool, EvalFault> {
    match &condition.kind {
        ExprKind::Unary(UnaryOperator::Not, operand) => Ok(!holds(operand, scope)?),
        ExprKind::Binary(BinaryOperator::And, left, right) => Ok(holds(left, scope)? && holds(right, scope)?),
        ExprKind::Binary(BinaryOperator::Or, left, right) => Ok(holds(left, scope)? || holds(right, scope)?),
        ExprKind::Test { subject, .. } if is_unset(subject, scope) => Ok(false),
        ExprKind::Test { .. }
        | ExprKind::Literal(_)
        | ExprKind::Reference(_)
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Unary(UnaryOperator::Negate, _)
        | ExprKind::Binary(..)
        | ExprKind::Length(_) => match eval_condition(condition, scope) {
            Err(EvalFault::Unset(_)) => Ok(false),
            result => result,
        },
    }
}

fn is_unset(subject: &Expr, scope: &dyn Lookup) -> bool {
    matches!(&subject.kind, ExprKind::Reference(reference) if scope.lookup(&reference.name).is_none())
}
