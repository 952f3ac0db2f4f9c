//! The variables of a turn: those that it began with, and what the reply has set since.

use std::sync::Arc;

use crate::lang::expr::{Expr, parse};
use crate::span::FileId;
use crate::value::Value;
use crate::vm::protocol::{Origin, Tracked};
use crate::vm::variables::eval::{Lookup, eval};
use crate::vm::variables::fault::EvalFault;

use super::wording::Values;

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

    /// The value of a text that is an expression.
    pub(super) fn eval_text(&self, text: &str) -> Option<Value> {
        let expr = parse(text.trim(), FileId(0), 0).ok()?;
        self.eval(&expr).ok()
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
