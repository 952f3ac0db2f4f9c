//! Values of instructions, and the plan's own variables.

use std::sync::Arc;

use crate::protocol::{Origin, Provenance, Tracked};
use playhouse_lang::plan::json::{PlanValue, PlanValueKind, TextPart};
use playhouse_lang::value::{Excess, Value};

use crate::machine::state::Machine;
use crate::plan::frame::InstructionFault;
use crate::protocol::{Fact, FrameOrigin, PlanFaultKind};
use crate::variables::bounds::describe_excess;
use crate::variables::scope::Change;
use crate::variables::visible::Home;

/// The instruction of dialect B that looks for texts, and its number of them.
pub(crate) const RETRIEVE_CHUNKS: &str = "retrieve_embedded_chunks";
const TOP_K: &str = "top_k";

impl Machine {
    /// The value with its references resolved, once: what is put in is data. `parameter` is named by the fault.
    pub(crate) fn plan_value(&self, value: &PlanValue, parameter: &str) -> Result<Tracked, InstructionFault> {
        match &value.kind {
            PlanValueKind::Literal(value) => Ok(Tracked::new(value.clone(), Origin::CODE)),
            PlanValueKind::Variable(name) => self.plan_variable(name, parameter).cloned(),
            PlanValueKind::Text(parts) => {
                let mut text = String::new();
                let mut provenance = Provenance::of(Origin::CODE);
                for part in parts {
                    match part {
                        TextPart::Text(part) => text.push_str(part),
                        TextPart::Variable(name) => {
                            let variable = self.plan_variable(name, parameter)?.clone();
                            text.push_str(&provenance.absorb(variable).to_text());
                        }
                    }
                    if text.len() > self.settings.value_bytes {
                        let message = describe_excess(Excess::Bytes(self.settings.value_bytes));
                        return Err(InstructionFault::new(
                            PlanFaultKind::Limit,
                            format!("the text would be {message}"),
                        )
                        .of(parameter));
                    }
                }
                Ok(provenance.track(Value::from(text)))
            }
            PlanValueKind::List(items) => {
                Tracked::list(Origin::CODE, items.iter().map(|item| self.plan_value(item, parameter)))
            }
            PlanValueKind::Map(members) => {
                let member =
                    |(name, member): &(Arc<str>, PlanValue)| Ok((name.clone(), self.plan_value(member, parameter)?));
                Tracked::map(Origin::CODE, members.iter().map(member))
            }
        }
    }

    fn plan_variable(&self, name: &str, parameter: &str) -> Result<&Tracked, InstructionFault> {
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
                Err(InstructionFault::new(PlanFaultKind::UndefinedVariable, message).of(parameter))
            }
        }
    }

    /// Sets one of the plan's variables.
    pub(crate) fn set_in_plan(&mut self, name: &Arc<str>, value: Tracked) -> Result<(), InstructionFault> {
        self.set_in_frame(self.frames.len() - 1, name, value)
    }

    /// Sets a variable of the plan at a depth.
    pub(crate) fn set_in_frame(
        &mut self,
        depth: usize,
        name: &Arc<str>,
        value: Tracked,
    ) -> Result<(), InstructionFault> {
        if let Err(excess) = value.value().check_bounds(self.settings.bounds()) {
            let message = format!("`{name}` would be {}", describe_excess(excess));
            return Err(InstructionFault::new(PlanFaultKind::Limit, message).of(name));
        }
        if let Some((value, old)) = self.put_in_frame(depth, name, value) {
            let (old, place) = (old.as_ref().map(Tracked::shown), self.frames[depth].place(depth, None));
            self.report_at(place, Fact::VariableSet { name: name.clone(), value, old, local: true });
        }
        Ok(())
    }

    /// Sets one of the plan's first variables.
    pub(crate) fn bind_in_plan(&mut self, name: &Arc<str>, value: Tracked) {
        self.put_in_frame(self.frames.len() - 1, name, value);
    }

    fn put_in_frame(&mut self, depth: usize, name: &Arc<str>, value: Tracked) -> Option<(Tracked, Option<Tracked>)> {
        let at = Some(self.frames[depth].location());
        let change = Change { stamp: self.next_stamp(), at, turn: None, binds: false };
        let agent = self.frames[depth].core().agent;
        self.put(agent, Home::Frame(depth), name, value, change)
    }
}

/// `top_k` is a positive integer; digits in text are accepted, as models write them (spec `plans.md`, 2.2).
pub(crate) fn check_top_k(arguments: &mut [(Arc<str>, Tracked)]) -> Result<(), InstructionFault> {
    let Some((_, top_k)) = arguments.iter_mut().find(|(name, _)| &**name == TOP_K) else { return Ok(()) };
    let number = match top_k.value() {
        Value::Int(number) => Some(*number),
        Value::Str(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
    };
    match number.filter(|number| *number > 0) {
        Some(number) => {
            *top_k = top_k.with_value(Value::Int(number));
            Ok(())
        }
        None => {
            let message = format!("`{TOP_K}` must be a positive integer, but is {}", top_k.shown().kind());
            Err(InstructionFault::new(PlanFaultKind::Value, message).of(TOP_K))
        }
    }
}
