//! Evaluates expressions (spec `language.md`, "Expressions"): no functions, every surprise a fault.

use playhouse_lang::expr::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};
use playhouse_lang::value::{Bounds, Excess, Reference, Value};

use crate::protocol::settings::MAX_VALUE_DEPTH;
use crate::protocol::{Origin, Provenance, Tracked};
use crate::variables::fault::EvalFault;
use crate::variables::operators::{as_truth, binary, length, lowercase, negate, range, truth};

/// Where variables are read.
pub trait Lookup {
    /// The variable's value, if it is set.
    fn lookup(&self, name: &str) -> Option<&Tracked>;

    /// How large what is computed may become.
    fn bounds(&self) -> Bounds {
        Bounds { max_bytes: 1 << 20, max_depth: MAX_VALUE_DEPTH }
    }
}

/// Evaluates `expr`; the result's origin is that of everything that went into it.
///
/// # Errors
/// A variable that is not set, a member that is not there, operands that do not fit.
pub fn eval(expr: &Expr, scope: &dyn Lookup) -> Result<Tracked, EvalFault> {
    match &expr.kind {
        ExprKind::Literal(value) => Ok(Tracked::new(value.clone(), Origin::CODE)),
        ExprKind::Reference(reference) => read(reference, scope),
        ExprKind::List(items) => Tracked::list(Origin::CODE, items.iter().map(|item| eval(item, scope))),
        ExprKind::Map(members) => {
            let members = members.iter().map(|(key, member)| Ok((key.clone(), eval(member, scope)?)));
            Tracked::map(Origin::CODE, members)
        }
        ExprKind::Unary(operator, operand) => {
            let operand = eval(operand, scope)?;
            let value = match operator {
                UnaryOperator::Negate => negate(&operand)?,
                UnaryOperator::Lowercase => lowercase(&operand)?,
                UnaryOperator::Not => match as_truth(operand.value()) {
                    Some(truth) => Value::Bool(!truth),
                    None => return Err(EvalFault::operand("`not` needs true or false, not {}", &operand)),
                },
            };
            Ok(operand.with_value(value))
        }
        ExprKind::Binary(operator @ (BinaryOperator::And | BinaryOperator::Or), left, right) => {
            let left = eval(left, scope)?;
            let decided = truth(&left)?;
            if decided == (*operator == BinaryOperator::Or) {
                return Ok(left.with_value(Value::Bool(decided)));
            }
            let right = eval(right, scope)?;
            Ok(left.provenance().with(right.provenance()).track(Value::Bool(truth(&right)?)))
        }
        ExprKind::Binary(operator, left, right) => {
            let (left, right) = (eval(left, scope)?, eval(right, scope)?);
            let value = binary(*operator, &left, &right, scope.bounds())?;
            Ok(left.provenance().with(right.provenance()).track(value))
        }
        ExprKind::Text(pieces) => {
            let (mut text, mut provenance) = (String::new(), Provenance::of(Origin::CODE));
            for piece in pieces {
                text.push_str(&provenance.absorb(eval(piece, scope)?).to_text());
                if text.len() > scope.bounds().max_bytes {
                    return Err(EvalFault::Excess(Excess::Bytes(scope.bounds().max_bytes)));
                }
            }
            Ok(provenance.track(Value::from(text)))
        }
        ExprKind::Range(first, last) => {
            let (first, last) = (eval(first, scope)?, eval(last, scope)?);
            let value = range(&first, &last, scope.bounds())?;
            Ok(first.provenance().with(last.provenance()).track(value))
        }
        ExprKind::Length(operand) => {
            let operand = eval(operand, scope)?;
            Ok(operand.with_value(length(&operand)?))
        }
        ExprKind::Test { subject, test, negated } => {
            let subject = match eval(subject, scope) {
                Ok(subject) => subject,
                // Whether something is there is a fair question about what is not; a mistyped path is not.
                Err(fault) if *test == Test::Provided && fault.is_missing() => Tracked::NULL,
                Err(fault) => return Err(fault),
            };
            let holds = match (test, subject.value()) {
                (Test::Provided, Value::Null) => false,
                (Test::Provided, Value::Str(text)) => !text.is_empty(),
                (Test::Provided, _) => true,
                (Test::Empty, Value::Str(text)) => text.is_empty(),
                (Test::Empty, Value::List(items)) => items.is_empty(),
                (Test::Empty, Value::Map(members)) => members.is_empty(),
                (Test::Empty, _) => false,
            };
            Ok(subject.with_value(Value::Bool(holds != *negated)))
        }
    }
}

/// Evaluates a condition: only booleans are conditions.
///
/// # Errors
/// As [`eval`], and a value that is no boolean.
pub fn eval_condition(expr: &Expr, scope: &dyn Lookup) -> Result<bool, EvalFault> {
    truth(&eval(expr, scope)?)
}

/// Whether a trigger's condition holds (spec `triggers.md`, "When a trigger fires"). A comparison with a name that is
/// not set is false, however it is negated: nothing can have become true of what was never there.
///
/// # Errors
/// The condition cannot be evaluated (a wrong type, a missing path); it counts as false.
pub fn holds(condition: &Expr, scope: &dyn Lookup) -> Result<bool, EvalFault> {
    Ok(known_truth(condition, scope)?.unwrap_or(false))
}

/// The truth of a condition, if it is known: of what was never set nothing is, and what is negated or joined with it
/// is as unknown, unless the other side decides.
fn known_truth(condition: &Expr, scope: &dyn Lookup) -> Result<Option<bool>, EvalFault> {
    if let ExprKind::Unary(UnaryOperator::Not, operand) = &condition.kind {
        return Ok(known_truth(operand, scope)?.map(|truth| !truth));
    }
    if let ExprKind::Binary(operator @ (BinaryOperator::And | BinaryOperator::Or), left, right) = &condition.kind {
        let decides = Some(*operator == BinaryOperator::Or);
        let left = known_truth(left, scope)?;
        if left == decides {
            return Ok(left);
        }
        let right = known_truth(right, scope)?;
        return Ok(if left.is_none() && right != decides { None } else { right });
    }
    if let ExprKind::Test { subject, .. } = &condition.kind
        && let ExprKind::Reference(reference) = &subject.kind
        && scope.lookup(&reference.name).is_none()
    {
        return Ok(None);
    }
    match eval_condition(condition, scope) {
        Err(EvalFault::Unset(_)) => Ok(None),
        result => result.map(Some),
    }
}

/// Reads a reference: the variable, then the path into its value.
///
/// # Errors
/// A variable that is not set, a step that is not there.
pub(crate) fn read(reference: &Reference, scope: &dyn Lookup) -> Result<Tracked, EvalFault> {
    let variable = scope.lookup(&reference.name).ok_or_else(|| EvalFault::Unset(reference.name.clone()))?;
    variable.at(&reference.path).map_err(|n_done| {
        let reached = Reference { name: reference.name.clone(), path: reference.path[..n_done].to_vec() };
        let found = variable.at(&reached.path).unwrap_or(Tracked::NULL);
        EvalFault::NoStep { reached, found, step: reference.path[n_done].clone() }
    })
}
