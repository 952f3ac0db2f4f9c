//! Values of instructions, and the plan's own variables.

use std::sync::Arc;

use playhouse_lang::plan::json::{PlanValue, PlanValueKind, TextPart};
use playhouse_lang::value::{Map, Origin, Tracked, Value};

use crate::Machine;
use crate::plan::change;
use crate::plan::fault::Trouble;
use crate::protocol::{Fact, FrameOrigin, PlanFaultKind};
use crate::variables::size_of;

/// The instruction of dialect B that looks for texts, and its number of them.
pub(crate) const RETRIEVE_CHUNKS: &str = "retrieve_embedded_chunks";
const TOP_K: &str = "top_k";

impl Machine {
    /// The value with its references resolved, once: what is put in is data. `parameter` is named by the fault.
    pub(crate) fn plan_value(&self, value: &PlanValue, parameter: &str) -> Result<Tracked, Trouble> {
        match &value.kind {
            PlanValueKind::Literal(value) => Ok(Tracked::new(value.clone(), Origin::CODE)),
            PlanValueKind::Variable(name) => self.plan_variable(name, parameter).cloned(),
            PlanValueKind::Text(parts) => {
                let mut text = String::new();
                let mut result = Tracked::new(Value::Null, Origin::CODE);
                for part in parts {
                    match part {
                        TextPart::Text(part) => text.push_str(part),
                        TextPart::Variable(name) => {
                            let variable = self.plan_variable(name, parameter)?;
                            absorb(&mut result, variable);
                            text.push_str(&variable.value.to_text());
                        }
                    }
                }
                result.value = Value::from(text);
                Ok(result)
            }
            PlanValueKind::List(items) => {
                let mut result = Tracked::new(Value::Null, Origin::CODE);
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    let item = self.plan_value(item, parameter)?;
                    absorb(&mut result, &item);
                    values.push(item.value);
                }
                result.value = Value::list(values);
                Ok(result)
            }
            PlanValueKind::Map(members) => {
                let mut result = Tracked::new(Value::Null, Origin::CODE);
                let mut map = Map::new();
                for (name, member) in members {
                    let member = self.plan_value(member, parameter)?;
                    absorb(&mut result, &member);
                    map.insert(name.clone(), member.value);
                }
                result.value = Value::map(map);
                Ok(result)
            }
        }
    }

    fn plan_variable(&self, name: &str, parameter: &str) -> Result<&Tracked, Trouble> {
        let scope = &self.core().scope;
        match scope.get(name) {
            Some(variable) => Ok(&variable.value),
            None => {
                let set: Vec<&str> = scope.iter().map(|(name, _)| &**name).take(20).collect();
                let there =
                    if set.is_empty() { "nothing is set".to_owned() } else { format!("set are: {}", set.join(", ")) };
                let frame = self.plan_frame();
                let is_given = frame.core.origin == FrameOrigin::Begin
                    && frame.source.parameters.iter().any(|parameter| **parameter == *name);
                let give = if is_given { format!("; give it with --arg {name}=value") } else { String::new() };
                let message = format!("the variable `{name}` is not set; {there}{give}");
                Err(Trouble::new(PlanFaultKind::UndefinedVariable, message).of(parameter))
            }
        }
    }

    /// Sets one of the plan's variables.
    pub(crate) fn set_in_plan(&mut self, name: &Arc<str>, value: Tracked) -> Result<(), Trouble> {
        self.set_in_frame(self.frames.len() - 1, name, value)
    }

    /// Sets a variable of the plan at a depth.
    pub(crate) fn set_in_frame(&mut self, depth: usize, name: &Arc<str>, value: Tracked) -> Result<(), Trouble> {
        let n_bytes = size_of(&value.value);
        if n_bytes > self.settings.value_bytes {
            let message = format!(
                "`{name}` would be {n_bytes} bytes of JSON, more than the limit `value_bytes` of {}",
                self.settings.value_bytes
            );
            return Err(Trouble::new(PlanFaultKind::Limit, message).of(name));
        }
        let change = change(self, depth);
        let (value, old) = self.frames[depth].core_mut().scope.set(name, value, change);
        let (old, place) = (old.as_ref().map(Tracked::shown), self.frames[depth].place(depth, None));
        self.report_at(place, Fact::VariableSet { name: name.clone(), value, old, local: true });
        Ok(())
    }

    /// Sets one of the plan's first variables.
    pub(crate) fn bind_in_plan(&mut self, name: &Arc<str>, value: Tracked) {
        let change = change(self, self.frames.len() - 1);
        self.core_mut().scope.set(name, value, change);
    }
}

fn absorb(into: &mut Tracked, part: &Tracked) {
    into.origin = into.origin.with(part.origin);
    into.secret |= part.secret;
}

/// `top_k` is a positive integer; digits in text are accepted, as models write them (spec `plans.md`, 2.2).
pub(crate) fn check_top_k(arguments: &mut [(Arc<str>, Tracked)]) -> Result<(), Trouble> {
    let Some((_, top_k)) = arguments.iter_mut().find(|(name, _)| &**name == TOP_K) else { return Ok(()) };
    let number = match &top_k.value {
        Value::Int(number) => Some(*number),
        Value::Str(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
    };
    match number.filter(|number| *number > 0) {
        Some(number) => {
            top_k.value = Value::Int(number);
            Ok(())
        }
        None => {
            let message = format!("`{TOP_K}` must be a positive integer, but is {}", top_k.shown().kind());
            Err(Trouble::new(PlanFaultKind::Value, message).of(TOP_K))
        }
    }
}
