//! Evaluates expressions (spec `language.md`, "Expressions"): no coercion, no functions, every surprise a fault.

use std::sync::Arc;

use playhouse_lang::expr::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};
use playhouse_lang::value::{Map, Origin, PathStep, Reference, Tracked, Value};

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq)]
pub enum EvalFault {
    /// A variable that is not set. Its value may still be on its way.
    Unset(Arc<str>),
    /// A member or an item that is not there, in words.
    Missing(String),
    /// Anything else, in words.
    Other(String),
}

impl std::fmt::Display for EvalFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EvalFault::Unset(name) => write!(f, "${name} is not set"),
            EvalFault::Missing(message) | EvalFault::Other(message) => f.write_str(message),
        }
    }
}

/// Where variables are read.
pub trait Lookup {
    /// The variable's value, if it is set.
    fn lookup(&self, name: &str) -> Option<&Tracked>;
}

/// Evaluates `expr`; the result's origin is that of everything that went into it.
pub fn eval(expr: &Expr, scope: &dyn Lookup) -> Result<Tracked, EvalFault> {
    match &expr.kind {
        ExprKind::Literal(value) => Ok(Tracked::new(value.clone(), Origin::CODE)),
        ExprKind::Reference(reference) => read(reference, scope),
        ExprKind::List(items) => {
            let mut result = Tracked::new(Value::Null, Origin::CODE);
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                values.push(absorb(&mut result, eval(item, scope)?));
            }
            result.value = Value::list(values);
            Ok(result)
        }
        ExprKind::Map(members) => {
            let mut result = Tracked::new(Value::Null, Origin::CODE);
            let mut map = Map::new();
            for (key, member) in members {
                map.insert(key.clone(), absorb(&mut result, eval(member, scope)?));
            }
            result.value = Value::map(map);
            Ok(result)
        }
        ExprKind::Unary(operator, operand) => {
            let operand = eval(operand, scope)?;
            let value = match (operator, &operand.value) {
                (UnaryOperator::Negate, Value::Int(int)) => Value::Int(int.checked_neg().ok_or_else(|| overflow("-"))?),
                (UnaryOperator::Negate, Value::Float(float)) => Value::Float(-float),
                (UnaryOperator::Not, Value::Bool(truth)) => Value::Bool(!truth),
                (UnaryOperator::Negate, other) => {
                    return Err(wrong(format!("`-` needs a number, not {}", describe(other))));
                }
                (UnaryOperator::Not, other) => {
                    return Err(wrong(format!("`not` needs true or false, not {}", describe(other))));
                }
            };
            Ok(Tracked { value, ..operand })
        }
        ExprKind::Binary(operator @ (BinaryOperator::And | BinaryOperator::Or), left, right) => {
            let mut result = eval(left, scope)?;
            let is_or = *operator == BinaryOperator::Or;
            if truth(&result.value)? == is_or {
                return Ok(result);
            }
            let right = eval(right, scope)?;
            truth(&right.value)?;
            result.value = absorb(&mut result, right);
            Ok(result)
        }
        ExprKind::Binary(operator, left, right) => {
            let mut result = eval(left, scope)?;
            let right_value = absorb(&mut result, eval(right, scope)?);
            result.value = binary(*operator, &result.value, &right_value)?;
            Ok(result)
        }
        ExprKind::Length(operand) => {
            let operand = eval(operand, scope)?;
            let n = match &operand.value {
                Value::Str(text) => text.chars().count(),
                Value::List(items) => items.len(),
                Value::Map(members) => members.len(),
                other @ (Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                    return Err(wrong(format!("`length of` needs text, a list or a dict, not {}", describe(other))));
                }
            };
            Ok(Tracked { value: Value::Int(i64::try_from(n).unwrap_or(i64::MAX)), ..operand })
        }
        ExprKind::Test { subject, test, negated } => {
            let (subject, origin, secret) = match eval(subject, scope) {
                Ok(tracked) => (Some(tracked.value), tracked.origin, tracked.secret),
                // Whether something is there is a fair question about what is not; a mistyped path is not.
                Err(EvalFault::Unset(_) | EvalFault::Missing(_)) if *test == Test::Provided => {
                    (None, Origin::CODE, false)
                }
                Err(fault) => return Err(fault),
            };
            let holds = match (test, &subject) {
                (Test::Provided, Some(Value::Null) | None) => false,
                (Test::Provided, Some(Value::Str(text))) => !text.is_empty(),
                (Test::Provided, Some(_)) => true,
                (Test::Empty, Some(Value::Str(text))) => text.is_empty(),
                (Test::Empty, Some(Value::List(items))) => items.is_empty(),
                (Test::Empty, Some(Value::Map(members))) => members.is_empty(),
                (Test::Empty, _) => false,
            };
            Ok(Tracked { value: Value::Bool(holds != *negated), origin, secret })
        }
    }
}

