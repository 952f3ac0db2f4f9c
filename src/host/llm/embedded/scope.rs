//! The variables of a turn: those that it began with, and what the reply has set since.

use std::sync::Arc;

use playhouse_lang::expr::{Expr, ExprKind, parse};
use playhouse_lang::span::FileId;
use playhouse_lang::value::{Reference, Value};
use playhouse_vm::protocol::{Origin, Tracked};
use playhouse_vm::variables::eval::{Lookup, eval};
use playhouse_vm::variables::fault::EvalFault;

use super::english::{unquoted, without_end};
use super::wording::{Values, literal_json};

/// Visible variables, nearest first.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    variables: Vec<(Arc<str>, Tracked)>,
}

impl Scope {
    pub(super) fn new(variables: &[(Arc<str>, Value)]) -> Scope {
        let tracked = |value: &Value| Tracked::new(value.clone(), Origin::default());
        Scope { variables: variables.iter().map(|(name, value)| (name.clone(), tracked(value))).collect() }
    }

    /// What the reply has set.
    pub(super) fn set(&mut self, name: &Arc<str>, value: Value) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.insert(0, (name.clone(), Tracked::new(value, Origin::default())));
    }

    /// The value of an expression.
    pub(super) fn eval(&self, expr: &Expr) -> Result<Value, EvalFault> {
        eval(expr, self).map(Tracked::into_value)
    }

    /// What a text comes to that is an expression, a text in quotes, or the name of something that is there.
    pub(super) fn worth(&self, text: &str) -> Option<Worth> {
        if let Some(quoted) = unquoted(text) {
            return Some(Worth { value: Value::str(quoted), reference: None });
        }
        let expr = parse(without_end(text), FileId(0), 0).ok()?;
        let value = self.eval(&expr).ok()?;
        let reference = if let ExprKind::Reference(reference) = expr.kind { Some(reference) } else { None };
        Some(Worth { value, reference })
    }
}

/// What a text comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Worth {
    pub(super) value: Value,
    /// It is the value of a variable, as it is.
    pub(super) reference: Option<Reference>,
}

impl Worth {
    /// The variable's value.
    pub(super) fn of(reference: Reference, scope: &Scope) -> Option<Worth> {
        let value = scope.told(&reference)?.clone();
        Some(Worth { value, reference: Some(reference) })
    }

    /// As it is written in a trace line.
    pub(super) fn written(&self) -> serde_json::Value {
        self.reference.as_ref().map_or_else(|| literal_json(&self.value), |reference| reference.to_string().into())
    }
}

impl Lookup for Scope {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        self.variables.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }
}

impl Values for Scope {
    fn value(&self, name: &str) -> Option<&Value> {
        self.lookup(name).map(|tracked| tracked.value())
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.variables.iter().map(|(name, _)| name.clone()).collect()
    }
}