/// Evaluates a condition: only booleans are conditions.
pub fn eval_condition(expr: &Expr, scope: &dyn Lookup) -> Result<bool, EvalFault> {
    truth(&eval(expr, scope)?.value)
}

/// Reads a reference: the variable, then the path into its value.
pub(crate) fn read(reference: &Reference, scope: &dyn Lookup) -> Result<Tracked, EvalFault> {
    let variable = scope.lookup(&reference.name).ok_or_else(|| EvalFault::Unset(reference.name.clone()))?;
    match variable.value.at(&reference.path) {
        Ok(value) => Ok(Tracked { value: value.clone(), origin: variable.origin, secret: variable.secret }),
        Err(n_done) => Err(missing_step(reference, &variable.value, n_done)),
    }
}

/// Says where a path leaves the value, and what there is instead.
fn missing_step(reference: &Reference, value: &Value, n_done: usize) -> EvalFault {
    let reached = Reference { name: reference.name.clone(), path: reference.path[..n_done].to_vec() };
    let here = value.at(&reached.path).unwrap_or(&Value::Null);
    match (here, &reference.path[n_done]) {
        (Value::Map(members), PathStep::Member(name)) => {
            let keys: Vec<&str> = members.keys().take(10).map(|key| &**key).collect();
            EvalFault::Missing(format!("{reached} has no `{name}`; it has: {}", keys.join(", ")))
        }
        (Value::List(items), PathStep::Index(index)) => {
            EvalFault::Missing(format!("{reached} has {} items, no [{index}]", items.len()))
        }
        (_, step) => {
            let step = match step {
                PathStep::Member(name) => format!(".{name}"),
                PathStep::Index(index) => format!("[{index}]"),
            };
            let message = format!("{reached} is {}, which has no {step}", describe(here));
            if *here == Value::Null { EvalFault::Missing(message) } else { EvalFault::Other(message) }
        }
    }
}

fn absorb(into: &mut Tracked, part: Tracked) -> Value {
    into.origin = into.origin.with(part.origin);
    into.secret |= part.secret;
    part.value
}

fn truth(value: &Value) -> Result<bool, EvalFault> {
    if let Value::Bool(truth) = value {
        return Ok(*truth);
    }
    Err(wrong(format!("a condition must be true or false, not {}", describe(value))))
}

fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, EvalFault> {
    use BinaryOperator as Op;
    match operator {
        Op::Equal => Ok(Value::Bool(left == right)),
        Op::NotEqual => Ok(Value::Bool(left != right)),
        Op::Less => Ok(Value::Bool(compare(left, right)?.is_lt())),
        Op::LessOrEqual => Ok(Value::Bool(compare(left, right)?.is_le())),
        Op::Greater => Ok(Value::Bool(compare(left, right)?.is_gt())),
        Op::GreaterOrEqual => Ok(Value::Bool(compare(left, right)?.is_ge())),
        Op::In => contains(right, left).map(Value::Bool),
        Op::Contains => contains(left, right).map(Value::Bool),
        Op::Add => match (left, right) {
            (Value::Str(a), Value::Str(b)) => Ok(Value::from(format!("{a}{b}"))),
            (Value::List(a), Value::List(b)) => Ok(Value::list(a.iter().chain(b.iter()).cloned().collect())),
            _ => arithmetic("+", left, right, i64::checked_add, |a, b| a + b),
        },
        Op::Subtract => arithmetic("-", left, right, i64::checked_sub, |a, b| a - b),
        Op::Multiply => arithmetic("*", left, right, i64::checked_mul, |a, b| a * b),
        Op::Divide => match (left, right) {
            (_, Value::Int(0)) => Err(wrong("division by zero".to_owned())),
            // -2^63 / -1 has no remainder that can be asked for, and no quotient either.
            (Value::Int(_), Value::Int(-1)) => arithmetic("/", left, right, i64::checked_div, |a, b| a / b),
            (Value::Int(a), Value::Int(b)) if a % b == 0 => Ok(Value::Int(a / b)),
            _ => arithmetic("/", left, right, |_, _| None, |a, b| a / b).or_else(|fault| match (left, right) {
                #[allow(clippy::cast_precision_loss)]
                (Value::Int(a), Value::Int(b)) => finite("/", *a as f64 / *b as f64),
                _ => Err(fault),
            }),
        },
        Op::Remainder => match (left, right) {
            (_, Value::Int(0)) => Err(wrong("division by zero".to_owned())),
            _ => arithmetic("%", left, right, i64::checked_rem, |a, b| a % b),
        },
        Op::And | Op::Or => Err(wrong("`and` and `or` are judged before their operands".to_owned())),
    }
}

fn arithmetic(
    sign: &str,
    left: &Value,
    right: &Value,
    on_ints: impl Fn(i64, i64) -> Option<i64>,
    on_floats: impl Fn(f64, f64) -> f64,
) -> Result<Value, EvalFault> {
    #[allow(clippy::cast_precision_loss)]
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => on_ints(*a, *b).map(Value::Int).ok_or_else(|| overflow(sign)),
        (Value::Int(a), Value::Float(b)) => finite(sign, on_floats(*a as f64, *b)),
        (Value::Float(a), Value::Int(b)) => finite(sign, on_floats(*a, *b as f64)),
        (Value::Float(a), Value::Float(b)) => finite(sign, on_floats(*a, *b)),
        _ => Err(wrong(format!("`{sign}` cannot join {} and {}", describe(left), describe(right)))),
    }
}

fn finite(sign: &str, float: f64) -> Result<Value, EvalFault> {
    if float.is_finite() { Ok(Value::Float(float)) } else { Err(overflow(sign)) }
}

fn compare(left: &Value, right: &Value) -> Result<std::cmp::Ordering, EvalFault> {
    #[allow(clippy::cast_precision_loss)]
    let order = match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => (*a as f64).partial_cmp(b),
        (Value::Float(a), Value::Int(b)) => a.partial_cmp(&(*b as f64)),
        _ => None,
    };
    order.ok_or_else(|| {
        wrong(format!("only two numbers or two strings have an order, not {} and {}", describe(left), describe(right)))
    })
}

fn contains(container: &Value, element: &Value) -> Result<bool, EvalFault> {
    match (container, element) {
        (Value::List(items), _) => Ok(items.contains(element)),
        (Value::Map(members), Value::Str(key)) => Ok(members.contains_key(&**key)),
        (Value::Str(text), Value::Str(part)) => Ok(text.contains(&**part)),
        _ => Err(wrong(format!("{} cannot contain {}", describe(container), describe(element)))),
    }
}

fn describe(value: &Value) -> String {
    let json = value.to_json();
    if json.chars().count() <= 40 { format!("{} {json}", value.kind()) } else { value.kind().to_owned() }
}

fn overflow(sign: &str) -> EvalFault {
    wrong(format!("the result of `{sign}` is too large for a number"))
}

fn wrong(message: String) -> EvalFault {
    EvalFault::Other(message)
}
